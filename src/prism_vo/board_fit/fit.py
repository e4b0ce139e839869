# SPDX-License-Identifier: Apache-2.0
"""A camera from the corners of a board, judged by pictures that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from prism_vo.arrays import Array
from prism_vo.batch.numbers import COUNT, DISTORTION, FOCAL, CameraNumbers
from prism_vo.batch.priors import Terms, loose_prior
from prism_vo.batch.system import CameraPrior
from prism_vo.board_fit.adjust import HALF, AdjustedBoard, adjust, usable_radius, within
from prism_vo.board_fit.records import Board, BoardState, CornerSlopes, MicroCorners
from prism_vo.board_fit.start import FEWEST_CORNERS, FEWEST_FRAMES, start_state, triangulate
from prism_vo.errors import DegenerateError

Distortion = Literal["auto", "none", "radial", "full"]
Say = Callable[[str, int, int], None]
TRIED: tuple[Terms, ...] = ("none", "radial", "two radial")  # by "auto", the simplest first
MOST_FOLDS = 20
BETTER = 1.0  # standard errors by which a further term must lower the errors in pictures not seen
FEWEST_INNER = 20  # corners a picture in the inner half of micro-images, for them to judge the others
# of F: boards of the right size leave 0.6 to 2 % (a real R12, focused so near that infinity has a virtual depth of
# −20.0 ± 0.15: that σ tells nothing), those whose corners are counted wrong 23 to 61 %
LARGEST_FOCAL_SIGMA = 0.05
NARROWEST = 0.05  # spread of the board's distances over their mean: else slopes say nothing of w_∞


@dataclass(frozen=True)
class HeldOut:
    """Frames left out of the fit, in folds."""

    numbers: Array  # (folds, 9) the camera without each
    size: Array  # (frames,) a square as the camera without this frame measures it, over the true one
    squared: Array  # (frames,) mean squared residual of the frame's corners an axis, raw px²
    count: Array  # (frames,) corners of the frame

    @property
    def rms(self) -> float:
        """Of all corners, raw px an axis."""
        return float(np.sqrt(np.average(self.squared, weights=self.count)))


@dataclass(frozen=True)
class BoardFit:
    """The calibrated camera."""

    numbers: CameraNumbers
    covariance: Array  # (9, 9) by leaving out frames
    adjusted: AdjustedBoard
    every: AdjustedBoard  # with the corners beside the rim of their micro-images
    held_out: HeldOut
    radius: float  # within which corners counted, raw px
    terms: Terms  # of the distortion
    board: Board
    given: int  # sightings

    @property
    def sigma(self) -> Array:
        """Standard deviations of the nine numbers."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def calibrate_board(
    corners: MicroCorners,
    slopes: CornerSlopes,
    board: Board,
    size: tuple[int, int],
    pixel_mm: float,
    half_pitch: float,
    distortion: Distortion = "auto",
    say: Say = lambda words, done, of: None,
) -> BoardFit:
    """All of the camera; ``size``: width, height of the sensor."""
    given = len(corners)
    corners, slopes = _with_enough_corners(corners, slopes, board)
    frames = corners.frames
    say("a first camera", 0, 0)
    state = start_state(triangulate(corners, board), board, size, pixel_mm, frames, slopes)
    check_distances(state)
    kinds: tuple[Terms, ...] = TRIED if distortion == "auto" else (distortion,)
    first = adjust(state, board, corners, slopes, loose_prior(state.camera, size, "radial"))
    radius = _usable_radius(first, board, half_pitch, size)
    used = within(first.state, board, first.corners, radius)
    best: tuple[AdjustedBoard, HeldOut, Terms] | None = None
    for number, kind in enumerate(kinds):
        say(f"adjusting with distortion: {kind}", number, len(kinds))
        begin = undistorted(first.state) if kind == "none" else first.state
        prior = loose_prior(first.state.camera, size, kind)
        found = adjust(begin, board, used, slopes, prior)
        held = leave_out(found, board, prior, say)
        if best is None or _is_better(held, best[1]):
            best = (found, held, kind)
    assert best is not None
    found, held, kind = best
    fit = BoardFit(
        found.state.camera, jackknife(held.numbers), found, first, held, radius, kind, board, given
    )
    check_determined(fit)
    return fit


def _with_enough_corners(
    corners: MicroCorners, slopes: CornerSlopes, board: Board
) -> tuple[MicroCorners, CornerSlopes]:
    """Without pictures that show too little of the board."""
    seen = np.bincount(triangulate(corners, board).frame, minlength=corners.frames)
    good = [int(k) for k in np.flatnonzero(seen >= FEWEST_CORNERS)]
    if len(good) < FEWEST_FRAMES:
        raise DegenerateError(
            f"The board is seen well enough in {len(good)} picture{'' if len(good) == 1 else 's'}; give at least "
            f"{FEWEST_FRAMES}, from several distances and tilted."
        )
    return corners.of_frames(good), slopes.of_frames(good)


def _usable_radius(first: AdjustedBoard, board: Board, half_pitch: float, size: tuple[int, int]) -> float:
    """See :func:`usable_radius`; where the inner half alone does not determine a camera, all corners are used."""
    inner = within(first.state, board, first.corners, HALF * half_pitch)
    if len(inner) < FEWEST_INNER * first.corners.frames:
        return float("inf")
    prior = loose_prior(first.state.camera, size, "radial")
    found = adjust(first.state, board, inner, first.slopes, prior)
    return usable_radius(found, board, first.corners, half_pitch)


def check_distances(state: BoardState) -> None:
    """A board that was always equally far away shows neither F nor w_∞."""
    far = state.poses[:, 2, 3]
    if far.max() - far.min() < NARROWEST * far.mean():
        raise DegenerateError(
            "The board was always at the same distance, so the optics cannot be told apart; take it from near and far."
        )


def check_determined(fit: BoardFit) -> None:
    """A camera that hangs on which pictures are left out is none."""
    focal = float(fit.sigma[FOCAL] / abs(fit.numbers.values[FOCAL]))
    if focal > LARGEST_FOCAL_SIGMA:
        b = fit.board
        raise DegenerateError(
            f"The pictures do not determine the camera (F to {100 * focal:.0f} %): the board may not have {b.columns} "
            f"by {b.rows} inner corners; leave --corners out to have pictures tried, or take more of them, from near "
            "and far and tilted."
        )


def undistorted(state: BoardState) -> BoardState:
    """The same with a perfect lens."""
    values = state.camera.values.copy()
    values[DISTORTION] = 0.0
    return BoardState(CameraNumbers(values, state.camera.pixel_mm), state.poses)


def leave_out(found: AdjustedBoard, board: Board, prior: CameraPrior, say: Say) -> HeldOut:
    """Fits without each fold of frames, and what they say of the frames they have not seen."""
    frames = found.corners.frames
    folds = [list(part) for part in np.array_split(np.arange(frames), min(frames, MOST_FOLDS))]
    numbers, size, squared = [], np.ones(frames), np.zeros(frames)
    for done, fold in enumerate(folds):
        say("leaving out pictures", done, len(folds))
        rest = [k for k in range(frames) if k not in fold]
        begin = BoardState(found.state.camera, found.state.poses[rest])
        seen, sloped = found.corners.of_frames(rest), found.slopes.of_frames(rest)
        without = adjust(begin, board, seen, sloped, prior, found.sigma)
        numbers.append(without.state.camera.values)
        held = CameraPrior.held(without.state.camera.values)
        for frame in fold:
            alone = BoardState(without.state.camera, found.state.poses[[frame]])
            mine = found.corners.of_frames([frame]), found.slopes.of_frames([frame])
            squared[frame] = (adjust(alone, board, *mine, held, found.sigma).residual ** 2).mean()
            sized = adjust(alone, board, *mine, held, found.sigma, free_size=True)
            size[frame] = sized.state.size
    count = np.bincount(found.corners.frame, minlength=frames).astype(np.float64)
    return HeldOut(np.array(numbers), size, squared, count)


def _is_better(held: HeldOut, than: HeldOut) -> bool:
    """Whether frames not seen agree that a further term is real."""
    gain = than.squared - held.squared
    return bool(gain.mean() > BETTER * gain.std(ddof=1) / np.sqrt(len(gain)))


def jackknife(numbers: Array) -> Array:
    """(9, 9) from the fits without each fold."""
    folds = len(numbers)
    away = numbers - numbers.mean(0)
    return np.asarray((folds - 1) / folds * away.T @ away).reshape(COUNT, COUNT)
