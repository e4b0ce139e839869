# SPDX-License-Identifier: Apache-2.0
"""The numbers in the names of images: which frames are missing, and when the others were taken."""

from __future__ import annotations

import re
from collections.abc import Sequence as Many
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array

DIGITS = re.compile(r"([0-9]+)")  # ASCII alone: other digits (², ٣) are letters of a name here
LARGEST_FRAME_NUMBER = 1_000_000  # more than a day at 10 frames a second; beyond it stand time stamps
LARGEST_NUMBER = 1 << 62


class NumberedTimes(NamedTuple):
    """Times (N,) in seconds, and what a user should know about them."""

    seconds: Array
    note: str | None


def natural_key(path: Path) -> tuple[list[tuple[int, int | str]], str]:
    """Sort key that compares runs of digits as numbers (2 before 10)."""
    parts = DIGITS.split(path.name)
    return [(0, int(part)) if k % 2 else (1, part) for k, part in enumerate(parts)], str(path)


def frame_numbers(paths: Many[Path]) -> NDArray[np.int64] | None:
    """The number of each frame (N,), if exactly one run of digits differs between the names and it increases."""
    names = [DIGITS.split(path.stem) for path in paths]
    if len(names) < 2 or len({tuple(name[::2]) for name in names}) > 1:
        return None
    columns = [[int(text) for text in column] for column in zip(*(name[1::2] for name in names))]
    differing = [column for column in columns if len(set(column)) > 1]
    if len(differing) != 1 or max(differing[0]) > LARGEST_NUMBER:
        return None
    numbers = np.array(differing[0], np.int64)
    return numbers if (np.diff(numbers) > 0).all() else None


def numbered_times(paths: Many[Path], frame_rate: float) -> NumberedTimes:
    """Frame index / frame rate; where numbers are missing, frame number / frame rate (the first is at 0)."""
    even = np.arange(len(paths)) / frame_rate
    numbers = frame_numbers(paths)
    if numbers is None:
        return NumberedTimes(even, None)
    steps = np.diff(numbers)
    step = int(np.gcd.reduce(steps))
    if (steps == step).all():
        return NumberedTimes(even, None)
    if numbers[-1] > LARGEST_FRAME_NUMBER and np.median(steps) != step:
        note = (
            "the numbers in the images' names are no frame numbers; times are frame index / frame rate, "
            "so write a times.txt if the frames are unevenly spaced."
        )
        return NumberedTimes(even, note)
    places = (numbers - numbers[0]) // step
    missing = int(places[-1]) + 1 - len(paths)
    first = int(numbers[np.argmax(steps > step)]) + step
    amount = "1 frame is" if missing == 1 else f"{missing} frames are"
    note = (
        f"{amount} missing in the numbering (the first is {first}); "
        f"times are taken from the numbers, {frame_rate:g} frames a second."
    )
    return NumberedTimes(places / frame_rate, note)


def lines_of_frames(paths: Many[Path], lines: int) -> NDArray[np.int64] | None:
    """Which line of a file with a line a frame belongs to each image, if images are missing.

    Only where there is no doubt: the numbers from the first to the last image are as many as the lines.
    """
    numbers = frame_numbers(paths)
    if numbers is None or int(numbers[-1] - numbers[0]) + 1 != lines:
        return None
    return numbers - numbers[0]
