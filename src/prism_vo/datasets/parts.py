# SPDX-License-Identifier: Apache-2.0
"""Steps the file-based loaders share: times, equal counts, ground truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from prism_vo.arrays import Array
from prism_vo.datasets.decoded import DecodedFormat
from prism_vo.datasets.sequence import FileSequence, SequenceFiles
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
    """Check that the parts fit together and make the sequence of them."""
    frames = files.raw or files.focused
    check_counts(path, files)
    if decoded_format is None and not files.raw:
        raise InputError(
            f"{path}: focused images need a decoded.yaml saying their view and depth convention."
        )
    seconds, exposures = read_times(times, len(frames), calibration.frame_rate)
    return FileSequence(
        name=path.resolve().name,
        path=path,
        camera=PlenopticCamera.from_calibration(calibration),
        files=files,
        times=seconds,
        exposures=exposures,
        groundtruth=None if groundtruth is None else read_trajectory(groundtruth),
        decoded_format=None if files.raw else decoded_format,
    )


def check_counts(path: Path, files: SequenceFiles) -> None:
    """Maps must be as many as focused images: they are paired by order."""
    if files.raw:
        return
    for role, maps in (
        ("virtual_depth", files.virtual_depth),
        ("virtual_depth_sigma", files.virtual_depth_sigma),
    ):
        if maps and len(maps) != len(files.focused):
            raise InputError(f"{path}: {len(files.focused)} focused images but {len(maps)} {role} maps.")


def read_times(path: Path | None, count: int, frame_rate: float) -> tuple[Array, Array | None]:
    """``<seconds> [<exposure seconds>]`` a frame; without a file, frame index / frame rate."""
    if path is None:
        return np.arange(count) / frame_rate, None
    rows = [_time_row(path, n, line) for n, line in enumerate(_text(path).splitlines(), 1)]
    values = [row for row in rows if row]
    if len(values) != count:
        raise InputError(f"{path}: {len(values)} times for {count} frames; one line a frame is needed.")
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
    return seconds, exposures


def _time_row(path: Path, number: int, line: str) -> list[float]:
    words = line.split("#")[0].replace(",", " ").split()
    try:
        row = [float(word) for word in words]
    except ValueError as error:
        raise InputError(f"{path}, line {number}: expected `<seconds> [<exposure seconds>]`.") from error
    if len(row) > 2 or not np.isfinite(row).all():
        raise InputError(f"{path}, line {number}: expected one or two finite numbers.")
    return row


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file.") from error
