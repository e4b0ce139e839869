# SPDX-License-Identifier: Apache-2.0
"""``checkpoint.bin``: one line that says whose it is, one of JSON, then the state; replaced in one step."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from prism_vo import __version__
from prism_vo.atomic import write_bytes_atomically
from prism_vo.bounded.files import read_part
from prism_vo.bounded.json_text import parse_json
from prism_vo.errors import InputError

CHECKPOINT = "checkpoint.bin"
FIRST_LINE = b"prism-vo/checkpoint/1\n"
LARGEST = 4 << 30  # bytes
LONGEST_HEADER = 1 << 20


@cache
def program() -> str:
    """Which program wrote a state: only the very same one may go on with it."""
    digest = hashlib.sha256(f"{__version__} numpy {np.__version__}".encode())
    root = Path(__file__).resolve().parent.parent
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def write_checkpoint(folder: Path, header: dict[str, Any], state: bytes) -> None:
    """Replace the checkpoint of a results folder."""
    facts = {**header, "program": program(), "bytes": len(state), "sha256": hashlib.sha256(state).hexdigest()}
    write_bytes_atomically(folder / CHECKPOINT, FIRST_LINE + json.dumps(facts).encode() + b"\n" + state)


def read_checkpoint(folder: Path) -> tuple[dict[str, Any], bytes] | None:
    """Header and state; None where there is none. Of another version, damaged or foreign: one sentence."""
    path = folder / CHECKPOINT
    if path.is_symlink() or not path.is_file():
        return None
    begin = read_part(path, 0, LONGEST_HEADER)
    end = begin.find(b"\n", len(FIRST_LINE))
    if not begin.startswith(FIRST_LINE) or end < 0:
        raise InputError(f"{path}: is no checkpoint of prism-vo; delete it, or begin again with --force.")
    try:
        header = parse_json(begin[len(FIRST_LINE) : end].decode("utf-8"))
        length = path.stat().st_size - end - 1
        if length > LARGEST or header["bytes"] != length:  # before memory is spent on it
            raise ValueError
        state = read_part(path, end + 1, length)
        whole = header["bytes"] == len(state) and header["sha256"] == hashlib.sha256(state).hexdigest()
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is damaged; begin again with --force.") from error
    if not whole:
        raise InputError(f"{path}: is damaged; begin again with --force.")
    if header.get("program") != program():
        raise InputError(f"{path}: was written by another version of the program; begin again with --force.")
    return header, state
