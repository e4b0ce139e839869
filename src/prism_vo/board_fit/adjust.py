# SPDX-License-Identifier: Apache-2.0
"""Camera and poses of a board from its corners: damped descent, σ from what is left, misdetections taken out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo.arrays import Array, Mask
from prism_vo.batch.adjust import DAMPING, NORMAL_MEDIAN, RAYLEIGH_MEDIAN
from prism_vo.batch.numbers import COUNT
from prism_vo.batch.projection import POSE
from prism_vo.batch.system import CameraPrior
from prism_vo.board_fit.records import Board, BoardState, CornerSlopes, MicroCorners
from prism_vo.board_fit.system import FIRST_POSE, SIZE, BoardSystem, linearize, predict
from prism_vo.errors import DegenerateError
from prism_vo.linear.descent import descend

ITERATIONS = 60
SMALL_GAIN = 1e-2  # of the energy, a sum of squares in σ
ROUNDS = 3
FIRST_SIGMA = 0.5  # px
FAR_OUT = 6.0  # σ: such a corner is another one, or none
INNER, HALF = 1 / 3, 1 / 2  # of half the pitch: where corners are found best
RING = 1 / 12  # of half the pitch
WORSE = (
    1.25  # a ring whose corners scatter by so much more than the inner ones, and all beyond it, are left out
)
FEWEST_IN_RING = 50


@dataclass(frozen=True)
class AdjustedBoard:
    """The state with the least energy."""

    state: BoardState
    corners: MicroCorners  # those that counted
    slopes: CornerSlopes  # with σ as they turned out to be
    residual: Array  # (N, 2) predicted less seen, raw px
    sigma: float  # of a sighting, px an axis
    at: BoardSystem
    free: Mask

    @property
    def rms(self) -> float:
        """Of the residuals an axis, raw px."""
        return float(np.sqrt((self.residual**2).mean()))


@dataclass
class _Problem:
    board: Board
    corners: MicroCorners
    slopes: CornerSlopes
    sigma: float
    prior: CameraPrior
    free: Mask

    def linearize(self, state: BoardState) -> BoardSystem:
        return linearize(state, self.board, self.corners, self.slopes, self.sigma, self.prior)

    def step(self, at: BoardSystem, state: BoardState, damping: float) -> Array | None:
        return at.step(self.free, damping)

    def moved(self, state: BoardState, step: Array) -> BoardState:
        return state.moved(step[:COUNT], float(step[SIZE]), step[FIRST_POSE:].reshape(-1, POSE))

    def accepted(self, at: BoardSystem) -> None:
        """Nothing adapts."""

    def is_negligible(self, step: Array, state: BoardState) -> bool:
        return False

    def is_over(self, step: Array, state: BoardState, taken: bool) -> bool:
        return False


def adjust(
    state: BoardState,
    board: Board,
    corners: MicroCorners,
    slopes: CornerSlopes,
    prior: CameraPrior,
    sigma: float | None = None,
    free_size: bool = False,
) -> AdjustedBoard:
    """Minimise over poses and the free numbers of the camera, or of a board whose size is free.

    ``sigma``: known already, and misdetections were taken out; else both are found here.
    """
    free = np.concatenate([prior.sigma > 0, [free_size], np.ones(POSE * len(state.poses), np.bool_)])
    rounds = ROUNDS if sigma is None else 1
    now = FIRST_SIGMA if sigma is None else sigma
    for turn in range(rounds):
        problem = _Problem(board, corners, slopes, now, prior, free)
        damping = replace(DAMPING, small_gain=SMALL_GAIN / max(len(corners), 1))
        found = descend(problem, state, problem.linearize(state), damping, ITERATIONS)
        if found.failed or not np.isfinite(found.at.energy):
            raise DegenerateError(
                "The adjustment found no minimum; the board's pictures do not determine it."
            )
        state, at = found.state, found.at
        if sigma is None:
            size = np.linalg.norm(at.residual, axis=1)
            now = max(float(np.median(size)) / RAYLEIGH_MEDIAN, 1e-6)
            missed = np.abs(at.slope_residual) / slopes.sigma
            if len(slopes):
                slopes = replace(
                    slopes, sigma=slopes.sigma * max(float(np.median(missed)) / NORMAL_MEDIAN, 1e-6)
                )
            if turn + 1 < rounds:
                corners = corners.take(size < FAR_OUT * now)
                slopes = slopes.take(np.abs(at.slope_residual) < FAR_OUT * slopes.sigma)
    at = linearize(state, board, corners, slopes, now, prior)
    return AdjustedBoard(state, corners, slopes, at.residual, now, at, free)


def usable_radius(inner: AdjustedBoard, board: Board, corners: MicroCorners, half_pitch: float) -> float:
    """How far from the centre of a micro-image corners are found as well as near it, raw px.

    Beside the rim a blurred corner is cut off, and detectors place what is left of it wrongly; such errors have a
    direction, so weights alone do not help. ``inner``: adjusted to the corners in the inner half alone, so that those
    beside the rim cannot bend the camera they are judged by.
    """
    left = predict(inner.state, board, corners).value
    radius = np.linalg.norm(left - corners.centre, axis=1)
    missed = np.linalg.norm(left - corners.xy, axis=1)
    near = missed[radius < INNER * half_pitch]
    if len(near) < FEWEST_IN_RING:
        return float("inf")
    allowed = WORSE * _rms(near, inner.sigma)
    ring = RING * half_pitch
    for k in range(round(HALF / RING), int(np.ceil(radius.max() / ring))):
        mine = (radius >= k * ring) & (radius < (k + 1) * ring)
        if mine.sum() >= FEWEST_IN_RING and _rms(missed[mine], inner.sigma) > allowed:
            return k * ring
    return float("inf")


def _rms(missed: Array, sigma: float) -> float:
    """Without what is no corner at all."""
    return float(np.sqrt((missed[missed < FAR_OUT * sigma] ** 2).mean()))


def within(state: BoardState, board: Board, corners: MicroCorners, radius: float) -> MicroCorners:
    """The corners that lie so near to the centre of their micro-image, by where they should be."""
    place = predict(state, board, corners).value
    return corners.take(np.linalg.norm(place - corners.centre, axis=1) < radius)
