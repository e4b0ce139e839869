# SPDX-License-Identifier: Apache-2.0
"""Sentences a user should read beside the result of a run: what does not fit, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from prism_vo.odometry import FrameReport
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.window.agreement import DepthAgreement

SURE = 3.0  # standard deviations
# what a decoder bias of 1e-4 does to the intercept of a scene with little depth (seen with exact cameras: up to 0.005)
SYSTEMATIC = 0.003
LEAST_KEYFRAMES = 3  # that must agree before anything is said
MICRO = 1e3  # µm per mm
STEP = 1e-3  # mm


def focus_notice(reports: Iterable[FrameReport], camera: PlenopticCamera) -> str | None:
    """One sentence if measured depth and parallax contradict each other by more than chance."""
    found = [
        r.mapping.agreement for r in reports if r.mapping is not None and r.mapping.agreement is not None
    ]
    if len(found) < LEAST_KEYFRAMES:
        return None
    best = _best(found)
    excess = float(np.median([a.excess for a in best]))
    sigma = float(np.hypot(np.median([a.intercept_sigma for a in best]), SYSTEMATIC))
    if abs(excess) < SURE * sigma:
        return None
    disagree = f"Measured depth and parallax disagree ({abs(excess) / sigma:.0f} σ)"
    if camera.calibration.nominal:
        expected = best[0].expected_intercept
        return (
            f"{disagree}: the nominal optics do not fit these images; the virtual depth at infinity is about "
            f"{expected + excess:.3f}, not {expected:.3f}."
        )
    moved = excess / _per_millimetre(camera) * MICRO
    depth = 1.0 / float(np.median([a.median_inv_depth for a in best]))
    wrong = 100.0 * excess * depth / camera.view("central").kappa
    return (
        f"{disagree}: the focus seems to have moved by about {moved:+.0f} µm since the calibration, so distances "
        f"near {depth:.2g} m are about {abs(wrong):.0f} % too "
        f"{'small' if wrong > 0 else 'large'}."
    )


def agreement_rows(reports: Iterable[FrameReport]) -> list[tuple[str, str]]:
    """The comparison of measured depth and parallax in plain words."""
    found = [
        r.mapping.agreement for r in reports if r.mapping is not None and r.mapping.agreement is not None
    ]
    if not found:
        return []
    best = _best(found)
    sigma = float(np.median([a.intercept_sigma for a in best]))
    excess = float(np.median([a.excess for a in best]))
    words = f"virtual depth at infinity {best[0].expected_intercept + excess:.4f} ± {sigma:.4f}"
    return [("depth and parallax", f"{words}; the file's is {best[0].expected_intercept:.4f}")]


def _best(found: list[DepthAgreement]) -> list[DepthAgreement]:
    """Those about as certain as the most certain one."""
    limit = 2.0 * min(a.intercept_sigma for a in found)
    return [a for a in found if a.intercept_sigma <= limit]


def _per_millimetre(camera: PlenopticCamera) -> float:
    """dw_∞/db_L0 of the central view."""
    lens = camera.calibration.main_lens
    moved = lens.model_copy(update={"mla_distance_mm": lens.mla_distance_mm + STEP})
    other = PlenopticCamera.from_calibration(camera.calibration.model_copy(update={"main_lens": moved}))
    return (other.view("central").w_infinity - camera.view("central").w_infinity) / STEP
