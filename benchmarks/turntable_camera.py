# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.turntable_camera FOLDER``: is a camera found before a turntable, whatever the start?

FOLDER is a recording whose camera.yaml has the right grid; its optics are replaced by nominal ones. No length is known,
so only what has no scale is judged: F and w_∞ from several nominal lenses, whether the adjusted path is plane, round
and turned as far as its arc says, and whether both ways of tracking give equally long paths with the camera found.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.turntable import agreement
from prism_vo import pipeline, se3
from prism_vo.batch.numbers import A0, CURVATURE, CX, CY, FOCAL, KAPPA, W
from prism_vo.camera_fit import calibrate as room
from prism_vo.camera_fit.facts import NoFact
from prism_vo.camera_fit.fit import CameraFit
from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.datasets.sequence import FileSequence
from prism_vo.datasets.source import Sequence, Stream
from prism_vo.errors import PrismError
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera

NOMINAL_GAP = 0.76  # mm from the array to where a nominal lens has infinity
NOMINAL_B = 0.38  # mm
LARGEST_VIRTUAL_DEPTH = 6.0  # of the nearest things, in whatever unit the start has


def main() -> int:
    """One row a start."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lens", type=float, nargs="*", default=[16.0, 25.0, 35.0], help="nominal f_L, mm")
    parser.add_argument("--paths", action="store_true", help="track with the camera found, both ways")
    args = parser.parse_args()
    room.check_result = lambda found, covariance: None  # what is not determined well enough is judged, too
    print(
        "| start | F | w_∞ | centre | A0 | field | plane–axis | arc/angle | roundness | reprojection | full/plenoptic |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for lens in args.lens:
        recording = with_lens(args.folder, lens)
        try:
            fit = room.calibrate_camera(recording, lambda known: NoFact())
        except PrismError as error:
            print(f"| {lens:g} mm | refused: {error} | | | | | | | | | |", flush=True)
            continue
        print(row(f"{lens:g} mm", fit, lengths(recording, fit) if args.paths else "–"), flush=True)
    return 0


def with_lens(folder: Path, lens: float) -> FileSequence:
    """The recording with a nominal lens, its centre in the middle."""
    recording = open_sequence(folder)
    assert isinstance(recording, FileSequence)
    data = recording.camera.calibration.model_dump()
    main, sensor = data["main_lens"], data["sensor"]
    main["focal_length_mm"], main["mla_distance_mm"] = lens, lens - NOMINAL_GAP
    main["principal_point_px"] = (sensor["width"] / 2 - 0.5, sensor["height"] / 2 - 0.5)
    main["distortion"] = {}
    data["mla"]["sensor_distance_mm"] = NOMINAL_B
    return replace(recording, camera=PlenopticCamera(Calibration.model_validate(data)))


def row(name: str, fit: CameraFit, paths: str) -> str:
    """What was found, and how the adjusted keyframes agree with a turntable."""
    values, sigma = fit.numbers.values, fit.sigma
    circle = agreement(np.array([se3.inverse(pose) for pose in fit.adjusted.state.poses]))
    judged = "no circle | – | –"
    if circle is not None:
        judged = (
            f"{np.degrees(circle.plane_axis_angle):.1f}° | {100 * circle.arc_excess:+.1f} % | "
            f"{100 * circle.roundness:.2f} %"
        )
    return (
        f"| {name} | {values[FOCAL]:.0f} ± {sigma[FOCAL]:.0f} px | {values[W]:.3f} ± {sigma[W]:.3f} | "
        f"({values[CX]:.0f}, {values[CY]:.0f}) ± ({sigma[CX]:.0f}, {sigma[CY]:.0f}) | "
        f"{1e4 * values[A0]:.2f} ± {1e4 * sigma[A0]:.2f}e-4 | "
        f"{1e4 * values[CURVATURE]:.0f} ± {1e4 * sigma[CURVATURE]:.0f}e-4 /mm² | {judged} | "
        f"{fit.reprojection_rms:.3f} px | {paths} |"
    )


def lengths(recording: Sequence, fit: CameraFit) -> str:
    """Length of the path of ``full`` over that of ``plenoptic``."""
    camera, values = PlenopticCamera(fit.calibration), fit.numbers.values
    found = []
    for variant in ("full", "plenoptic"):
        config = Config()
        near = min(config.decode.near, values[KAPPA] / (LARGEST_VIRTUAL_DEPTH - values[W]))
        decode = replace(config.decode, near=float(near))
        config = replace(config, variant=variant, calibrate="off", decode=decode)
        run = pipeline.run(Stream(recording, camera, recording.name, white=recording.white), config)
        steps = np.diff(run.trajectory.positions, axis=0)
        found.append(float(np.linalg.norm(steps, axis=1).sum()))
    return f"{100 * (found[0] / found[1] - 1):+.1f} %"


if __name__ == "__main__":
    sys.exit(main())
