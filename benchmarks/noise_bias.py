# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.noise_bias FOLDER … [--noises 40] [--level 2]``: by how much noise moves depth in the mean.

FOLDER: recordings of raw frames **without noise**. Many noises are put on the first frame; the mean slope h of a point
over all of them less that of the quiet frame is compared with σ²/h, σ being their scatter. The root of a score whose
noise grows as σ² ∝ h⁴ lies 2 σ²/h too far (docs/method.md); ``root`` is that of the score, ``measured`` what is left
after it was taken off, and ``power`` that of h with which the variance stated for a point goes with its error: 4 where
σ is that of the place, more where the noise that moves a root also makes its score less steep. Once for all points, and
for each fifth by σ. A second table: how far the pattern of the array wanders over the frames of each folder.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prism_vo.arrays import Array, Mask
from prism_vo.config import DecodeConfig
from prism_vo.datasets.images import list_images, read_image
from prism_vo.evaluate.decoding import MAD_TO_SIGMA
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.variance import unskewed
from prism_vo.optics.calibration import load_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame

FULL_WELL, READ_NOISE = 10_000.0, 10.0  # electrons
STEP, MARGIN = 9, 5  # focused px between points, and from the border
WIDE = 0.05  # largest σ of a match that takes part
GROSS = 6.0  # scatters: such a root is another match


@dataclass(frozen=True)
class Roots:
    """Slopes (N,) of the quiet frame and (noises, N) under noise, as found and as measured."""

    quiet: Array
    root: Array
    measured: Array
    variance: Array  # (noises, N): σ²(h) as stated


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--noises", type=int, default=40)
    parser.add_argument("--level", type=float, default=2.0, help="factor on shot and read noise")
    given = parser.parse_args()
    print(
        "| recording | points | σ of ρ_v | root, σ²/h | measured, σ²/h | power |\n|---|---:|---:|---:|---:|---:|"
    )
    for folder in given.folders:
        print("\n".join(_rows(folder, roots(folder, given.noises, given.level))), flush=True)
    print("\n| recording | frames | array's pattern wanders by, px (largest) |\n|---|---:|---:|")
    for folder in given.folders:
        print(_pattern_row(folder), flush=True)
    return 0


def roots(folder: Path, noises: int, level: float) -> Roots:
    """Measure one frame again and again."""
    decoder = _decoder(folder)
    light = read_image(list_images(folder / "raw")[0]).astype(np.float64)
    electrons = light / (255.0 if light.max() < 256 else 65535.0) * FULL_WELL
    view, beta = decoder.view, decoder.view.beta
    x, y = np.meshgrid(np.arange(MARGIN, view.width, STEP), np.arange(MARGIN, view.height, STEP))
    points = np.stack([x.ravel(), y.ravel()], -1).astype(np.float64)

    def slopes(number: int, seen: Array) -> tuple[Array, Array, Array]:
        image = np.clip(np.rint(seen / FULL_WELL * 65535.0), 0, 65535).astype(np.uint16)
        found = decoder.measure(RawFrame(number, 0.0, image), points)
        measured = decoder.geometry.slope(found.inv_virtual_depth.astype(np.float64))
        variance = found.variance.astype(np.float64) * beta**2
        return _before(measured, variance), measured, variance

    quiet, _, _ = slopes(0, electrons)
    found = []
    for number in range(noises):
        rng = np.random.default_rng(number)
        scatter = level * np.sqrt(np.maximum(electrons, 0.0) + READ_NOISE**2)
        found.append(slopes(number + 1, electrons + scatter * rng.standard_normal(electrons.shape)))
    return Roots(quiet, *(np.array(column) for column in zip(*found, strict=True)))


def _before(measured: Array, variance: Array) -> Array:
    """The root that :func:`unskewed` made ``measured`` of."""
    root = measured
    for _ in range(3):
        root = root + measured - unskewed(root, variance)
    return np.asarray(root)


def _rows(folder: Path, found: Roots) -> list[str]:
    """All points whose match is the same one under every noise, and each fifth of them by σ."""
    seen = np.isfinite(found.quiet) & np.isfinite(found.root).all(0)
    middle = np.median(found.root[:, seen], 0)
    away = np.abs(found.root[:, seen] - middle)
    seen[seen] = away.max(0) < GROSS * MAD_TO_SIGMA * np.median(away, 0)
    sigma = np.sqrt(np.median(found.variance, 0))
    fifth = np.digitize(sigma, np.quantile(sigma[seen], [0.2, 0.4, 0.6, 0.8]))
    parts = [("", seen), *((f", fifth {n + 1}", seen & (fifth == n)) for n in range(5))]
    beta = _decoder(folder).view.beta
    return [
        f"| {folder.name}{name} | {part.sum()} | {np.median(sigma[part]) / beta:.4f} | {_cells(found, part)} |"
        for name, part in parts
    ]


def _cells(found: Roots, part: Mask) -> str:
    quiet, root = found.quiet[part], found.root[:, part]
    unit = root.var(0, ddof=1) / quiet
    cells = [
        f"{shift.sum() / unit.sum():+.2f} ± {shift.std() / np.sqrt(len(shift)) / unit.mean():.2f}"
        for shift in (mean[:, part].mean(0) - quiet for mean in (found.root, found.measured))
    ]
    stated = np.log(found.variance[:, part])
    together = ((stated - stated.mean(0)) * (root - root.mean(0))).sum(0) / (len(root) - 1)
    return f"{' | '.join(cells)} | {together.sum() / unit.sum():.1f}"


def _pattern_row(folder: Path) -> str:
    """The largest shift that the phases of the frames show against the first one."""
    watch, paths = _decoder(folder).grid_watch, list_images(folder / "raw")
    largest = max(watch.wandered(read_image(path)) for path in paths)
    return f"| {folder.name} | {len(paths)} | {largest:.3f} |"


def _decoder(folder: Path) -> Decoder:
    white = folder / "white.png"
    camera = PlenopticCamera.from_calibration(load_calibration(folder / "camera.yaml"))
    return Decoder(camera, DecodeConfig(max_sigma=WIDE), read_image(white) if white.is_file() else None)


if __name__ == "__main__":
    raise SystemExit(main())
