# SPDX-License-Identifier: Apache-2.0
"""Metrics as plain numbers: what is written to JSON and read back by tables and figures."""

from __future__ import annotations

from typing import Any

from prism_vo.errors import DegenerateError
from prism_vo.evaluate.association import TrajectoryLike
from prism_vo.evaluate.drift import Drift
from prism_vo.evaluate.loop_end import end_error
from prism_vo.evaluate.metrics import AlignedError, TrajectoryMetrics

Record = dict[str, Any]


def metrics_record(metrics: TrajectoryMetrics) -> Record:
    """All scalar results of one evaluation, ready for JSON."""
    return {
        "matched_poses": metrics.matched,
        "estimated_poses": metrics.estimated,
        "covered": metrics.covered,
        "segments": metrics.segments,
        "path_length_m": metrics.path_length,
        "scale": metrics.scale,
        "scale_error": metrics.scale_error,
        "se3": _aligned_record(metrics.se3),
        "sim3": _aligned_record(metrics.sim3),
        "drift": None if metrics.drift is None else _drift_record(metrics.drift),
        "drift_refusal": metrics.drift_refusal or None,
    }


def end_record(estimate: TrajectoryLike, truth: TrajectoryLike) -> Record | None:
    """The error at the end of a path; None: it has no two ends in one world."""
    try:
        found = end_error(estimate, truth)
    except DegenerateError:
        return None
    return {"translation_m": found.translation, "rotation_deg": found.rotation_deg}


def _aligned_record(error: AlignedError) -> Record:
    relative = error.relative
    return {
        "alignment": error.alignment,
        "rmse_t_m": error.rmse_t,
        "rmse_t_percent": error.rmse_t_percent,
        "rmse_r_deg": error.rmse_r_deg,
        "median_t_m": error.median_t,
        "max_t_m": error.max_t,
        "rpe_delta_m": None if relative is None else relative.delta,
        "rpe_pairs": 0 if relative is None else relative.pairs,
        "rpe_t_m": None if relative is None else relative.translation,
        "rpe_r_deg": None if relative is None else relative.rotation_deg,
        "transform": {
            "scale": error.transform.scale,
            "rotation": error.transform.rotation.tolist(),
            "translation_m": error.transform.translation.tolist(),
        },
    }


def _drift_record(drift: Drift) -> Record:
    return {
        "d_s": drift.d_s,
        "d_s_prime": drift.d_s_prime,
        "e_s": drift.e_s,
        "e_s_prime": drift.e_s_prime,
        "e_r_deg": drift.e_r_deg,
        "e_align_m": drift.e_align,
        "e_align_percent": drift.e_align_percent,
        "path_length_m": drift.path_length,
        "start_poses": drift.start_poses,
        "end_poses": drift.end_poses,
    }
