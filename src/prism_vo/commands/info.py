# SPDX-License-Identifier: Apache-2.0
"""``prism-vo info``: what a path is, what is missing, and what the camera can measure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from prism_vo.datasets import Sequence
    from prism_vo.optics.camera import PlenopticCamera


def info(
    path: Path,
    /,
    *,
    plot: Path | None = None,
    check: bool = True,
    quiet: Quiet = False,
) -> None:
    """Say what a sequence, calibration, image, trajectory, cloud or map is, and what the camera can measure.

    Parameters
    ----------
    path
        A folder or file.
    plot
        Write a picture (PNG): crops with the micro-lens grid, and arrows by which it lies beside the micro-images.
    check
        Look at a few raw images whether the camera file fits them (some seconds).
    """
    from prism_vo.errors import ConfigError, InputError

    if not path.exists():
        raise InputError(f"{path}: no such file or folder.")
    lines, camera, sequence = _describe(path)
    if camera is not None:
        lines += ["", *optics_lines(camera)]
    print("\n".join(lines), flush=True)
    if sequence is None or sequence.is_decoded:
        if plot is not None:
            raise ConfigError(f"{path}: --plot needs a sequence with raw images.")
        return
    _look(sequence, plot, check)


def _look(sequence: Sequence, plot: Path | None, check: bool) -> None:
    """Whether the camera fits, and the picture of it."""
    import cv2

    from prism_vo.atomic import write_bytes_atomically
    from prism_vo.commands.fit_check import check_sequence, fit_picture, images_spread_over
    from prism_vo.errors import ConfigError

    if plot is not None and plot.suffix.lower() != ".png":
        raise ConfigError(f"{plot}: the picture is a PNG file; give a name ending in .png.")
    images = images_spread_over(sequence) if check else []
    found = None
    if check:
        found, lines = check_sequence(sequence, images)
        print("\n".join(["", *lines]))
    if plot is not None:
        _, encoded = cv2.imencode(".png", fit_picture(sequence, images, found)[..., ::-1])
        write_bytes_atomically(plot, encoded.tobytes())
        print(f"\nwrote {plot}")


def _describe(path: Path) -> tuple[list[str], PlenopticCamera | None, Sequence | None]:
    from prism_vo.datasets.video import is_video
    from prism_vo.optics.calibration import load_calibration
    from prism_vo.optics.camera import PlenopticCamera

    if (path / "trajectory.txt").is_file() and not (path / "camera.yaml").is_file():
        return result_lines(path), None, None
    if path.is_dir() or path.name == "sequence.yaml" or is_video(path):
        sequence = _open(path)
        return sequence_lines(sequence), sequence.camera, sequence
    if path.suffix in (".yaml", ".yml"):
        camera = PlenopticCamera.from_calibration(load_calibration(path))
        return [f"{path}: camera calibration"], camera, None
    return _file_lines(path), None, None


def _open(path: Path) -> Sequence:
    """The recording; if only its camera is not described, the commands to type next are printed first."""
    from prism_vo.datasets import open_sequence
    from prism_vo.datasets.missing_camera import MissingCameraError
    from prism_vo.errors import InputError

    try:
        return open_sequence(path)
    except MissingCameraError as error:
        print("\n".join(error.lines()), flush=True)
        raise InputError(f"{error.fault}.") from error


def sequence_lines(sequence: Sequence) -> list[str]:
    """What a sequence holds, and what it lacks with the consequence."""
    from prism_vo.datasets.source import notes_of

    count, times = len(sequence), sequence.times
    first = sequence[0]
    kind = "focused images, decoded already" if sequence.is_decoded else "raw plenoptic images"
    height, width = first.image.shape[:2]
    lines = [
        f"{sequence.name}: {count} {kind}, {width}x{height}, {first.image.dtype}"
        + (", colour" if first.image.ndim == 3 else ""),
        f"  time          {times[0]:g} to {times[-1]:g} s"
        + (f", {(count - 1) / (times[-1] - times[0]):.3g} frames a second" if count > 1 else ""),
    ]
    missing = []
    truth = sequence.groundtruth
    if truth is None:
        missing.append("ground truth (groundtruth.txt): errors cannot be computed")
    else:
        lines.append(f"  ground truth  {len(truth)} poses, {truth.length:.3f} m")
    if not sequence.is_decoded:
        if sequence.white is None:
            missing.append("white image (white.png): vignetting is estimated from the scene")
        else:
            lines.append("  white image   present")
    if sequence.exposures is None:
        missing.append("exposure times (times.txt, second column): brightness changes are estimated")
    else:
        shortest, longest = sequence.exposures.min() * 1e3, sequence.exposures.max() * 1e3
        lines.append(f"  exposure      {shortest:.3g} to {longest:.3g} ms")
    lines += [f"  note          {note}" for note in notes_of(sequence)]
    return lines + [f"  missing       {what}" for what in missing]


def result_lines(path: Path) -> list[str]:
    """What a folder written by a run holds."""
    present = [p for p in (path / "trajectory.txt", path / "points.ply") if p.is_file()]
    lines = [f"{path}: results of a run"] + [f"  {line}" for p in present for line in _file_lines(p)]
    wanted = ("keyframes.txt", "points.ply", "stats.jsonl", "config.yaml", "report.html")
    return lines + [f"  missing       {name}" for name in wanted if not (path / name).is_file()]


def optics_lines(camera: PlenopticCamera) -> list[str]:
    """The optics in plain words."""
    import math

    from prism_vo.optics.nominal import metric_notice
    from prism_vo.optics.summary import TYPICAL_SIGMA, summarise

    s = summarise(camera)
    mla, view = camera.calibration.mla, camera.calibration.totally_focused.view
    far = "infinity" if math.isinf(s.farthest) else f"{s.farthest:.3g} m"
    width, height = camera.tf_size
    types = "one focus" if s.lens_types == 1 else f"{s.lens_types} kinds of focus"
    lines = [
        f"  main lens     {camera.f_L:g} mm; micro-lens array {camera.b_L0:g} mm behind it, "
        f"sensor {camera.B:g} mm on",
        f"  field of view {s.field_of_view[0]:.1f} x {s.field_of_view[1]:.1f} degrees",
        f"  micro-lenses  {s.lens_count} ({mla.layout}, {mla.pitch_px:g} px apart, {types})",
        f"  focused image {width}x{height} ({view} view)",
        f"  measures      {s.nearest:.3g} m to {far}",
        f"  expected on well textured points (error of inverse virtual depth {TYPICAL_SIGMA:g}):",
        "       distance   virtual depth   depth error        lenses that see a point",
    ]
    for row in s.rows:
        if math.isnan(row.virtual_depth):
            lines.append(f"    {row.depth:8g} m   cannot be measured: no virtual image behind the array")
            continue
        percent = 100 * row.sigma / row.depth
        lines.append(
            f"    {row.depth:8g} m   {row.virtual_depth:13.3f}   "
            f"{row.sigma:7.3f} m {percent:5.1f} %   {row.lenses:23.1f}"
        )
    notice = metric_notice(camera.calibration)
    return lines if notice is None else [*lines, f"  note: {notice}"]


def _file_lines(path: Path) -> list[str]:
    """Images, trajectories, clouds, vendors' XML files and maps."""
    from prism_vo.cloud import read_ply
    from prism_vo.commands.map_lines import map_lines
    from prism_vo.datasets.images import IMAGE_SUFFIXES, read_image
    from prism_vo.errors import InputError
    from prism_vo.map_file import is_map
    from prism_vo.trajectory import read_trajectory

    suffix = path.suffix.lower()
    if suffix in IMAGE_SUFFIXES:
        image = read_image(path)
        color = "colour" if image.ndim == 3 else "grey"
        return [
            f"{path}: {color} image {image.shape[1]}x{image.shape[0]}, {image.dtype}",
            f"  values        {image.min()} to {image.max()}, mean {image.mean():.1f}",
        ]
    if suffix in (".txt", ".csv", ".tum"):
        trajectory = read_trajectory(path)
        duration = trajectory.times[-1] - trajectory.times[0]
        return [f"{path}: trajectory, {len(trajectory)} poses, {trajectory.length:.3f} m in {duration:.3f} s"]
    if suffix == ".ply":
        return [f"{path}: point cloud, {len(read_ply(path))} points"]
    if suffix == ".xml":
        return _xml_lines(path)
    if suffix == ".map" or is_map(path):
        return map_lines(path)
    raise InputError(f"{path}: not a sequence, calibration, image, trajectory, point cloud or map.")


def _xml_lines(path: Path) -> list[str]:
    from prism_vo.optics.vendor import (
        GRID_ROOTS,
        RaytrixGrid,
        read_lifcal_model,
        read_vendor_grid,
        root_name,
    )

    if root_name(path) in GRID_ROOTS:
        grid = read_vendor_grid(path, distortion=False)
        if isinstance(grid, RaytrixGrid):
            what = f"Raytrix micro-lens calibration, pitch {grid.diameter:g} px, {len(grid.lens_types)} lens types"
        else:
            what = f"micro-lens calibration by corner lenses, pitch {grid.diameter:g} px"
        return [
            f"{path}: {what}",
            "  next          make camera.yaml of it and a raw image with prism-vo import-calibration",
        ]
    model = read_lifcal_model(path)
    return [
        f"{path}: LiFCal camera model",
        f"  main lens     {model.focal_length:g} mm; micro-lens array {model.mla_distance:g} mm behind it, "
        f"sensor {model.sensor_distance:g} mm on",
        "  missing       the micro-lens grid; join both files with prism-vo import-calibration",
    ]
