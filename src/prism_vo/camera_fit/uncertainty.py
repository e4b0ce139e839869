# SPDX-License-Identifier: Apache-2.0
"""The ``uncertainty`` section of camera.yaml: σ of every number, and how they hang together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from prism_vo.batch.numbers import KAPPA, NAMES, OPTICS
from prism_vo.camera_fit.fit import DISTANCES, CameraFit, correlation
from prism_vo.optics.calibration import NominalKey

DIGITS = 4
METRIC_KEYS: tuple[NominalKey, ...] = ("focal_length_mm", "mla_distance_mm", "sensor_distance_mm")


def with_uncertainty(fit: CameraFit) -> CameraFit:
    """The fit with its covariance written into the calibration; without a metric fact the optics stay nominal."""
    nominal = tuple(key for key in fit.start.nominal if key not in (*METRIC_KEYS, "principal_point_px"))
    if not fit.is_metric:
        nominal = (*METRIC_KEYS, *nominal)
    changed = {"uncertainty": section(fit), "nominal": nominal}
    return replace(fit, calibration=fit.calibration.model_copy(update=changed))


def section(fit: CameraFit) -> dict[str, Any]:
    """Plain numbers; readers that know none of them lose nothing."""
    free = fit.sigma > 0
    names = [name for name, on in zip(NAMES, free) if on]
    related = correlation(fit.covariance)[np.ix_(free, free)]
    out: dict[str, Any] = {}
    if fit.is_metric:
        sigma = np.sqrt(np.maximum(np.diag(fit.optics_covariance), 0.0))
        out |= {name: _rounded(s) for name, s in zip(OPTICS, sigma)}
        between = correlation(fit.optics_covariance)
        out["optics_correlation"] = [[round(float(v), DIGITS) for v in row] for row in between]
        out["scale_percent"] = {f"{d:g} m": _rounded(100 * fit.scale_sigma(d)) for d in DISTANCES}
    out |= {name: _rounded(s) for name, s in zip(NAMES, fit.sigma) if name != NAMES[KAPPA] or fit.is_metric}
    out["correlation"] = {
        "of": names,
        "matrix": [[round(float(v), DIGITS) for v in row] for row in related],
    }
    out["metric_fact"] = fit.fact.words
    if fit.start.uncertainty is not None and "grid" in fit.start.uncertainty:
        out["grid"] = fit.start.uncertainty["grid"]
    return out


def _rounded(value: float) -> float:
    """Four digits that count."""
    return float(f"{value:.{DIGITS}g}")
