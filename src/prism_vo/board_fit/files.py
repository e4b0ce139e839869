# SPDX-License-Identifier: Apache-2.0
"""Corners and centres that another program found: tables with a line of names at the top."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from prism_vo.arrays import Array
from prism_vo.board_fit.records import Board
from prism_vo.bounded.files import read_text
from prism_vo.errors import InputError

CENTRES = ("k", "l", "u", "v")
CORNERS = ("k", "l", "u", "v", "cluster", "frame")
LARGEST = 1e6  # of any number in such a table
MOST_BYTES = 64 << 20


def read_table(path: Path, names: tuple[str, ...]) -> Array:
    """The columns of these names (N, len(names)); others are left alone."""
    lines = read_text(path, MOST_BYTES).splitlines()
    header = [word.strip().lower() for word in lines[0].split(",")] if lines else []
    missing = [name for name in names if name not in header]
    if missing:
        raise InputError(
            f"{path}: no column {missing[0]!r}; the first line must name the columns {', '.join(names)}."
        )
    rows = [line.split(",") for line in lines[1:] if line.strip()]
    columns = [header.index(name) for name in names]
    try:
        table = np.array([[float(row[c]) for c in columns] for row in rows]).reshape(-1, len(names))
    except (ValueError, IndexError) as error:
        raise InputError(
            f"{path}: a line does not hold {len(header)} numbers, as its first line names."
        ) from error
    if not len(table):
        raise InputError(f"{path}: holds no lines but the names of its columns.")
    if not (np.abs(table) <= LARGEST).all():
        raise InputError(f"{path}: holds numbers that are not finite, or beyond a million.")
    return table


def check_corner_numbers(path: Path, cluster: Array, board: Board) -> None:
    """Numbers of corners must be those of the board."""
    if (cluster != np.rint(cluster)).any() or cluster.min() < 0 or cluster.max() >= board.count:
        raise InputError(
            f"{path}: numbers corners up to {cluster.max():g}, but a board of {board.columns} by {board.rows} corners "
            f"has {board.count}; check --corners."
        )
