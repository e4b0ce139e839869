# SPDX-License-Identifier: Apache-2.0
"""Raw images of a flat textured scene made without the simulator: any layout, pitch, angle and vignetting, in one pass.

A lens with centre c shows the texture at ``c + (p − c)·v``: the virtual image at
virtual depth v, seen through pinholes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.calibrate.grid import Grid

TEXTURE_SIDE = 2048


@dataclass(frozen=True)
class Look:
    """How the raw image looks; the texture differs from seed to seed."""

    shape: tuple[int, int] = (640, 640)
    virtual_depth: float = 3.0
    vignetting: str = "rim"  # "rim": dark outside a disc; "soft": fades out; "none"
    rim_radius: float = 0.48  # pitches
    rim_width: float = 1.5  # px
    contrast: float = 0.5  # 0: a white image
    blur_by_type: tuple[float, float, float] = (0.0, 0.0, 0.0)  # px in the micro-image
    radius_by_type: tuple[float, float, float] = (1.0, 1.0, 1.0)
    noise: float = 1.0  # grey levels
    slope: float = 0.0  # relative change of light across the image
    seed: int = 0


@lru_cache(maxsize=4)
def texture(seed: int, slope: float = 1.0) -> Floats:
    """Grey noise with a spectrum like that of photographs (1/f^slope), mean 0, scatter 1, periodic."""
    rng = np.random.default_rng(seed)
    frequency = np.hypot(*np.meshgrid(np.fft.rfftfreq(TEXTURE_SIDE), np.fft.fftfreq(TEXTURE_SIDE)))
    frequency[0, 0] = 1.0
    spectrum = np.fft.rfft2(rng.standard_normal((TEXTURE_SIDE, TEXTURE_SIDE))) / frequency**slope
    spectrum[0, 0] = 0.0
    image = np.fft.irfft2(spectrum)
    return np.asarray(image / image.std(), np.float32)


def owners(grid: Grid, points: Array) -> tuple[Array, NDArray[np.int_]]:
    """Nearest centre (…, 2) and its class (i − j) mod 3 for points (…, 2)."""
    base = np.floor(grid.cells(points)).astype(int)
    best = np.full(points.shape[:-1], np.inf)
    centre, kind = np.zeros(points.shape), np.zeros(points.shape[:-1], int)
    for corner in ((0, 0), (1, 0), (0, 1), (1, 1)):
        index = base + corner
        at = grid.points(index)
        distance = ((points - at) ** 2).sum(-1)
        nearer = distance < best
        best = np.where(nearer, distance, best)
        centre = np.where(nearer[..., None], at, centre)
        kind = np.where(nearer, np.mod(index[..., 0] - index[..., 1], 3), kind)
    return centre, kind


def raw_image(grid: Grid, look: Look, samples: int = 2) -> NDArray[np.uint8]:
    """One raw image, ``samples``² rays a pixel."""
    height, width = look.shape
    pictures = [
        texture(look.seed)
        if blur == 0
        else cv2.GaussianBlur(
            texture(look.seed), (0, 0), blur * look.virtual_depth, borderType=cv2.BORDER_REFLECT
        )
        for blur in look.blur_by_type
    ]
    light = np.zeros(look.shape)
    for sub_y in (np.arange(samples) + 0.5) / samples - 0.5:
        for sub_x in (np.arange(samples) + 0.5) / samples - 0.5:
            yy, xx = np.mgrid[0:height, 0:width]
            points = np.stack([xx + sub_x, yy + sub_y], -1)
            light += _light(grid, look, points, pictures)
    light *= (1.0 + look.slope * (np.arange(width) / width - 0.5)) / samples**2
    numbers = 130.0 * light + np.random.default_rng(look.seed + 1).normal(0, look.noise or 1e-9, look.shape)
    return np.clip(np.rint(numbers), 0, 255).astype(np.uint8)


def _light(grid: Grid, look: Look, points: Array, pictures: list[Floats]) -> Array:
    centre, kind = owners(grid, points)
    seen = (centre + (points - centre) * look.virtual_depth).astype(np.float32)
    light = np.zeros(points.shape[:-1])
    for k, picture in enumerate(pictures):
        mapped = cv2.remap(
            picture, seen[..., 0] % (TEXTURE_SIDE - 1), seen[..., 1] % (TEXTURE_SIDE - 1), cv2.INTER_LINEAR
        )
        light = np.where(kind == k, np.maximum(1.0 + look.contrast * mapped, 0.05), light)
    distance = np.linalg.norm(points - centre, axis=-1) / np.array(look.radius_by_type)[kind]
    if look.vignetting == "rim":
        light = light * np.clip((look.rim_radius * grid.pitch - distance) / look.rim_width + 0.5, 0.02, 1)
    elif look.vignetting == "soft":
        light = light * (1 - 0.8 * np.minimum(distance / grid.cell_radius, 1) ** 2)
    return np.asarray(light)
