# SPDX-License-Identifier: Apache-2.0
"""A checkerboard seen in some frames: its corners join the adjustment as points whose mutual places are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism_vo.batch.records import BatchState, Observations, Rows
from prism_vo.board_fit.checkerboard import BoardSightings
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.distortion import distort

CORNER_SIGMA = 0.1  # TF px


def with_board(
    state: BatchState, seen: Observations, board: BoardSightings, camera: PlenopticCamera
) -> tuple[BatchState, Observations, Rows]:
    """State and observations with the board's corners added; their rows."""
    view, scale = camera.view("central"), camera.tf_scale
    count, first = board.columns * board.rows, len(state.points)
    host = board.keyframe[0]
    anchor = np.linalg.inv(state.poses[host])
    rays = (board.corners[0] - [view.cx, view.cy]) / view.focal_px
    inv_depth = np.full((count, 1), _depth_near(state, seen, board, scale))
    points = np.concatenate([state.points, np.concatenate([rays, inv_depth], 1)])
    anchors = np.concatenate([state.anchors, np.repeat(anchor[None], count, 0)])
    raw = [distort(camera.calibration, scale * (c + 0.5) - 0.5) for c in board.corners]
    views = len(board.keyframe)
    point = np.repeat(np.arange(count), views) + first
    added = Observations(
        point,
        np.tile(np.array(board.keyframe, np.intp), count),
        np.stack(raw, 1).reshape(-1, 2),
        np.repeat(np.eye(2)[None] / (CORNER_SIGMA * scale), count * views, 0),
        np.full(count * views, np.nan),
        np.full(count * views, np.nan),
        seen.slope_power,
    )
    return (
        replace(state, points=points, anchors=anchors),
        seen.joined(added),
        np.arange(first, first + count),
    )


def _depth_near(state: BatchState, seen: Observations, board: BoardSightings, scale: int) -> float:
    """Inverse depth of the points nearest to the board in its first view."""
    mine = seen.keyframe == board.keyframe[0]
    middle = scale * (board.corners[0].mean(0) + 0.5) - 0.5
    away = np.linalg.norm(seen.xy[mine] - middle, axis=1)
    nearest = seen.point[mine][np.argsort(away)[:20]]
    return (
        float(np.median(state.points[nearest, 2])) if len(nearest) else float(np.median(state.points[:, 2]))
    )
