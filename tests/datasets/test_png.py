# SPDX-License-Identifier: Apache-2.0
"""Our own reading of PNG images against OpenCV's, for every filter; what it does not know it leaves alone."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from prism_vo.bounded.image_header import PNG
from prism_vo.datasets import png
from prism_vo.datasets.images import read_image
from prism_vo.errors import InputError

COLOUR = {1: 0, 2: 4, 3: 2, 4: 6}  # PNG's number for so many channels
MIXED = 5  # stands for all filters, row by row


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def filtered(rows: NDArray[np.uint8], step: int, kind: int) -> bytes:
    """Bytes (h, n) as the specification filters them, number by number."""
    out = bytearray()
    for y, row in enumerate(rows.astype(int)):
        use = y % 5 if kind == MIXED else kind
        out.append(use)
        for x, value in enumerate(row):
            left = int(rows[y, x - step]) if x >= step else 0
            up = int(rows[y - 1, x]) if y else 0
            corner = int(rows[y - 1, x - step]) if y and x >= step else 0
            guess = left + up - corner
            nearest = min((left, up, corner), key=lambda v: abs(guess - v))
            out.append((value - (0, left, up, (left + up) // 2, nearest)[use]) % 256)
    return bytes(out)


def encoded(image: NDArray[Any], kind: int = 1, extra: bytes = b"", interlaced: int = 0) -> bytes:
    """An image (H, W) or (H, W, channels) as a PNG file."""
    channels = 1 if image.ndim == 2 else image.shape[2]
    big = np.ascontiguousarray(image.astype(image.dtype.newbyteorder(">")))
    rows = big.reshape(len(image), -1).view(np.uint8)
    bits = 8 * image.dtype.itemsize
    sizes = image.shape[1], image.shape[0], bits, COLOUR[channels], 0, 0, interlaced
    data = zlib.compress(filtered(rows, channels * image.dtype.itemsize, kind))
    middle = len(data) // 2  # two pieces, as large files have many
    pieces = chunk(b"IDAT", data[:middle]) + chunk(b"IDAT", data[middle:])
    return PNG + chunk(b"IHDR", struct.pack(">IIBBBBB", *sizes)) + extra + pieces + chunk(b"IEND", b"")


def picture(shape: tuple[int, ...], kind: type) -> NDArray[Any]:
    """Noise on a slope, so that every filter has something to do and sums run over 255."""
    rng = np.random.default_rng(3)
    slope = np.linspace(0, np.iinfo(kind).max // 2, shape[1])[None, :]
    slope = slope[..., None] if len(shape) == 3 else slope
    return (slope + rng.integers(0, np.iinfo(kind).max // 2, shape)).astype(kind)


@pytest.mark.parametrize("kind", range(MIXED + 1))
@pytest.mark.parametrize("shape", [(13, 17), (6, 1), (1, 9), (11, 8, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_every_filter_gives_what_opencv_gives(shape: tuple[int, ...], dtype: type, kind: int) -> None:
    file = encoded(picture(shape, dtype), kind)
    expected = cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_UNCHANGED)
    found = png.pixels(file)
    assert found is not None
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_files_of_opencv_are_read(tmp_path: Path) -> None:
    image = picture((40, 30), np.uint8)
    cv2.imwrite(str(tmp_path / "grey.png"), image)
    np.testing.assert_array_equal(read_image(tmp_path / "grey.png"), image)
    colour = picture((40, 30, 3), np.uint8)
    cv2.imwrite(str(tmp_path / "colour.png"), colour[..., ::-1])
    np.testing.assert_array_equal(read_image(tmp_path / "colour.png"), colour)
    assert read_image(tmp_path / "colour.png").flags.c_contiguous


@pytest.mark.parametrize("change", ["alpha", "interlaced", "transparent colour", "palette", "4 bits"])
def test_other_kinds_are_left_alone(change: str) -> None:
    image = picture((4, 6), np.uint8)
    files = {
        "alpha": encoded(picture((4, 6, 4), np.uint8)),
        "interlaced": encoded(image, interlaced=1),
        "transparent colour": encoded(image, extra=chunk(b"tRNS", b"\0\0")),
        "palette": _with_header(encoded(image), 8, 3),
        "4 bits": _with_header(encoded(image), 4, 0),
    }
    assert png.pixels(files[change]) is None


def _with_header(file: bytes, bits: int, colour: int) -> bytes:
    header = struct.pack(">IIBBBBB", 6, 4, bits, colour, 0, 0, 0)
    return PNG + chunk(b"IHDR", header) + file[len(PNG) + 25 :]


def test_damaged_files_are_left_to_opencv(tmp_path: Path) -> None:
    good = encoded(picture((20, 30), np.uint8), MIXED)
    assert png.pixels(good) is not None
    for cut in range(len(PNG), len(good) - 1, 7):
        assert png.pixels(good[:cut]) is None
    for at in range(len(PNG) + 8, len(good) - 12, 11):
        wrong = bytearray(good)
        wrong[at] ^= 0x55
        assert png.pixels(bytes(wrong)) is None
    (tmp_path / "cut.png").write_bytes(good[: len(good) // 2])
    with pytest.raises(InputError, match="cut off"):
        read_image(tmp_path / "cut.png")


def test_more_or_fewer_bytes_than_the_header_says_are_no_image() -> None:
    image = picture((5, 6), np.uint8)
    for rows in (image[:4], np.concatenate([image, image])):
        data = encoded(rows)
        header = struct.pack(">IIBBBBB", 6, 5, 8, 0, 0, 0, 0)
        assert png.pixels(PNG + chunk(b"IHDR", header) + data[len(PNG) + 25 :]) is None


def test_a_filter_that_does_not_exist_is_no_image() -> None:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 8, 0, 0, 0, 0))
    data = chunk(b"IDAT", zlib.compress(bytes([5, 1, 2])))
    assert png.pixels(PNG + header + data + chunk(b"IEND", b"")) is None
