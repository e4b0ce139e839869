# SPDX-License-Identifier: Apache-2.0
"""A calibration in plain words: numbers with their σ, what errors of distance to expect, what to record next."""

from __future__ import annotations

import numpy as np

from prism_vo.batch.numbers import A0, CURVATURE, CX, CY, FOCAL, KAPPA, TILT_X, TILT_Y, W
from prism_vo.camera_fit.fit import DISTANCES, CameraFit, correlation, weakest

ADVICE = {
    "w_infinity": "have something far away in view beside near things",
    "kappa": "use a longer known distance, or measure it better",
    "F": "come nearer, tilt the camera and move farther sideways",
    "principal point": "turn the camera about its optical axis while filming",
}
STRONG = 0.95  # a correlation worth naming
SHORT_NAMES = ("F", "c_x", "c_y", "A0", "A1", "B0", "B1", "w_∞", "field x", "field y", "field r²", "κ")


def fit_lines(fit: CameraFit) -> list[str]:
    """What the screen shows."""
    rows = [("recording", _recording(fit)), ("metric fact", fit.fact.words), *parameter_rows(fit)]
    rows.append(("left over", f"{fit.reprojection_rms:.3f} raw px in micro-images (root mean square)"))
    rows += [("verdict" if k == 0 else "", sentence) for k, sentence in enumerate(verdict(fit))]
    return [f"{name:<16}{value}" for name, value in rows]


def _recording(fit: CameraFit) -> str:
    seen = fit.adjusted.seen
    return f"{len(fit.indices)} frames, {len(np.unique(seen.point))} points seen {len(seen)} times"


def parameter_rows(fit: CameraFit) -> list[tuple[str, str]]:
    """Name and value with σ of every number."""
    v, s = fit.numbers.values, fit.sigma
    rows = []
    optics, sigma = fit.numbers.optics, np.sqrt(np.maximum(np.diag(fit.optics_covariance), 0.0))
    for name, value, error in zip(("f_L", "b_L0", "B"), optics, sigma):
        known = (
            f"{value:.4f} ± {error:.4f} mm" if fit.is_metric else f"{value:.4f} mm (nominal: no metric fact)"
        )
        rows.append((name, known))
    rows.append(("F", f"{v[FOCAL]:.2f} ± {s[FOCAL]:.2f} raw px"))
    rows.append(("w_∞", f"{v[W]:.4f} ± {s[W]:.4f}"))
    if fit.is_metric:
        rows.append(("κ", f"{v[KAPPA]:.4f} ± {s[KAPPA]:.4f} m"))
    rows.append(("centre", f"({v[CX]:.1f}, {v[CY]:.1f}) ± ({s[CX]:.1f}, {s[CY]:.1f}) raw px"))
    if s[A0] > 0:
        rows.append(("distortion A0", f"{v[A0]:.2e} ± {s[A0]:.0e} /mm²"))
    else:
        rows.append(("distortion", "none that can be told from zero" if not v[A0] else "as in the file"))
    if v[CURVATURE] or v[TILT_X] or v[TILT_Y]:
        rows.append(("field", f"{v[CURVATURE]:.4f} ± {s[CURVATURE]:.4f} /mm²"))
        tilt = f"({v[TILT_X]:.4f}, {v[TILT_Y]:.4f}) ± ({s[TILT_X]:.4f}, {s[TILT_Y]:.4f}) /mm"
        rows.append(("field tilt", tilt))
    return rows


def verdict(fit: CameraFit) -> list[str]:
    """Sentences."""
    out = []
    if fit.is_metric:
        errors = ", ".join(f"{100 * fit.scale_sigma(d):.2g} % at {d:g} m" for d in DISTANCES)
        out.append(f"Expect distances to be off by about {errors} (one standard deviation).")
    else:
        out.append(
            "Everything but the scale is calibrated; distances are in an unknown unit. Give --distance, --board or "
            "--sensor-distance, or record with known poses, to make them metres."
        )
    name, share = weakest(fit.covariance, fit.numbers)
    words = {"w_infinity": "w_∞, the virtual depth of infinity", "kappa": "κ, the unit of length"}
    out.append(
        f"Weakest is {words.get(name, name)}: {100 * share:.2g} % of a distance of {DISTANCES[1]:g} m. "
        f"To know it better, {ADVICE[name]}."
    )
    pair = strongest_pair(fit)
    if pair is not None:
        out.append(
            f"{pair[0]} and {pair[1]} are known together better than alone (correlation {pair[2]:+.2f})."
        )
    return out


def strongest_pair(fit: CameraFit) -> tuple[str, str, float] | None:
    """Two numbers that trade against each other; None where all correlations are below STRONG."""
    related = np.triu(correlation(fit.covariance), 1)
    a, b = np.unravel_index(int(np.argmax(np.abs(related))), related.shape)
    value = float(related[a, b])
    return (SHORT_NAMES[a], SHORT_NAMES[b], value) if abs(value) > STRONG else None
