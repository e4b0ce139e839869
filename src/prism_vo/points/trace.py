# SPDX-License-Identifier: Apache-2.0
"""Epipolar search: narrow a candidate's inverse-depth interval with one more frame (docs/method.md, section 5)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Integers
from prism_vo.bilinear import between_values, with_gradient
from prism_vo.compiled import njit
from prism_vo.config import WindowConfig
from prism_vo.optics.pinhole import Pinhole
from prism_vo.photometry import transfer
from prism_vo.points.pattern import PATTERN
from prism_vo.points.records import Candidates, HostFrames
from prism_vo.types import PosedFrame

FOUND, SKIPPED, OUTSIDE, AMBIGUOUS = np.int8(0), np.int8(1), np.int8(2), np.int8(3)
MOST_FAILURES = 4  # searches in a row after which a candidate is dropped
LEAST_LENGTH = 1.5  # px: a shorter segment cannot be narrowed any further
LONGEST_KNOWN = 3.0  # times the longest search, where the interval is known at both ends
MARGIN = np.float32(4.0)  # px from the border: the pattern and its gradients must fit, …
LEAST_AHEAD = 0.7  # … which holds for rays that are not turned away by more than this leaves of their depth
DISTINCT = 2  # px from the best match at which a second one is another match
MOST_STEPS = 511  # samples of a segment
REFINEMENTS, LARGEST_MOVE, SMALL_MOVE = 3, 1.0, 0.05  # Gauss–Newton steps along the line; px
LEAST_SHARE = 1e-3  # of the gradient energy that must lie along the line
ERROR, ERROR_BY_DIRECTION = (
    0.2,
    0.2,
)  # px: expected error where the gradient runs along the line, and what is added
LARGEST_ERROR = 5.0  # px
LARGEST_ENERGY = np.float32(8 * 12.0**2)  # of a match: 12 grey levels in each pixel of the pattern


class HostViews(NamedTuple):
    """How the new frame sees each host keyframe."""

    rotation: Floats  # (K, 3, 3) of T_frame_host
    translation: Floats  # (K, 3)
    brightness: Floats  # (K, 2): I_frame ≈ gain · I_host + offset


class Searched(NamedTuple):
    """Columns of the candidates; the last four are changed."""

    host: Integers
    u: Floats
    v: Floats
    color: Floats
    inv_depth: Array
    low: Array
    high: Array
    quality: Floats


class SearchLimits(NamedTuple):
    """What a search may cost and find."""

    nearest: float  # largest inverse depth when high is unknown
    longest: float  # px along the epipolar line
    huber: np.float32  # grey levels


def trace_candidates(
    plane: Pinhole, hosts: HostFrames, c: Candidates, posed: PosedFrame, config: WindowConfig
) -> Candidates:
    """Narrow the depth intervals with a tracked frame; candidates that keep failing are dropped.

    One that failed is searched for next within all that its own measurement leaves open. If it were dropped because it
    lies beside the mean of its neighbours, those would stay whose noise points away from it: far points with nearer
    ones around them survived where they were measured too far (by 24e-4 beyond 50 m), which looks like another focus.
    """
    result: NDArray[np.int8] = np.empty(len(c), np.int8)
    low, high, depth, quality = c.low.copy(), c.high.copy(), c.inv_depth.copy(), c.quality.copy()
    trace_points(
        posed.frame.image,
        plane.intrinsics,
        _host_views(hosts, posed),
        Searched(c.host, c.u, c.v, c.color, depth, low, high, quality),
        SearchLimits(
            1.0 / config.nearest,
            config.trace_longest * (plane.width + plane.height),
            np.float32(config.huber),
        ),
        result,
    )
    failed = (result != FOUND) & (result != SKIPPED)
    failures = np.where(failed, c.failures + 1, 0).astype(np.int8)
    low, high = (
        np.where(failed, widest, found) for widest, found in ((c.widest_low, low), (c.widest_high, high))
    )
    traced = replace(c, low=low, high=high, inv_depth=depth, quality=quality, failures=failures)
    return traced.take(failures < MOST_FAILURES)


def _host_views(hosts: HostFrames, posed: PosedFrame) -> HostViews:
    relative = np.array([posed.T_view_world @ se3.inverse(host) for host in hosts.T_view_world])
    brightness = transfer(hosts.affine, hosts.exposure, posed.affine, posed.frame.exposure)
    return HostViews(
        np.ascontiguousarray(relative[:, :3, :3], dtype=np.float32),
        np.ascontiguousarray(relative[:, :3, 3], dtype=np.float32),
        np.stack(brightness, -1).astype(np.float32),
    )


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _pattern_energy(flat, width, x, y, dx, dy, color, gain, offset, huber):  # type: ignore[no-untyped-def]
    energy, below = np.float32(0), np.uint64(width)
    for k in range(8):
        px, py = x + dx[k], y + dy[k]
        ix, iy = int(px), int(py)
        fx, fy = px - np.float32(ix), py - np.float32(iy)
        value = between_values(flat, np.uint64(iy * width + ix), below, fx, fy)
        res = value - (gain * color[k] + offset)
        size = abs(res)
        energy += res * res if size <= huber else huber * (np.float32(2) * size - huber)
    return energy


# NaN means "unbounded" here, so the compiler may not assume that there is none
@njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "arcp", "contract", "afn"}, error_model="numpy")
def trace_points(image, intrinsics, views, searched, limits, result):  # type: ignore[no-untyped-def]
    """Search each candidate's epipolar segment; on success shrink [low, high] around the best match.

    ``image`` (h, w) float32: the new frame; ``result`` (N,) int8: out.
    """
    rotation, translation, brightness = views.rotation, views.translation, views.brightness
    host, u, v, color = searched.host, searched.u, searched.v, searched.color
    inv_depth, low, high, quality = searched.inv_depth, searched.low, searched.high, searched.quality
    nearest, longest, huber = limits.nearest, limits.longest, limits.huber
    h, w, flat = image.shape[0], image.shape[1], image.ravel()
    focal, cx, cy = intrinsics.focal, intrinsics.cx, intrinsics.cy
    dx, dy = np.empty(8, np.float32), np.empty(8, np.float32)
    energies = np.empty(MOST_STEPS + 1, np.float32)
    one, margin = np.float32(1), MARGIN
    for n in range(host.shape[0]):
        i = host[n]
        r, t = rotation[i], translation[i]
        gain, offset = brightness[i, 0], brightness[i, 1]
        rx, ry = (u[n] - cx) / focal, (v[n] - cy) / focal
        ax, ay = r[0, 0] * rx + r[0, 1] * ry + r[0, 2], r[1, 0] * rx + r[1, 1] * ry + r[1, 2]
        az = r[2, 0] * rx + r[2, 1] * ry + r[2, 2]
        q0 = low[n] if low[n] > 0.0 else 0.0
        q1 = high[n]
        bounded = q1 == q1
        if not bounded:
            q1 = nearest
        z0, z1 = az + t[2] * q0, az + t[2] * q1
        if z0 < 1e-3 or z1 < 1e-3 or az < LEAST_AHEAD:
            result[n] = OUTSIDE
            continue
        x0, y0 = (ax + t[0] * q0) / z0 * focal + cx, (ay + t[1] * q0) / z0 * focal + cy
        x1, y1 = (ax + t[0] * q1) / z1 * focal + cx, (ay + t[1] * q1) / z1 * focal + cy
        ex, ey = x1 - x0, y1 - y0
        length = np.sqrt(ex * ex + ey * ey)
        if length < LEAST_LENGTH:
            result[n] = SKIPPED
            continue
        ex, ey = ex / length, ey / length
        if length > longest:
            if bounded:
                length = min(length, LONGEST_KNOWN * longest)
            else:
                length = longest
        # pattern rotated with the host → frame rotation, scaled by the depth at the segment's middle
        for k in range(8):
            dx[k] = (r[0, 0] * PATTERN[k, 0] + r[0, 1] * PATTERN[k, 1]) / az
            dy[k] = (r[1, 0] * PATTERN[k, 0] + r[1, 1] * PATTERN[k, 1]) / az
        steps = min(int(length) + 2, MOST_STEPS)
        best, best_step = np.float32(1e30), -1
        for s in range(steps):
            d = min(float(s), length)
            x, y = np.float32(x0 + ex * d), np.float32(y0 + ey * d)
            if not (x > margin and y > margin and x < w - one - margin and y < h - one - margin):
                energies[s] = np.float32(1e30)
                continue
            energies[s] = _pattern_energy(flat, w, x, y, dx, dy, color[n], gain, offset, huber)
            if energies[s] < best:
                best, best_step = energies[s], s
        if best_step < 0:
            result[n] = OUTSIDE
            continue
        second = np.float32(1e30)
        for s in range(steps):
            if abs(s - best_step) > DISTINCT and energies[s] < second:
                second = energies[s]

        # Gauss–Newton along the line; gradient energy along (a) and across (b) it gives the expected error
        d = min(float(best_step), length)
        along, across = 0.0, 0.0
        for _ in range(REFINEMENTS):
            hess, grad, along, across = 1e-6, 0.0, 0.0, 0.0
            x, y = np.float32(x0 + ex * d), np.float32(y0 + ey * d)
            if not (x > margin and y > margin and x < w - one - margin and y < h - one - margin):
                break
            for k in range(8):
                px, py = x + dx[k], y + dy[k]
                ix, iy = int(px), int(py)
                fx, fy = px - np.float32(ix), py - np.float32(iy)
                at = np.uint64((iy - 1) * w + ix - 1)
                value, gx, gy = with_gradient(flat, at, np.uint64(w), fx, fy)
                res = value - (gain * color[n, k] + offset)
                size = abs(res)
                robust = one if size <= huber else huber / size
                g = gx * ex + gy * ey
                c = gx * ey - gy * ex
                hess += robust * g * g
                grad += robust * g * res
                along += g * g
                across += c * c
            step = -grad / hess
            step = min(max(step, -LARGEST_MOVE), LARGEST_MOVE)
            if abs(d + step - best_step) > DISTINCT:
                break
            d += step
            if abs(step) < SMALL_MOVE:
                break
        if along < LEAST_SHARE * (across + 1.0):
            result[n] = AMBIGUOUS
            continue
        error = ERROR + ERROR_BY_DIRECTION * (along + across) / along
        if error > LARGEST_ERROR or best > LARGEST_ENERGY:
            result[n] = AMBIGUOUS
            continue

        # pixel on the line → inverse depth, along the better conditioned axis
        for side in range(3):
            s = d + (side - 1) * error
            px, py = (x0 + ex * s - cx) / focal, (y0 + ey * s - cy) / focal
            if abs(ex) > abs(ey):
                q = (ax - px * az) / (px * t[2] - t[0])
            else:
                q = (ay - py * az) / (py * t[2] - t[1])
            if side == 0:
                low[n] = q
            elif side == 1:
                inv_depth[n] = q
            else:
                high[n] = q
        if high[n] < low[n]:
            low[n], high[n] = high[n], low[n]
        quality[n] = second / max(best, np.float32(1e-3))
        result[n] = FOUND
