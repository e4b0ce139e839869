# SPDX-License-Identifier: Apache-2.0
"""A camera good enough for the odometry to start with, whatever nominal values say.

Nominal optics that are 5 % wrong put infinity at half or twice its virtual depth: measured slopes would lie outside of
what the decoder looks for. So slopes are first measured over all that can be measured, and w_∞ is found from a few
frames that were followed: which w_∞ lets one rigid motion explain how the points moved?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.batch.numbers import CX, CY, FOCAL, KAPPA, CameraNumbers, W
from prism_vo.batch.wide import wide_decoder
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame

CORNERS, QUALITY = 600, 0.005
FRAMES = 6  # followed, at most
FEWEST = 60  # points that must be followed
LARGEST_FLOW = 0.12  # of the image's width: beyond it following gets uncertain
BACK_AND_FORTH = 0.5  # px that a point followed back may miss its start by
RATIOS = (1.15, 1.4, 2.0, 3.0, 6.0, 20.0)  # of the farthest to the nearest depth, to try
FAR, NEAR = 97.0, 3.0  # percentiles of the measured slopes
SOFT = 0.5  # px: misses that count in full
ITERATIONS, TRIES, SMALL_GAIN, DIFFERENCE = 30, 6, 1e-6, 1e-6
SPARE = 1.25  # the largest virtual depth searched for is so much larger than that of the nearest points seen


@dataclass(frozen=True)
class Start:
    """A camera to run the odometry with, and the range that its decoder must search."""

    camera: PlenopticCamera
    nearest: float  # virtual depth
    followed: int  # points that said something about w_∞; 0: nominal

    def near_of(self, numbers: CameraNumbers) -> float:
        """In the unit of a camera: as its w_∞ changes, the nearest slope lies at another distance."""
        return float(numbers.values[KAPPA] / max(self.nearest - numbers.values[W], 1e-3))


def start_camera(calibration: Calibration, frames: Sequence[RawFrame], white: Floats | None) -> Start:
    """The nominal camera with w_∞ as a few frames (in order) show it."""
    numbers = CameraNumbers.of(calibration)
    decoder = wide_decoder(numbers, calibration, white)
    images = [decoder.focus(frame).image for frame in frames]
    corners, slope = _measured_corners(decoder, frames[0], images[0])
    known = np.isfinite(slope)
    far, near = (
        (np.percentile(1.0 / slope[known], 100 - p) for p in (FAR, NEAR)) if known.any() else (2.0, 6.0)
    )
    tracks = _follow(images, corners[known])
    w_infinity = numbers.values[W]
    if len(tracks) and tracks[0].count >= FEWEST:
        w_infinity = _most_rigid(
            tracks, slope[known], numbers, calibration.totally_focused.scale, float(far), float(near)
        )
    elif not w_infinity < far:
        w_infinity = 0.9 * far
    values = numbers.values.copy()
    values[W] = w_infinity
    camera = PlenopticCamera(CameraNumbers(values, numbers.pixel_mm).calibration(calibration))
    return Start(camera, SPARE * float(near), int(known.sum()) if tracks else 0)


def _measured_corners(decoder: Decoder, frame: RawFrame, image: Floats) -> tuple[Array, Array]:
    """Corners (N, 2) of a focused image and their slopes (N,)."""
    grey = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    found = cv2.goodFeaturesToTrack(grey, CORNERS, QUALITY, 5.0, blockSize=7)
    corners = np.zeros((0, 2)) if found is None else found.reshape(-1, 2).astype(np.float64)
    depth = decoder.measure(frame, corners)
    slope = decoder.view.alpha + decoder.view.beta * depth.inv_virtual_depth.astype(np.float64)
    return corners, np.where(depth.valid, slope, np.nan)


@dataclass(frozen=True)
class _Tracked:
    """Points of the first image in another one."""

    start: Array  # (N, 2)
    end: Array  # (N, 2)
    rows: NDArray[np.intp]  # (N,) of the points

    @property
    def count(self) -> int:
        return len(self.rows)


def _follow(images: Sequence[Floats], corners: Array) -> list[_Tracked]:
    """Optical flow from image to image, as long as most points stay in view."""
    if len(corners) < FEWEST:
        return []
    greys = [np.clip(np.rint(image), 0, 255).astype(np.uint8) for image in images]
    places, alive = corners.astype(np.float32)[:, None], np.ones(len(corners), np.bool_)
    out = []
    for before, after in pairwise(greys):
        moved, ok, _ = cv2.calcOpticalFlowPyrLK(before, after, places, np.empty_like(places))
        back, ok_back, _ = cv2.calcOpticalFlowPyrLK(after, before, moved, np.empty_like(places))
        alive &= (ok[:, 0] > 0) & (ok_back[:, 0] > 0)
        alive &= np.linalg.norm(back - places, axis=2)[:, 0] < BACK_AND_FORTH
        places = np.asarray(moved, np.float32)
        if alive.sum() < FEWEST:
            break
        rows = np.flatnonzero(alive)
        out.append(_Tracked(corners[rows], places[rows, 0].astype(np.float64), rows))
        flow = np.linalg.norm(out[-1].end - out[-1].start, axis=1)
        if np.median(flow) > LARGEST_FLOW * images[0].shape[1]:
            break
    picked: Iterable[int] = (
        np.unique(np.linspace(0, len(out) - 1, min(len(out), FRAMES)).astype(int)) if out else []
    )
    return [out[k] for k in picked][::-1]


def _most_rigid(
    tracks: list[_Tracked], slope: Array, numbers: CameraNumbers, scale: int, far: float, near: float
) -> float:
    """w_∞ with which one motion a frame explains all tracks best, from several starts."""
    v = numbers.values
    focal = v[FOCAL] / scale
    centre = (v[[CX, CY]] + 0.5) / scale - 0.5
    widths = max(near - far, 0.05 * far)

    def misses(parameters: Array) -> Array:
        parts = []
        for k, track in enumerate(tracks):
            q = np.maximum(1.0 / slope[track.rows] - parameters[0], 1e-3)
            rays = np.column_stack([(track.start - centre) / focal, np.ones(track.count)])
            pose = se3.exp(parameters[1 + 6 * k : 7 + 6 * k])
            p = rays @ pose[:3, :3].T + q[:, None] * pose[:3, 3]
            parts.append((focal * p[:, :2] / np.maximum(p[:, 2:], 0.05) + centre - track.end).reshape(-1))
        return np.concatenate(parts)

    best = None
    for ratio in RATIOS:
        first = np.zeros(1 + 6 * len(tracks))
        first[0] = far - widths / (ratio - 1.0)
        found = _descended(misses, first)
        if best is None or found[1] < best[1]:
            best = found
    assert best is not None
    return float(np.clip(best[0][0], far - 30.0 * widths, far - 0.02 * widths))


def _descended(misses: Callable[[Array], Array], first: Array) -> tuple[Array, float]:
    """Least squares with a soft loss by normal equations of a few dozen unknowns; state and cost."""
    state, damping = first, 1e-3
    left = misses(state)
    cost = _soft(left)
    for _ in range(ITERATIONS):
        jacobian = np.stack(
            [(misses(state + step) - left) / DIFFERENCE for step in DIFFERENCE * np.eye(len(state))], 1
        )
        weight = 1.0 / np.sqrt(1.0 + (left / SOFT) ** 2)
        h, b = (jacobian * weight[:, None]).T @ jacobian, jacobian.T @ (weight * left)
        before = cost
        for _ in range(TRIES):
            trial = state - np.linalg.solve(h + damping * np.diag(np.diag(h) + 1e-12), b)
            there = misses(trial)
            if _soft(there) < cost:
                state, left, cost, damping = trial, there, _soft(there), max(0.2 * damping, 1e-9)
                break
            damping *= 10.0
        if before - cost < SMALL_GAIN * before:
            break
    return state, cost


def _soft(left: Array) -> float:
    return float(SOFT**2 * (np.sqrt(1.0 + (left / SOFT) ** 2) - 1.0).sum())
