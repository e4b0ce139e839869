# SPDX-License-Identifier: Apache-2.0
"""``prism-vo import-calibration``: a vendor's micro-lens grid, with or without LiFCal's optics → ``camera.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from prism_vo.commands.import_arguments import DataSheet, files_by_kind, find_raw_size, read_raw_images
from prism_vo.commands.import_lines import distortion_line, grid_lines, optics_line, type_lines
from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prism_vo.calibrate.reading import SeenReading
    from prism_vo.optics.calibration import Calibration
    from prism_vo.optics.vendor import GridReading, Optics, VendorGrid
    from prism_vo.optics.vendor.brown import LensDistortion


def import_calibration(
    first: Path,
    second: Path | None = None,
    /,
    *,
    raw_size: str | None = None,
    raw_image: Annotated[list[Path] | None, Parameter(consume_multiple=True, negative=())] = None,
    lens: float | None = None,
    pixel: float | None = None,
    f_number: float | None = None,
    keep_grid: Annotated[bool, Parameter(negative=())] = False,
    distortion: bool = True,
    out: Path = Path("camera.yaml"),
    view: Literal["central", "focal"] = "central",
    force: bool = False,
    quiet: Quiet = False,
) -> None:
    """Make camera.yaml of a vendor's micro-lens XML and, if there is one, a LiFCal CameraModel.xml.

    Parameters
    ----------
    first
        The vendor's micro-lens XML. Alone it is enough with --lens and --pixel; distances are not metric then.
    second
        LiFCal's CameraModel.xml; the two may come in either order.
    raw_size
        Size of the raw images, such as 2048x2048; no XML file has it.
    raw_image
        Raw images, or a folder of them: size, the reading of the file they show, and how far it is off.
    lens
        Focal length of the main lens in mm (data sheet), when there is no CameraModel.xml.
    pixel
        Size of a raw pixel in µm (data sheet), when there is no CameraModel.xml.
    f_number
        f-number of the main lens, when there is no CameraModel.xml; default 3.
    keep_grid
        Write the grid of the file even where the images show it elsewhere.
    distortion
        Take over the lens distortion of the micro-lens file.
    out
        The file to write.
    view
        The totally focused view to decode.
    force
        Replace an existing file.
    """
    from prism_vo.errors import InputError
    from prism_vo.optics.calibration import save_calibration
    from prism_vo.optics.nominal import metric_notice
    from prism_vo.optics.vendor import grid_readings, join_calibration, read_vendor_grid, the_only_reading

    if out.exists() and not force:
        raise InputError(f"{out}: exists already; give another --out or --force.")
    grid_file, model_file = files_by_kind(first, second)
    sheet = DataSheet.checked(lens, pixel, f_number, model_file)
    grid = read_vendor_grid(grid_file, distortion=distortion)
    images = read_raw_images(raw_image or [])
    size = find_raw_size(raw_size, images)
    readings = grid_readings(grid, size)
    seen = _look(images, readings, keep_grid)
    if seen is not None and seen.is_foreign and not keep_grid:
        raise InputError(
            f"{grid_file}: lies {seen.before.median:.1f} px beside the micro-images (median), with a pitch of "
            f"{seen.corrected.pitch:.2f} px, so it is not the file of this camera; give its own, or --keep-grid."
        )
    reading = the_only_reading(readings) if seen is None else seen.reading
    for line in grid_lines(grid_file, reading, len(readings) > 1, seen, keep_grid):
        print(line)
    if seen is not None and not keep_grid:
        reading = seen.corrected
    optics = _optics(grid, reading, size, model_file, sheet)
    calibration = join_calibration(grid, reading, optics, size, view)
    if seen is not None and not keep_grid and len(reading.focus) > 1:
        calibration = _with_seen_types(calibration, images, seen)
    save_calibration(calibration, out)
    print(f"wrote {out}")
    notice = metric_notice(calibration)
    if notice:
        print(f"note: {notice}")


def _look(
    images: list[NDArray[Any]], readings: tuple[GridReading, ...], keep_grid: bool
) -> SeenReading | None:
    """What the images show of the grid; None where there is no image, or none that shows it and none is needed."""
    from prism_vo.calibrate.grid import GridUncertainError
    from prism_vo.calibrate.multiples import GridMultipleError
    from prism_vo.calibrate.reading import see_reading
    from prism_vo.optics.vendor import AmbiguousGridError, the_only_reading

    if not images:
        return None
    try:
        return see_reading(images, readings)
    except GridUncertainError as error:
        if isinstance(error, GridMultipleError) and not keep_grid:
            raise
        try:
            the_only_reading(readings)
        except AmbiguousGridError:
            raise error from None
        print(f"note: the grid of the file was not checked: {error}")
        return None


def _with_seen_types(calibration: Calibration, images: list[NDArray[Any]], seen: SeenReading) -> Calibration:
    """The calibration with the focus each class of lenses shows, where the images tell."""
    from prism_vo.calibrate.lens_order import see_lens_order

    kinds = calibration.mla.lens_types
    order = see_lens_order(images, calibration)
    focus = tuple(kind.focus_virtual_depth for kind in kinds)
    shown = focus if order is None or not order.clear else order.focus_by_class(focus)
    for line in type_lines(focus, order, seen):
        print(line)
    by_focus = {kind.focus_virtual_depth: kind for kind in kinds}
    mla = calibration.mla.model_copy(update={"lens_types": tuple(by_focus[f] for f in shown)})
    return calibration.model_copy(update={"mla": mla})


def _optics(
    grid: VendorGrid,
    reading: GridReading,
    size: tuple[int, int],
    model_file: Path | None,
    sheet: DataSheet | None,
) -> Optics:
    from prism_vo.optics.vendor import lifcal_optics, nominal_optics, read_lifcal_model, tf_scale
    from prism_vo.optics.vendor.raytrix import RaytrixGrid

    if model_file is not None:
        model = read_lifcal_model(model_file)
        if not model.centres_adjusted:
            print(
                f"note: {model_file} was calibrated without micro-lens centre adjustment, "
                "which biases metric depth; run LiFCal again with it if you can."
            )
        own = any((*model.radial, *model.tangential))
        bent = _distortion(
            grid, size, model.pixel_size_mm * 1e3, f"left out: {model_file} has its own" if own else None
        )
        return lifcal_optics(model, tf_scale(model, size), bent)
    assert sheet is not None
    optics = nominal_optics(
        reading.pitch,
        size,
        lens_mm=sheet.lens_mm,
        pixel_um=sheet.pixel_um,
        f_number=sheet.f_number,
        least_virtual_depth=grid.least_virtual_depth if isinstance(grid, RaytrixGrid) else None,
        distortion=_distortion(grid, size, sheet.pixel_um, None),
    )
    print(optics_line(optics, sheet.f_number))
    return optics


def _distortion(
    grid: VendorGrid, size: tuple[int, int], pixel_um: float, left_out: str | None
) -> LensDistortion | None:
    """The distortion of the grid file in our units; says what was made of it."""
    from prism_vo.optics.vendor.brown import lens_distortion
    from prism_vo.optics.vendor.raytrix import RaytrixGrid

    if not isinstance(grid, RaytrixGrid) or grid.distortion is None:
        return None
    bent = lens_distortion(grid.distortion, size, pixel_um)
    if left_out is not None:
        print(f"  distortion    of the micro-lens file {left_out}")
        return None
    print(distortion_line(bent))
    return bent
