# SPDX-License-Identifier: Apache-2.0
"""More that light and sensors do to raw images: exposure that hunts, lamps, veils, poor bits, broken rows."""

from __future__ import annotations

import cv2
import numpy as np

from benchmarks.fault_injectors import Change, Clean, Image, Injector, Rng, Shot, changed, like
from prism_vo.arrays import Array

WALL = 110.0  # grey level of an empty wall


def _times(image: Image, factor: Array) -> Image:
    """Each pixel by its own factor (h, w)."""
    return like(image * (factor if image.ndim == 2 else factor[..., None]), image)


def _plus(image: Image, light: Array) -> Image:
    """Light (h, w) on top of it."""
    return like(image + (light if image.ndim == 2 else light[..., None]), image)


def _spot(image: Image, x: float, y: float, radius: float) -> Array:
    """A round spot of height 1; place and radius in widths of the image."""
    h, w = image.shape[:2]
    squared = ((np.arange(w) / w - x) ** 2)[None, :] + ((np.arange(h) / w - y) ** 2)[:, None]
    return np.exp(-0.5 * squared / radius**2)


def fade(frames: int, darkest: float) -> Change:
    """Darker from frame to frame, then brighter again: a cloud, a lamp with a dimmer."""
    return lambda image, k, rng: like(image * darkest ** max(0.0, 1.0 - abs(2.0 * k / frames - 1.0)), image)


def hunting(amplitude: float, period: float) -> Change:
    """An automatic exposure that swings."""
    return lambda image, k, rng: like(image * (1.0 + amplitude * np.sin(2 * np.pi * k / period)), image)


def gamma(exponent: float) -> Change:
    """Another response curve."""
    most = 255.0
    return lambda image, k, rng: like(most * (image / most) ** exponent, image)


def black_level(grey: float) -> Change:
    """An offset of the converter."""
    return lambda image, k, rng: like(image + grey, image)


def clipped(level: float) -> Change:
    """Bright parts saturate at a grey level and are stretched to the whole range."""
    return lambda image, k, rng: like(np.minimum(image, level) * (255.0 / level), image)


def posterised(bits: int) -> Change:
    """Few bits are left."""
    step = 2 ** (8 - bits)
    return lambda image, k, rng: like(np.floor(image / step) * step + 0.5 * step, image)


def lamp_enters(image: Image, k: int, rng: Rng) -> Image:
    """A lamp crosses the image and saturates what is around it."""
    return _plus(image, 900.0 * _spot(image, -0.1 + 0.06 * k, 0.4, 0.1))


def veil_grows(image: Image, k: int, rng: Rng) -> Image:
    """The sun comes round: stray light over the upper left, more in every frame."""
    return _plus(image, min(8.0 * k, 110.0) * _spot(image, 0.2, 0.1, 0.5))


def darker_rim(image: Image, k: int, rng: Rng) -> Image:
    """A hood slipped: far more vignetting than the white image has."""
    return _times(image, 0.25 + 0.75 * _spot(image, 0.5, 0.5, 0.35))


def light_from_one_side(image: Image, k: int, rng: Rng) -> Image:
    """Half as bright on the left, half as bright again on the right."""
    return _times(image, np.broadcast_to(np.linspace(0.5, 1.5, image.shape[1]), image.shape[:2]))


def moving_shadow(image: Image, k: int, rng: Rng) -> Image:
    """A shadow with a sharp edge, a third of the image wide, goes to and fro."""
    h, w = image.shape[:2]
    left = int(w * (0.5 - 0.5 * np.cos(0.4 * k)) * 2 / 3)
    factor = np.ones((h, w))
    factor[:, left : left + w // 3] = 0.45
    return _times(image, factor)


def rows_missing(every: int) -> Change:
    """Rows that did not arrive."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        out = image.copy()
        out[k % every :: every] = 0
        return out

    return change


def salt_and_pepper(share: float) -> Change:
    """In a quarter of the image."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        out, (h, w) = image.copy(), image.shape[:2]
        corner = out[: h // 2, : w // 2]
        draw = rng.random(corner.shape[:2])
        corner[draw < 0.5 * share] = 0
        corner[draw > 1.0 - 0.5 * share] = np.iinfo(image.dtype).max
        return out

    return change


def softened(sigma: float) -> Change:
    """Out of focus."""
    return lambda image, k, rng: np.asarray(cv2.GaussianBlur(image, (0, 0), sigma))


def grid_drifts(pixels: float) -> Change:
    """The sensor creeps sideways under its micro-lenses, ``pixels`` a frame."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        move = np.array([[1.0, 0.0, pixels * k], [0.0, 1.0, 0.0]])
        size = image.shape[1], image.shape[0]
        return np.asarray(
            cv2.warpAffine(image, move, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
        )

    return change


def upside_down(image: Image, k: int, rng: Rng) -> Image:
    """A setting of the camera that somebody touched."""
    return np.ascontiguousarray(image[::-1, ::-1])


def hand(clean: Clean, rng: Rng) -> list[Shot]:
    """A hand wipes across the image, out of focus, half of the image wide, within 8 frames."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        skin = np.clip(3.0 * _spot(image, -0.3 + 0.23 * k, 0.5, 0.2), 0.0, 1.0)
        return _plus(_times(image, 1.0 - skin), 70.0 * skin)

    return changed(change, 8)(clean, rng)


def empty_wall(count: int) -> Injector:
    """Nothing but an evenly lit wall."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        white = np.ones(clean.images[0].shape) if clean.white is None else clean.white.astype(np.float64)
        pattern = white / white.max()

        def change(image: Image, k: int, rng: Rng) -> Image:
            return like(WALL * pattern + rng.normal(0.0, 1.5, image.shape), image)

        return changed(change, count, foreign=True)(clean, rng)

    return inject
