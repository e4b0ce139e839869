# SPDX-License-Identifier: Apache-2.0
"""JSON files and files of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prism_vo.bounded.files import MB, read_text
from prism_vo.errors import InputError

LARGEST = 64 * MB
LINES = 256 * MB  # a file of one object a frame


def parse_json(text: str) -> Any:
    """The value; ValueError for every fault, too deep nesting included."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def read_json(path: Path) -> Any:
    """A JSON file."""
    try:
        return parse_json(read_text(path, LARGEST))
    except ValueError as error:
        raise InputError(f"{path}: not a JSON file; it is damaged.") from error


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """One object a line; the last line may be cut off, as when a process was killed."""
    lines = read_text(path, LINES).split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values = parse_json(line)
        except ValueError as error:
            if number == len(lines):  # it does not even end
                return
            raise InputError(f"{path}, line {number}: not JSON; the file is damaged.") from error
        if not isinstance(values, dict):
            raise InputError(f"{path}, line {number}: not an object; the file is damaged.")
        yield values
