# SPDX-License-Identifier: Apache-2.0
"""The one sentence about distances from a camera whose optics are nominal."""

from __future__ import annotations

from prism_vo.optics.calibration import Calibration

IN_WORDS = {
    "focal_length_mm": "focal length",
    "mla_distance_mm": "lens-to-array distance",
    "sensor_distance_mm": "array-to-sensor distance",
    "principal_point_px": "principal point",
}  # what distances depend on


def metric_notice(calibration: Calibration) -> str | None:
    """Why distances are not metric yet and what makes them so; None for measured optics."""
    names = [IN_WORDS[key] for key in calibration.nominal if key in IN_WORDS]
    if not names:
        return None
    return (
        f"Distances are not metric yet: {', '.join(names)} in camera.yaml are nominal; "
        "import-calibration with a CameraModel.xml measured by LiFCal makes them so."
    )
