# SPDX-License-Identifier: Apache-2.0
"""Why a recording cannot calibrate a camera: one sentence each, before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted
from prism_vo.batch.numbers import FOCAL, W
from prism_vo.batch.projection import project
from prism_vo.batch.records import BatchState, Observations
from prism_vo.calibrate.fit import fit_grid
from prism_vo.calibrate.grid import Grid, GridUncertainError, centre_distance
from prism_vo.calibrate.multiples import GridMultipleError
from prism_vo.datasets.source import Sequence as Recording
from prism_vo.errors import DegenerateError, InputError
from prism_vo.optics.calibration import Calibration
from prism_vo.pipeline import RunResult
from prism_vo.trajectory import Trajectory

FEWEST_FRAMES = 5
FEWEST_POINTS = 100
LARGEST_OFFSET = 0.1  # of the pitch that centres may be off, RMS
MOST_LOST = 0.3  # of the frames
LEAST_PART = 40  # frames of an unbroken part that a calibration may do with
LEAST_PARALLAX = 2.0  # raw px that points move against each other, beside what turning explains
LEAST_FLOW = 2.0  # raw px
LEAST_RELIEF = 0.03  # spread of inverse depth over its median
LARGEST_W_SIGMA = 0.1
LARGEST_FOCAL_SIGMA = 0.05  # of F
MOST_REFUSED = 0.35  # of the sightings: a scene that moves
LARGEST_POSITION_FACTOR = 12.0


def check_frames(recording: Recording) -> None:
    """Enough frames at all."""
    if len(recording) < FEWEST_FRAMES:
        count = len(recording)
        raise InputError(
            f"{recording.name}: {count} frame{'' if count == 1 else 's'}; a calibration needs at least "
            f"{FEWEST_FRAMES}, better 40, of a camera that moves."
        )
    if recording.is_decoded:
        raise InputError(f"{recording.name}: holds decoded frames; a calibration needs raw images.")


def unbroken_path(name: str, result: RunResult, needs_all: bool) -> Trajectory:
    """The odometry must have come through, or through a part that is long enough; ``needs_all``: the fact may be
    elsewhere."""
    frames, copies = len(result.reports), sum(report.copy for report in result.reports)
    if frames - copies < FEWEST_FRAMES:
        raise DegenerateError(
            f"{name}: {copies} of {frames} images are copies of the one before: the camera does not move, or images "
            "were recorded twice; move it sideways and towards the scene."
        )
    longest = result.trajectory.in_segment(result.trajectory.largest_segment)
    if result.segments > 1 and len(longest) >= LEAST_PART and not needs_all:
        return longest
    if result.lost > MOST_LOST * frames or len(result.trajectory) < FEWEST_FRAMES:
        raise DegenerateError(
            f"{name}: {result.lost} of {frames} frames could not be followed, so no camera can be found; record "
            "slower, with more light and more texture."
        )
    if result.segments > 1:
        raise DegenerateError(
            f"{name}: tracking broke off and began again, so that the parts do not belong together; give one part "
            "with --start and --frames."
        )
    return result.trajectory


def check_grid(name: str, calibration: Calibration, images: Sequence[NDArray[Any]]) -> None:
    """The grid must be this camera's; images that do not show one say nothing against it."""
    claimed = Grid.of(calibration.mla)
    try:
        found = fit_grid(images, claimed).grid
    except GridMultipleError as error:
        raise InputError(f"{name}: {error}") from error
    except GridUncertainError:
        return
    away = centre_distance(found, claimed, images[0].shape)
    if np.sqrt((away**2).mean()) > LARGEST_OFFSET * found.pitch:
        raise InputError(
            f"{name}: the micro-lens grid of the camera file is not that of these images (their pitch is "
            f"{found.pitch:.2f} px, the file's {claimed.pitch:.2f} px); find it with prism-vo calibrate grid first."
        )


def check_motion(name: str, state: BatchState, seen: Observations, first: bool) -> None:
    """Points, flow, parallax and relief, in this order; looked at once, with the first observations."""
    if not first:
        return
    points = len(np.unique(seen.point))
    if points < FEWEST_POINTS or len(seen) < 3 * FEWEST_POINTS:
        raise DegenerateError(
            f"{name}: only {points} points could be found again in other frames; film something with texture, "
            "slowly, so that the same things stay in view."
        )
    if flow(seen) < LEAST_FLOW:
        raise DegenerateError(f"{name}: the camera does not move; move it sideways and towards the scene.")
    if parallax(state, seen) < LEAST_PARALLAX:
        raise DegenerateError(
            f"{name}: the camera only turns, or hardly moves beside the distance of the scene, so depth and "
            "parallax cannot be compared; move it sideways by a tenth of the distance or more."
        )
    if relief(seen) < LEAST_RELIEF:
        raise DegenerateError(
            f"{name}: the scene is flat, everything in it has nearly the same depth, so the optics cannot be told "
            "apart; film something with near and far parts."
        )


def flow(seen: Observations) -> float:
    """Median over points of how far they move over the sensor, raw px."""
    return float(np.median(_spread_by_point(seen.xy, seen)))


def parallax(state: BatchState, seen: Observations) -> float:
    """Median over points of how far depth moves them between keyframes, raw px."""
    at_infinity = replace(state, points=state.points * [1.0, 1.0, 0.0])
    here = project(state, seen).predicted[:, :2]
    flat = project(at_infinity, seen).predicted[:, :2]
    return float(np.median(_spread_by_point(here - flat, seen)))


def relief(seen: Observations) -> float:
    """Spread of the virtual depths over their median: how much of depth the scene has."""
    known = np.isfinite(seen.slope)
    v = 1.0 / seen.slope[known]
    low, high = np.percentile(v, [5, 95])
    return float((high - low) / np.median(v))


def _spread_by_point(values: Array, seen: Observations) -> Array:
    first = np.flatnonzero(np.diff(seen.point, prepend=-1))
    low = np.minimum.reduceat(values, first, axis=0)
    high = np.maximum.reduceat(values, first, axis=0)
    return np.asarray(np.linalg.norm(high - low, axis=1))


def check_result(found: Adjusted, covariance: Array) -> None:
    """A minimum that says nothing, or a scene that moved."""
    values = found.state.camera.values
    if found.position_factor > LARGEST_POSITION_FACTOR or len(found.seen) < (1 - MOST_REFUSED) * found.given:
        raise DegenerateError(
            "The points do not move like one rigid scene; film something in which nothing moves but the camera."
        )
    w_sigma, focal_sigma = np.sqrt(covariance[W, W]), np.sqrt(covariance[FOCAL, FOCAL]) / values[FOCAL]
    if w_sigma > LARGEST_W_SIGMA or focal_sigma > LARGEST_FOCAL_SIGMA:
        raise DegenerateError(
            f"The recording does not determine the camera (F to {100 * focal_sigma:.0f} %, virtual depth of infinity "
            f"{values[W]:.2f} to ±{w_sigma:.2f}): move farther sideways, and have near and far things in view."
        )
