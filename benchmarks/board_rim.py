# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.board_rim FOLDER``: what displaces corners beside the rims of micro-images of a real R12?

FOLDER as for ``benchmarks.board``. By rings of the micro-image the displacement of corners, radial and tangential, is
described by waves of two and four a turn about the centre, counted from the board's edges, and by its mean in the outer
rings; camera and description are fitted in turns. Each picture is judged by a camera and, in the first rows, by a
description that have not seen it.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from prism_vo.arrays import Array, Mask
from prism_vo.batch.priors import loose_prior
from prism_vo.board_fit.adjust import AdjustedBoard, adjust
from prism_vo.board_fit.centres import fit_centres
from prism_vo.board_fit.files import CENTRES, CORNERS, read_table
from prism_vo.board_fit.fit import leave_out, undistorted
from prism_vo.board_fit.records import Board, BoardState, CornerSlopes, MicroCorners
from prism_vo.board_fit.start import start_state, triangulate
from prism_vo.board_fit.system import predict
from prism_vo.errors import PrismError

BOARD, SIZE, PIXEL = Board(9, 5, 0.01), (4080, 3068), 0.0055
RINGS = np.array([0.0, 1.5, 3.0, 4.5, 6.0, 7.0, 8.0, 9.0])  # px
OUTER = 6.0  # px: rings with a mean displacement of their own; further in it would be another B
FEWEST, GROSS, TURNS = 60, 4.0, 4


@dataclass(frozen=True)
class Places:
    """Where corners should lie in their micro-images."""

    predicted: Array  # (N, 2)
    radial: Array  # (N, 2) unit vectors
    ring: Array  # (N,)
    waves: Array  # (N, 4) of the angle from the board's edge

    @classmethod
    def of(cls, state: BoardState, corners: MicroCorners) -> Places:
        """As a state predicts them."""
        predicted = predict(state, BOARD, corners).value
        away = predicted - corners.centre
        distance = np.linalg.norm(away, axis=1)
        radial = away / np.maximum(distance, 1e-9)[:, None]
        edge = state.poses[corners.frame, :2, 0]
        angle = np.arctan2(radial[:, 1], radial[:, 0]) - np.arctan2(edge[:, 1], edge[:, 0])
        waves = [f(k * angle) for k in (2, 4) for f in (np.cos, np.sin)]
        ring = np.searchsorted(RINGS, distance, side="right") - 1
        return cls(predicted, radial, ring, np.stack(waves, 1))

    def displacement(self, seen: Array, given: Mask) -> Array:
        """(N, 2) as the rows ``given`` of ``seen`` describe it."""
        left, out = seen - self.predicted, np.zeros_like(seen)
        usable = given & (np.linalg.norm(left, axis=1) < GROSS)
        for ring in range(len(RINGS)):
            mine = self.ring == ring
            design = self.waves if RINGS[ring] < OUTER else np.column_stack([self.waves, np.ones(len(mine))])
            if (usable & mine).sum() < FEWEST:
                continue
            for vector in (self.radial, self.radial[:, ::-1] * [-1, 1]):
                along = (left * vector).sum(1)
                by = np.linalg.lstsq(design[usable & mine], along[usable & mine], rcond=None)[0]
                out[mine] += (design[mine] @ by)[:, None] * vector[mine]
        return out


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    try:
        first = every_corner(parser.parse_args().folder)
    except PrismError as error:
        print(f"benchmarks.board_rim: {error}", file=sys.stderr)
        return error.exit_code
    print("| all corners | RMS an axis | held out | squares held out |\n|---|---|---|---|")
    held = leave_out(first, BOARD, prior(first.state), lambda words, done, of: None)
    print(row("as they were found", first, held.rms, held.size))
    print(f"| less a description by the other pictures | {description_held_out(first):.3f} px | | |")
    found = described(first)
    held = leave_out(found, BOARD, prior(found.state), lambda words, done, of: None)
    print(row("camera and description together", found, held.rms, held.size))
    return 0


def row(name: str, found: AdjustedBoard, held: float, size: Array) -> str:
    """One row."""
    away = 100 * (size - 1)
    return f"| {name} | {found.rms:.3f} px | {held:.3f} px | {away.min():+.2f} to {away.max():+.2f} % |"


def prior(state: BoardState):  # type: ignore[no-untyped-def]
    """No distortion."""
    return loose_prior(state.camera, SIZE, "none")


def every_corner(folder: Path) -> AdjustedBoard:
    """The thin lens fitted to all corners but misdetections."""
    lenses, table = read_table(folder / "centers.csv", CENTRES), read_table(folder / "corners.csv", CORNERS)
    grid = fit_centres(lenses[:, :2], lenses[:, 2:], "centers.csv")
    _, frame = np.unique(table[:, 5], return_inverse=True)
    corners = MicroCorners(
        frame.astype(np.intp), table[:, 4].astype(np.intp), grid.points(table[:, :2]), table[:, 2:4]
    )
    none = CornerSlopes.none()
    state = undistorted(start_state(triangulate(corners, BOARD), BOARD, SIZE, PIXEL, corners.frames, none))
    return adjust(state, BOARD, corners, none, prior(state))


def description_held_out(found: AdjustedBoard) -> float:
    """RMS an axis of corners less what the other pictures say of their place in the micro-image."""
    places, corners = Places.of(found.state, found.corners), found.corners
    left = np.zeros_like(corners.xy)
    for frame in range(corners.frames):
        mine = corners.frame == frame
        left[mine] = (corners.xy - places.predicted - places.displacement(corners.xy, ~mine))[mine]
    return float(np.sqrt((left**2).mean()))


def described(found: AdjustedBoard) -> AdjustedBoard:
    """Camera and description in turns."""
    corners, now = found.corners, found
    for _ in range(TURNS):
        moved = Places.of(now.state, corners).displacement(corners.xy, np.ones(len(corners), np.bool_))
        better = replace(corners, xy=corners.xy - moved)
        now = adjust(now.state, BOARD, better, found.slopes, prior(now.state), sigma=found.sigma)
    return now


if __name__ == "__main__":
    sys.exit(main())
