# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.borders FOLDER … [--beside 4] [--white 0]``: does depth hang on where a micro-image is cut?

FOLDER: recordings with exact depth (folders ``raw/`` and ``depth/``). Every frame with depth is decoded with
``mla.border_px`` of 1, 1.5 and 2; printed is the information-weighted mean error of ρ_v (σ at the true depth), 1e-4,
over all frames of a folder, with what chance leaves of it (one independent error per matching window), and the same in
each fifth by σ, with what chance leaves of that (from the scatter of blocks of 64 px: more than windows alone say).
An estimator that is right has no preferred border. ``--beside``: px beside depth edges that are left out; ``--white``:
grey levels added to the white image.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.decode_accuracy import WINDOW_PIXELS, Looked, chance_of_mean, look, weighted_mean
from prism_vo.datasets.images import read_image
from prism_vo.evaluate.decoding import EDGE_MARGIN
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import Calibration, load_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame

BORDERS = (1.0, 1.5, 2.0)  # px


def with_border(calibration: Calibration, border: float) -> Calibration:
    """The same camera with micro-images cut elsewhere."""
    mla = calibration.mla.model_copy(update={"border_px": border})
    return calibration.model_copy(update={"mla": mla})


def white_image(folder: Path, level: float) -> NDArray[np.generic]:
    """That of the recording, by ``level`` grey levels brighter, which 8 bits could not hold."""
    white = read_image(folder / "white.png")
    return white if level == 0.0 else (white.astype(np.float32) + np.float32(level)).clip(0.0)


def looked_at(folder: Path, border: float, beside: int, level: float) -> list[Looked]:
    """All frames of a folder whose depth is known."""
    calibration = with_border(load_calibration(folder / "camera.yaml"), border)
    camera = PlenopticCamera.from_calibration(calibration)
    decoder = Decoder(camera, white=white_image(folder, level))
    found = []
    for path in sorted((folder / "depth").glob("*.npy")):
        raw = RawFrame(int(path.stem), 0.0, read_image(folder / "raw" / f"{path.stem}.png"))
        reference = read_image(folder / "reference" / f"{path.stem}.png")
        found.append(look(decoder, raw, np.load(path), reference, beside))
    return found


def row(folder: Path, beside: int, level: float) -> str:
    """Bias at each border, their spread, and the fifths."""
    means, cells = [], []
    for border in BORDERS:
        frames = looked_at(folder, border, beside, level)
        error, sigma = (
            np.concatenate([getattr(f, key) for f in frames]) for key in ("error", "sigma_at_truth")
        )
        fifth = np.digitize(sigma, np.quantile(sigma, [0.2, 0.4, 0.6, 0.8]))
        means.append(1e4 * weighted_mean(error, sigma))
        size = 1 + max(int(f.block.max()) for f in frames)
        block = np.concatenate([f.block + n * size for n, f in enumerate(frames)])
        parts = [(error[fifth == i], sigma[fifth == i], block[fifth == i]) for i in range(5)]
        fifths = [
            f"{1e4 * weighted_mean(e, s):+.1f} ± {1e4 * chance_of_mean(e, s, b):.1f}" for e, s, b in parts
        ]
        chance = 1e4 * np.sqrt(WINDOW_PIXELS / (sigma**-2.0).sum())
        cells.append(f"{means[-1]:+.2f} ± {chance:.2f} | {', '.join(fifths)}")
    return f"| {folder.name} | {' | '.join(cells)} | {max(means) - min(means):.2f} |"


def main() -> int:
    """Print the table as it is made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--beside", type=int, default=EDGE_MARGIN)
    parser.add_argument("--white", type=float, default=0.0)
    given = parser.parse_args()
    head = " | ".join(f"border {b:g}, 1e-4 | by fifths of σ" for b in BORDERS)
    print(f"| data | {head} | spread |\n|{'---|' * (2 + 2 * len(BORDERS))}")
    for folder in given.folders:
        print(row(folder, given.beside, given.white), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
