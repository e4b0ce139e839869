# SPDX-License-Identifier: Apache-2.0
"""The one sentence about distances from a camera whose optics are nominal."""

from __future__ import annotations

from prism_vo.optics.calibration import Calibration

METRIC_KEYS = ("focal_length_mm", "mla_distance_mm", "sensor_distance_mm", "principal_point_px")


def is_metric(calibration: Calibration) -> bool:
    """Whether the unit of its distances is the metre."""
    return not any(key in METRIC_KEYS for key in calibration.nominal)


def lacks_scale_alone(calibration: Calibration) -> bool:
    """Whether its optics were measured (``calibrate camera``), but no length was known: a factor is missing."""
    measured = calibration.uncertainty is not None and "w_infinity" in calibration.uncertainty
    return measured and "principal_point_px" not in calibration.nominal and not is_metric(calibration)


def metric_notice(calibration: Calibration) -> str | None:
    """Why distances are not metric yet and what makes them so; None for measured optics."""
    if is_metric(calibration):
        return None
    if lacks_scale_alone(calibration):
        return (
            "Distances are not metric yet: camera.yaml knows everything but the scale; give prism-vo calibrate camera "
            "a known length, with --distance, --board or --sensor-distance."
        )
    return (
        "Distances are not metric yet: the optics in camera.yaml are nominal; measure them with prism-vo calibrate "
        "camera, from a recording of any rigid scene (or import a CameraModel.xml measured by LiFCal)."
    )
