# SPDX-License-Identifier: Apache-2.0
"""A folder or file that appears when it is complete, or not at all."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prism_vo.atomic import output_named
from prism_vo.errors import InputError


def check_new(path: Path) -> None:
    """Refuse to write over anything."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise InputError(f"{path}: exists already; name another one with --out.")
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path}: the folder is not empty; name another one with --out.")


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write into, beside ``path``; it gets that name at the end, and is removed if there is none."""
    check_new(path)
    draft = path.with_name(f".{path.name[:200]}.{uuid.uuid4().hex[:12]}.prism-vo-tmp")
    with output_named(path, "nothing was written"):
        try:
            draft.mkdir(parents=True)
            yield draft
            if path.is_dir():
                path.rmdir()  # it is empty
            os.replace(draft, path)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
