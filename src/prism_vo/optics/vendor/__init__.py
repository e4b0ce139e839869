# SPDX-License-Identifier: Apache-2.0
"""Calibration files users already have: vendors' micro-lens grids and LiFCal's camera model."""

from prism_vo.optics.vendor.grid_file import (
    GRID_ROOTS,
    VendorGrid,
    grid_readings,
    read_vendor_grid,
    the_only_reading,
)
from prism_vo.optics.vendor.join import calibration_from_vendor, join_calibration, tf_scale
from prism_vo.optics.vendor.lifcal import MODEL_ROOT, LifcalModel, read_lifcal_model
from prism_vo.optics.vendor.optics_of import Optics, lifcal_optics, nominal_optics
from prism_vo.optics.vendor.raytrix import MLA_ROOT, RaytrixGrid, RaytrixLensType, read_raytrix_grid
from prism_vo.optics.vendor.reading import AmbiguousGridError, GridReading
from prism_vo.optics.vendor.tspc import TSPC_ROOT, TspcGrid, read_tspc_grid
from prism_vo.optics.vendor.write import lifcal_xml, raytrix_xml
from prism_vo.optics.vendor.xml_file import root_name

__all__ = [
    "GRID_ROOTS",
    "MLA_ROOT",
    "MODEL_ROOT",
    "TSPC_ROOT",
    "AmbiguousGridError",
    "GridReading",
    "LifcalModel",
    "Optics",
    "RaytrixGrid",
    "RaytrixLensType",
    "TspcGrid",
    "VendorGrid",
    "calibration_from_vendor",
    "grid_readings",
    "join_calibration",
    "lifcal_optics",
    "lifcal_xml",
    "nominal_optics",
    "raytrix_xml",
    "read_lifcal_model",
    "read_raytrix_grid",
    "read_tspc_grid",
    "read_vendor_grid",
    "root_name",
    "tf_scale",
    "the_only_reading",
]
