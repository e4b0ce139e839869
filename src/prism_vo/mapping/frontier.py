# SPDX-License-Identifier: Apache-2.0
"""Candidates on their way into the energy: narrowed by epipolar search, chosen so that points stay spread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Mask
from prism_vo.config import WindowConfig
from prism_vo.mapping.keyframe import Keyframe
from prism_vo.mapping.points import Candidates, Points
from prism_vo.mapping.reference import inside, project
from prism_vo.mapping.trace import FOUND, SKIPPED, trace_points
from prism_vo.optics.camera import FocusedView

LONGEST_INTERVAL = 8.0  # px of parallax that a candidate's depth interval may span in the newest keyframe
MOST_FAILURES = 4  # searches in a row after which a candidate is dropped


def trace_candidates(
    view: FocusedView, keyframes: list[Keyframe], c: Candidates, image: Floats, T_view_world: Array, affine: Array,
    exposure: float, config: WindowConfig,
) -> Candidates:  # fmt: skip
    """Narrow the depth intervals with a tracked frame; candidates that keep failing are dropped."""
    relative = np.array([T_view_world @ se3.inverse(k.pose) for k in keyframes])
    gains = [exposure / k.exposure * np.exp(affine[0] - k.affine[0]) for k in keyframes]
    brightness = np.array([[g, affine[1] - g * k.affine[1]] for g, k in zip(gains, keyframes)], np.float32)
    result = np.empty(len(c), np.int8)
    low, high, depth, quality = c.low.copy(), c.high.copy(), c.inv_depth.copy(), c.quality.copy()
    trace_points(
        image, np.array([view.focal_px, view.cx, view.cy], np.float32),
        np.ascontiguousarray(relative[:, :3, :3], dtype=np.float32),
        np.ascontiguousarray(relative[:, :3, 3], dtype=np.float32), brightness,
        c.host, c.u, c.v, c.color, depth, low, high, quality, 1.0 / config.nearest,
        config.trace_longest * (view.width + view.height), np.float32(config.huber), result,
    )  # fmt: skip
    failed = (result != FOUND) & (result != SKIPPED)
    failures = np.where(failed, c.failures + 1, 0).astype(np.int8)
    traced = replace(c, low=low, high=high, inv_depth=depth, quality=quality, failures=failures)
    return traced.take(failures < MOST_FAILURES)


def choose_candidates(
    view: FocusedView, keyframes: list[Keyframe], c: Candidates, points: Points, spacing: int, quality: float
) -> tuple[NDArray[np.intp], Mask]:
    """Candidates to activate now (those with depth first, ``spacing`` px apart), and which of all are kept waiting."""
    newest = len(keyframes) - 1
    x, y, z, _ = project(view, keyframes, newest, c.host, c.u, c.v, np.nan_to_num(c.inv_depth))
    seen = inside(view, x, y, z, 4)
    px, py, pz, _ = project(view, keyframes, newest, points.host, points.u, points.v, points.inv_depth)
    visible = inside(view, px, py, pz, 4)
    occupied = np.zeros((view.height, view.width), np.bool_)
    occupied[py[visible].astype(int), px[visible].astype(int)] = True
    older = c.host < newest
    order = np.flatnonzero(older & seen & _is_ready(view, keyframes, c, quality))
    order = order[np.argsort(c.kind[order], kind="stable")]
    chosen = np.zeros(len(order), np.bool_)
    _spread(occupied, x[order], y[order], spacing, chosen)
    picked = order[chosen]
    stay = ~(older & ~seen)  # out of the newest keyframe's view: of no more use
    stay[picked] = False
    return picked, stay


def _is_ready(view: FocusedView, keyframes: list[Keyframe], c: Candidates, quality: float) -> Mask:
    """Depth known, its interval short in the image, and measured or matched without doubt."""
    newest = keyframes[-1].pose
    shift = np.array([np.linalg.norm((newest @ se3.inverse(k.pose))[:3, 3]) for k in keyframes])
    with np.errstate(invalid="ignore"):
        interval = (c.high - c.low) * shift[c.host] * view.focal_px
        sure = (c.quality > quality) | (c.information > 0)
        return np.isfinite(c.inv_depth) & (interval < LONGEST_INTERVAL) & sure & (c.failures == 0)


@njit(nogil=True, cache=True)
def _spread(occupied, x, y, reach, chosen):  # type: ignore[no-untyped-def]
    """Mark the points (in order) that keep ``reach`` px from all occupied pixels and from each other."""
    h, w = occupied.shape
    for n in range(x.shape[0]):
        cx, cy = int(x[n]), int(y[n])
        free = True
        for yy in range(max(cy - reach, 0), min(cy + reach + 1, h)):
            for xx in range(max(cx - reach, 0), min(cx + reach + 1, w)):
                if occupied[yy, xx]:
                    free = False
                    break
            if not free:
                break
        if free:
            occupied[cy, cx] = True
            chosen[n] = True
