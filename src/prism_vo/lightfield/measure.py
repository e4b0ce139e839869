# SPDX-License-Identifier: Apache-2.0
"""Search and refinement at single points, or block by block at every pixel of the TF grid.

Both go the same way, which :func:`_search_samples` and :func:`_refine_samples` hold: a point is a block of one sample.
They differ in the lenses they gather: a point looks for those of its own search, and then of its own slope.
What they work in is made outside: a kernel that makes arrays compiles for a second longer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.compiled import njit
from prism_vo.lightfield.matching import STEPS_WALKED, RefineScratch, refine, refine_scratch
from prism_vo.lightfield.nearby import Area, LensRoom, gather_lenses, lens_room
from prism_vo.lightfield.records import MatchTables, SampleGrid
from prism_vo.lightfield.search import (
    SEARCH_WINDOW,
    SearchScratch,
    search,
    search_scratch,
)
from prism_vo.lightfield.search_point import point_search
from prism_vo.lightfield.workspace import block_workspace, workspace_for

POINT_NODES = 2  # a side, about a point that lies between them
NODES_BEYOND = 3  # at most so many more than whole steps fit a block: both ends, and the fraction of a step


class Scratch(NamedTuple):
    """What one thread measures in."""

    searching: SearchScratch
    refining: RefineScratch
    room: LensRoom


def point_scratch(tables: MatchTables) -> Scratch:
    """For :func:`measure_points`."""
    ladder = tables.search_ladder
    searching = search_scratch(point_search(ladder), ladder, 1)
    columns = POINT_NODES + 2 * tables.sampling.window + 2
    refining = refine_scratch(workspace_for(columns), len(tables.ladder.slope), POINT_NODES, 1)
    return Scratch(searching, refining, lens_room(tables.lenses))


def block_scratch(tables: MatchTables, block: int) -> Scratch:
    """For :func:`measure_blocks`: one workspace for both, as blocks take turns."""
    sampling, workspace = tables.sampling, block_workspace()
    search_nodes = int(sampling.scale * (block - 1) / sampling.search_pitch) + NODES_BEYOND
    nodes = int(sampling.scale * (block - 1) / sampling.pitch) + NODES_BEYOND
    searching = search_scratch(workspace, tables.search_ladder, search_nodes)
    refining = refine_scratch(workspace, len(tables.ladder.slope), nodes, block)
    return Scratch(searching, refining, lens_room(tables.lenses))


@njit(nogil=True, cache=True, error_model="numpy")
def measure_points(tables, image, points, first, last, scratch, out):  # type: ignore[no-untyped-def]
    """Rows [first, last) of ``points`` (TF px) → columns of ``out`` (RESULTS, N), see :func:`refine`.

    ``tables``: :class:`MatchTables`; ``image``: :class:`MatchingImage`; ``scratch``: :func:`point_scratch`.
    """
    ladder, sampling, grid = tables.ladder, tables.sampling, tables.lenses
    searching, refining, room = scratch
    search_half, half = _search_margin(sampling), _margin(sampling)
    search_reach = 0.0
    for k in range(len(tables.search_ladder.slope)):
        search_reach = max(search_reach, tables.search_ladder.radius[k] / tables.search_ladder.slope[k])
    for n in range(first, last):
        cx, cy = _raw_position(sampling, points[n, 0]), _raw_position(sampling, points[n, 1])
        sample = SampleGrid(cx, cy, sampling.scale, 1, 1)
        area = Area(cx - search_half, cy - search_half, cx + search_half, cy + search_half)
        lenses = gather_lenses(grid, tables.search_ladder.slope[0], search_reach, area, room)
        _search_samples(tables, image, lenses, sample, searching, refining.start)
        for k in range(len(out)):  # Numba compiles for seconds what it would say about shapes that do not fit
            out[k, n] = np.nan
        start = refining.start[0, 0]
        if start < 0:
            continue
        least = ladder.slope[max(start - STEPS_WALKED, 0)]
        area = Area(cx - half, cy - half, cx + half, cy + half)
        lenses = gather_lenses(grid, least, grid.radius / least, area, room)
        _refine_samples(tables, image, lenses, sample, refining)
        for k in range(len(out)):
            out[k, n] = refining.result[k, 0, 0]


@njit(nogil=True, cache=True, error_model="numpy")
def measure_blocks(tables, image, block, first, last, scratch, out):  # type: ignore[no-untyped-def]
    """Block rows [first, last) of the TF grid → ``out`` (RESULTS, h, w), what :func:`measure_points` gives there.

    ``scratch``: :func:`block_scratch`.
    """
    ladder, sampling, grid = tables.ladder, tables.sampling, tables.lenses
    scale, height, width = sampling.scale, out.shape[1], out.shape[2]
    searching, refining, room = scratch
    half = max(_search_margin(sampling), _margin(sampling))
    span = scale * block + 2 * half
    for by in range(first, last):
        for bx in range((width + block - 1) // block):
            x0, y0 = bx * block, by * block
            nx, ny = min(block, width - x0), min(block, height - y0)
            cx, cy = _raw_position(sampling, x0), _raw_position(sampling, y0)
            samples = SampleGrid(cx, cy, scale, nx, ny)
            area = Area(cx - half, cy - half, cx - half + span, cy - half + span)
            reach = grid.radius / ladder.slope[0]
            lenses = gather_lenses(grid, tables.search_ladder.slope[0], reach, area, room)
            _search_samples(tables, image, lenses, samples, searching, refining.start)
            _refine_samples(tables, image, lenses, samples, refining)
            for k in range(len(out)):
                for y in range(ny):
                    for x in range(nx):
                        out[k, y0 + y, x0 + x] = refining.result[k, y, x]


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _search_samples(tables, image, lenses, samples, scratch, start):  # type: ignore[no-untyped-def]
    """Rung to begin with at each sample (raw px) → ``start``: that of the nearest node of the search; −1: none."""
    pitch = tables.sampling.search_pitch
    first_x, first_y = _nearest(samples.x0, pitch), _nearest(samples.y0, pitch)
    nx = int(_nearest(samples.x0 + samples.step * (samples.nx - 1), pitch) - first_x) + 1
    ny = int(_nearest(samples.y0 + samples.step * (samples.ny - 1), pitch) - first_y) + 1
    nodes = SampleGrid(first_x * pitch - lenses.x0, first_y * pitch - lenses.y0, pitch, nx, ny)
    search(tables, image, lenses, nodes, scratch)
    _rungs(scratch.best, nx, ny, tables.ladder.slope, scratch.rungs)
    for row in range(samples.ny):
        node_row = int(_nearest(samples.y0 + samples.step * row, pitch) - first_y)
        for col in range(samples.nx):
            node_col = int(_nearest(samples.x0 + samples.step * col, pitch) - first_x)
            start[row, col] = scratch.rungs[node_row, node_col]


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _refine_samples(tables, image, lenses, samples, scratch):  # type: ignore[no-untyped-def]
    """Match at each sample (raw px) → ``scratch.result``."""
    pitch, step = tables.sampling.pitch, samples.step
    first_x, first_y = np.floor(samples.x0 / pitch), np.floor(samples.y0 / pitch)
    nx = int((samples.x0 + step * (samples.nx - 1)) / pitch - first_x) + 2
    ny = int((samples.y0 + step * (samples.ny - 1)) / pitch - first_y) + 2
    nodes = SampleGrid(first_x * pitch - lenses.x0, first_y * pitch - lenses.y0, pitch, nx, ny)
    x0, y0 = samples.x0 / pitch - first_x, samples.y0 / pitch - first_y
    refine(tables, image, lenses, nodes, SampleGrid(x0, y0, step / pitch, samples.nx, samples.ny), scratch)


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _rungs(slopes, nx, ny, ladder, out):  # type: ignore[no-untyped-def]
    """Rung below each of ny × nx slopes, one that has a rung above it; −1 for NaN."""
    log_step = np.log(ladder[1] / ladder[0])
    for row in range(ny):
        for col in range(nx):
            slope = slopes[row, col]
            rung = np.floor(np.log(slope / ladder[0]) / log_step) if slope > 0.0 else -1.0
            out[row, col] = min(max(int(rung), 0), len(ladder) - 2) if slope > 0.0 else -1


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _nearest(position, pitch):  # type: ignore[no-untyped-def]
    """The node nearest to a position."""
    return np.floor(position / pitch + 0.5)


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _raw_position(sampling, tf):  # type: ignore[no-untyped-def]
    """Raw px of a coordinate in TF px: the corners of both images coincide, not the centres of their first pixels."""
    return sampling.scale * (tf + 0.5) - 0.5


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _search_margin(sampling):  # type: ignore[no-untyped-def]
    """Raw px about a sample that its search reads: the window, and up to one node to the nearest one."""
    return sampling.search_pitch * (SEARCH_WINDOW + 1)


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _margin(sampling):  # type: ignore[no-untyped-def]
    """Raw px about a sample that its match reads: its window, and a node each for
    gradients, for interpolation and to spare."""
    return sampling.pitch * (sampling.window + 3)
