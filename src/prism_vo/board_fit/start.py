# SPDX-License-Identifier: Apache-2.0
"""A camera to start with that needs no nominal values: each corner by itself, then a plane, then a straight line.

The sightings of one corner lie on ``c + (x_n − c) h``, which is linear in (x_n h, h). The x_n are an ordinary pinhole
image of the board, from which F, the centre and the poses follow; over all corners 1/h is a straight line in 1/z.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from prism_vo.arrays import Array
from prism_vo.batch.numbers import COUNT, CX, CY, FOCAL, KAPPA, CameraNumbers, W
from prism_vo.batch.records import Rows
from prism_vo.board_fit.records import Board, BoardState, CornerSlopes, MicroCorners
from prism_vo.errors import DegenerateError

FEWEST_LENSES = 3  # that a corner must be seen by
FEWEST_CORNERS = 8  # of a frame
FEWEST_FRAMES = 4
REWEIGHTED = 4
GENEROUS = 1.0  # px: sightings that miss by more count less
LEAST_SLOPE, LARGEST_SLOPE = 0.01, 0.99


@dataclass(frozen=True)
class Triangulated:
    """Corners of frames by themselves."""

    frame: Rows  # (C,)
    corner: Rows  # (C,)
    place: Array  # (C, 2) in the central view, raw px
    slope: Array  # (C,)


def triangulate(corners: MicroCorners, board: Board) -> Triangulated:
    """Place and slope of every corner that enough lenses see."""
    code = corners.frame * board.count + corners.corner
    order = np.argsort(code, kind="stable")
    found = []
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        if len(rows) < FEWEST_LENSES:
            continue
        place, slope = _through(corners.centre[rows], corners.xy[rows])
        if LEAST_SLOPE < slope < LARGEST_SLOPE:
            found.append((corners.frame[rows[0]], corners.corner[rows[0]], *place, slope))
    table = np.array(found).reshape(-1, 5)
    return Triangulated(table[:, 0].astype(np.intp), table[:, 1].astype(np.intp), table[:, 2:4], table[:, 4])


def _through(centre: Array, xy: Array) -> tuple[Array, float]:
    """x_n and h of one corner, robustly."""
    about = centre.mean(0)
    offset, away = (xy - centre).reshape(-1), (centre - about).reshape(-1)
    design = np.column_stack([np.tile(np.eye(2), (len(xy), 1)), -away])
    weight: Array = np.ones(len(xy))
    answer: Array = np.zeros(3)
    for _ in range(REWEIGHTED):
        root = np.repeat(weight, 2)
        answer = np.asarray(np.linalg.lstsq(design * root[:, None], offset * root, rcond=None)[0])
        missed = np.linalg.norm((offset - design @ answer).reshape(-1, 2), axis=1)
        weight = np.asarray(1.0 / np.sqrt(1.0 + (missed / GENEROUS) ** 2))
    slope = float(answer[2])
    return about + answer[:2] / (slope if abs(slope) > 1e-9 else 1e-9), slope


def start_state(
    seen: Triangulated,
    board: Board,
    size: tuple[int, int],
    pixel_mm: float,
    frames: int,
    slopes: CornerSlopes | None = None,
) -> BoardState:
    """Zhang's method on the central view, then the line of slopes; ``size``: width, height of the sensor.

    ``slopes``: measured by stereo; where there are some they are better than those of single corners.
    """
    flat = np.concatenate([board.places, np.zeros((board.count, 1))], 1)
    per_frame = [seen.frame == k for k in range(frames)]
    objects = [flat[seen.corner[mine]].astype(np.float32) for mine in per_frame]
    images = [seen.place[mine].astype(np.float32) for mine in per_frame]
    width, height = size
    first = np.array([[max(size), 0, width / 2 - 0.5], [0, max(size), height / 2 - 0.5], [0, 0, 1]], float)
    flags = cv2.CALIB_FIX_ASPECT_RATIO | cv2.CALIB_ZERO_TANGENT_DIST | cv2.CALIB_FIX_PRINCIPAL_POINT
    flags |= cv2.CALIB_FIX_K1 | cv2.CALIB_FIX_K2 | cv2.CALIB_FIX_K3 | cv2.CALIB_USE_INTRINSIC_GUESS
    try:
        _, matrix, _, turns, shifts = cv2.calibrateCamera(
            objects, images, size, first, np.zeros(5), flags=flags
        )
    except cv2.error as error:
        raise DegenerateError(
            "The board's corners do not lie like those of a checkerboard of this size; check --corners."
        ) from error
    poses = np.tile(np.eye(4), (frames, 1, 1))
    for k in range(frames):
        poses[k, :3, :3] = cv2.Rodrigues(turns[k])[0]
        poses[k, :3, 3] = shifts[k][:, 0]
    values = np.zeros(COUNT)
    values[FOCAL], values[CX], values[CY] = matrix[0, 0], matrix[0, 2], matrix[1, 2]
    known = slopes if slopes is not None and len(slopes) else seen
    values[W], values[KAPPA] = _line(known, poses, flat)
    return BoardState(CameraNumbers(values, pixel_mm), poses)


def _line(seen: Triangulated | CornerSlopes, poses: Array, flat: Array) -> tuple[float, float]:
    """w_∞ and κ of 1/h = w_∞ + κ/z."""
    pose, place = poses[seen.frame], flat[seen.corner]
    z = np.einsum("nj,nj->n", pose[:, 2, :3], place) + pose[:, 2, 3]
    design = np.column_stack([np.ones_like(z), 1.0 / z])
    weight = seen.slope**2  # an error of h is one of h²·(1/h)
    answer = np.linalg.lstsq(design * weight[:, None], weight / seen.slope, rcond=None)[0]
    if not (z > 0).all() or answer[1] <= 0:
        raise DegenerateError(
            "Depths of the board and slopes of its corners contradict each other; check the grid, --corners and that "
            "the board was taken at several distances."
        )
    return float(answer[0]), float(answer[1])
