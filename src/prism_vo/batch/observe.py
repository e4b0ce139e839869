# SPDX-License-Identifier: Apache-2.0
"""Observations of the same points in many keyframes: corners of each, followed through the others, slopes measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.batch.follow import Pictures, follow_points, neighbours
from prism_vo.batch.hosts import corners_of, host_order
from prism_vo.batch.numbers import CameraNumbers
from prism_vo.batch.projection import project
from prism_vo.batch.records import BatchState, Observations
from prism_vo.batch.refocused import WINDOW, Sightings, placed_again, smoothed, windows_of
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.distortion import distort
from prism_vo.optics.field import bent, virtual_depth_shift
from prism_vo.sensor import Sensor
from prism_vo.types import InputFrame

POINTS_A_KEYFRAME = 200
MOST_SIGHTINGS = 20  # of a point beside its host, spread from the most similar view to the least
POSITION_FLOOR = 0.02  # px (TF): no patch is found better, whatever its contrast says
# Virtual depth from which on every place is seen by two lenses, the total covering plane. Nearer to the array slopes
# come from the rims of micro-images, one-sided (docs/benchmarks.md, calibration of the optics)
LEAST_VIRTUAL_DEPTH = 2.0
FEWEST_OTHERS = 2  # keyframes beside its host that a point must be found in
Say = Callable[[str, int, int], None]


@dataclass(frozen=True)
class KeyframeImage:
    """A keyframe: what depth is measured in, and its focused image."""

    source: InputFrame
    image: Floats  # (h, w)


@dataclass(frozen=True)
class Observed:
    """Points where they are first believed to be, their sightings, and the rows of the marked ones in their order."""

    state: BatchState
    seen: Observations
    marked: list[int]


@dataclass(frozen=True)
class Marked:
    """A pixel that a user wants to be a point."""

    keyframe: int
    x: int  # TF px
    y: int


def observe(
    keyframes: Sequence[KeyframeImage],
    poses: Array,
    camera: PlenopticCamera,
    sensor: Sensor,
    marked: Sequence[Marked] = (),
    points: int = POINTS_A_KEYFRAME,
    say: Say = lambda words, done, of: None,
    least_virtual_depth: float = LEAST_VIRTUAL_DEPTH,
) -> Observed:
    """Points and sightings, as the camera and the poses T_view_world (K, 4, 4) let them be found."""
    view = camera.view("central")
    pictures = _pictures(keyframes)
    intrinsics = np.array([view.focal_px, view.cx, view.cy])
    centres = -np.einsum("kji,kj->ki", poses[:, :3, :3], poses[:, :3, 3])
    found: list[_Followed] = []
    for done, host in enumerate(host_order(len(keyframes))):
        say("finding points again", done, len(keyframes))
        wanted = np.array([(m.x, m.y) for m in marked if m.keyframe == host], np.float64).reshape(-1, 2)
        taken = [part.measured[part.hits[:, host], host, :2] for part in found]
        corners = corners_of(keyframes[host].image, points, np.concatenate([wanted, *taken]))
        pixels = np.concatenate([wanted, corners])
        q, good = _first_depths(keyframes[host].source, pixels, camera, sensor)
        good[: len(wanted)] = True
        order = neighbours(host, centres, poses[:, 2, :3])
        relative = np.array([pose @ se3.inverse(poses[host]) for pose in poses])
        pixels, q = pixels[good], q[good]
        hits = np.zeros((len(pixels), len(keyframes)), np.bool_)
        measured = np.zeros((len(pixels), len(keyframes), 5))
        follow_points(pictures, host, order, relative, intrinsics, pixels, q, hits, measured)
        keep = hits.sum(1) >= FEWEST_OTHERS
        keep[: len(wanted)] = True
        found.append(_Followed(host, pixels[keep], q[keep], hits[keep], measured[keep]))
    found.sort(key=lambda part: part.host)
    for part in found:
        _thin_out(part.hits, neighbours(part.host, centres, poses[:, 2, :3]))
    state, seen = _assembled(found, keyframes, poses, camera, sensor, say)
    seen = in_full_view(state, seen, least_virtual_depth)
    first = np.cumsum([0, *(len(part.pixels) for part in found)])
    before = [sum(m.keyframe == k.keyframe for m in marked[:n]) for n, k in enumerate(marked)]
    return Observed(state, seen, [int(first[m.keyframe]) + n for m, n in zip(marked, before)])


def _first_depths(
    source: InputFrame, pixels: Array, camera: PlenopticCamera, sensor: Sensor
) -> tuple[Array, Mask]:
    """Inverse depths (N,) that pixels are first believed to have, and which were measured."""
    view = camera.view("central")
    depth = sensor.measure(source, pixels.astype(np.float32))
    slope = sensor.view.alpha + sensor.view.beta * depth.inv_virtual_depth.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        q = (1.0 / slope - view.w_infinity) / view.kappa
    good = depth.valid & np.isfinite(q)
    positive = good & (q > 0)
    least = 0.05 * float(np.median(q[positive])) if positive.any() else 0.05
    return np.where(good, np.maximum(q, least), least), good


def _thin_out(hits: Mask, order: Integers) -> None:
    """Keep at most MOST_SIGHTINGS of each row, evenly over ``order``."""
    for row in hits:
        where = order[row[order]]
        if len(where) > MOST_SIGHTINGS:
            kept = where[np.linspace(0, len(where) - 1, MOST_SIGHTINGS).astype(int)]
            row[:] = False
            row[kept] = True


@dataclass(frozen=True)
class _Followed:
    host: int
    pixels: Array  # (N, 2)
    inv_depth: Array  # (N,)
    hits: Mask  # (N, K)
    measured: Array  # (N, K, 5)


def _assembled(
    parts: list[_Followed],
    keyframes: Sequence[KeyframeImage],
    poses: Array,
    camera: PlenopticCamera,
    sensor: Sensor,
    say: Say,
) -> tuple[BatchState, Observations]:
    numbers = CameraNumbers.of(camera.calibration)
    view = camera.view("central")
    counts = [len(p.pixels) for p in parts]
    first = np.cumsum([0, *counts])
    sightings = _measured(_table(parts, first), keyframes, camera, sensor, say)
    host = np.concatenate([np.full(len(p.pixels), p.host, np.intp) for p in parts])
    inv_depth = np.concatenate([p.inv_depth for p in parts])
    intrinsics = np.array([view.focal_px, view.cx, view.cy])
    table, slope, sigma = placed_again(sightings, host, inv_depth, poses, intrinsics)
    scale = camera.tf_scale
    raw = distort(camera.calibration, scale * (table[:, 2:4] + 0.5) - 0.5)
    whitening = _whitening(table[:, 4:7]) / scale
    point, keyframe = table[:, 0].astype(np.intp), table[:, 1].astype(np.intp)
    seen = Observations(point, keyframe, raw, whitening, slope, sigma, sensor.variance_power)
    anchors = np.concatenate([np.repeat(se3.inverse(poses[p.host])[None], len(p.pixels), 0) for p in parts])
    pixels = np.concatenate([p.pixels for p in parts])
    rays = (pixels - [view.cx, view.cy]) / view.focal_px
    points = np.column_stack([rays, inv_depth])
    return BatchState(numbers, poses.copy(), anchors, points), seen


def in_full_view(
    state: BatchState, seen: Observations, least_virtual_depth: float = LEAST_VIRTUAL_DEPTH
) -> Observations:
    """Without slopes of points that not all places show twice; judged by where points are, not by the slopes."""
    expected = project(state, seen).predicted[:, 2]
    return replace(seen, slope=np.where(expected * least_virtual_depth <= 1.0, seen.slope, np.nan))


def _table(parts: list[_Followed], first: Integers) -> Array:
    """Rows of point, keyframe, x, y (TF px), information xx, xy, yy, sorted by point."""
    rows = []
    for part, start in zip(parts, first):
        point, keyframe = np.nonzero(part.hits)
        own = np.arange(len(part.pixels))
        rows.append(np.column_stack([start + point, keyframe, part.measured[point, keyframe]]))
        unknown = np.zeros((len(own), 3))
        rows.append(np.column_stack([start + own, np.full(len(own), part.host), part.pixels, unknown]))
    table = np.concatenate(rows)
    return np.asarray(table[np.lexsort((table[:, 1], table[:, 0]))])


def _measured(
    table: Array, keyframes: Sequence[KeyframeImage], camera: PlenopticCamera, sensor: Sensor, say: Say
) -> Sightings:
    """Slopes of all sightings, and what surrounds them in images focused at these slopes."""
    keyframe = table[:, 1].astype(np.intp)
    slope, sigma = np.full(len(table), np.nan), np.full(len(table), np.nan)
    windows = np.zeros((len(table), WINDOW, WINDOW), np.float32)
    for k, frame in enumerate(keyframes):
        say("measuring depth", k, len(keyframes))
        mine = np.flatnonzero(keyframe == k)
        depth = sensor.measure(frame.source, table[mine, 2:4].astype(np.float32))
        found = sensor.view.alpha + sensor.view.beta * depth.inv_virtual_depth
        shift = virtual_depth_shift(
            camera, table[mine, 2:4]
        )  # the camera's field is part of what is adjusted
        slope[mine] = np.where(depth.valid, bent(found.astype(np.float64), shift), np.nan)
        sigma[mine] = sensor.view.beta * np.sqrt(depth.variance) * (slope[mine] / found) ** 2
        windows[mine] = windows_of(frame.source, frame.image, table[mine, 2:4], slope[mine], sensor)
    return Sightings(table, slope, sigma, windows)


def _whitening(information: Array) -> Array:
    """Square roots (N, 2, 2) of position information xx, xy, yy (N, 3) with the floor of an error in it."""
    blocks = np.empty((len(information), 2, 2))
    blocks[:, 0, 0], blocks[:, 1, 1] = information[:, 0], information[:, 2]
    blocks[:, 0, 1] = blocks[:, 1, 0] = information[:, 1]
    value, vector = np.linalg.eigh(blocks)
    value = np.maximum(value, 1e-6)
    floored = 1.0 / np.sqrt(1.0 / value + POSITION_FLOOR**2)
    return np.asarray(floored[:, :, None] * vector.transpose(0, 2, 1))


def _pictures(keyframes: Sequence[KeyframeImage]) -> Pictures:
    fine = [smoothed(k.image) for k in keyframes]
    coarse = [cv2.resize(f, (f.shape[1] // 2, f.shape[0] // 2), interpolation=cv2.INTER_AREA) for f in fine]
    return Pictures(np.array(fine, np.float32), np.array(coarse, np.float32))
