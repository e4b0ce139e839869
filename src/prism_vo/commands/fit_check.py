# SPDX-License-Identifier: Apache-2.0
"""Does the camera file of a recording fit its images? Lines for the screen and a picture, for ``prism-vo info``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.calibrate.check import MOST_IMAGES, CameraCheck, check_camera
from prism_vo.calibrate.findings import GridFindings
from prism_vo.calibrate.grid_picture import findings_picture, mean_image
from prism_vo.calibrate.words import check_rows
from prism_vo.errors import PrismError
from prism_vo.optics.picture import grid_picture

if TYPE_CHECKING:
    from prism_vo.datasets import Sequence


def images_spread_over(sequence: Sequence) -> list[NDArray[Any]]:
    """A few raw images from beginning to end; damaged ones are left out, others show the camera as well."""
    images = []
    for index in np.unique(np.linspace(0, len(sequence) - 1, MOST_IMAGES).astype(int)):
        try:
            images.append(sequence[int(index)].image)
        except PrismError:
            continue
    return images


def check_sequence(sequence: Sequence, images: list[NDArray[Any]]) -> tuple[CameraCheck | None, list[str]]:
    """Numbers first, then a sentence for each thing that does not fit."""
    if not images:
        return None, ["  does the camera file fit? None of the frames looked at can be read."]
    found = check_camera(sequence.camera, images, sequence.white)
    rows = [f"  {name:<13} {words}" for name, words in check_rows(found)]
    if found.white_fault is not None and (path := getattr(sequence, "white_path", None)) is not None:
        found = replace(found, white_fault=f"{path}: {found.white_fault}")
    verdict = [f"  !             {problem}" for problem in found.problems()]
    yes = [f"  yes: {_fits(found)}"]
    return found, [
        f"  does the camera file fit the images? ({len(images)} of them)",
        *rows,
        *(verdict or yes),
    ]


def _fits(check: CameraCheck) -> str:
    """What was measured, by name; the rest was not looked at and fits nothing."""
    told, untold = check.measured()
    words = f"{_listed(told)} fit{'s' if len(told) == 1 else ''}"
    return words + (f"; the images do not tell about {_listed(untold)}" if untold else "")


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def fit_picture(
    sequence: Sequence, images: list[NDArray[Any]], check: CameraCheck | None
) -> NDArray[np.uint8]:
    """Crops with circles, and where the grid was found arrows of what the file is off by and of what a fit leaves."""
    if check is None or check.grid is None or check.profile is None:
        return grid_picture(sequence.camera, sequence[0].image)
    findings = GridFindings(check.grid, check.kinds, check.profile, from_start=True)
    return findings_picture(mean_image(images), findings)
