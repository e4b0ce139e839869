# SPDX-License-Identifier: Apache-2.0
"""Where micro-images show the corners of a board, and the normal equations of what is left over.

A micro-image with centre c shows a point at ``c + (x_n − c) h``: x_n is its place in the central view and h its stereo
slope (docs/camera-model.md, eqs. 6 and 8 joined), so the projection of the batch adjustment is all that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from prism_vo.arrays import Array, Mask
from prism_vo.batch.numbers import COUNT
from prism_vo.batch.projection import POSE, project
from prism_vo.batch.records import BatchState, Observations, Rows
from prism_vo.batch.system import CameraPrior
from prism_vo.board_fit.records import Board, BoardState, CornerSlopes, MicroCorners
from prism_vo.linear.scaling import jacobi_scale, scaled

HUBER = 2.0  # σ
SIZE = COUNT  # place of the board's size among the variables
FIRST_POSE = COUNT + 1


@dataclass(frozen=True)
class Seen:
    """Corners as a state predicts them: D numbers each."""

    value: Array  # (N, D)
    by_shared: Array  # (N, D, COUNT + 1): by the camera's numbers and by the board's size
    by_pose: Array  # (N, D, 6)


def predict(state: BoardState, board: Board, corners: MicroCorners) -> Seen:
    """Places in micro-images (N, 2), raw px."""
    at = _central(state, board, corners.frame, corners.corner)
    to_corner, slope = at.value[:, :2] - corners.centre, at.value[:, 2]

    def in_micro_image(by: Array) -> Array:
        return np.asarray(slope[:, None, None] * by[:, :2] + to_corner[:, :, None] * by[:, 2:])

    place = corners.centre + to_corner * slope[:, None]
    return Seen(place, in_micro_image(at.by_shared), in_micro_image(at.by_pose))


def predict_slopes(state: BoardState, board: Board, slopes: CornerSlopes) -> Seen:
    """Slopes (M, 1)."""
    at = _central(state, board, slopes.frame, slopes.corner)
    return Seen(at.value[:, 2:], at.by_shared[:, 2:], at.by_pose[:, 2:])


def _central(state: BoardState, board: Board, frame: Rows, corner: Rows) -> Seen:
    """Places (raw px) and slopes in the central view (N, 3)."""
    places = board.places
    # a board lies in the plane one unit before its anchor, so that its corners are ordinary points (a, b, q)
    anchor = np.eye(4)
    anchor[2, 3] = -1.0
    points = np.concatenate([state.size * places, np.ones((board.count, 1))], 1)
    scene = BatchState(state.camera, state.poses, np.repeat(anchor[None], board.count, 0), points)
    none = np.zeros(0)
    at = project(scene, Observations(corner, frame, none.reshape(0, 2), none.reshape(0, 2, 2), none, none))
    by_size = np.einsum("nij,nj->ni", at.by_point[:, :, :2], places[corner])
    return Seen(at.predicted, np.concatenate([at.by_camera, by_size[:, :, None]], 2), at.by_pose)


@dataclass(frozen=True)
class BoardSystem:
    """``H δ = −b`` at a state."""

    energy: float
    residual: Array  # (N, 2) predicted less seen, raw px
    slope_residual: Array  # (M,)
    h: Array  # (M, M)
    b: Array  # (M,)

    def step(self, free: Mask, damping: float) -> Array | None:
        """A damped increment of the variables (M,)."""
        h = self.h[np.ix_(free, free)]
        h[np.diag_indices_from(h)] *= 1.0 + damping
        out = np.zeros(len(self.b))
        try:
            scale = jacobi_scale(h)
            factor = scipy.linalg.cho_factor(scaled(h, scale), check_finite=True)
            out[free] = -scale * scipy.linalg.cho_solve(factor, scale * self.b[free])
        except (np.linalg.LinAlgError, ValueError):
            return None
        return out


def linearize(
    state: BoardState,
    board: Board,
    corners: MicroCorners,
    slopes: CornerSlopes,
    sigma: float,
    prior: CameraPrior,
) -> BoardSystem:
    """The normal equations at a state; ``sigma``: of a sighting, raw px an axis."""
    seen, sloped = predict(state, board, corners), predict_slopes(state, board, slopes)
    residual, slope_residual = seen.value - corners.xy, sloped.value - slopes.slope[:, None]
    count = FIRST_POSE + POSE * len(state.poses)
    h, b = np.zeros((count, count)), np.zeros(count)
    information, away = prior.information, state.camera.values - prior.mean
    h[np.arange(COUNT), np.arange(COUNT)] += information
    b[:COUNT] += information * away
    energy = float((information * away**2).sum())
    for at, frame, left, spread in (
        (seen, corners.frame, residual, np.full(len(corners), sigma)),
        (sloped, slopes.frame, slope_residual, slopes.sigma),
    ):
        size = np.linalg.norm(left, axis=1) / spread
        weight = HUBER / np.maximum(size, HUBER)
        energy += float((weight * size**2 * (2.0 - weight)).sum())
        _accumulate(at, frame, left, weight / spread**2, len(state.poses), h, b)
    return BoardSystem(energy, residual, slope_residual[:, 0], h, b)


def _accumulate(
    seen: Seen, frame: Rows, residual: Array, weight: Array, frames: int, h: Array, b: Array
) -> None:
    """Add the rows of one kind to the normal equations, frame by frame."""
    for k in range(frames):
        mine = frame == k
        rows = np.concatenate([np.arange(FIRST_POSE), FIRST_POSE + POSE * k + np.arange(POSE)])
        by = np.concatenate([seen.by_shared[mine], seen.by_pose[mine]], 2)
        weighted = by * weight[mine, None, None]
        h[np.ix_(rows, rows)] += np.tensordot(weighted, by, ((0, 1), (0, 1)))
        b[rows] += np.tensordot(weighted, residual[mine], ((0, 1), (0, 1)))
