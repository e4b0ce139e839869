# SPDX-License-Identifier: Apache-2.0
"""Compressed pieces of ROS bags, unpacked up to a limit: a few bytes can claim to be any number of gigabytes."""

from __future__ import annotations

from bz2 import BZ2Decompressor
from collections.abc import Callable
from typing import Any

from prism_vo.bounded.files import MB
from prism_vo.errors import InputError

LARGEST_PIECE = 256 * MB  # a message or a chunk of messages


class _Zstd:
    """Stands in for the module ``zstd`` in the reader of ROS 2 bags."""

    @staticmethod
    def decompress(data: bytes) -> bytes:
        """One message."""
        return _zstd(data)

    @staticmethod
    def open(*_: Any) -> Any:
        """A whole bag would be unpacked onto the disk, however large it turns out."""
        raise InputError(
            "its files are compressed as a whole; unpack them first: zstd -d *.zstd, or ros2 bag convert"
        )


def limit_unpacking() -> None:
    """From here on the package ``rosbags`` unpacks with the functions of this module."""
    from rosbags.rosbag1 import reader as reader1
    from rosbags.rosbag2 import reader as reader2
    from rosbags.rosbag2 import storage_mcap as mcap

    reader2.zstd = _Zstd  # type: ignore[assignment]
    mcap.DECOMPRESSORS.update(lz4=lambda data, _: _lz4(data), zstd=lambda data, _: _zstd(data))
    reader1.decompressors.update(bz2=_bz2, lz4=_lz4)


def _bz2(data: bytes) -> bytes:
    return _limited(BZ2Decompressor(), data)


def _lz4(data: bytes) -> bytes:
    from lz4.frame import LZ4FrameDecompressor

    return _limited(LZ4FrameDecompressor(), data)


def _zstd(data: bytes) -> bytes:
    try:
        from compression.zstd import ZstdDecompressor  # type: ignore[import-not-found,unused-ignore]
    except ImportError:  # Python < 3.14
        from backports.zstd import ZstdDecompressor
    return _limited(ZstdDecompressor(), data)


def _limited(unpacker: Any, data: bytes) -> bytes:
    unpack: Callable[..., bytes] = unpacker.decompress
    unpacked = unpack(data, max_length=LARGEST_PIECE)
    if not unpacker.eof:
        raise InputError(f"a compressed piece is damaged or larger than {LARGEST_PIECE // MB} MB")
    return unpacked
