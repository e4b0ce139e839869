# SPDX-License-Identifier: Apache-2.0
"""``prism-vo calibrate board``: the whole camera from pictures of a checkerboard, or from corners found elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from collections.abc import Callable

    from prism_vo.board_fit.fit import BoardFit
    from prism_vo.board_fit.records import Board, CornerSlopes, MicroCorners
    from prism_vo.calibrate.grid import Grid
    from prism_vo.optics.calibration import Calibration

    Say = Callable[[str, int, int], None]

MM = 1e-3
MOST_PICTURES = 40


class _Given(NamedTuple):
    """Corners with everything that a camera file needs beside the optics."""

    corners: MicroCorners
    slopes: CornerSlopes
    board: Board
    calibration: Calibration


def board(
    *images: Path,
    square: float,
    corners: tuple[int, int] | None = None,
    camera: Path | None = None,
    white: Path | None = None,
    centers: Path | None = None,
    raw_size: str | None = None,
    pixel: float | None = None,
    distortion: Literal["auto", "none", "radial", "full"] = "auto",
    out: Path | None = None,
    report: Path | None = None,
    xml: Annotated[bool, Parameter(negative=())] = False,
    force: Annotated[bool, Parameter(negative=())] = False,
    quiet: Quiet = False,
) -> None:
    """Find f_L, b_L0, B, principal point and distortion from raw pictures of a checkerboard.

    Parameters
    ----------
    images
        Raw pictures of the board, folders of them or recordings; or one table of corners (.csv with k, l, u, v,
        cluster, frame: lens column and row, pixel, number of the corner, picture).
    square
        Side of a square, mm.
    corners
        Inner corners of the board, a row and a column (default: tried out; a table needs them).
    camera
        camera.yaml whose grid is right; its optics may be nominal (default: that of the recording).
    white
        White image (default: white.png beside the pictures).
    centers
        Table of micro-image centres (.csv with k, l, u, v) that a table of corners refers to.
    raw_size
        Size of the sensor, as 4080x3068, where a table is given without --camera.
    pixel
        Size of a pixel in µm, where a table is given without --camera.
    distortion
        auto: radial terms that pictures not seen agree on; none; radial: one term; full: two and two tangential ones.
    out
        camera.yaml to write.
    report
        HTML page to write: numbers, what is left over by zone and within micro-images, every picture.
    xml
        Write CameraModel.xml (LiFCal) and mla.xml (Raytrix) beside --out, too.
    force
        Replace existing files.
    """
    from prism_vo.board_fit.fit import calibrate_board
    from prism_vo.board_fit.words import board_lines, calibration_of
    from prism_vo.commands.calibrate_camera import check_outputs, check_target, write_camera
    from prism_vo.commands.narration import Narration
    from prism_vo.errors import ConfigError

    check_outputs(out, xml, force)
    check_target(report, force, "--report")
    if not 0 < square < 1e4:
        raise ConfigError(f"--square must be a positive length in mm, not {square:g}.")
    if corners is not None and not (min(corners) >= 3 and max(corners) <= 100):
        raise ConfigError("--corners are inner corners a row and a column, between 3 and 100.")
    with Narration() as say:
        if len(images) == 1 and images[0].suffix.lower() == ".csv":
            given = _from_table(images[0], square, corners, camera, centers, raw_size, pixel)
        else:
            given = _from_pictures(images, square, corners, camera, white, lambda w, d, o: say(w, d, o))
        sensor, mla = given.calibration.sensor, given.calibration.mla
        fit = calibrate_board(
            given.corners,
            given.slopes,
            given.board,
            (sensor.width, sensor.height),
            sensor.pixel_size_um * MM,
            mla.pitch_px / 2,
            distortion,
            lambda words, done, of: say(words, done, of),
        )
    print("\n".join(board_lines(fit)))
    if out is not None:
        write_camera(calibration_of(fit, given.calibration), out, xml)
    if report is not None:
        _write_report(fit, images[0].resolve().name, (sensor.width, sensor.height), report)


def _write_report(fit: BoardFit, name: str, size: tuple[int, int], path: Path) -> None:
    from prism_vo.atomic import write_text_atomically
    from prism_vo.camera_fit.board_page import board_page

    write_text_atomically(path, board_page(fit, name, size))
    print(f"wrote {path}")


def _from_table(
    path: Path,
    square: float,
    size: tuple[int, int] | None,
    camera: Path | None,
    centers: Path | None,
    raw_size: str | None,
    pixel: float | None,
) -> _Given:
    import numpy as np

    from prism_vo.board_fit.centres import fit_centres
    from prism_vo.board_fit.files import CENTRES, CORNERS, check_corner_numbers, read_table
    from prism_vo.board_fit.records import Board, CornerSlopes, MicroCorners
    from prism_vo.errors import ConfigError

    if size is None:
        raise ConfigError("A table of corners needs --corners: how many a row and a column of the board has.")
    if centers is None:
        raise ConfigError("A table of corners needs --centers: the micro-image centres its lenses refer to.")
    board = Board(size[0], size[1], square * MM)
    lenses, table = read_table(centers, CENTRES), read_table(path, CORNERS)
    check_corner_numbers(path, table[:, 4], board)
    grid = fit_centres(lenses[:, :2], lenses[:, 2:], str(centers))
    print(
        f"{centers}: {grid.grid.layout} grid through {len(lenses)} centres, pitch {grid.grid.pitch:.4f} px, turned by "
        f"{grid.grid.rotation:.6f} rad; {grid.rms:.3f} px RMS are left over (by any sheared grid {grid.affine_rms:.3f})"
    )
    _, frame = np.unique(table[:, 5], return_inverse=True)
    corners = MicroCorners(
        frame.astype(np.intp), table[:, 4].astype(np.intp), grid.points(table[:, :2]), table[:, 2:4]
    )
    calibration = _camera_of_table(camera, grid.grid, raw_size, pixel)
    return _Given(corners, CornerSlopes.none(), board, calibration)


def _camera_of_table(
    camera: Path | None, grid: Grid, raw_size: str | None, pixel: float | None
) -> Calibration:
    """The camera file with the table's grid, or one made of --raw-size and --pixel; its optics do not matter."""
    from prism_vo.board_fit.words import MEASURED
    from prism_vo.commands.import_arguments import find_raw_size
    from prism_vo.errors import ConfigError
    from prism_vo.optics.calibration import Calibration, load_calibration

    origin = (float(grid.origin[0]), float(grid.origin[1]))
    lattice = {
        "layout": grid.layout,
        "pitch_px": grid.pitch,
        "rotation_rad": grid.rotation,
        "origin_px": origin,
    }
    if camera is not None:
        known = load_calibration(camera)
        return known.model_copy(update={"mla": known.mla.model_copy(update=lattice)})
    if pixel is None:
        raise ConfigError("A table of corners needs --camera, or --raw-size and --pixel (µm).")
    width, height = find_raw_size(raw_size, [])
    data = {
        "sensor": {"width": width, "height": height, "pixel_size_um": pixel},
        "main_lens": {
            "focal_length_mm": 50.0,
            "mla_distance_mm": 49.0,
            "principal_point_px": (width / 2 - 0.5, height / 2 - 0.5),
        },
        "mla": {**lattice, "sensor_distance_mm": 0.4, "lens_types": [{"focus_virtual_depth": 3.0}]},
        "nominal": (*MEASURED, "focus_virtual_depth"),
    }
    return Calibration.model_validate(data)


def _from_pictures(
    arguments: tuple[Path, ...],
    square: float,
    size: tuple[int, int] | None,
    camera: Path | None,
    white: Path | None,
    say: Say,
) -> _Given:
    from prism_vo.board_fit.detect import detect_corners
    from prism_vo.commands.grid_images import choose_images
    from prism_vo.datasets.images import Size, read_image
    from prism_vo.errors import ConfigError
    from prism_vo.optics.calibration import load_calibration
    from prism_vo.types import RawFrame

    paths = choose_images(arguments)
    folders = [p for p in arguments if p.is_dir()] + [paths[0].parent]
    beside = next((f / "camera.yaml" for f in folders if (f / "camera.yaml").is_file()), None)
    file = camera or beside
    if file is None:
        raise ConfigError("Pictures of a board need --camera: a camera.yaml whose micro-lens grid is right.")
    calibration = load_calibration(file)
    sensor = calibration.sensor
    wanted = Size(sensor.width, sensor.height, f"give pictures of the camera that {file} describes.")
    picked = paths[:: -(-len(paths) // MOST_PICTURES)]
    frames = []
    for done, path in enumerate(picked):
        say("reading pictures", done, len(picked))
        frames.append(RawFrame(done, float(done), read_image(path, wanted), path=path))
    light = white or next((f / "white.png" for f in folders if (f / "white.png").is_file()), None)
    evenly = None if light is None else read_image(light, wanted).astype("float32")
    found = detect_corners(frames, calibration, evenly, square * MM, size, say)
    return _Given(found.corners, found.slopes, found.board, calibration)
