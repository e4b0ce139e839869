# SPDX-License-Identifier: Apache-2.0
"""Image files to arrays, with one sentence for every way a file can be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.bounded.array_file import read_npy
from prism_vo.bounded.files import read_bytes
from prism_vo.bounded.image_header import LARGEST_FILE, PNG, claimed
from prism_vo.datasets import png
from prism_vo.datasets.numbering import natural_key
from prism_vo.errors import InputError

IMAGE_SUFFIXES = (".png", ".tif", ".tiff", ".bmp", ".pgm", ".ppm", ".jpg", ".jpeg")
_PNG_END = b"IEND\xaeB`\x82"
_JPEG_END = b"\xff\xd9"
NOT_READABLE = "not a readable image (damaged, cut off, or another format)."

cv2.utils.logging.setLogLevel(
    cv2.utils.logging.LOG_LEVEL_SILENT
)  # our own sentence replaces what the decoder would print


def read_image(path: Path, size: Size | None = None) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Read an 8- or 16-bit image: (H, W) grey or Bayer mosaic, (H, W, 3) RGB.

    ``size``: what it must be; an image of another size is refused before its pixels are read.
    """
    image = _decode(path, size)
    if image.dtype not in (np.uint8, np.uint16):
        raise InputError(f"{path}: holds {image.dtype} values; raw and focused images are 8- or 16-bit.")
    if image.ndim == 2:
        return np.ascontiguousarray(image)
    if image.shape[2] == 1:
        return np.ascontiguousarray(image[..., 0])
    return np.ascontiguousarray(image[..., 2::-1])  # OpenCV's BGR(A) → RGB


def read_map(path: Path, size: Size | None = None) -> NDArray[Any]:
    """Read a map of numbers: ``.npy``, float32 TIFF or 16-bit PNG, (H, W), in the type it is stored in."""
    values = read_npy(path) if path.suffix == ".npy" else _decode(path, size)
    if values.ndim != 2 or values.dtype.kind not in "fu":
        raise InputError(
            f"{path}: expected one number a pixel, found an array {values.shape} of {values.dtype}."
        )
    return np.ascontiguousarray(values)


class Size(NamedTuple):
    """The width and height an image must have, and what to do where it has others."""

    width: int
    height: int
    remedy: str

    def check(self, path: Path, width: int, height: int) -> None:
        """Refuse another size."""
        if (width, height) != (self.width, self.height):
            raise InputError(
                f"{path}: is {width}x{height} pixels, expected {self.width}x{self.height}; {self.remedy}."
            )


def check_size(path: Path, image: NDArray[Any], size: tuple[int, int], remedy: str) -> None:
    """Refuse an image that is not (width, height)."""
    Size(*size, remedy).check(path, image.shape[1], image.shape[0])


def list_images(folder: Path, suffixes: tuple[str, ...] = IMAGE_SUFFIXES) -> list[Path]:
    """Image files of a folder in natural order (2 before 10); hidden files are skipped."""
    found = [p for p in folder.iterdir() if p.suffix.lower() in suffixes and not p.name.startswith(".")]
    return sorted((p for p in found if not p.is_dir()), key=natural_key)


def _decode(path: Path, size: Size | None) -> NDArray[Any]:
    data = read_bytes(path, LARGEST_FILE)
    if not data:
        raise InputError(f"{path}: the file is empty.")
    if path.suffix.lower() == ".png":
        if not data.startswith(PNG):
            raise InputError(f"{path}: not a PNG image although its name says so.")
        if _PNG_END not in data[-1024:]:
            raise InputError(f"{path}: the PNG image is cut off; copy it again.")
    if path.suffix.lower() in (".jpg", ".jpeg") and _JPEG_END not in data.rstrip(b"\0")[-1024:]:
        # the decoder would fill the missing part with grey and say nothing
        raise InputError(f"{path}: the JPEG image is cut off or another format; copy it again.")
    claims = claimed(data)
    if claims is None:
        raise InputError(f"{path}: {NOT_READABLE}")
    if size is not None:
        size.check(path, claims.width, claims.height)
    if (problem := claims.problem(len(data))) is not None:
        raise InputError(f"{path}: {problem}; it is damaged or no photograph.")
    return decoded(data, str(path))


def decoded(data: bytes, source: str) -> NDArray[Any]:
    """The pixels as OpenCV gives them; the header must have been looked at."""
    image = png.pixels(data) if data.startswith(PNG) else None
    if image is not None:
        return image
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error:
        image = None
    if image is None:
        raise InputError(f"{source}: {NOT_READABLE}")
    return image
