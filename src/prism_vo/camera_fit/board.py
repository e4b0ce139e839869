# SPDX-License-Identifier: Apache-2.0
"""A checkerboard seen in some frames: its corners join the adjustment as points whose mutual places are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.batch.records import BatchState, Observations, Rows
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.distortion import distort

SIZES = tuple(
    (c, r) for c in range(12, 3, -1) for r in range(c, 2, -1)
)  # inner corners a row and a column, to try
CORNER_SIGMA = 0.1  # TF px
FEWEST_VIEWS = 2


@dataclass(frozen=True)
class BoardSightings:
    """Corners of one board in several frames."""

    columns: int
    rows: int
    keyframe: list[int]
    corners: list[Array]  # (columns·rows, 2) TF px each

    @property
    def places(self) -> Array:
        """(N, 3) in squares."""
        y, x = np.mgrid[: self.rows, : self.columns].reshape(2, -1)
        return np.stack([x, y, np.zeros_like(x)], -1).astype(np.float64)


def find_board(images: Sequence[Floats], size: tuple[int, int] | None) -> BoardSightings | None:
    """Look for a checkerboard in focused images; ``size``: inner corners (columns, rows), tried out where None."""
    greys = [np.clip(np.rint(image), 0, 255).astype(np.uint8) for image in images]
    for columns, rows in (size,) if size is not None else SIZES:
        frames, corners = [], []
        for k, grey in enumerate(greys):
            ok, found = cv2.findChessboardCornersSB(grey, (columns, rows))
            if ok:
                frames.append(k)
                corners.append(found.reshape(-1, 2).astype(np.float64))
            if size is None and k + 1 >= 3 and not frames:
                break
        if len(frames) >= FEWEST_VIEWS:
            return BoardSightings(columns, rows, frames, _same_order(corners))
    return None


def _same_order(corners: list[Array]) -> list[Array]:
    """A board may be found from its other end: turned round where its first corner would jump to the last."""
    out = [corners[0]]
    for now in corners[1:]:
        before = out[-1]
        axis, turned = before[-1] - before[0], now[-1] - now[0]
        out.append(now if axis @ turned > 0 else now[::-1])
    return out


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
