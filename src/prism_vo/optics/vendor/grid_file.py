# SPDX-License-Identifier: Apache-2.0
"""A vendor's micro-lens grid, whichever format it is in."""

from __future__ import annotations

from pathlib import Path

from prism_vo.bounded.files import shown
from prism_vo.errors import CalibrationError
from prism_vo.optics.vendor.raytrix import MLA_ROOT, RaytrixGrid, raytrix_readings, read_raytrix_grid
from prism_vo.optics.vendor.reading import AmbiguousGridError, GridReading
from prism_vo.optics.vendor.tspc import TSPC_ROOT, TspcGrid, read_tspc_grid, tspc_readings
from prism_vo.optics.vendor.xml_file import root_name

VendorGrid = RaytrixGrid | TspcGrid
GRID_ROOTS = (MLA_ROOT, TSPC_ROOT)


def read_vendor_grid(path: Path, *, distortion: bool = True) -> VendorGrid:
    """Read a micro-lens grid; without ``distortion`` that part of the file is not looked at."""
    name = root_name(path)
    if name == TSPC_ROOT:
        return read_tspc_grid(path)
    if name == MLA_ROOT:
        return read_raytrix_grid(path, distortion=distortion)
    known = " or ".join(GRID_ROOTS)
    raise CalibrationError(f"{path}: root element is {shown(name)}; a micro-lens grid has {known}.")


def grid_readings(grid: VendorGrid, raw_size: tuple[int, int]) -> tuple[GridReading, ...]:
    """What the file can mean on images of ``raw_size`` (width, height), the likelier reading first."""
    return tspc_readings(grid) if isinstance(grid, TspcGrid) else raytrix_readings(grid, raw_size)


def the_only_reading(readings: tuple[GridReading, ...]) -> GridReading:
    """The reading to take without an image, unless two are likely."""
    likely = [reading for reading in readings if reading.likely]
    if len(likely) > 1:
        one, other = likely[:2]
        raise AmbiguousGridError(
            f"The micro-lens file can be read in two ways ({one.meaning}, or {other.meaning}) and only an image tells "
            "which; give prism-vo import-calibration a raw image of this camera with --raw-image."
        )
    return likely[0]
