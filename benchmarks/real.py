# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.real FOLDER``: figures of real recordings that need no ground truth.

FOLDER is a recording or holds recordings: folders with raw/ and camera.yaml, or raw/ and a vendor's grid as mla.xml.
With the latter the optics are nominal (``--lens``, ``--array``, ``--sensor``, ``--pixel``) and distances not metric;
nothing printed here depends on their scale. The grid of the file is corrected by what the images show, as
``prism-vo calibrate grid`` does.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_recording import NominalOptics, Recording, open_recording, recordings
from benchmarks.repeatability import Differences, Spread, compare, spread
from benchmarks.turntable import TurntableAgreement, agreement
from prism_vo import pipeline, se3
from prism_vo.arrays import Array
from prism_vo.calibrate import GridFit
from prism_vo.calibrate.findings import by_parts
from prism_vo.commands.grid_lines import parts_table, with_sigma
from prism_vo.datasets.source import Stream
from prism_vo.errors import PrismError
from prism_vo.lightfield import Decoder
from prism_vo.types import DecodedFrame

APART = 9  # frames: nearer ones of a compressed video share their noise
MOST_PAIRS = 12
MOSTLY = 0.5  # of the pixels


@dataclass(frozen=True)
class Repeatability:
    """Spread of depth measured twice, as it is and without its smooth part."""

    pairs: int
    points: int
    raw: Spread
    without_smooth: Spread


def main() -> int:
    """Print the figures of every recording."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lens", type=float, default=35.0, help="nominal focal length f_L, mm")
    parser.add_argument("--array", type=float, default=34.24, help="nominal distance lens to array b_L0, mm")
    parser.add_argument("--sensor", type=float, default=0.38, help="nominal distance array to sensor B, mm")
    parser.add_argument("--pixel", type=float, default=5.5, help="nominal raw pixel, µm")
    args = parser.parse_args()
    nominal = NominalOptics(args.lens, args.array, args.sensor, args.pixel)
    try:
        for folder in recordings(args.folder):
            report(open_recording(folder, nominal))
    except PrismError as error:
        print(f"benchmarks.real: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def report(recording: Recording) -> None:
    """Print all figures of one recording."""
    height, width = recording.fit.image_shape
    print(f"\n## {recording.name}: {len(recording.paths)} images {width}x{height}, optics {recording.optics}")
    print("\n| figure | value |\n|---|---|")
    for name, value in grid_rows(recording.fit):
        _row(name, value)
    decoder = Decoder(recording.camera, white=recording.white)
    first = decoder.dense(recording.frame(0))
    assert first.valid is not None
    _row("valid depth, first frame", f"{100 * first.valid.mean():.0f} % of the pixels")
    poses = None
    if len(recording.paths) > 1:
        result = run(recording)
        poses = result.trajectory.poses
        tracked = len(result.reports) - result.lost
        _row("frames tracked", f"{tracked} of {len(result.reports)}, {result.segments} segment(s)")
        if tracked == len(recording.paths) and result.segments == 1:
            for name, value in repeatability_rows(repeatability(recording, decoder, poses)):
                _row(name, value)
        for name, value in turntable_rows(agreement(poses)):
            _row(name, value)
    print("\nmicro-images from where the file has them, px (right, down), by parts of the sensor:")
    print("\n".join(parts_table(by_parts(recording.fit, recording.fit.start_offsets))), flush=True)


def _row(name: str, value: str) -> None:
    print(f"| {name} | {value} |", flush=True)


def grid_rows(fit: GridFit) -> list[tuple[str, str]]:
    """Figures of the grid."""
    lengths = np.hypot(*fit.start_offsets.T)
    return [
        ("pitch", f"{with_sigma(fit.grid.pitch, fit.pitch_sigma)} px"),
        ("pitch of the file", f"{100 * fit.pitch_error:+.3f} % off"),
        (
            "offset of the file's grid",
            f"median {np.nanmedian(lengths):.2f}, largest {np.nanmax(lengths):.2f} px",
        ),
        ("left over after the fit", f"{fit.residual_rms:.3f} px (root mean square of zones)"),
        ("centres known to", f"{fit.centre_sigma:.3f} px"),
    ]


def run(recording: Recording) -> pipeline.RunResult:
    """The odometry over all frames."""
    frames = (recording.frame(k) for k in range(len(recording.paths)))
    return pipeline.run(Stream(frames, recording.camera, recording.name, white=recording.white))


def repeatability(recording: Recording, decoder: Decoder, poses: Array) -> Repeatability | None:
    """Compare depth in pairs of frames at least APART; None where there are none."""
    found: list[Differences] = []
    kept: dict[int, DecodedFrame] = {}
    for a, b in frame_pairs(recording.numbers):
        if same_noise(recording.frame(a).image, recording.frame(b).image):
            continue
        kept = {k: kept[k] if k in kept else decoder.dense(recording.frame(k)) for k in (a, b)}
        both = compare(kept[a], kept[b], se3.inverse(poses[b]) @ poses[a], decoder.view)
        found += [both] if both is not None else []
    if not found:
        return None
    sigma = np.concatenate([d.sigma for d in found])
    raw = np.concatenate([d.difference / d.sigma for d in found])
    rest = np.concatenate([(d.difference - d.smooth) / d.sigma for d in found])
    return Repeatability(len(found), len(sigma), spread(raw, sigma), spread(rest, sigma))


def same_noise(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Whether most pixels are equal: a video codec copies what does not move, and copies say nothing about noise."""
    return float((first == second).mean()) > MOSTLY


def frame_pairs(numbers: list[int]) -> list[tuple[int, int]]:
    """Each frame with the next that is at least APART later; at most MOST_PAIRS, spread evenly."""
    pairs = []
    first = 0
    for second in range(1, len(numbers)):
        if numbers[second] - numbers[first] >= APART:
            pairs.append((first, second))
            first = second
    picked = np.linspace(0, len(pairs) - 1, min(len(pairs), MOST_PAIRS)).astype(int) if pairs else []
    return [pairs[k] for k in picked]


def repeatability_rows(found: Repeatability | None) -> list[tuple[str, str]]:
    """Spread of depth measured twice, in units of σ."""
    if found is None:
        return [("depth measured twice", f"no two different frames {APART} or more apart")]
    rows = [
        (
            "depth measured twice",
            f"{found.points} points in {found.pairs} pairs of frames {APART} or more apart",
        )
    ]
    for name, seen in (("as it is", found.raw), ("without its smooth part", found.without_smooth)):
        fifths = ", ".join(f"{s:.2f}" for s in seen.by_fifths)
        rows.append((f"scatter over σ, {name}", f"{seen.overall:.2f}; by fifths of σ {fifths}"))
    return rows


def turntable_rows(found: TurntableAgreement | None) -> list[tuple[str, str]]:
    """The three agreements, where the path is a circle."""
    if found is None:
        return []
    return [
        ("turned by", f"{np.degrees(found.turned):.1f}° on a circle"),
        ("plane of the path against the axis", f"{np.degrees(found.plane_axis_angle):.1f}°"),
        ("arc over radius against the turn", f"{100 * found.arc_excess:+.1f} %"),
        ("distance from the circle", f"{100 * found.roundness:.2f} % of its radius in its plane"),
        (
            "distance from its plane",
            f"{100 * found.unevenness:.2f} % of its radius; it bends by {100 * found.bend:.2f} %",
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
