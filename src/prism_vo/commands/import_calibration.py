# SPDX-License-Identifier: Apache-2.0
"""``prism-vo import-calibration``: a vendor's micro-lens grid, with or without LiFCal's optics → ``camera.yaml``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from prism_vo.commands.import_lines import distortion_line, grid_lines, optics_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prism_vo.calibrate.reading import SeenReading
    from prism_vo.optics.vendor import GridReading, Optics, VendorGrid
    from prism_vo.optics.vendor.brown import LensDistortion

MOST_IMAGES = 12  # more hardly sharpen the grid and take longer


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
    grid_file, model_file = _by_kind(first, second)
    sheet = _DataSheet.checked(lens, pixel, f_number, model_file)
    grid = read_vendor_grid(grid_file, distortion=distortion)
    images = _images(raw_image or [])
    size = _raw_size(raw_size, images)
    readings = grid_readings(grid, size)
    seen = _look(images, readings)
    reading = the_only_reading(readings) if seen is None else seen.reading
    for line in grid_lines(grid_file, reading, len(readings) > 1, seen, keep_grid):
        print(line)
    if seen is not None and not keep_grid:
        reading = seen.corrected
    optics = _optics(grid, reading, size, model_file, sheet)
    calibration = join_calibration(grid, reading, optics, size, view)
    save_calibration(calibration, out)
    print(f"wrote {out}")
    notice = metric_notice(calibration)
    if notice:
        print(f"note: {notice}")


@dataclass(frozen=True)
class _DataSheet:
    """What stands in for LiFCal's model."""

    lens_mm: float
    pixel_um: float
    f_number: float

    @classmethod
    def checked(
        cls, lens: float | None, pixel: float | None, f_number: float | None, model: Path | None
    ) -> _DataSheet | None:
        from prism_vo.errors import ConfigError
        from prism_vo.optics.vendor.optics_of import USUAL_F_NUMBER

        given = [
            n for n, v in (("--lens", lens), ("--pixel", pixel), ("--f-number", f_number)) if v is not None
        ]
        if model is not None:
            if given:
                raise ConfigError(f"{model} has the optics already; leave out {' and '.join(given)}.")
            return None
        if lens is None or pixel is None:
            raise ConfigError(
                "A micro-lens grid alone needs the main lens and the pixel size, such as --lens 16 (mm) --pixel 5.5 "
                "(µm); with a LiFCal CameraModel.xml it needs neither."
            )
        sheet = cls(lens, pixel, USUAL_F_NUMBER if f_number is None else f_number)
        if not all(0 < value < 1e6 for value in (sheet.lens_mm, sheet.pixel_um, sheet.f_number)):
            raise ConfigError("--lens (mm), --pixel (µm) and --f-number must be positive.")
        return sheet


def _by_kind(first: Path, second: Path | None) -> tuple[Path, Path | None]:
    """(grid file, model file or None), whichever was named first."""
    from prism_vo.errors import CalibrationError
    from prism_vo.optics.vendor import GRID_ROOTS, MODEL_ROOT, root_name

    files = [first] if second is None else [first, second]
    grids = [path for path in files if root_name(path) in GRID_ROOTS]
    models = [path for path in files if root_name(path) == MODEL_ROOT]
    if len(grids) != 1 or len(grids) + len(models) != len(files):
        raise CalibrationError(
            f"{' and '.join(map(str, files))}: give one micro-lens grid (root {' or '.join(GRID_ROOTS)}) and, if you "
            f"have it, one LiFCal camera model (root {MODEL_ROOT})."
        )
    return grids[0], models[0] if models else None


def _images(paths: list[Path]) -> list[NDArray[Any]]:
    """The images themselves, of folders some that are spread evenly."""
    from prism_vo.datasets.images import list_images, read_image
    from prism_vo.errors import InputError

    files: list[Path] = []
    for path in paths:
        inside = list_images(path) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"{path}: no images in this folder.")
        files += inside
    if len(files) > MOST_IMAGES:
        files = [files[n * (len(files) - 1) // (MOST_IMAGES - 1)] for n in range(MOST_IMAGES)]
    images: list[NDArray[Any]] = [read_image(path) for path in files]
    for path, image in zip(files, images):
        if image.shape[:2] != images[0].shape[:2]:
            raise InputError(f"{path}: differs in size from {files[0]}; give raw images of one camera.")
    return images


def _raw_size(text: str | None, images: list[NDArray[Any]]) -> tuple[int, int]:
    from prism_vo.errors import ConfigError

    match = re.fullmatch(r"(\d+)[x×,](\d+)", text.strip()) if text is not None else None
    size = (int(match[1]), int(match[2])) if match is not None else None
    if images:
        height, width = images[0].shape[:2]
        if text is not None and size != (width, height):
            raise ConfigError(
                f"--raw-size is {text!r} and the raw image is {width}x{height}; leave out one of them."
            )
        return width, height
    if size is None:
        found = "is missing" if text is None else f"is {text!r}"
        raise ConfigError(
            f"The raw image size {found}; give --raw-size such as 2048x2048 or --raw-image FILE."
        )
    return size


def _look(images: list[NDArray[Any]], readings: tuple[GridReading, ...]) -> SeenReading | None:
    """What the images show of the grid; None where there is no image, or none that shows it and none is needed."""
    from prism_vo.calibrate.grid import GridUncertainError
    from prism_vo.calibrate.reading import see_reading
    from prism_vo.optics.vendor import AmbiguousGridError, the_only_reading

    if not images:
        return None
    try:
        return see_reading(images, readings)
    except GridUncertainError as error:
        try:
            the_only_reading(readings)
        except AmbiguousGridError:
            raise error from None
        print(f"note: the grid of the file was not checked: {error}")
        return None


def _optics(
    grid: VendorGrid,
    reading: GridReading,
    size: tuple[int, int],
    model_file: Path | None,
    sheet: _DataSheet | None,
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
        return lifcal_optics(model, tf_scale(model.tf_size, size), bent)
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
