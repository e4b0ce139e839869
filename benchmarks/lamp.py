# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.lamp FOLDER ...``: bands of a lamp seen in single raw images, with and without bands put in.

Six frames of each recording. *spread*: RMS over the rows of what is found, without its straight part; *over columns*,
*over halves*: times what it is compared with to be called a lamp; *error*: of the bands that were put in, after both
rounds, without and (in brackets) with the straight part.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.fault_injectors import Rng, rolling_exposure
from prism_vo.arrays import Array
from prism_vo.datasets import open_sequence
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.row_light import bent, is_lamp, is_uneven, row_curve
from prism_vo.types import RawFrame

FRAMES = 6
HEADER = (
    "| recording | bands | found | spread % | over columns | over halves | error % | ms |\n"
    + "|---" * 8
    + "|"
)


@dataclass(frozen=True)
class Seen:
    """One image."""

    found: bool
    spread: float
    columns: float
    halves: float
    error: tuple[float, float]
    seconds: float


def look(decoder: Decoder, raw: RawFrame, bands: Array | None) -> Seen | None:
    """``bands``: logarithm of what was put in; None: nothing."""
    start = time.process_time()
    evened = decoder.without_bands(raw, decoder.focus(raw))
    seconds = time.process_time() - start
    seen = decoder.same_points(raw)
    curve, columns = row_curve(seen), row_curve(seen.turned())
    left = seen.x < seen.shape[1] / 2
    halves = [row_curve(seen.where(half)) for half in (left, ~left)]
    if curve is None or columns is None or halves[0] is None or halves[1] is None:
        return None
    error = float("nan"), float("nan")
    if bands is not None and evened is not None and evened[0] is not raw:
        ratio = evened[0].image.astype(np.float64).sum(1) / np.maximum(
            raw.image.astype(np.float64).sum(1), 1.0
        )
        rest = np.log(ratio) + bands
        error = bent(rest), float(rest.std())
    found = is_uneven(curve) and is_lamp(curve, seen)
    return Seen(found, bent(curve), bent(columns), bent(halves[0] - halves[1]) / 2, error, seconds)


def row(name: str, words: str, seen: list[Seen]) -> str:
    """Ranges over the frames."""
    spread = np.array([s.spread for s in seen])
    columns, halves = (np.array([getattr(s, key) for s in seen]) for key in ("columns", "halves"))
    bare, whole = np.array([s.error for s in seen]).T
    errors = "–" if np.isnan(bare).all() else f"{_range(100 * bare)} ({_range(100 * whole)})"
    cells = (
        name,
        words,
        f"{sum(s.found for s in seen)} of {len(seen)}",
        _range(100 * spread),
        _range(spread / columns),
        _range(spread / halves),
        errors,
        f"{1e3 * np.median([s.seconds for s in seen]):.0f}",
    )
    return f"| {' | '.join(cells)} |"


def _range(values: Array) -> str:
    return f"{np.nanmin(values):.1f}–{np.nanmax(values):.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    args = parser.parse_args()
    print(HEADER)
    for folder in args.folders:
        sequence = open_sequence(folder)
        decoder = Decoder(sequence.camera, white=sequence.white)
        unused: Rng = np.random.default_rng(0)
        plain, banded = [], []
        for k in np.linspace(0, len(sequence) - 1, FRAMES).astype(int).tolist():
            raw = sequence[k]
            assert isinstance(raw, RawFrame)
            image = np.asarray(raw.image)
            bands = np.log(
                rolling_exposure(np.full((len(image), 1), 20000, np.uint16), k, unused)[:, 0] / 20000
            )
            plain.append(look(decoder, raw, None))
            banded.append(
                look(decoder, replace(raw, image=rolling_exposure(image, k, unused)), bands - bands.mean())
            )
        print(row(sequence.name, "none", [s for s in plain if s is not None]))
        print(row(sequence.name, "± 15 %", [s for s in banded if s is not None]), flush=True)


if __name__ == "__main__":
    main()
