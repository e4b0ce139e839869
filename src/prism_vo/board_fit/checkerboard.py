# SPDX-License-Identifier: Apache-2.0
"""A checkerboard in focused images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from prism_vo.arrays import Array, Floats

SIZES = tuple(
    (c, r) for c in range(12, 3, -1) for r in range(c, 2, -1)
)  # inner corners a row and a column, to try
FEWEST_VIEWS = 2


@dataclass(frozen=True)
class BoardSightings:
    """Corners of one board in several frames."""

    columns: int
    rows: int
    keyframe: list[int]
    corners: list[Array]  # (columns·rows, 2) TF px each

    @property
    def places(self) -> Array:
        """(N, 3) in squares."""
        y, x = np.mgrid[: self.rows, : self.columns].reshape(2, -1)
        return np.stack([x, y, np.zeros_like(x)], -1).astype(np.float64)


def find_board(images: Sequence[Floats], size: tuple[int, int] | None) -> BoardSightings | None:
    """Look for a checkerboard in focused images; ``size``: inner corners (columns, rows), tried out where None."""
    greys = [np.clip(np.rint(image), 0, 255).astype(np.uint8) for image in images]
    for columns, rows in (size,) if size is not None else SIZES:
        frames, corners = [], []
        for k, grey in enumerate(greys):
            ok, found = cv2.findChessboardCornersSB(grey, (columns, rows))
            if ok:
                frames.append(k)
                corners.append(found.reshape(-1, 2).astype(np.float64))
            if size is None and k + 1 >= 3 and not frames:
                break
        if len(frames) >= FEWEST_VIEWS:
            return BoardSightings(columns, rows, frames, _same_order(corners))
    return None


def _same_order(corners: list[Array]) -> list[Array]:
    """A board may be found from its other end: turned round where its first corner would jump to the last."""
    out = [corners[0]]
    for now in corners[1:]:
        before = out[-1]
        axis, turned = before[-1] - before[0], now[-1] - now[0]
        out.append(now if axis @ turned > 0 else now[::-1])
    return out
