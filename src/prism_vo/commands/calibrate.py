# SPDX-License-Identifier: Apache-2.0
"""``prism-vo calibrate``: numbers of a camera from its own images. ``grid``: where the micro-lenses are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prism_vo.calibrate.findings import GridFindings
    from prism_vo.calibrate.grid import Grid
    from prism_vo.optics.calibration import Calibration
    from prism_vo.optics.vendor import VendorGrid


class Start(NamedTuple):
    """What --start says; all None without it."""

    path: Path | None = None
    calibration: Calibration | None = None
    grid: Grid | None = None
    vendor: VendorGrid | None = None
    size: tuple[int, int] | None = None  # width, height, where the file has it


def grid(
    *images: Path,
    start: Path | None = None,
    out: Path | None = None,
    plot: Path | None = None,
    mosaic: Annotated[bool, Parameter(negative=())] = False,
    force: Annotated[bool, Parameter(negative=())] = False,
    quiet: Quiet = False,
) -> None:
    """Find the micro-lens grid in a white image or in ordinary raw images, and say how certain it is.

    Parameters
    ----------
    images
        Raw images of one camera, folders of them, or recordings; a white image alone is best.
    start
        camera.yaml, a grid file or a vendor's XML to begin with and to correct.
    out
        Write camera.yaml with the corrected grid; without --start, or with a grid file, a file with the grid alone.
    plot
        Write a picture (PNG): crops with circles, and arrows of what is left over by zone.
    mosaic
        The images are colour mosaics (Bayer); known already when camera.yaml says so.
    force
        Replace existing files.
    """
    from prism_vo.calibrate.findings import look_at_grid
    from prism_vo.calibrate.reading import likeliest_start
    from prism_vo.commands.grid_images import choose_images, read_images
    from prism_vo.commands.grid_lines import grid_lines
    from prism_vo.commands.narration import Narration
    from prism_vo.optics.vendor import grid_readings

    begin = _read_start(start)
    _check_targets(begin, out, plot, force)
    found = choose_images(images)
    with Narration() as say:
        pictures = read_images(found, say, mosaic or _is_mosaic(begin))
        first = begin.grid
        if begin.vendor is not None:
            say("comparing the meanings of the vendor's file")
            first = likeliest_start(pictures, grid_readings(begin.vendor, pictures[0].shape[1::-1]))
        _check_size(begin, pictures[0])
        findings = look_at_grid(pictures, first, say)
    types = None if begin.calibration is None else len(begin.calibration.mla.lens_types)
    print("\n".join(grid_lines(findings, len(pictures), len(found), types)))
    if plot is not None:
        _write_plot(plot, pictures, findings)
    if out is not None:
        _write(out, begin, findings)


def _read_start(path: Path | None) -> Start:
    from prism_vo.calibrate.grid import Grid
    from prism_vo.calibrate.grid_file import GRID_FORMAT, load_grid_file
    from prism_vo.optics.calibration import load_calibration
    from prism_vo.optics.vendor import read_vendor_grid
    from prism_vo.yaml_files import read_yaml

    if path is None:
        return Start()
    if path.suffix.lower() == ".xml":
        return Start(path, vendor=read_vendor_grid(path, distortion=False))
    data = read_yaml(path)
    if isinstance(data, dict) and data.get("format") == GRID_FORMAT:
        file = load_grid_file(path)
        return Start(path, grid=file.grid, size=(file.sensor.width, file.sensor.height))
    calibration = load_calibration(path)
    size = (calibration.sensor.width, calibration.sensor.height)
    return Start(path, calibration, Grid.of(calibration.mla), size=size)


def _check_targets(start: Start, out: Path | None, plot: Path | None, force: bool) -> None:
    """Everything that would make writing fail is said before any work."""
    from prism_vo.errors import CalibrationError, ConfigError, InputError

    if start.vendor is not None and out is not None:
        raise CalibrationError(
            f"{start.path}: has a grid but no optics, so no camera.yaml can be made of it here; make one with "
            "prism-vo import-calibration, then give that as --start."
        )
    if plot is not None and plot.suffix.lower() != ".png":
        raise ConfigError(f"{plot}: the picture is a PNG file; give a name ending in .png.")
    for target, name in ((out, "--out"), (plot, "--plot")):
        if target is None:
            continue
        if target.exists() and (target.is_dir() or not force):
            raise InputError(f"{target}: exists already; give another {name} or --force.")
        if not target.absolute().parent.is_dir():
            raise InputError(f"{target.parent}: no such folder; make it first or give another {name}.")


def _is_mosaic(start: Start) -> bool:
    return start.calibration is not None and start.calibration.sensor.bayer is not None


def _check_size(start: Start, image: NDArray[Any]) -> None:
    from prism_vo.errors import InputError

    height, width = image.shape[:2]
    if start.size is not None and start.size != (width, height):
        raise InputError(
            f"{start.path}: describes a sensor of {start.size[0]}x{start.size[1]}, the images are {width}x{height}; "
            "give the file of this camera, or no --start."
        )


def _write_plot(plot: Path, pictures: list[NDArray[Any]], findings: GridFindings) -> None:
    import cv2

    from prism_vo.atomic import write_bytes_atomically
    from prism_vo.calibrate.grid_picture import findings_picture, mean_image

    picture = findings_picture(mean_image(pictures), findings)
    _, encoded = cv2.imencode(".png", picture[..., ::-1])
    write_bytes_atomically(plot, encoded.tobytes())
    print(f"wrote {plot}")


def _write(out: Path, start: Start, findings: GridFindings) -> None:
    from prism_vo.calibrate.grid_file import corrected_calibration, save_grid_file
    from prism_vo.optics.calibration import save_calibration

    if start.calibration is not None:
        save_calibration(corrected_calibration(start.calibration, findings), out)
        print(f"wrote {out}: {start.path} with the grid corrected")
        return
    save_grid_file(findings, out)
    print(f"wrote {out}: the grid alone; a camera.yaml needs optics, too (prism-vo import-calibration)")
