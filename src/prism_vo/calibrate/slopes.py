# SPDX-License-Identifier: Apache-2.0
"""Stereo slopes of one raw image, looked for beyond what the camera file says is possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.calibrate.middle import middle_part
from prism_vo.config import DecodeConfig
from prism_vo.errors import PrismError
from prism_vo.lightfield import Decoder
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame

ACROSS = 48  # points a side of the TF image
LEAST_MATCHES = 50
SIGMAS = 3.0  # beyond infinity by less is noise
WIDEST_SLOPE = 0.6  # of the search: hardly two lenses see a point beyond
NEAREST = 1.1  # focal lengths


@dataclass(frozen=True)
class SlopeCheck:
    """Matches of one image."""

    inv_virtual_depth: Array  # (N,) ρ_v
    beyond: float  # share whose slope is larger than that of a point at infinity
    matched: float  # share of the points looked at that could be matched


def check_slopes(
    camera: PlenopticCamera, image: NDArray[Any], white: NDArray[Any] | None
) -> SlopeCheck | None:
    """None: too little can be matched. On the central view slopes do not depend on the optics of the file."""
    part = middle_part(camera.calibration)
    camera, image = PlenopticCamera.from_calibration(part.calibration), part.of(image)
    white = None if white is None else part.of(white)
    try:
        decoder = Decoder(
            _wide(camera), DecodeConfig(near=NEAREST * camera.f_L * 1e-3, view="central"), white=white
        )
    except PrismError:
        return None
    view = decoder.view
    x, y = np.meshgrid(
        np.linspace(0, view.width - 1, ACROSS + 2)[1:-1], np.linspace(0, view.height - 1, ACROSS + 2)[1:-1]
    )
    found = decoder.measure(RawFrame(0, 0.0, image), np.rint(np.stack([x.ravel(), y.ravel()], -1)))
    valid = found.valid
    if valid.sum() < LEAST_MATCHES:
        return None
    slope = view.alpha + view.beta * found.inv_virtual_depth[valid].astype(np.float64)
    sigma = view.beta * np.sqrt(found.variance[valid].astype(np.float64))
    file = camera.view("central")
    infinity = 1.0 / file.w_infinity if file.w_infinity > 0 else np.inf
    rho = (slope - file.alpha) / file.beta
    return SlopeCheck(rho, float((slope > infinity + SIGMAS * sigma).mean()), float(valid.mean()))


def _wide(camera: PlenopticCamera) -> PlenopticCamera:
    """The same grid behind a lens that is focused so that every slope is some depth."""
    lens, wanted = camera.calibration.main_lens, 1.0 / WIDEST_SLOPE
    distance = camera.f_L - wanted * camera.B  # w_∞ ≈ (f_L − b_L0)/B
    moved = lens.model_copy(update={"mla_distance_mm": distance})
    return PlenopticCamera.from_calibration(camera.calibration.model_copy(update={"main_lens": moved}))
