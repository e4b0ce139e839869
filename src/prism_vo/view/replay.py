# SPDX-License-Identifier: Apache-2.0
"""A finished results folder in Rerun: path, keyframes, cloud, curves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from prism_vo.cloud import read_ply
from prism_vo.errors import InputError
from prism_vo.report.stages import STAGES
from prism_vo.results import KEYFRAMES, POINTS, STATS, TRAJECTORY
from prism_vo.trajectory import read_trajectory
from prism_vo.view.rerun_sink import PATH_COLOR, open_recording


def replay(folder: Path, record: Path | None) -> None:
    """Show the folder in a viewer, or write it into a recording."""
    rr, recording = open_recording(record)
    path = read_trajectory(folder / TRAJECTORY).positions
    recording.log("world/path", rr.LineStrips3D([path], colors=[PATH_COLOR]), static=True)
    if (folder / KEYFRAMES).is_file():
        centres = read_trajectory(folder / KEYFRAMES).positions
        points = rr.Points3D(centres, colors=[PATH_COLOR], radii=rr.Radius.ui_points(4.0))
        recording.log("world/keyframes", points, static=True)
    if (folder / POINTS).is_file():
        cloud = read_ply(folder / POINTS)
        points = rr.Points3D(cloud.points, colors=cloud.colors, radii=rr.Radius.ui_points(1.5))
        recording.log("world/cloud", points, static=True)
    if (folder / STATS).is_file():
        for line in (folder / STATS).read_text(encoding="utf-8").splitlines():
            _log_statistics(rr, recording, _parsed(line, folder / STATS))
    recording.flush()
    recording.disconnect()


def _parsed(line: str, path: Path) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except ValueError as error:
        raise InputError(f"{path}: has a line that is not JSON; the file is damaged.") from error
    if not isinstance(values, dict) or "frame" not in values:
        raise InputError(f"{path}: has a line that describes no frame; the file is damaged.")
    return values


def _log_statistics(rr: Any, recording: Any, values: dict[str, Any]) -> None:
    recording.set_time("frame", sequence=values["frame"])
    if values.get("rms") is not None:
        recording.log("residual/rms", rr.Scalars(values["rms"]))
    if values.get("eta") is not None:
        recording.log("eta/eta", rr.Scalars(values["eta"]))
    for stage in STAGES:
        if stage in values.get("seconds", {}):
            recording.log(f"seconds/{stage}", rr.Scalars(1e3 * values["seconds"][stage]))
