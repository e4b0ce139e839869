# SPDX-License-Identifier: Apache-2.0
"""The raw images that a grid is looked for in: which, how many, and without their colour mosaic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.datasets.images import list_images, read_image
from prism_vo.errors import InputError

MOST_IMAGES = 30  # more add little
MOST_PIXELS = 130e6  # of all images together: about 1 GB while they are looked at
Say = Callable[[str, int | None, int | None], None]


def choose_images(arguments: Iterable[Path]) -> list[Path]:
    """Image files named, in folders, or in the raw/ of recordings, in natural order."""
    found: list[Path] = []
    for path in arguments:
        if path.is_dir():
            inside = list_images(path / "raw" if (path / "raw").is_dir() else path)
            if not inside:
                raise InputError(f"{path}: holds no images, and no raw/ with images.")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise InputError(f"{path}: no such file or folder.")
    if not found:
        raise InputError("No raw images given: name image files, a folder of them, or a recording.")
    return found


def read_images(paths: list[Path], say: Say, mosaic: bool) -> list[NDArray[Any]]:
    """Up to MOST_IMAGES, spread evenly over all; fewer where they are large."""
    first = read_image(paths[0])
    fit_in = int(MOST_PIXELS // (first.shape[0] * first.shape[1]))
    count = min(len(paths), MOST_IMAGES, max(fit_in, 1))
    picked = np.linspace(0, len(paths) - 1, count).astype(int)
    images = []
    for number, index in enumerate(picked):
        say("reading images", number, count)
        image = first if index == 0 else read_image(paths[index])
        if image.shape[:2] != first.shape[:2]:
            raise InputError(
                f"{paths[index]}: is {image.shape[1]}x{image.shape[0]} pixels, {paths[0]} {first.shape[1]}x"
                f"{first.shape[0]}; give images of one camera only."
            )
        images.append(without_mosaic(image) if mosaic and image.ndim == 2 else image)
    return images


def without_mosaic(image: NDArray[Any]) -> NDArray[Any]:
    """A mosaic (H, W) through the 3 × 3 binomial filter, whose response is zero at all three colour carriers."""
    weights = np.array([0.25, 0.5, 0.25])
    return np.asarray(cv2.sepFilter2D(image, -1, weights, weights, borderType=cv2.BORDER_REFLECT_101))
