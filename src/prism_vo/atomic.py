# SPDX-License-Identifier: Apache-2.0
"""Files replaced in one step: a crash or a full disk never leaves half of one, nor destroys the old one."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prism_vo.errors import OutputError

_TEMPORARY = re.compile(r"^\..+\.[0-9a-f]{12}\.prism-vo-tmp$")


def write_bytes_atomically(path: Path, data: bytes) -> None:
    """Write beside the target, then rename over it: a link there is replaced, never followed.

    The temporary name is of this call alone, and the data is on the disk before it gets its name: what has its final
    name is whole, after a loss of power too.
    """
    temporary = path.with_name(f".{path.name[:200]}.{uuid.uuid4().hex[:12]}.prism-vo-tmp")
    with output_named(path):
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def write_text_atomically(path: Path, text: str) -> None:
    """The same for UTF-8 text; what UTF-8 cannot hold (odd bytes of file names) is escaped."""
    write_bytes_atomically(path, text.encode("utf-8", "backslashreplace"))


@contextmanager
def output_named(path: Path, safe: str = "what was there before is untouched") -> Iterator[None]:
    """A full disk, a quota, a read-only or vanished folder: one sentence with the file and what is safe."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error}); {safe}.") from error


def remove_leftovers(folder: Path) -> None:
    """Temporary files of processes that were killed while they wrote here; nobody else may be writing."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if _TEMPORARY.match(path.name):
            path.unlink(missing_ok=True)
