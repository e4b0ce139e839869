# SPDX-License-Identifier: Apache-2.0
"""Observations of the same points in many keyframes: corners of each, followed through the others, slopes measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.batch.follow import Pictures, follow_points, neighbours
from prism_vo.batch.numbers import CameraNumbers
from prism_vo.batch.patches import MARGIN
from prism_vo.batch.records import BatchState, Observations
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.distortion import distort
from prism_vo.sensor import Sensor
from prism_vo.types import InputFrame

POINTS_A_KEYFRAME = 80
MOST_SIGHTINGS = 14  # of a point beside its host, spread from the most similar view to the least
QUALITY = 0.01  # of the best corner of the image
SMOOTHING = 0.8  # px: what interpolation cannot tell is taken out of both images alike
POSITION_FLOOR = 0.02  # px (TF): no patch is found better, whatever its contrast says
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
) -> Observed:
    """Points and sightings, as the camera and the poses T_view_world (K, 4, 4) let them be found."""
    view = camera.view("central")
    pictures = _pictures(keyframes)
    intrinsics = np.array([view.focal_px, view.cx, view.cy])
    centres = -np.einsum("kji,kj->ki", poses[:, :3, :3], poses[:, :3, 3])
    found: list[_Followed] = []
    for host, keyframe in enumerate(keyframes):
        say("finding points again", host, len(keyframes))
        wanted = [(m.x, m.y) for m in marked if m.keyframe == host]
        corners = _corners(keyframe.image, points)
        pixels = np.concatenate([np.array(wanted, np.float64).reshape(-1, 2), corners])
        depth = sensor.measure(keyframe.source, pixels.astype(np.float32))
        slope = sensor.view.alpha + sensor.view.beta * depth.inv_virtual_depth.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            q = (1.0 / slope - view.w_infinity) / view.kappa
        good = depth.valid & np.isfinite(q)
        least = 0.05 * float(np.median(q[good & (q > 0)])) if (good & (q > 0)).any() else 0.05
        q = np.where(good, np.maximum(q, least), least)
        good[: len(wanted)] = True
        order = neighbours(host, centres, poses[:, 2, :3])
        relative = np.array([pose @ se3.inverse(poses[host]) for pose in poses])
        hits = np.zeros((len(pixels), len(keyframes)), np.bool_)
        measured = np.zeros((len(pixels), len(keyframes), 5))
        pixels, q, hits, measured = pixels[good], q[good], hits[good], measured[good]
        follow_points(pictures, host, order, relative, intrinsics, pixels, q, hits, measured)
        _thin_out(hits, order)
        keep = hits.sum(1) >= FEWEST_OTHERS
        keep[: len(wanted)] = True
        found.append(_Followed(host, pixels[keep], q[keep], hits[keep], measured[keep]))
    state, seen = _assembled(found, keyframes, poses, camera, sensor, say)
    first = np.cumsum([0, *(len(part.pixels) for part in found)])
    before = [sum(m.keyframe == k.keyframe for m in marked[:n]) for n, k in enumerate(marked)]
    return Observed(state, seen, [int(first[m.keyframe]) + n for m, n in zip(marked, before)])


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
    rows = []  # point, keyframe, x, y, information xx, xy, yy
    for part, start in zip(parts, first):
        point, keyframe = np.nonzero(part.hits)
        own = np.arange(len(part.pixels))
        rows.append(np.column_stack([start + point, keyframe, part.measured[point, keyframe]]))
        # the host's own patch has the information of a typical match: its noise is that of the others
        mean = np.divide(part.measured[:, :, 2:].sum(1), np.maximum(part.hits.sum(1), 1)[:, None])
        rows.append(np.column_stack([start + own, np.full(len(own), part.host), part.pixels, mean]))
    table = np.concatenate(rows)
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    keyframe = table[:, 1].astype(np.intp)
    slope, sigma = np.full(len(table), np.nan), np.full(len(table), np.nan)
    for k, frame in enumerate(keyframes):
        say("measuring depth", k, len(keyframes))
        mine = np.flatnonzero(keyframe == k)
        depth = sensor.measure(frame.source, table[mine, 2:4].astype(np.float32))
        slope[mine] = np.where(
            depth.valid, sensor.view.alpha + sensor.view.beta * depth.inv_virtual_depth, np.nan
        )
        sigma[mine] = sensor.view.beta * np.sqrt(depth.variance)
    scale = camera.tf_scale
    raw = distort(camera.calibration, scale * (table[:, 2:4] + 0.5) - 0.5)
    whitening = _whitening(table[:, 4:7]) / scale
    seen = Observations(
        table[:, 0].astype(np.intp), keyframe, raw, whitening, slope, sigma, sensor.variance_power
    )
    anchors = np.concatenate([np.repeat(se3.inverse(poses[p.host])[None], len(p.pixels), 0) for p in parts])
    pixels = np.concatenate([p.pixels for p in parts])
    rays = (pixels - [view.cx, view.cy]) / view.focal_px
    points = np.column_stack([rays, np.concatenate([p.inv_depth for p in parts])])
    return BatchState(numbers, poses.copy(), anchors, points), seen


def _whitening(information: Array) -> Array:
    """Square roots (N, 2, 2) of position information xx, xy, yy (N, 3) with the floor of an error in it."""
    blocks = np.empty((len(information), 2, 2))
    blocks[:, 0, 0], blocks[:, 1, 1] = information[:, 0], information[:, 2]
    blocks[:, 0, 1] = blocks[:, 1, 0] = information[:, 1]
    value, vector = np.linalg.eigh(blocks)
    value = np.maximum(value, 1e-6)
    floored = 1.0 / np.sqrt(1.0 / value + POSITION_FLOOR**2)
    return np.asarray(floored[:, :, None] * vector.transpose(0, 2, 1))


def _corners(image: Floats, count: int) -> Array:
    """The most distinct corners (N, 2), spread over the image, whole pixels."""
    height, width = image.shape
    grey = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    mask = np.zeros_like(grey)
    inside = MARGIN + 1
    mask[inside : height - inside, inside : width - inside] = 255
    apart = 0.6 * np.sqrt(height * width / count)
    found = cv2.goodFeaturesToTrack(grey, count, QUALITY, apart, mask=mask, blockSize=7)
    return np.zeros((0, 2)) if found is None else np.rint(found.reshape(-1, 2)).astype(np.float64)


def _pictures(keyframes: Sequence[KeyframeImage]) -> Pictures:
    fine = [cv2.GaussianBlur(k.image, (0, 0), SMOOTHING) for k in keyframes]
    coarse = [cv2.resize(f, (f.shape[1] // 2, f.shape[0] // 2), interpolation=cv2.INTER_AREA) for f in fine]
    return Pictures(np.array(fine, np.float32), np.array(coarse, np.float32))
