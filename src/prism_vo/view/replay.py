# SPDX-License-Identifier: Apache-2.0
"""A finished results folder in Rerun: path and truth, keyframes, map, curves, and pictures of its recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_vo.bounded.json_text import read_json_lines
from prism_vo.cloud import read_ply
from prism_vo.errors import DegenerateError, InputError
from prism_vo.evaluate.metrics import evaluate_trajectory
from prism_vo.map_file import StoredMap
from prism_vo.report.stages import STAGES
from prism_vo.report.truth import truth_in_estimate
from prism_vo.results import KEYFRAMES, MAP, POINTS, STATS, TRAJECTORY
from prism_vo.trajectory import Trajectory, read_trajectory
from prism_vo.view.replay_frames import log_camera, log_growing_map, log_pictures, recording_of
from prism_vo.view.rerun_sink import PATH_COLOR, TRUTH_COLOR, open_recording

if TYPE_CHECKING:
    from prism_vo.datasets.source import Sequence

LARGEST_FRAME = 1 << 53
LARGEST_NUMBER = 1e30


def replay(folder: Path, record: Path | None) -> None:
    """Show the folder in a viewer, or write it into a recording; with pictures if its recording is still there."""
    rr, recording = open_recording(record)
    path = read_trajectory(folder / TRAJECTORY)
    keyframes = read_trajectory(folder / KEYFRAMES) if (folder / KEYFRAMES).is_file() else None
    sequence = None if keyframes is None else recording_of(folder)
    recording.log("world/path", rr.LineStrips3D([path.positions], colors=[PATH_COLOR]), static=True)
    if keyframes is not None:
        points = rr.Points3D(keyframes.positions, colors=[PATH_COLOR], radii=rr.Radius.ui_points(4.0))
        recording.log("world/keyframes", points, static=True)
    _log_map(rr, recording, folder, sequence, keyframes)
    if (folder / STATS).is_file():
        for values in read_json_lines(folder / STATS):
            _log_statistics(rr, recording, values, folder / STATS)
    if sequence is not None and keyframes is not None:
        _log_truth(rr, recording, path, sequence.groundtruth)
        log_camera(rr, recording, folder, sequence)
        log_pictures(rr, recording, folder, sequence, keyframes)
    recording.flush()
    recording.disconnect()


def _log_map(
    rr: Any, recording: Any, folder: Path, sequence: Sequence | None, keyframes: Trajectory | None
) -> None:
    """The dense map as it grows; without one, the points of the odometry."""
    name = MAP if (folder / MAP).is_file() else POINTS
    if not (folder / name).is_file():
        return
    cloud = read_ply(folder / name)
    if name == MAP and sequence is not None and keyframes is not None:
        log_growing_map(rr, recording, cloud, sequence, keyframes)
        return
    points = rr.Points3D(cloud.points, colors=cloud.colors, radii=rr.Radius.ui_points(1.5))
    recording.log("world/map" if name == MAP else "world/cloud", points, static=True)


def _log_truth(rr: Any, recording: Any, path: Trajectory, truth: Trajectory | None) -> None:
    """In its own colour, brought into the world of the estimate."""
    if truth is None:
        return
    try:
        aligned = evaluate_trajectory(path, truth).se3
    except DegenerateError:
        return
    line = truth_in_estimate(truth, aligned)
    recording.log("world/truth", rr.LineStrips3D([line], colors=[TRUTH_COLOR]), static=True)


def show_map(stored: StoredMap, record: Path | None) -> None:
    """Keyframes and points of a map in a viewer, or in a recording."""
    rr, recording = open_recording(record)
    centres, cloud = stored.trajectory().positions, stored.cloud()
    cameras = rr.Points3D(centres, colors=[PATH_COLOR], radii=rr.Radius.ui_points(4.0))
    recording.log("world/keyframes", cameras, static=True)
    points = rr.Points3D(cloud.points, colors=cloud.colors, radii=rr.Radius.ui_points(1.5))
    recording.log("world/cloud", points, static=True)
    recording.flush()
    recording.disconnect()


def _log_statistics(rr: Any, recording: Any, values: dict[str, Any], path: Path) -> None:
    frame = values.get("frame")
    if not isinstance(frame, int) or not 0 <= frame < LARGEST_FRAME:
        raise InputError(f"{path}: has a line that describes no frame; the file is damaged.")
    recording.set_time("frame", sequence=frame)
    curves = {"residual/rms": values.get("rms"), "eta/eta": values.get("eta")}
    seconds = values.get("seconds")
    stages = seconds if isinstance(seconds, dict) else {}
    for stage in STAGES:
        spent = _number(stages.get(stage))
        curves[f"seconds/{stage}"] = None if spent is None else 1e3 * spent
    for name, value in curves.items():
        if (known := _number(value)) is not None:
            recording.log(name, rr.Scalars(known))


def _number(value: Any) -> float | None:
    """A finite number, else nothing to draw."""
    known = isinstance(value, int | float) and abs(value) < LARGEST_NUMBER
    return float(value) if known else None
