# SPDX-License-Identifier: Apache-2.0
"""A calibration with a board in plain words, and the camera file it becomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism_vo.batch.numbers import A0, B0, CX, CY, FOCAL, KAPPA, NAMES, OPTICS, W
from prism_vo.board_fit.fit import BoardFit
from prism_vo.optics.calibration import Calibration, NominalKey

GOOD_SIZE = 0.005  # of a square, in pictures not seen
DIGITS = 4
MEASURED: tuple[NominalKey, ...] = (
    "focal_length_mm",
    "mla_distance_mm",
    "sensor_distance_mm",
    "principal_point_px",
)


def board_lines(fit: BoardFit) -> list[str]:
    """What the screen shows."""
    rows = [*parameter_rows(fit), ("verdict", verdict(fit))]
    return [f"{name:<16}{value}" for name, value in rows]


def parameter_rows(fit: BoardFit) -> list[tuple[str, str]]:
    """Names and values, with what was used for them and what is left over."""
    v, s, found = fit.numbers.values, fit.sigma, fit.adjusted
    jacobian = fit.numbers.optics_jacobian()
    optics_sigma = np.sqrt(np.maximum(np.diag(jacobian @ fit.covariance @ jacobian.T), 0.0))
    b = fit.board
    rows = [
        ("board", f"{b.columns} by {b.rows} corners, squares of {1e3 * b.square:g} mm"),
        ("pictures", f"{found.corners.frames}, with {fit.given} corners in micro-images"),
        ("used", _used(fit)),
    ]
    for name, value, error in zip(("f_L", "b_L0", "B"), fit.numbers.optics, optics_sigma):
        rows.append((name, f"{value:.4f} ± {error:.4f} mm"))
    rows.append(("F", f"{v[FOCAL]:.1f} ± {s[FOCAL]:.1f} raw px"))
    rows.append(("w_∞", f"{v[W]:.4f} ± {s[W]:.4f}"))
    rows.append(("κ", f"{v[KAPPA]:.4f} ± {s[KAPPA]:.4f} m"))
    rows.append(("centre", f"({v[CX]:.1f}, {v[CY]:.1f}) ± ({s[CX]:.1f}, {s[CY]:.1f}) raw px"))
    rows.append(("distortion", _distortion(fit)))
    rows.append(
        ("left over", f"{found.rms:.3f} raw px an axis (with the corners left out {fit.every.rms:.3f})")
    )
    held = fit.held_out
    away = 100 * (held.size - 1)
    rows.append(("held out", f"{held.rms:.3f} raw px an axis, each picture by a camera that has not seen it"))
    rows.append(("", f"its squares come out {away.min():+.2f} to {away.max():+.2f} % of their size"))
    return rows


def _used(fit: BoardFit) -> str:
    words = f"{len(fit.adjusted.corners)} of them"
    if np.isfinite(fit.radius):
        words += f"; beyond {fit.radius:.1f} px from the centre of a micro-image corners are found worse"
    return words + (f"; {len(fit.adjusted.slopes)} stereo slopes" if len(fit.adjusted.slopes) else "")


def _distortion(fit: BoardFit) -> str:
    if fit.terms == "none":
        return "none that pictures not seen agree on"
    v, s = fit.numbers.values, fit.sigma
    return (
        ", ".join(f"{NAMES[k]} {v[k]:.2e} ± {s[k]:.0e}" for k in range(A0, B0 + 2) if s[k] > 0)
        + " (mm units)"
    )


def verdict(fit: BoardFit) -> str:
    """One sentence: how far distances can be trusted, and what to do where they cannot."""
    worst = float(np.abs(fit.held_out.size - 1).max())
    usual = float(np.sqrt(((fit.held_out.size - 1) ** 2).mean()))
    words = f"Expect lengths at the board's distances to be off by {100 * usual:.2g} %, at most {100 * worst:.2g} %."
    if worst > GOOD_SIZE:
        words += " To know them better, take the board nearer, filling the image, and tilted by 30 degrees and more."
    return words


def calibration_of(fit: BoardFit, like: Calibration) -> Calibration:
    """``like`` with the fitted numbers and their uncertainty."""
    found = fit.numbers.calibration(like)
    nominal = tuple(key for key in like.nominal if key not in MEASURED)
    return found.model_copy(update={"uncertainty": section(fit), "nominal": nominal})


def section(fit: BoardFit) -> dict[str, Any]:
    """The ``uncertainty`` of camera.yaml."""
    jacobian = fit.numbers.optics_jacobian()
    optics = np.sqrt(np.maximum(np.diag(jacobian @ fit.covariance @ jacobian.T), 0.0))
    out: dict[str, Any] = {name: _rounded(s) for name, s in zip(OPTICS, optics)}
    out |= {name: _rounded(s) for name, s in zip(NAMES, fit.sigma)}
    free = fit.sigma > 0
    spread = np.where(free, fit.sigma, 1.0)
    related = (fit.covariance / np.outer(spread, spread))[np.ix_(free, free)]
    out["correlation"] = {
        "of": [name for name, on in zip(NAMES, free) if on],
        "matrix": [[round(float(x), DIGITS) for x in row] for row in related],
    }
    out["held_out_squares_percent"] = [round(float(100 * (x - 1)), 3) for x in fit.held_out.size]
    b = fit.board
    out["metric_fact"] = f"checkerboard of {1e3 * b.square:g} mm squares, {b.columns} by {b.rows} corners"
    return out


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
