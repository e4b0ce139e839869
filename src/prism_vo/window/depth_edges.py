# SPDX-License-Identifier: Apache-2.0
"""Measured depths beside depth edges (docs/method.md, section 4).

A matching window that shows two surfaces measures a depth between them, while parallax sees the nearer one, whose
outline moves: such depths make everything seem too far. Which of them lie beside an edge is seen by parallax: all
points and candidates of the window together, which are known to a few per cent after some frames.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.compiled import njit
from prism_vo.optics.pinhole import Intrinsics
from prism_vo.points.projection import NEAREST
from prism_vo.points.records import Candidates, Points
from prism_vo.window.contents import WindowContents

REACH = 9  # px: a matching window
JUMP = 0.05  # of inverse depth, between two surfaces
SURE = 3.0  # σ
CELL = 3  # px: what is nearest and farthest is kept in cells of this size


class Known(NamedTuple):
    """Points and candidates of the window, (N,) each."""

    host: Integers
    u: Floats
    v: Floats
    inv_depth: Array
    sigma: Array  # of the inverse depth; NaN: not known


def find_depth_edges(window: WindowContents, variance: Array) -> None:
    """Mark points, of which σ²(q) is given, and candidates beside edges; what was marked stays."""
    points, candidates = window.points, window.candidates
    known = _known(points, candidates, variance)
    poses = window.hosts.T_view_world
    back = [se3.inverse(host) for host in poses]
    T_target_host = np.array([[target @ host for host in back] for target in poses])
    plane = window.plane
    found = beside_edges(T_target_host, plane.intrinsics, plane.height, plane.width, known)
    n = len(points)
    window.points = replace(points, beside_edge=points.beside_edge | found[:n])
    window.candidates = replace(candidates, beside_edge=candidates.beside_edge | found[n:])


def _known(points: Points, candidates: Candidates, variance: Array) -> Known:
    """A candidate's interval is taken for ± σ: its match may be a false one."""
    p, c = points, candidates
    sigmas = np.sqrt(variance), (c.high - c.low) / 2.0
    pairs = (p.host, c.host), (p.u, c.u), (p.v, c.v), (p.inv_depth, c.inv_depth), sigmas
    return Known(*(np.concatenate(pair) for pair in pairs))


def beside_edges(T_target_host: Array, intrinsics: Intrinsics, height: int, width: int, known: Known) -> Mask:
    """Which of the pixels (N,) have something within ``REACH`` that is surely nearer or farther by ``JUMP``.

    ``T_target_host`` (K, K, 4, 4): everything that is known well is seen from every keyframe.
    """
    shape = len(T_target_host), height // CELL + 1, width // CELL + 1
    nearest, farthest = np.zeros(shape), np.full(shape, np.inf)
    _spread(T_target_host, intrinsics, height, width, known, nearest, farthest)
    found = np.zeros(len(known.host), np.bool_)
    _compare(known, nearest, farthest, found)
    return found


@njit(nogil=True, cache=True, error_model="numpy")
def _spread(T_target_host, intrinsics, height, width, known, nearest, farthest):  # type: ignore[no-untyped-def]
    """Largest and least inverse depth in each cell of each keyframe, of what is known to a third of ``JUMP``."""
    focal, cx, cy = intrinsics.focal, intrinsics.cx, intrinsics.cy
    for n in range(len(known.host)):
        q = known.inv_depth[n]
        if not SURE * known.sigma[n] < JUMP * q:  # nor is what is not known
            continue
        ray_x, ray_y = (known.u[n] - cx) / focal, (known.v[n] - cy) / focal
        for k in range(len(T_target_host)):
            T = T_target_host[k, known.host[n]]
            z = T[2, 0] * ray_x + T[2, 1] * ray_y + T[2, 2] + T[2, 3] * q
            if z < NEAREST:
                continue
            x = (T[0, 0] * ray_x + T[0, 1] * ray_y + T[0, 2] + T[0, 3] * q) / z * focal + cx
            y = (T[1, 0] * ray_x + T[1, 1] * ray_y + T[1, 2] + T[1, 3] * q) / z * focal + cy
            if x >= 0 and y >= 0 and x <= width - 1 and y <= height - 1:
                row, column = int(y) // CELL, int(x) // CELL
                nearest[k, row, column] = max(nearest[k, row, column], q / z)
                farthest[k, row, column] = min(farthest[k, row, column], q / z)


@njit(nogil=True, cache=True, error_model="numpy")
def _compare(known, nearest, farthest, found):  # type: ignore[no-untyped-def]
    """What each pixel has about itself in its own keyframe."""
    rows, columns = nearest.shape[1], nearest.shape[2]
    for n in range(len(known.host)):
        q, host, x, y = known.inv_depth[n], known.host[n], int(known.u[n]), int(known.v[n])
        gap = max(JUMP * q, SURE * known.sigma[n])
        if not gap > 0.0:
            continue
        for row in range(max(y - REACH, 0) // CELL, min((y + REACH) // CELL, rows - 1) + 1):
            for column in range(max(x - REACH, 0) // CELL, min((x + REACH) // CELL, columns - 1) + 1):
                if nearest[host, row, column] - q > gap or q - farthest[host, row, column] > gap:
                    found[n] = True
                    break
            if found[n]:
                break
