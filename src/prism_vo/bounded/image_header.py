# SPDX-License-Identifier: Apache-2.0
"""What an image file claims to hold, from its header: PNG, TIFF, BMP, PNM and JPEG."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

LARGEST_DECODED = 256 << 20  # bytes of pixels: 128 million 16-bit ones
LARGEST_FILE = 512 << 20
# bytes of pixels a byte of the file can stand for: deflate 1032, others less; TIFF's fax and run-length codes too
DENSEST = 1100
PNG = b"\x89PNG\r\n\x1a\n"
_PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
_TIFF_SIZES = {1: "B", 3: "H", 4: "I", 16: "Q"}
_PNM = re.compile(rb"P([1-6])(?:\s+|#[^\n]*\n)*?\s(\d{1,9})(?:\s+(?:#[^\n]*\n)*)(\d{1,9})\s")


class Claimed(NamedTuple):
    """What a header says."""

    width: int
    height: int
    bytes: int  # of all pixels, decoded

    def problem(self, file_size: int) -> str | None:
        """Half a sentence if no such image should be decoded."""
        if self.width < 1 or self.height < 1:
            return "has no pixels"
        size = f"claims {self.width}x{self.height} pixels"
        if self.bytes > LARGEST_DECODED:
            return f"{size}, more than the {LARGEST_DECODED >> 20} MB an image may take"
        if self.bytes > DENSEST * file_size + 65536:
            return f"{size}, more than {file_size} bytes can hold"
        return None


def claimed(data: bytes) -> Claimed | None:
    """What an image file says of itself; None: no format that is read here, or a damaged header."""
    try:
        if data.startswith(PNG):
            return _png(data)
        if data[:2] == b"\xff\xd8":
            return _jpeg(data)
        if data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
            return _tiff(data)
        if data[:2] == b"BM":
            return _bmp(data)
        if data[:1] == b"P":
            return _pnm(data)
    except (struct.error, IndexError, KeyError, ValueError):
        return None
    return None


def _png(data: bytes) -> Claimed:
    width, height, depth, kind = struct.unpack_from(">IIBB", data, 16)
    return Claimed(width, height, width * height * _PNG_CHANNELS[kind] * (2 if depth == 16 else 1))


def _bmp(data: bytes) -> Claimed:
    header = struct.unpack_from("<I", data, 14)[0]
    if header == 12:
        width, height, _, bits = struct.unpack_from("<HHHH", data, 18)
    else:
        width, height, _, bits = struct.unpack_from("<iiHH", data, 18)
    # colour tables may be expanded to three channels
    return Claimed(width, abs(height), abs(width * height) * max(3, bits // 8))


def _pnm(data: bytes) -> Claimed | None:
    found = _PNM.match(data[:1024])
    if found is None:
        return None
    kind, width, height = (int(group) for group in found.groups())
    return Claimed(width, height, width * height * (3 if kind in (3, 6) else 1) * 2)


def _jpeg(data: bytes) -> Claimed | None:
    at, claims = 2, None
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return claims
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker in range(0xC0, 0xD0) and marker not in (0xC4, 0xC8, 0xCC):
            height, width, channels = struct.unpack_from(">HHB", data, at + 5)
            return Claimed(width, height, width * height * channels)
        if marker in range(0xD0, 0xD9):  # no length follows
            at += 2
            continue
        at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return claims


def _tiff(data: bytes) -> Claimed | None:
    """The first page; strips or tiles as large as the picture count once more, since decoders buffer one."""
    order = "<" if data[:1] == b"I" else ">"
    big = data[2:4] in (b"+\0", b"\0+")
    offset = struct.unpack_from(order + ("Q" if big else "I"), data, 8 if big else 4)[0]
    count = struct.unpack_from(order + ("Q" if big else "H"), data, offset)[0]
    first, step = offset + (8 if big else 2), 20 if big else 12
    tags: dict[int, int] = {}
    for k in range(min(count, 4096)):
        tag, kind, values = struct.unpack_from(order + ("HHQ" if big else "HHI"), data, first + k * step)
        if kind not in _TIFF_SIZES or tag in tags:
            continue
        room, at = (8, first + k * step + 12) if big else (4, first + k * step + 8)
        form = _TIFF_SIZES[kind]
        if struct.calcsize(form) * values > room:  # all values of a tag like BitsPerSample are alike
            at = struct.unpack_from(order + ("Q" if big else "I"), data, at)[0]
        tags[tag] = struct.unpack_from(order + form, data, at)[0]
    width, height = tags[256], tags[257]
    bits, channels = tags.get(258, 1), max(tags.get(277, 1), 3 if tags.get(262) == 3 else 1)
    tile = tags.get(322, 0) * tags.get(323, 0)
    return Claimed(width, height, max(width * height, tile) * channels * max(1, (bits + 7) // 8))
