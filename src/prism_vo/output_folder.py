# SPDX-License-Identifier: Apache-2.0
"""Folders the program writes: recognised by a marker, written by one process at a time, never somebody's own files."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any, Self

from prism_vo.atomic import output_named, remove_leftovers, write_text_atomically
from prism_vo.bounded.json_text import read_json
from prism_vo.errors import InputError, PrismError

MARKER = ".prism-vo.json"
LOCK = ".prism-vo.lock"
PATIENCE = 3.0  # s: a process that was told to end may still be at it


class OutputFolder:
    """A folder with a marker of its kind (``run``, ``depth``), locked as long as this object is open."""

    def __init__(self, path: Path, kind: str, force: bool = False, resume: bool = False) -> None:
        """``force``: files in it may be overwritten; ``resume``: a folder of this kind may be continued."""
        check_folder(path, kind, force, resume)
        with output_named(path, "nothing was written"):
            path.mkdir(parents=True, exist_ok=True)
        self.path, self.kind = path, kind
        self._lock = FolderLock(path)
        remove_leftovers(path)

    def mark(self, state: str, **facts: Any) -> None:
        """Say in the marker how far things are: ``running`` or ``finished``."""
        content = {"format": f"prism-vo/{self.kind}/1", "state": state, **facts}
        write_text_atomically(self.path / MARKER, json.dumps(content) + "\n")

    def close(self) -> None:
        """Others may write here again."""
        self._lock.release()


def claim_folder(path: Path, kind: str, force: bool) -> None:
    """A folder that several processes may write into: new, empty, or marked as one of this kind before."""
    check_folder(path, kind, force, resume=True)
    with output_named(path, "nothing was written"):
        path.mkdir(parents=True, exist_ok=True)
    write_text_atomically(path / MARKER, json.dumps({"format": f"prism-vo/{kind}/1"}) + "\n")


def read_marker(path: Path) -> dict[str, Any] | None:
    """What the marker of a folder says; None without one."""
    try:
        content = read_json(path / MARKER)
    except PrismError:
        return None
    return content if isinstance(content, dict) and isinstance(content.get("format"), str) else None


def check_folder(path: Path, kind: str, force: bool, resume: bool = False) -> None:
    """Refuse a folder that is somebody's own, or that holds results, unless they may be overwritten."""
    if path.is_symlink():
        raise InputError(f"{path}: is a link; name the folder itself.")
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file, not a folder; choose another --out.")
    if force or not path.exists():
        return
    try:
        others = [item.name for item in path.iterdir() if item.name not in (MARKER, LOCK)]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    marker = read_marker(path)
    ours = marker is not None and marker["format"].startswith(f"prism-vo/{kind}/")
    if not others or (resume and ours):
        return
    if ours:
        again = " or --resume to go on with an unfinished one" if kind == "run" else ""
        raise InputError(
            f"{path}: holds the results of another run; choose another --out, or say --force to overwrite them{again}."
        )
    raise InputError(
        f"{path}: holds files that are not results of `prism-vo {kind}`; choose another --out, or say --force to write"
        " among them."
    )


class FolderLock:
    """Held by one process at a time; the system itself lifts it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._file = path / LOCK
        self._handle = _locked(path)

    def release(self) -> None:
        """Others may write here again."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                self._file.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _locked(path: Path) -> int | None:
    """A lock that the system itself lifts when the process ends, however it ends; None where there are none."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return None
    with output_named(path / LOCK, "nothing was written"):
        handle = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    end = time.monotonic() + PATIENCE
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(PATIENCE / 30)
    except OSError as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            raise InputError(
                f"{path}: another process is writing here; wait for it or choose another --out."
            ) from error
        return None  # a file system without locks
