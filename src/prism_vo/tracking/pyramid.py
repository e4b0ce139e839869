# SPDX-License-Identifier: Apache-2.0
"""Image pyramids, and variance-weighted pyramids of inverse depth (docs/method.md, eq. 5–6)."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.compiled import njit
from prism_vo.optics.camera import FocusedView
from prism_vo.optics.pinhole import Pinhole


def levels_of(view: FocusedView, count: int) -> list[Pinhole]:
    """Intrinsics of each level of a view's pyramid."""
    return [view.image_plane.halved(level) for level in range(count)]


def level_count(view: FocusedView, least_area: int = 5000) -> int:
    """Levels down to an area of about ``least_area`` pixels (at least two)."""
    count = 1
    while (view.width >> count) * (view.height >> count) >= least_area:
        count += 1
    return max(count, 2)


@njit(nogil=True, cache=True)
def _halve(image: Floats, out: Floats) -> None:
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            a = image[2 * y, 2 * x] + image[2 * y, 2 * x + 1]
            b = image[2 * y + 1, 2 * x] + image[2 * y + 1, 2 * x + 1]
            out[y, x] = (a + b) * np.float32(0.25)


def image_pyramid(image: Floats, count: int) -> list[Floats]:
    """Means of 2×2; each level is (h, w)."""
    out = [np.ascontiguousarray(image, dtype=np.float32)]
    for _ in range(1, count):
        smaller = np.empty((out[-1].shape[0] // 2, out[-1].shape[1] // 2), np.float32)
        _halve(out[-1], smaller)
        out.append(smaller)
    return out


@njit(nogil=True, cache=True)
def halve_depth(inv_depth: Floats, variance: Floats, out: Floats, out_variance: Floats) -> None:
    """One step of the depth pyramid over the valid children only (variance < inf).

    Inverse-variance mean, and N/Σ(1/σ²) as its variance: neighbouring depths are strongly correlated, so averaging
    must not shrink it. Where children differ by more than 3σ there is a depth edge: the nearer surface is kept.
    """
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            weight, total, count = 0.0, 0.0, 0
            nearest, nearest_variance, apart = -np.inf, np.inf, False
            for k in range(4):
                value = inv_depth[2 * y + k // 2, 2 * x + k % 2]
                var = variance[2 * y + k // 2, 2 * x + k % 2]
                if not var < np.inf:
                    continue
                if count > 0:
                    gap = value - nearest
                    apart = apart or gap * gap > 9.0 * (var + nearest_variance)
                if value > nearest:
                    nearest, nearest_variance = value, var
                weight += 1.0 / var
                total += value / var
                count += 1
            if count == 0:
                out[y, x] = np.nan
                out_variance[y, x] = np.inf
            elif apart:
                out[y, x] = nearest
                out_variance[y, x] = nearest_variance
            else:
                out[y, x] = total / weight
                out_variance[y, x] = count / weight


def depth_pyramid(inv_depth: Floats, variance: Floats, count: int) -> list[tuple[Floats, Floats]]:
    """Pyramid of (inverse depth, variance); larger inverse depth is nearer. NaN / inf where nothing is known."""
    out = [(inv_depth, variance)]
    for _ in range(1, count):
        d, v = out[-1]
        shape = (d.shape[0] // 2, d.shape[1] // 2)
        smaller, smaller_variance = np.empty(shape, np.float32), np.empty(shape, np.float32)
        halve_depth(d, v, smaller, smaller_variance)
        out.append((smaller, smaller_variance))
    return out
