# SPDX-License-Identifier: Apache-2.0
"""Main lens and distances for a grid: measured by LiFCal, or nominal when there is nothing but the grid."""

from __future__ import annotations

from dataclasses import dataclass

from prism_vo.optics.calibration import NominalKey
from prism_vo.optics.vendor.brown import LensDistortion
from prism_vo.optics.vendor.lifcal import LifcalModel
from prism_vo.optics.vendor.xml_file import Pair

USUAL_F_NUMBER = 3.0  # pitch · pixel / B of calibrated R5 bodies: 0.1276 mm / 0.37–0.40 mm
USUAL_LEAST_VIRTUAL_DEPTH = 2.0  # focused at infinity, where micro-images begin to cover a plane completely
USUAL_SCALE = 2  # raw pixels per focused pixel


@dataclass(frozen=True)
class Optics:
    """Everything of camera.yaml that is not the grid."""

    pixel_size_um: float
    focal_length_mm: float
    mla_distance_mm: float
    sensor_distance_mm: float
    principal_point_px: Pair
    scale: int
    radial: Pair = (0.0, 0.0)
    tangential: Pair = (0.0, 0.0)
    distortion_centre_px: Pair | None = None
    nominal: tuple[NominalKey, ...] = ()


def lifcal_optics(model: LifcalModel, scale: int, distortion: LensDistortion | None = None) -> Optics:
    """The optics LiFCal measured; the grid file's distortion counts where LiFCal has none."""
    x, y = (scale * (c + 0.5) - 0.5 for c in model.principal_point)
    own = any((*model.radial, *model.tangential)) or distortion is None
    return Optics(
        pixel_size_um=round(model.pixel_size_mm * 1e3, 9),
        focal_length_mm=model.focal_length,
        mla_distance_mm=model.mla_distance,
        sensor_distance_mm=model.sensor_distance,
        principal_point_px=(x, y),
        scale=scale,
        radial=model.radial if own or distortion is None else distortion.radial,
        tangential=model.tangential if own or distortion is None else distortion.tangential,
        distortion_centre_px=None if own or distortion is None else distortion.centre_px,
    )


def nominal_optics(
    pitch_px: float,
    raw_size: tuple[int, int],
    *,
    lens_mm: float,
    pixel_um: float,
    f_number: float = USUAL_F_NUMBER,
    least_virtual_depth: float | None = None,
    distortion: LensDistortion | None = None,
) -> Optics:
    """Optics by data sheet, for a main lens focused at infinity.

    Micro-images just touch each other when the main lens and the micro-lenses have one f-number N, so
    B = pitch · pixel size · N. At infinity the virtual depth is the least that is covered completely (the file's
    ``tcp``, about 2), so b_L0 = f_L − tcp · B. The principal point is the middle of the sensor or of the distortion.
    """
    distance = pitch_px * pixel_um * 1e-3 * f_number
    least = (
        least_virtual_depth if least_virtual_depth and least_virtual_depth > 0 else USUAL_LEAST_VIRTUAL_DEPTH
    )
    middle = (raw_size[0] / 2 - 0.5, raw_size[1] / 2 - 0.5)
    return Optics(
        pixel_size_um=pixel_um,
        focal_length_mm=lens_mm,
        mla_distance_mm=lens_mm - least * distance,
        sensor_distance_mm=distance,
        principal_point_px=middle if distortion is None else distortion.centre_px,
        scale=USUAL_SCALE,
        radial=(0.0, 0.0) if distortion is None else distortion.radial,
        tangential=(0.0, 0.0) if distortion is None else distortion.tangential,
        nominal=("focal_length_mm", "mla_distance_mm", "sensor_distance_mm", "principal_point_px"),
    )
