# SPDX-License-Identifier: Apache-2.0
"""A semi-dense inverse depth map that is refined by every tracked frame and handed on to the next keyframe.

Inverse depth is the view's q with variance (inf: no depth). An observation is a search along the epipolar
line within two standard deviations of the prior; it is fused by inverse variance, as in semi-dense odometry.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.baselines.sampling import sample
from prism_vo.optics.camera import FocusedView
from prism_vo.optics.pinhole import Pinhole

STEPS = 17  # samples along the search segment
MAX_SEARCH = 24.0  # px: a longer segment is too ambiguous
MIN_SEARCH = 0.3  # px: a shorter one adds nothing
PATCH = (-2.0, -1.0, 0.0, 1.0, 2.0)  # px along the line
POSE_NOISE = 0.1  # px across and along the line, from tracking
GATE = 3.0  # standard deviations
MIN_INV_DEPTH = 1e-3  # 1/m
BEYOND = 1e6  # 1/m: more than any inverse depth
EDGE_SIGMAS, EDGE_SHARE = 6.0, 0.05  # a jump of inverse depth: so many σ plus this share


@dataclass(frozen=True)
class DepthMap:
    """Inverse depth q (h, w) and its variance (inf where there is none)."""

    inv_depth: Array
    variance: Array

    @property
    def valid(self) -> Mask:
        """Pixels with depth."""
        return np.isfinite(self.variance)

    def scaled(self, factor: float) -> DepthMap:
        """The map of a world ``1/factor`` times as large."""
        return DepthMap(self.inv_depth * factor, self.variance * factor**2)


@dataclass(frozen=True)
class Line:
    """Where N keyframe points lie in a frame for any inverse depth: ``p(q) = m + q t``, then divide by z."""

    m: Array  # (N, 3)
    t: Array  # (3,)
    plane: Pinhole

    def pixels(self, q: Array) -> tuple[Array, Array]:
        """Pixels (N,) of the points at inverse depths q (N,)."""
        return self.plane.project(self.m + q[:, None] * self.t)

    def inv_depth(self, u: Array, v: Array) -> Array:
        """q of pixels on the line, by the coordinate that moves more."""
        a, b, _ = self.plane.rays(u, v).T
        by_u, by_v = a * self.t[2] - self.t[0], b * self.t[2] - self.t[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(
                np.abs(by_u) > np.abs(by_v),
                (self.m[:, 0] - a * self.m[:, 2]) / by_u,
                (self.m[:, 1] - b * self.m[:, 2]) / by_v,
            )


def observe(
    depth: DepthMap,
    key_image: Floats,
    frame_image: Floats,
    T_frame_key: Array,
    view: FocusedView,
    noise: float,
) -> DepthMap:
    """Fuse what one tracked frame says about the depth of the keyframe. Brightness of the two must agree."""
    y, x = np.nonzero(depth.valid)
    if len(x) == 0:
        return depth
    q, var = depth.inv_depth[y, x], depth.variance[y, x]
    line = Line(view.image_plane.rays(x, y) @ T_frame_key[:3, :3].T, T_frame_key[:3, 3], view.image_plane)
    sigma = np.sqrt(var)
    low, high = np.maximum(q - 2 * sigma, MIN_INV_DEPTH), q + 2 * sigma
    with np.errstate(divide="ignore", invalid="ignore"):
        u0, v0 = line.pixels(low)
        u1, v1 = line.pixels(high)
    length = np.hypot(u1 - u0, v1 - v0)
    margin = 4
    inside = np.ones(len(q), bool)
    for u, v in ((u0, v0), (u1, v1)):
        inside &= (u > margin) & (u < view.width - 1 - margin) & (v > margin) & (v < view.height - 1 - margin)
    use = inside & (length > MIN_SEARCH) & (length < MAX_SEARCH)
    use &= (line.m[:, 2] + low * line.t[2] > 0) & (line.m[:, 2] + high * line.t[2] > 0)
    use &= (x > margin) & (x < view.width - 1 - margin) & (y > margin) & (y < view.height - 1 - margin)
    if not use.any():
        return depth
    chosen = Line(line.m[use], line.t, line.plane)
    ends = np.stack([u0[use], v0[use], u1[use], v1[use]])
    seen, seen_var = _search(key_image, frame_image, x[use], y[use], chosen, ends, T_frame_key, noise)
    q, var = _fuse(q[use], var[use], seen, seen_var)
    new_q, new_var = depth.inv_depth.copy(), depth.variance.copy()
    new_q[y[use], x[use]], new_var[y[use], x[use]] = q, var
    return DepthMap(new_q, new_var)


def _search(
    key_image: Floats,
    frame_image: Floats,
    x: NDArray[np.intp],
    y: NDArray[np.intp],
    line: Line,
    ends: Array,
    T_frame_key: Array,
    noise: float,
) -> tuple[Array, Array]:
    """Best match along each segment: inverse depth and variance (NaN, inf where it is not clear)."""
    u0, v0, u1, v1 = ends
    length = np.hypot(u1 - u0, v1 - v0)
    along = np.stack([(u1 - u0) / length, (v1 - v0) / length])
    key_along = _keyframe_direction(x, y, T_frame_key, line.plane, along)
    offsets = np.array(PATCH)[:, None]
    template = _sample(key_image, x + offsets * key_along[0], y + offsets * key_along[1])  # (5, N)
    cost = np.empty((STEPS, len(x)))
    for k, s in enumerate(np.linspace(0.0, 1.0, STEPS)):
        u, v = u0 + s * (u1 - u0) + offsets * along[0], v0 + s * (v1 - v0) + offsets * along[1]
        cost[k] = ((_sample(frame_image, u, v) - template) ** 2).sum(0)
    best = cost.argmin(0)
    interior = (best > 0) & (best < STEPS - 1)
    column = np.arange(len(x))
    centre = np.clip(best, 1, STEPS - 2)
    before, here, after = cost[centre - 1, column], cost[centre, column], cost[centre + 1, column]
    bend = np.maximum(before - 2 * here + after, 1e-9)
    s = (centre + 0.5 * (before - after) / bend) / (STEPS - 1)
    q = line.inv_depth(u0 + s * (u1 - u0), v0 + s * (v1 - v0))
    slope2 = (np.diff(template, axis=0) ** 2).sum(0)  # what the whole patch says about a shift along the line
    sigma_px2 = POSE_NOISE**2 + 2 * noise**2 / np.maximum(slope2, 1e-6)
    q_low, q_high = line.inv_depth(u0, v0), line.inv_depth(u1, v1)
    variance = sigma_px2 * ((q_high - q_low) / length) ** 2
    good = interior & (here < len(PATCH) * (4 * noise) ** 2) & (slope2 > 4 * noise**2) & np.isfinite(q)
    return np.where(good, q, np.nan), np.where(good, variance, np.inf)


def _keyframe_direction(
    x: NDArray[np.intp], y: NDArray[np.intp], T_frame_key: Array, plane: Pinhole, fallback: Array
) -> Array:
    """Unit directions (2, N) of the epipolar lines in the keyframe, oriented as in the frame."""
    centre = -T_frame_key[:3, :3].T @ T_frame_key[:3, 3]  # of the frame, in the keyframe
    du = plane.focal * centre[0] - (x - plane.cx) * centre[2]
    dv = plane.focal * centre[1] - (y - plane.cy) * centre[2]
    size = np.hypot(du, dv)
    direction = np.stack([du, dv]) / np.maximum(size, 1e-12)
    roll = np.sign((direction * (T_frame_key[:2, :2].T @ fallback)).sum(0))
    return np.where(size > 1e-9, direction * np.where(roll == 0, 1.0, roll), fallback)


def _sample(image: Floats, u: Array, v: Array) -> Array:
    return sample(image, u.astype(np.float32), v.astype(np.float32)).astype(np.float64)


def _fuse(q: Array, var: Array, seen: Array, seen_var: Array) -> tuple[Array, Array]:
    """Inverse-variance product where the two agree; a failed search makes the prior less certain."""
    clear = np.isfinite(seen_var)
    agree = clear & ((seen - q) ** 2 < GATE**2 * (var + seen_var))
    with np.errstate(invalid="ignore", divide="ignore"):
        fused = np.where(agree, 1.0 / (1.0 / var + 1.0 / seen_var), var)
        mean = np.where(agree, fused * (q / var + seen / seen_var), q)
    return mean, np.where(agree, fused, np.where(clear, var * 1.2, var * 1.02))


def propagate(depth: DepthMap, T_new_key: Array, view: FocusedView, process: float = 0.01) -> DepthMap:
    """The map seen from another pose: points moved, the nearer one kept where two meet, variance enlarged."""
    y, x = np.nonzero(depth.valid)
    q, var = depth.inv_depth[y, x], depth.variance[y, x]
    line = Line(view.image_plane.rays(x, y) @ T_new_key[:3, :3].T, T_new_key[:3, 3], view.image_plane)
    z = line.m[:, 2] + q * line.t[2]
    ahead = z > 1e-6
    u, v = line.pixels(np.where(ahead, q, 0.0))
    column, row = np.rint(u).astype(np.intp), np.rint(v).astype(np.intp)
    keep = ahead & (column >= 0) & (column < view.width) & (row >= 0) & (row < view.height) & (q > 0)
    new_q = q / np.where(ahead, z, 1.0)
    new_var = var * (new_q / np.maximum(q, 1e-12)) ** 4 + (process * new_q) ** 2
    order = np.argsort(new_q[keep], kind="stable")  # nearest last: it overwrites what it hides
    rows, columns = row[keep][order], column[keep][order]
    out_q, out_var = np.zeros((view.height, view.width)), np.full((view.height, view.width), np.inf)
    out_q[rows, columns], out_var[rows, columns] = new_q[keep][order], new_var[keep][order]
    return DepthMap(out_q, out_var)


def combine(a: DepthMap, b: DepthMap) -> DepthMap:
    """Union of two maps; where both have depth, their weighted mean if they agree, else the more certain."""
    both = a.valid & b.valid
    total = a.variance + b.variance
    with np.errstate(invalid="ignore", divide="ignore"):
        agree = both & ((a.inv_depth - b.inv_depth) ** 2 < GATE**2 * total)
        mean = (a.inv_depth * b.variance + b.inv_depth * a.variance) / total
        fused = a.variance * b.variance / total
    prefer_a = a.variance <= b.variance
    q = np.where(agree, mean, np.where(prefer_a, a.inv_depth, b.inv_depth))
    return DepthMap(q, np.where(agree, fused, np.minimum(a.variance, b.variance)))


def without_edges(depth: DepthMap, reach: int = 2) -> DepthMap:
    """Drop depths whose neighbourhood jumps: such a pixel belongs to two surfaces and moves with neither."""
    kernel = np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)
    valid = depth.valid
    q = depth.inv_depth.astype(np.float32)
    nearest = cv2.dilate(np.where(valid, q, -BEYOND).astype(np.float32), kernel)
    farthest = cv2.erode(np.where(valid, q, BEYOND).astype(np.float32), kernel)
    with np.errstate(invalid="ignore"):
        jump = nearest - farthest > EDGE_SIGMAS * np.sqrt(depth.variance) + EDGE_SHARE * np.abs(
            depth.inv_depth
        )
    return DepthMap(depth.inv_depth, np.where(valid & ~jump, depth.variance, np.inf))


def regularised(depth: DepthMap, reach: int = 5) -> DepthMap:
    """Weighted mean of each valid depth with its valid neighbours (apply after :func:`without_edges`)."""
    size = (2 * reach + 1, 2 * reach + 1)
    weight = np.where(depth.valid, 1.0 / depth.variance, 0.0)
    total = cv2.boxFilter(weight, -1, size, normalize=False, borderType=cv2.BORDER_CONSTANT)
    moment = cv2.boxFilter(
        weight * depth.inv_depth, -1, size, normalize=False, borderType=cv2.BORDER_CONSTANT
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return DepthMap(np.where(depth.valid, moment / total, 0.0), depth.variance)
