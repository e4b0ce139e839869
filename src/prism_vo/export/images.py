# SPDX-License-Identifier: Apache-2.0
"""Pictures as files, and their grey images read back when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.errors import OutputError
from prism_vo.export.pictures import Picture

IN_MEMORY = 64  # grey images


@dataclass(frozen=True)
class Written:
    """What of a picture is kept: the rest is in its file."""

    name: str
    time: float
    T_world_view: Array


def write_pictures(pictures: Iterable[Picture], folder: Path) -> list[Written]:
    """PNG files, as many as there are pictures."""
    folder.mkdir(parents=True)
    written = []
    for picture in pictures:
        done, encoded = cv2.imencode(".png", picture.rgb[..., ::-1])
        if not done:
            raise OutputError(f"{folder / picture.name}: the image could not be encoded.")
        (folder / picture.name).write_bytes(encoded.tobytes())
        written.append(Written(picture.name, picture.time, picture.T_world_view))
    return written


def grey_reader(folder: Path, written: list[Written]) -> Callable[[int], NDArray[np.uint8]]:
    """The grey image of a picture by its number; the last few stay in memory."""

    @lru_cache(IN_MEMORY)
    def read(number: int) -> NDArray[np.uint8]:
        image = cv2.imread(str(folder / written[number].name), cv2.IMREAD_GRAYSCALE)
        assert image is not None, "it was written a moment ago"
        return np.asarray(image, np.uint8)

    return read
