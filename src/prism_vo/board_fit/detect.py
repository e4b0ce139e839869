# SPDX-License-Identifier: Apache-2.0
"""Corners of a checkerboard in the micro-images of raw pictures.

The focused image shows where the board is and stereo how far; every lens that should see a corner is then looked at by
itself. Over a plane 1/h changes linearly, which takes the noise of single slopes away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
from scipy.spatial import cKDTree

from prism_vo.arrays import Array, Floats
from prism_vo.batch.numbers import CameraNumbers
from prism_vo.batch.wide import wide_decoder
from prism_vo.board_fit.checkerboard import find_board
from prism_vo.board_fit.records import Board, CornerSlopes, MicroCorners
from prism_vo.board_fit.saddle import refine_saddles
from prism_vo.errors import DegenerateError
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.mla import MicroLensArray
from prism_vo.types import RawFrame

FEWEST_SLOPES = 6  # of a board
PASSES = 4
FARTHEST = 40  # pitches from a corner to a lens that sees it
Say = Callable[[str, int, int], None]
Part = TypeVar("Part", MicroCorners, CornerSlopes)


@dataclass(frozen=True)
class Detected:
    """What was seen of a board."""

    board: Board
    corners: MicroCorners
    slopes: CornerSlopes
    pictures: list[int]  # that show it, in the order of the frames


def detect_corners(
    frames: Sequence[RawFrame],
    calibration: Calibration,
    white: Floats | None,
    square: float,
    size: tuple[int, int] | None,
    say: Say = lambda words, done, of: None,
) -> Detected:
    """``square``: m; ``size``: inner corners (columns, rows), tried out where None. Optics may be nominal."""
    decoder = wide_decoder(CameraNumbers.of(calibration), calibration, white)
    images = []
    for done, frame in enumerate(frames):
        say("focusing", done, len(frames))
        images.append(decoder.focus(frame).image)
    seen = find_board(images, size)
    if seen is None:
        raise DegenerateError(
            "No checkerboard is seen in two of the pictures; show all of it, sharp and evenly lit, and give the number "
            "of its inner corners with --corners."
        )
    board = Board(seen.columns, seen.rows, square)
    array = MicroLensArray.of(decoder.camera)
    parts: list[tuple[MicroCorners, CornerSlopes]] = []
    pictures = []
    for done, (picture, places) in enumerate(zip(seen.keyframe, seen.corners)):
        say("corners in micro-images", done, len(seen.keyframe))
        found = _in_micro_images(frames[picture], places, decoder, array, len(parts))
        if found is not None:
            parts.append(found)
            pictures.append(picture)
    if not parts:
        raise DegenerateError(
            "The board is seen, but not in depth: micro-images show too little of it; come nearer or use a finer board."
        )
    return Detected(board, _joined([p[0] for p in parts]), _joined([p[1] for p in parts]), pictures)


def _in_micro_images(
    frame: RawFrame, places: Array, decoder: Decoder, array: MicroLensArray, number: int
) -> tuple[MicroCorners, CornerSlopes] | None:
    """The corners of one picture and their slopes; None: no depth."""
    scale = decoder.camera.tf_scale
    depth = decoder.measure(frame, places)
    beta = decoder.view.beta
    slope = decoder.view.alpha + beta * depth.inv_virtual_depth.astype(np.float64)
    plane = plane_of_slopes(places, np.where(depth.valid, slope, np.nan))
    if plane is None:
        return None
    good = np.flatnonzero(depth.valid)
    sigma = abs(beta) * np.sqrt(depth.variance[good].astype(np.float64))
    raw = scale * (places + 0.5) - 0.5
    reach = np.minimum(array.usable_radius / plane, FARTHEST * array.diameter)
    near = cKDTree(array.image_centres).query_ball_point(raw, reach)
    corner = np.repeat(np.arange(len(near)), [len(rows) for rows in near])
    lens = np.concatenate([np.array(sorted(rows), np.intp) for rows in near])
    centre = array.image_centres[lens]
    expected = centre + (raw[corner] - centre) * plane[corner, None]
    image, border = _light(frame, decoder)
    found = refine_saddles(image, expected + border, centre + border, array.usable_radius)
    kept = found.found
    seen = MicroCorners(
        np.full(int(kept.sum()), number, np.intp), corner[kept], centre[kept], found.place[kept] - border
    )
    return seen, CornerSlopes(np.full(len(good), number, np.intp), good, slope[good], sigma)


def _light(frame: RawFrame, decoder: Decoder) -> tuple[Floats, int]:
    """The raw image without vignetting and by how much it is padded."""
    padded = decoder.prepare(frame).sharpened(0.0)
    return padded, int(padded.shape[0] - frame.image.shape[0]) // 2


def plane_of_slopes(places: Array, slope: Array) -> Array | None:
    """Slopes (N,) at all places from those measured (NaN: none): 1/h is linear in x and y over a plane."""
    known = np.isfinite(slope)
    if known.sum() < FEWEST_SLOPES:
        return None
    design = np.column_stack([places, np.ones(len(places))])
    weight: Array = np.ones(int(known.sum()))
    inverse = 1.0 / slope[known]
    answer: Array = np.zeros(3)
    for _ in range(PASSES):
        answer = np.asarray(np.linalg.lstsq(design[known] * weight[:, None], inverse * weight, rcond=None)[0])
        missed = np.abs(inverse - design[known] @ answer)
        weight = np.asarray(1.0 / np.sqrt(1.0 + (missed / max(2.0 * float(np.median(missed)), 1e-6)) ** 2))
    return np.asarray(1.0 / np.maximum(design @ answer, 1.0))


def _joined(parts: Sequence[Part]) -> Part:
    """Those of all pictures."""
    columns = {f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(parts[0])}
    return replace(parts[0], **columns)
