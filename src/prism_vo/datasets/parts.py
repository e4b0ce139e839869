# SPDX-License-Identifier: Apache-2.0
"""Steps the file-based loaders share: times, equal counts, ground truth."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Array
from prism_vo.bounded.files import read_text
from prism_vo.datasets.decoded import DecodedFormat
from prism_vo.datasets.numbering import lines_of_frames, numbered_times
from prism_vo.datasets.sequence import FileSequence, SequenceFiles
from prism_vo.datasets.video import Video
from prism_vo.errors import InputError
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.trajectory import read_trajectory


def assemble(
    path: Path,
    calibration: Calibration,
    files: SequenceFiles,
    times: Path | None,
    groundtruth: Path | None,
    decoded_format: DecodedFormat | None,
) -> FileSequence:
    """Check that the parts fit together and make the sequence of them; ``path`` is its folder or video."""
    check_counts(path, files)
    is_raw = bool(files.raw) or files.video is not None
    if decoded_format is None and not is_raw:
        raise InputError(
            f"{path}: focused images need a decoded.yaml saying their view and depth convention."
        )
    video = None if files.raw or files.video is None else Video(files.video)
    images = files.raw or files.focused
    timing = read_times(times, images if video is None else video, calibration.frame_rate)
    return FileSequence(
        name=path.stem if path.is_file() else path.resolve().name,
        path=path.parent if path.is_file() else path,
        camera=PlenopticCamera.from_calibration(calibration),
        files=files,
        times=timing.seconds,
        exposures=timing.exposures,
        groundtruth=None if groundtruth is None else read_trajectory(groundtruth),
        decoded_format=None if is_raw else decoded_format,
        video=video,
        remarks=tuple(note for note in (timing.note, video and video.note()) if note),
    )


def check_counts(path: Path, files: SequenceFiles) -> None:
    """Maps must be as many as focused images: they are paired by order."""
    if files.raw or files.video is not None:
        return
    for role, maps in (
        ("virtual_depth", files.virtual_depth),
        ("virtual_depth_sigma", files.virtual_depth_sigma),
    ):
        if maps and len(maps) != len(files.focused):
            raise InputError(f"{path}: {len(files.focused)} focused images but {len(maps)} {role} maps.")


class Timing(NamedTuple):
    """When the frames were taken, and what a user should know about it."""

    seconds: Array  # (N,)
    exposures: Array | None  # (N,) s
    note: str | None = None


def read_times(path: Path | None, frames: tuple[Path, ...] | Video, frame_rate: float) -> Timing:
    """``<seconds> [<exposure seconds>]`` a frame; without a file, the video's times or those of the numbering."""
    if path is not None:
        return _times_of_file(path, frames)
    if isinstance(frames, Video):
        return Timing(frames.times(frame_rate), None)
    seconds, note = numbered_times(frames, frame_rate)
    return Timing(seconds, None, note)


def _times_of_file(path: Path, frames: tuple[Path, ...] | Video) -> Timing:
    rows = [_time_row(path, n, line) for n, line in enumerate(read_text(path).splitlines(), 1)]
    values, note, count = [row for row in rows if row], None, len(frames)
    if len(values) != count:
        lines = None if isinstance(frames, Video) else lines_of_frames(frames, len(values))
        if lines is None:
            raise InputError(f"{path}: {len(values)} times for {count} frames; one line a frame is needed.")
        note = (
            f"{count} images for the {len(values)} lines of {path.name}: the numbers in their names say "
            "which line belongs to which."
        )
        values = [values[line] for line in lines]
    seconds = np.array([row[0] for row in values])
    if (np.diff(seconds) <= 0).any():
        raise InputError(
            f"{path}: the time of frame {int(np.argmax(np.diff(seconds) <= 0)) + 1} does not increase."
        )
    if len({len(row) for row in values}) > 1:
        raise InputError(f"{path}: an exposure time must stand on every line or on none.")
    exposures = np.array([row[1] for row in values]) if len(values[0]) == 2 else None
    if exposures is not None and (exposures <= 0).any():
        raise InputError(f"{path}: an exposure time is not positive.")
    return Timing(seconds, exposures, note)


def _time_row(path: Path, number: int, line: str) -> list[float]:
    words = line.split("#")[0].replace(",", " ").split()
    try:
        row = [float(word) for word in words]
    except ValueError as error:
        raise InputError(f"{path}, line {number}: expected `<seconds> [<exposure seconds>]`.") from error
    if len(row) > 2 or not np.isfinite(row).all():
        raise InputError(f"{path}, line {number}: expected one or two finite numbers.")
    return row
