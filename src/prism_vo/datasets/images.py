# SPDX-License-Identifier: Apache-2.0
"""Image files to arrays, with one sentence for every way a file can be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.datasets.numbering import natural_key
from prism_vo.errors import InputError

IMAGE_SUFFIXES = (".png", ".tif", ".tiff", ".bmp", ".pgm", ".ppm", ".jpg", ".jpeg")
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"IEND\xaeB`\x82"
_JPEG_END = b"\xff\xd9"

cv2.utils.logging.setLogLevel(
    cv2.utils.logging.LOG_LEVEL_SILENT
)  # our own sentence replaces what the decoder would print


def read_image(path: Path) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Read an 8- or 16-bit image: (H, W) grey or Bayer mosaic, (H, W, 3) RGB."""
    image = _decode(path)
    if image.dtype not in (np.uint8, np.uint16):
        raise InputError(f"{path}: holds {image.dtype} values; raw and focused images are 8- or 16-bit.")
    if image.ndim == 2:
        return np.ascontiguousarray(image)
    if image.shape[2] == 1:
        return np.ascontiguousarray(image[..., 0])
    return np.ascontiguousarray(image[..., 2::-1])  # OpenCV's BGR(A) → RGB


def read_map(path: Path) -> NDArray[Any]:
    """Read a map of numbers: ``.npy``, float32 TIFF or 16-bit PNG, (H, W), in the type it is stored in."""
    if path.suffix == ".npy":
        try:
            values = np.load(path, allow_pickle=False)
        except (
            Exception
        ) as error:  # NumPy parses the header as Python source: anything may come of a damaged one
            raise InputError(f"{path}: not a readable NumPy array.") from error
    else:
        values = _decode(path)
    if values.ndim != 2 or values.dtype.kind not in "fu":
        raise InputError(
            f"{path}: expected one number a pixel, found an array {values.shape} of {values.dtype}."
        )
    return np.ascontiguousarray(values)


def check_size(path: Path, image: NDArray[Any], size: tuple[int, int], remedy: str) -> None:
    """Refuse an image that is not (width, height)."""
    height, width = image.shape[:2]
    if (width, height) != size:
        raise InputError(f"{path}: is {width}x{height} pixels, expected {size[0]}x{size[1]}; {remedy}.")


def list_images(folder: Path, suffixes: tuple[str, ...] = IMAGE_SUFFIXES) -> list[Path]:
    """Image files of a folder in natural order (2 before 10); hidden files are skipped."""
    found = [p for p in folder.iterdir() if p.suffix.lower() in suffixes and not p.name.startswith(".")]
    return sorted((p for p in found if not p.is_dir()), key=natural_key)


def _decode(path: Path) -> NDArray[Any]:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file.") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from error
    if not data:
        raise InputError(f"{path}: the file is empty.")
    if path.suffix.lower() == ".png":
        if not data.startswith(_PNG_SIGNATURE):
            raise InputError(f"{path}: not a PNG image although its name says so.")
        if _PNG_END not in data[-1024:]:
            raise InputError(f"{path}: the PNG image is cut off; copy it again.")
    if path.suffix.lower() in (".jpg", ".jpeg") and _JPEG_END not in data.rstrip(b"\0")[-1024:]:
        # the decoder would fill the missing part with grey and say nothing
        raise InputError(f"{path}: the JPEG image is cut off or another format; copy it again.")
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error:
        image = None
    if image is None:
        raise InputError(f"{path}: not a readable image (damaged, cut off, or another format).")
    return image
