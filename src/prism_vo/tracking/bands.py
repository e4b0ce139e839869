# SPDX-License-Identifier: Apache-2.0
"""Bands of a lamp: a rolling shutter sees its flicker as rows that are brighter and darker by a smooth factor.

One gain a frame cannot follow them. Where a factor that varies over the rows explains the difference to the reference
far better than one gain does, the frame is divided by it; the reference's own bands stay, as if painted on the scene.
"""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.linear.spline import bending, spline_basis
from prism_vo.tracking.brightness import LEAST_SEEN, Seen

PIECES = 12  # of the spline over the height: several periods of a lamp
STIFFNESS = 1e-3  # of the information of one piece: rows that show nothing follow their neighbours
ROUNDS = 8  # of reweighting
ROBUST = 2.0  # robust σ beyond which a pixel counts less
# times by which squared residuals must fall: 15 smooth numbers explain a fifth of any difference, bands nearly all
LEAST_GAIN = 4.0
LEAST_GAIN_AGAIN = 1.5  # in a recording that has shown bands before
LEAST_SPREAD = 0.02  # relative, RMS over the rows: less is no lamp
LEAST_SPREAD_AGAIN = 0.003


def row_gains(seen: Seen, height: int, rows: int, again: bool = False) -> Floats | None:
    """Factors (rows,) of a frame's rows against the reference, about one gain for all; None: there are no bands.

    ``seen``: reference pixels on a level ``height`` px high; ``rows``: of the finest level; ``again``: frames before
    it had bands, so weak ones are believed too.
    """
    if len(seen) < LEAST_SEEN:
        return None
    basis = spline_basis((seen.y + 0.5) / height, PIECES)
    one, residual_of_one = _fitted(np.ones((len(seen), 1)), seen)
    many, residual = _fitted(basis, seen)
    least_gain, least_spread = (LEAST_GAIN_AGAIN, LEAST_SPREAD_AGAIN) if again else (LEAST_GAIN, LEAST_SPREAD)
    if not np.median(residual**2) * least_gain < np.median(residual_of_one**2):
        return None
    factors = spline_basis((np.arange(rows) + 0.5) / rows, PIECES) @ many / one[0]
    if not (np.isfinite(factors).all() and factors.min() > 0.2 and factors.std() > least_spread):
        return None
    return factors.astype(np.float32)


def _fitted(basis: Array, seen: Seen) -> tuple[Array, Array]:
    """Coefficients of ``frame ≈ (basis · c) · reference`` and the residuals, robust, second differences kept small."""
    design, weight = basis * seen.reference[:, None], np.ones(len(seen))
    bend = bending(basis.shape[1])
    coefficients, residual = np.zeros(basis.shape[1]), seen.frame
    for _ in range(ROUNDS):
        h = design.T @ (design * weight[:, None])
        stiff = STIFFNESS * np.trace(h) / len(h) * bend + 1e-9 * np.trace(h) * np.eye(len(h))
        coefficients = np.linalg.solve(h + stiff, design.T @ (weight * seen.frame))
        residual = seen.frame - design @ coefficients
        scale = ROBUST * 1.4826 * float(np.median(np.abs(residual))) + 1e-3
        weight = 1.0 / (1.0 + (residual / scale) ** 2) ** 2
    return coefficients, residual
