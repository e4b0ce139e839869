# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.white RECORDING …``: what a white image is worth, and what one of another aperture does.

RECORDING: folders with ground truth and a white image. Each is tracked with it, without it, and with one whose micro-
images are as bright as with the power 0.8 and 0.5 of their light: taken with a smaller aperture.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo import Config, Odometry, open_sequence
from prism_vo.datasets.source import Sequence
from prism_vo.evaluate.metrics import evaluate_trajectory

POWERS = (0.8, 0.5)  # of the light of a white image, of which its own rim has about 0.6


def whites(white: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any] | None]]:
    """The white image, none, and others, with their names."""
    yield "its own", white
    yield "none", None
    full = float(white.max())
    for power in POWERS:
        yield f"light to the power of {power}", (full * (white / full) ** power).astype(white.dtype)


def row(sequence: Sequence, name: str, light: str, white: NDArray[Any] | None) -> str:
    """One run."""
    assert sequence.groundtruth is not None
    odometry = Odometry(sequence.camera, Config(), white=white)
    scale_sigma, lost = float("nan"), 0
    for index in range(len(sequence)):
        report = odometry(sequence[index])
        lost += report.status == "lost"
        scale_sigma = scale_sigma if report.mapping is None else report.mapping.scale_sigma
    odometry.finish()
    found = evaluate_trajectory(odometry.trajectory(), sequence.groundtruth, max_difference=0.02)
    said = "; ".join(odometry.sensor.remarks()) or "–"
    scale = f"{100 * (1 / found.scale - 1):+.2f} ± {100 * scale_sigma:.2f}"
    return f"| {name} | {light} | {scale} | {found.sim3.rmse_t_percent:.4f} | {lost} | {said[:105]} |"


def main() -> None:
    """Print the table as it is made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recordings", nargs="+", type=Path)
    print("| recording | white image | path too long by, % | shape, % | lost | said |\n" + "|---" * 6 + "|")
    for folder in parser.parse_args().recordings:
        sequence = open_sequence(folder)
        for light, white in whites(np.asarray(sequence.white)):
            print(row(sequence, folder.name, light, white), flush=True)


if __name__ == "__main__":
    main()
