# SPDX-License-Identifier: Apache-2.0
"""A finished results folder in Rerun: path, keyframes, cloud, curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prism_vo.bounded.json_text import read_json_lines
from prism_vo.cloud import read_ply
from prism_vo.errors import InputError
from prism_vo.map_file import StoredMap
from prism_vo.report.stages import STAGES
from prism_vo.results import KEYFRAMES, MAP, POINTS, STATS, TRAJECTORY
from prism_vo.trajectory import read_trajectory
from prism_vo.view.rerun_sink import PATH_COLOR, open_recording

LARGEST_FRAME = 1 << 53
LARGEST_NUMBER = 1e30


def replay(folder: Path, record: Path | None) -> None:
    """Show the folder in a viewer, or write it into a recording."""
    rr, recording = open_recording(record)
    path = read_trajectory(folder / TRAJECTORY).positions
    recording.log("world/path", rr.LineStrips3D([path], colors=[PATH_COLOR]), static=True)
    if (folder / KEYFRAMES).is_file():
        centres = read_trajectory(folder / KEYFRAMES).positions
        points = rr.Points3D(centres, colors=[PATH_COLOR], radii=rr.Radius.ui_points(4.0))
        recording.log("world/keyframes", points, static=True)
    if (folder / MAP).is_file():
        dense = read_ply(folder / MAP)
        points = rr.Points3D(dense.points, colors=dense.colors, radii=rr.Radius.ui_points(2.0))
        recording.log("world/map", points, static=True)
    elif (folder / POINTS).is_file():
        cloud = read_ply(folder / POINTS)
        points = rr.Points3D(cloud.points, colors=cloud.colors, radii=rr.Radius.ui_points(1.5))
        recording.log("world/cloud", points, static=True)
    if (folder / STATS).is_file():
        for values in read_json_lines(folder / STATS):
            _log_statistics(rr, recording, values, folder / STATS)
    recording.flush()
    recording.disconnect()


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
