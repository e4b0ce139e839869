# SPDX-License-Identifier: Apache-2.0
"""``transforms.json`` as Nerfstudio, Instant-NGP and gaussian splatting tools read it. Metres stay metres.

Poses are camera to world with the camera's axes of OpenGL (x right, y up, z backwards); pixel centres lie at half
integers. The world is that of the run, the same as in its other files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from prism_vo.cloud import PointCloud, write_ply
from prism_vo.export.finished_run import FinishedRun
from prism_vo.export.images import Written, write_pictures
from prism_vo.export.pictures import Picture, view_of_run
from prism_vo.optics.view import FocusedView

OPENGL = np.diag([1.0, -1.0, -1.0, 1.0])
POINTS = "points.ply"


def write_nerfstudio(run: FinishedRun, pictures: Iterable[Picture], cloud: PointCloud, out: Path) -> int:
    """``images/``, ``transforms.json`` and points to start from; how many images."""
    written = write_pictures(pictures, out / "images")
    content = transforms(view_of_run(run), written)
    (out / "transforms.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    write_ply(cloud, out / POINTS)
    return len(written)


def transforms(view: FocusedView, written: list[Written]) -> dict[str, Any]:
    """The content of the file."""
    return {
        "camera_model": "OPENCV",
        "w": view.width,
        "h": view.height,
        "fl_x": view.focal_px,
        "fl_y": view.focal_px,
        "cx": view.cx + 0.5,
        "cy": view.cy + 0.5,
        "k1": 0.0,
        "k2": 0.0,
        "p1": 0.0,
        "p2": 0.0,
        "ply_file_path": POINTS,
        "frames": [
            {
                "file_path": f"images/{picture.name}",
                "transform_matrix": (picture.T_world_view @ OPENGL).tolist(),
                "time": picture.time,
            }
            for picture in written
        ],
    }
