# SPDX-License-Identifier: Apache-2.0
"""Files read up to a size, and how to speak of what is in them."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prism_vo.errors import InputError

MB = 1 << 20
TEXT = 256 * MB  # trajectories and time stamps: some million lines
_PLAIN = re.compile(r"[\w .:/+-]{1,40}", re.ASCII)


def read_bytes(path: Path, limit: int) -> bytes:
    """All of a regular file, unless it is larger than ``limit`` bytes; links, pipes and devices never end here."""
    with _faults_named(path):
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path}: is not a file.")
        with path.open("rb") as file:
            data = file.read(found.st_size + 1) if found.st_size <= limit else None
    if data is None:
        raise InputError(f"{path}: is larger than the {size_text(limit)} such a file may have.")
    return data


def read_part(path: Path, place: int, most: int) -> bytes:
    """At most so many bytes of a regular file from a place on."""
    with _faults_named(path):
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: is not a file.")
        with path.open("rb") as file:
            file.seek(place)
            return file.read(most)


@contextmanager
def _faults_named(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file.") from error
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason}).") from error


def read_text(path: Path, limit: int = TEXT) -> str:
    """The same as UTF-8 text."""
    try:
        return read_bytes(path, limit).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file.") from error


def size_text(size: int) -> str:
    """Bytes in words."""
    return f"{size / MB:.0f} MB" if size >= MB else f"{size / 1024:.0f} kB"


def shown(word: str) -> str:
    """A word of a file for a message: quoted where it is short and plain, else not repeated.

    A message must not carry what stands in a file that somebody else pointed to.
    """
    return repr(word) if _PLAIN.fullmatch(word) else "something else"
