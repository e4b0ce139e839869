# SPDX-License-Identifier: Apache-2.0
"""Descriptions of recordings name files of their own folder, unless the user allows more."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from prism_vo.errors import InputError

LONGEST = 1000  # characters of a path; 255 bytes of each part are what file systems take
ALLOW = "PRISM_VO_OUTSIDE"  # environment variable


def inside(source: Path, key: str, name: str) -> Path:
    """The file (or glob) ``name`` that a description ``source`` names under ``key``, relative to its folder.

    One that leads out of the folder is refused: a recording from elsewhere must not choose which of the user's
    files are opened. The environment variable PRISM_VO_OUTSIDE=1 allows it. Links are the user's own and followed.
    """
    parts = PurePosixPath(name.replace("\\", "/")).parts
    outside = ".." in parts or name.startswith(("/", "~")) or Path(name).is_absolute()
    if (
        "\0" in name
        or len(name) > LONGEST
        or any(len(part.encode("utf-8", "replace")) > 255 for part in parts)
    ):
        raise InputError(f"{source}: key {key!r}: is not the name of a file.")
    if outside and os.environ.get(ALLOW) != "1":
        raise InputError(
            f"{source}: key {key!r} names a file outside the folder of {source.name}; set {ALLOW}=1 if that is meant."
        )
    return source.parent / name
