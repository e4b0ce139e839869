# SPDX-License-Identifier: Apache-2.0
"""The one sentence about distances from a camera whose optics are nominal."""

from __future__ import annotations

from prism_vo.optics.calibration import Calibration


def metric_notice(calibration: Calibration) -> str | None:
    """Why distances are not metric yet and what makes them so; None for measured optics."""
    if not calibration.nominal:
        return None
    return (
        "Distances are not metric yet: the optics in camera.yaml are nominal "
        f"({', '.join(calibration.nominal)}); measure them, for example with LiFCal, and import its CameraModel.xml "
        "together with the grid (prism-vo import-calibration mla.xml CameraModel.xml)."
    )
