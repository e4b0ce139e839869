# SPDX-License-Identifier: Apache-2.0
"""``checkpoint.records``: what a run has finished with until its end, one record after the other.

The file only grows, so that a checkpoint needs to name no more than its length: a run that goes on cuts off what came
later. At the end of a run it loses its name and lives on, unseen, as long as somebody holds the results.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from prism_vo.atomic import output_named
from prism_vo.checkpoint.pickling import from_bytes, to_bytes
from prism_vo.errors import InputError

RECORDS = "checkpoint.records"
BUFFER = 1 << 16  # bytes that wait to be written
LENGTH = 4  # bytes before each record that say how long it is
_BLOCK = 1 << 20
_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class RecordFile:
    """A :class:`~prism_vo.shelf.Store` in a results folder; may be read by several threads."""

    def __init__(self, folder: Path, written: dict[str, Any] | None = None) -> None:
        """A new file, or with ``written`` (:meth:`facts` of a checkpoint) an old one, which is only read so far."""
        self.path = folder / RECORDS
        self._lock = threading.Lock()
        self._waiting = bytearray()
        self._digest = hashlib.sha256()
        self._written = 0  # bytes in the file
        if written is None:
            with output_named(self.path, "nothing was written"):
                self.path.unlink(missing_ok=True)
                self._handle = os.open(self.path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o644)
        else:
            self._open_old(written)

    def _open_old(self, written: dict[str, Any]) -> None:
        try:
            self._handle = os.open(self.path, _FLAGS)
            length = int(written["bytes"])
            while self._written < length:
                block = os.read(self._handle, min(_BLOCK, length - self._written))
                if not block:
                    break
                self._digest.update(block)
                self._written += len(block)
        except (OSError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._refusal() from error
        if self._written != length or self._digest.hexdigest() != written.get("sha256"):
            raise self._refusal()

    def _refusal(self) -> InputError:
        return InputError(f"{self.path}: is missing or damaged; begin again with --force.")

    def cut(self) -> None:
        """What was written after the checkpoint goes; nobody else may be writing."""
        with output_named(self.path):
            os.ftruncate(self._handle, self._written)

    def put(self, item: object) -> int | None:
        """One more record; None: it holds what cannot be written."""
        try:
            data = to_bytes(item, {})
        except (pickle.PicklingError, TypeError, AttributeError):
            return None
        with self._lock:
            place = self._written + len(self._waiting)
            self._waiting += len(data).to_bytes(LENGTH, "little") + data
            if len(self._waiting) >= BUFFER:
                self._write()
        return place

    def get(self, place: int) -> Any:
        """The record that was put there."""
        try:
            with self._lock:
                length = int.from_bytes(self._read(place, LENGTH), "little")
                data = self._read(place + LENGTH, length)
            return from_bytes(data, {}, _no_frames, _no_frames)
        except (OSError, InputError) as error:
            raise self._refusal() from error

    def _read(self, place: int, length: int) -> bytes:
        if place < 0 or place + length > self._written + len(self._waiting):
            raise InputError("a record reaches beyond its file")  # before memory is spent on it
        if place >= self._written:
            start = place - self._written
            return bytes(self._waiting[start : start + length])
        os.lseek(self._handle, place, os.SEEK_SET)
        return os.read(self._handle, length)

    def _write(self) -> None:
        with output_named(self.path, "what was written before is safe"):
            os.lseek(self._handle, self._written, os.SEEK_SET)
            with memoryview(self._waiting) as view:
                done = 0
                while done < len(view):
                    done += os.write(self._handle, view[done:])
        self._digest.update(self._waiting)
        self._written += len(self._waiting)
        self._waiting = bytearray()

    def facts(self) -> dict[str, Any]:
        """What a checkpoint must know to go on with the file; all of it is on the disk then."""
        with self._lock:
            self._write()
            with output_named(self.path):
                os.fsync(self._handle)
            return {"bytes": self._written, "sha256": self._digest.hexdigest()}

    def forget(self) -> None:
        """The file goes; what is in it can be read as long as this object lives."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None:
            with suppress(OSError):
                os.close(handle)


def _no_frames(_: object) -> NoReturn:
    raise InputError("a record names a frame")
