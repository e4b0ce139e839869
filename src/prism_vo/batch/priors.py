# SPDX-License-Identifier: Apache-2.0
"""What is known of any camera beforehand: F roughly, a centre near the middle, little distortion; nothing of w_∞, κ."""

from __future__ import annotations

from typing import Literal

import numpy as np

from prism_vo.batch.numbers import A0, A1, B0, B1, COUNT, CX, CY, FIELD, FOCAL, KAPPA, CameraNumbers, W
from prism_vo.batch.system import CameraPrior

FOCAL_PRIOR = 0.5  # of F: a nominal lens may be another one altogether
CENTRE_PRIOR = 0.05  # of the image's width
RADIAL_PRIOR = 0.03  # shift at the corner of the image, of its distance from the centre
TANGENTIAL_PRIOR = 0.003
FIELD_PRIOR = 2.0  # virtual depths at the corner
Terms = Literal["none", "radial", "two radial", "full"]


def loose_prior(
    numbers: CameraNumbers, size: tuple[int, int], terms: Terms, field: bool = False
) -> CameraPrior:
    """``size``: width, height of the sensor; ``terms``: the distortion that may be found; ``field``: that, too."""
    mean, sigma = numbers.values.copy(), np.zeros(COUNT)
    mean[[CX, CY]] = size[0] / 2 - 0.5, size[1] / 2 - 0.5
    mean[[A0, A1, B0, B1]] = 0.0
    corner = 0.5 * np.hypot(*size) * numbers.pixel_mm
    sigma[FOCAL] = FOCAL_PRIOR * mean[FOCAL]
    sigma[[CX, CY]] = CENTRE_PRIOR * size[0]
    if terms != "none":
        sigma[A0] = RADIAL_PRIOR / corner**2
    if terms in ("two radial", "full"):
        sigma[A1] = RADIAL_PRIOR / corner**4
    if terms == "full":
        sigma[[B0, B1]] = TANGENTIAL_PRIOR / corner
    mean[FIELD] = 0.0
    if field:
        sigma[FIELD] = FIELD_PRIOR / np.array([corner, corner, corner**2])
    sigma[[W, KAPPA]] = np.inf
    return CameraPrior(mean, sigma)
