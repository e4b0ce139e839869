# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.calibrate FOLDER``: cameras calibrated from recordings whose truth is known.

FOLDER holds recordings of ``prism-vo simulate`` named OPTICS_SEED, and OPTICS_held, which the calibration does not see.
Each starts with f_L and b_L0 5 % too large, B 5 % too small, the principal point in the middle and no distortion.
Printed: errors of F, w_∞ and κ, depth in the held-out recording against the truth (and with the true camera: what the
decoder alone is off by), raw reprojection, how many of the true numbers lie inside their 95 % intervals, and all errors
in σ. ``--sensor-distance`` adds a row with B as the metric fact, ``--halves`` rows of both halves.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np

from benchmarks.calibrate_halves import halves, scale_between
from prism_vo.arrays import Array, Mask
from prism_vo.batch.numbers import CX, CY, FOCAL, KAPPA, CameraNumbers, W
from prism_vo.camera_fit.calibrate import calibrate_camera, metric_fit, truth_of
from prism_vo.camera_fit.facts import MetricFact, SensorDistance, TruePoses
from prism_vo.camera_fit.fit import CameraFit
from prism_vo.camera_fit.plan import Known
from prism_vo.datasets import open_sequence
from prism_vo.datasets.sequence import FileSequence
from prism_vo.datasets.source import Sequence
from prism_vo.errors import DegenerateError, PrismError
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame

WRONG = 0.05
INTERVAL = 1.96  # σ of a 95 % interval
WINDOW, LARGEST_STEP = 15, 0.02  # TF px that a match reads; of the depth, within it
JUDGED = (FOCAL, CX, CY, W, KAPPA)


def main() -> int:
    """Print one row a recording, and what they come to together."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these recordings alone")
    parser.add_argument(
        "--sensor-distance", action="store_true", help="a second row with B as the metric fact"
    )
    parser.add_argument("--halves", action="store_true", help="scale of the first half against the second")
    args = parser.parse_args()
    print(
        "| recording | F | w_∞ | κ | depth, held out, one surface | all pixels | reprojection | inside 95 % | "
        "in σ: F, c_x, c_y, w_∞, κ |\n|---|---|---|---|---|---|---|---|---|"
    )
    inside: list[bool] = []
    try:
        for path in sorted(p for p in args.folder.glob("*_[0-9]*") if (p / "camera.yaml").is_file()):
            if args.only and path.name not in args.only:
                continue
            inside += report(path, args.sensor_distance, args.halves)
    except PrismError as error:
        print(f"benchmarks.calibrate: {error}", file=sys.stderr)
        return error.exit_code
    if inside:
        print(
            f"\n{sum(inside)} of {len(inside)} true numbers ({100 * np.mean(inside):.0f} %) inside 95 % intervals"
        )
    return 0


def report(path: Path, sensor_distance: bool, with_halves: bool) -> list[bool]:
    """One row a metric fact and a half; whether each true number lies inside its interval, B's row left out."""
    recording = open_sequence(path)
    assert isinstance(recording, FileSequence)
    truth = CameraNumbers.of(recording.camera.calibration)
    try:
        fit = calibrated(nominal(recording))
    except DegenerateError as error:
        print(f"| {path.name} | refused: {error} | | | | | | | |", flush=True)
        return []
    found = row(path.name, path, fit, recording.camera.calibration)
    if sensor_distance:
        known = metric_fit(fit.adjusted, SensorDistance(truth.optics[2]), fit.indices, fit.start)
        row(f"{path.name}, B known", path, known, recording.camera.calibration)
    if with_halves:
        pair = halves(fit)
        for name, half in zip(("first half", "second half"), pair):
            found += row(f"{path.name}, {name}", None, half, recording.camera.calibration)
        print(f"| {path.name}, halves against each other | {scale_between(pair, truth)} | | | | | | | |")
    return found


def row(name: str, path: Path | None, fit: CameraFit, true: Calibration) -> list[bool]:
    """Print it; whether each true number lies inside its interval. ``path``: whose held-out recording is looked at."""
    truth = CameraNumbers.of(true)
    error = fit.numbers.values - truth.values
    found = [abs(float(error[k])) < INTERVAL * float(fit.sigma[k]) for k in JUDGED]
    held = path and path.parent / f"{path.name.rsplit('_', 1)[0]}_held"
    depth = ["–", "–"]
    if held and held.is_dir():
        pairs = zip(held_out(held, fit.calibration), with_true_camera(held))
        depth = [f"{found}; true camera: {best}" for found, best in pairs]
    focal, kappa = (100 * error[k] / truth.values[k] for k in (FOCAL, KAPPA))
    print(
        f"| {name} | {focal:+.3f} % | {error[W]:+.4f} | {kappa:+.2f} % | {depth[0]} | {depth[1]} | "
        f"{fit.reprojection_rms:.3f} px | {sum(found)} of {len(found)} | "
        + ", ".join(f"{error[k] / max(fit.sigma[k], 1e-12):+.1f}" for k in JUDGED)
        + " |",
        flush=True,
    )
    return found


def nominal(recording: FileSequence) -> FileSequence:
    """The recording with a camera file that is five per cent wrong."""
    data = recording.camera.calibration.model_dump()
    lens, sensor = data["main_lens"], data["sensor"]
    lens["focal_length_mm"] *= 1 + WRONG
    lens["mla_distance_mm"] *= 1 + WRONG
    data["mla"]["sensor_distance_mm"] *= 1 - WRONG
    lens["principal_point_px"] = (sensor["width"] / 2 - 0.5, sensor["height"] / 2 - 0.5)
    lens["distortion"] = {}
    return replace(recording, camera=PlenopticCamera(Calibration.model_validate(data)))


def calibrated(recording: Sequence) -> CameraFit:
    """With the recording's poses as the metric fact."""

    def fact(known: Known) -> MetricFact:
        truth = truth_of(recording, known.chosen)
        if truth is None:
            raise DegenerateError(f"{recording.name}: has no ground-truth poses.")
        return TruePoses(truth)

    return calibrate_camera(recording, fact)


def held_out(path: Path, calibration: Calibration) -> tuple[str, str]:
    """Median error of depth in frames with a true depth map, by thirds of the covered depths, near to far.

    Of pixels whose matching window shows one surface, and of all: a window across an edge sees two depths, which no
    camera can mend.
    """
    recording = open_sequence(path)
    decoder = Decoder(PlenopticCamera(calibration), white=recording.white)
    ratios, depths, singles = [], [], []
    for file in sorted((path / "depth").glob("*.npy")):
        frame = recording[int(file.stem)]
        if not isinstance(frame, RawFrame):
            continue
        truth = np.load(file).astype(np.float64)
        dense = decoder.dense(frame)
        assert dense.inv_virtual_depth is not None and dense.valid is not None
        q = decoder.view.inv_depth_from_virtual(dense.inv_virtual_depth)
        good = dense.valid & np.isfinite(truth) & (truth > 0) & (q > 0)
        ratios.append(q[good] * truth[good])
        depths.append(truth[good])
        singles.append(one_surface(truth)[good])
    if not ratios:
        return "–", "–"
    ratio, depth, single = np.concatenate(ratios), np.concatenate(depths), np.concatenate(singles)
    return by_thirds(ratio[single], depth[single]), by_thirds(ratio, depth)


def one_surface(depth: Array) -> Mask:
    """Where the true depth changes little within a matching window."""
    window = np.ones((WINDOW, WINDOW), np.uint8)
    low, high = cv2.erode(depth, window), cv2.dilate(depth, window)
    return np.asarray(high < (1 + LARGEST_STEP) * low)


def by_thirds(ratio: Array, depth: Array) -> str:
    """Median errors in per cent."""
    ends = np.percentile(depth, [0, 100 / 3, 200 / 3, 100])
    parts: list[Array] = [ratio[(depth >= a) & (depth <= b)] for a, b in pairwise(ends)]
    return ", ".join(f"{100 * (1 / np.median(part) - 1):+.2f} %" for part in parts)


@cache
def with_true_camera(path: Path) -> tuple[str, str]:
    """What the decoder alone is off by."""
    return held_out(path, open_sequence(path).camera.calibration)


if __name__ == "__main__":
    sys.exit(main())
