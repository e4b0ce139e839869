# SPDX-License-Identifier: Apache-2.0
"""How far each micro-image lies from where the grid says, by least squares against the mean micro-image.

The feature of one micro-image is ``(a + b·p) T(p − δ)`` for light (content times vignetting) and
``a T(p − δ) + c + b·p`` for edges, p from the predicted centre, T the mean micro-image. Content (a, b, c) is a
nuisance of every single lens: without b a brightness gradient would pass for an offset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array, Mask
from prism_vo.calibrate.cell import MeanCell
from prism_vo.calibrate.features import FeatureMap
from prism_vo.calibrate.grid import Grid, Lenses
from prism_vo.compiled import njit

UNKNOWNS = 6  # c, a, b_x, b_y, and a times the two components of −δ
TAPER_PX = 1.0  # the window of a lens ends softly, or pixels at its rim would jump in and out
LEAST_BRIGHTNESS = 0.3  # mean of the feature, 1 on average: below it a place is empty
LEAST_CONTRAST = 0.01  # scatter of the feature within a micro-image over its mean: below it a place is flat
LEAST_PIVOT = 1e-9  # of a normal equation, against its diagonal: below it the lens shows too little


@dataclass(frozen=True)
class LensOffsets:
    """One row a lens that lies wholly on the sensor."""

    lenses: Lenses
    offset: Array  # (N, 2): δ in raw pixels, NaN where a lens shows nothing
    strength: Array  # (N,): a, how much of the mean micro-image this lens shows
    visible: Mask  # (N,): neither empty nor flat, so that the grid could be seen here


def lens_offsets(feature: FeatureMap, grid: Grid, cell: MeanCell) -> LensOffsets:
    """Offset of every whole micro-image from its predicted centre."""
    radius = grid.cell_radius
    lenses = grid.lenses(feature.values.shape, radius + TAPER_PX)
    tables = np.stack([cell.value, cell.slope_x, cell.slope_y], -1)
    inverse = np.linalg.inv(grid.axes)
    solution, mean, scatter = _solve_lenses(
        feature.values, lenses.centres, inverse, tables, radius, feature.name == "light"
    )
    strength = solution[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        offset = -solution[:, 4:6] / strength[:, None]
    offset[~(strength > 0)] = np.nan
    visible = (mean > LEAST_BRIGHTNESS) & (scatter > LEAST_CONTRAST * mean)
    return LensOffsets(lenses, offset, np.nan_to_num(strength), visible)


@njit(nogil=True, cache=True)
def _solve_lenses(values, centres, inverse, tables, radius, multiplied):  # type: ignore[no-untyped-def]
    """Coefficients (N, 6) of 1, T, p_x·q, p_y·q, ∂T/∂x, ∂T/∂y; q is T for light and 1 for edges.

    Also mean and scatter of the feature in each micro-image (N,).
    """
    count, size = len(centres), tables.shape[0]
    out = np.zeros((count, UNKNOWNS))
    mean, scatter = np.zeros(count), np.zeros(count)
    basis = np.empty(UNKNOWNS)
    normal = np.empty((UNKNOWNS, UNKNOWNS))
    right = np.empty(UNKNOWNS)
    for k in range(count):
        cx, cy = centres[k]
        normal[:], right[:] = 0.0, 0.0
        squares = 0.0
        for y in range(int(np.ceil(cy - radius)), int(np.floor(cy + radius)) + 1):
            for x in range(int(np.ceil(cx - radius)), int(np.floor(cx + radius)) + 1):
                dx, dy = x - cx, y - cy
                inside = radius - np.sqrt(dx * dx + dy * dy)
                if inside <= 0.0:
                    continue
                weight = min(inside / TAPER_PX, 1.0)
                u = int(np.rint((dx * inverse[0, 0] + dy * inverse[1, 0]) * size)) % size
                v = int(np.rint((dx * inverse[0, 1] + dy * inverse[1, 1]) * size)) % size
                value, slope_x, slope_y = tables[v, u]
                q = value if multiplied else 1.0
                basis[0], basis[1], basis[2], basis[3] = 1.0, value, dx * q / radius, dy * q / radius
                basis[4], basis[5] = slope_x, slope_y
                squares += weight * values[y, x] ** 2
                for a in range(UNKNOWNS):
                    scaled = weight * basis[a]
                    right[a] += scaled * values[y, x]
                    for b in range(a, UNKNOWNS):
                        normal[a, b] += scaled * basis[b]
        mean[k] = right[0] / normal[0, 0]
        scatter[k] = np.sqrt(max(squares / normal[0, 0] - mean[k] ** 2, 0.0))
        _cholesky_solve(normal, right)
        out[k] = right
    return out, mean, scatter


@njit(nogil=True, cache=True)
def _cholesky_solve(normal, right):  # type: ignore[no-untyped-def]
    """Solve in place with the upper triangle; zeros when the equations do not determine all unknowns."""
    n = len(right)
    for a in range(n):
        diagonal = normal[a, a]
        for b in range(a):
            diagonal -= normal[b, a] * normal[b, a]
        if diagonal <= LEAST_PIVOT * normal[a, a] or diagonal <= 0.0:
            right[:] = 0.0
            return
        root = np.sqrt(diagonal)
        for c in range(a + 1, n):
            entry = normal[a, c]
            for b in range(a):
                entry -= normal[b, a] * normal[b, c]
            normal[a, c] = entry / root
        total = right[a]
        for b in range(a):
            total -= normal[b, a] * right[b]
        normal[a, a] = root
        right[a] = total / root
    for a in range(n - 1, -1, -1):
        total = right[a]
        for c in range(a + 1, n):
            total -= normal[a, c] * right[c]
        right[a] = total / normal[a, a]
