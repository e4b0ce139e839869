# SPDX-License-Identifier: Apache-2.0
"""Depths of one keyframe that those of others confirm; the rest is not believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Mask
from prism_vo.compiled import njit
from prism_vo.dense.records import DepthMap, Planes

WORST_COST = 0.8  # 1 − correlation: a match above it is none
AGREEMENT = np.float32(3.0)  # σ of the difference of two depths that still agree
FLOOR = np.float32(
    0.004
)  # of the depth: added to the σ of a difference, for what σ does not know (poses, edges)
LARGEST = np.float32(0.03)  # of the depth: depths further apart never agree
RIM = 2  # px
BEHIND, CERTAIN = (
    np.float32(0.04),
    np.float32(4.0),
)  # of the depth, σ: how far behind it another surface must lie
WITNESSES = 2  # other keyframes that must confirm a depth


def confirmed(host: DepthMap, others: Sequence[DepthMap]) -> DepthMap:
    """The host's depths that at least :data:`WITNESSES` others see too (all, if there are fewer), and that no more
    others see through."""
    q = np.where(host.cost < WORST_COST, host.planes.inv_depth, np.float32(np.nan))
    q = np.where(np.isfinite(host.sigma) & ~_rim(host), q, np.float32(np.nan)).astype(np.float32)
    agree, through = np.zeros(q.shape, np.int32), np.zeros(q.shape, np.int32)
    K = host.grid.view.pinhole
    away = se3.inverse(host.frame.T_view_world)
    for other in others:
        T = other.frame.T_view_world @ away
        _compare(
            q, host.sigma, other.planes, other.sigma, other.cost, host.grid.step,
            (K @ T[:3, :3] @ np.linalg.inv(K)).astype(np.float32), (K @ T[:3, 3]).astype(np.float32), agree, through,
        )  # fmt: skip
    keep = (agree >= min(WITNESSES, len(others))) & (agree >= through)
    return replace(host, planes=Planes(np.where(keep, q, np.float32(np.nan)), host.planes.dx, host.planes.dy))


def _rim(host: DepthMap) -> Mask:
    """The last pixels of a surface before one that lies behind it: a patch there shows both, and makes it too wide."""
    q, dx, dy = host.planes
    step = host.grid.step
    rim = np.zeros(q.shape, np.bool_)
    rows, columns = q.shape
    reach = RIM // step
    for i, j in ((i, j) for i in range(-reach, reach + 1) for j in range(-reach, reach + 1) if i or j):
        here = slice(max(0, -j), rows - max(0, j)), slice(max(0, -i), columns - max(0, i))
        there = slice(max(0, j), rows - max(0, -j)), slice(max(0, i), columns - max(0, -i))
        continued = q[here] + step * (dx[here] * np.float32(i) + dy[here] * np.float32(j))
        spread = CERTAIN * np.hypot(host.sigma[here], host.sigma[there])
        rim[here] |= continued - q[there] > np.maximum(BEHIND * continued, spread)
    return rim


@njit(nogil=True, cache=True, error_model="numpy")
def _compare(q, sigma, planes, other_sigma, other_cost, step, turn, shift, agree, through):  # type: ignore[no-untyped-def]
    rows, columns = q.shape
    for row in range(rows):
        for column in range(columns):
            d = q[row, column]
            if not d > 0:
                continue
            x, y = np.float32(column * step), np.float32(row * step)
            px = turn[0, 0] * x + turn[0, 1] * y + turn[0, 2] + shift[0] * d
            py = turn[1, 0] * x + turn[1, 1] * y + turn[1, 2] + shift[1] * d
            pz = turn[2, 0] * x + turn[2, 1] * y + turn[2, 2] + shift[2] * d
            if pz <= np.float32(1e-3):
                continue
            u, v = px / pz, py / pz
            c, r = round(u / step), round(v / step)
            if not (0 <= c < columns and 0 <= r < rows):
                continue
            there = planes.inv_depth[r, c]
            if not there > 0 or not np.isfinite(other_sigma[r, c]) or other_cost[r, c] >= WORST_COST:
                continue
            there += planes.dx[r, c] * (u - c * step) + planes.dy[r, c] * (v - r * step)
            expected = d / pz  # P_z = m_z/q: the point's depth is pz/d
            spread = sigma[row, column] / pz
            allowed = AGREEMENT * np.sqrt(spread**2 + other_sigma[r, c] ** 2 + (FLOOR * expected) ** 2)
            allowed = min(allowed, LARGEST * expected)
            if abs(there - expected) <= allowed:
                agree[row, column] += 1
            elif there < expected:
                through[row, column] += 1
