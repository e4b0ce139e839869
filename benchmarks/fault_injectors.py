# SPDX-License-Identifier: Apache-2.0
"""What can happen to a recording: functions from clean raw frames to those of a fault.

A fault decides which frame of the clean recording is shown at each instant (its pose is the truth there) and what is
done to its raw pixels. Frames that are left alone are the same arrays as before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array

Image = NDArray[Any]
DARK = 2.0  # grey levels of a covered lens, with noise


@dataclass(frozen=True)
class Shot:
    """One instant of a faulty recording."""

    source: int  # frame of the clean recording whose pose is the true one
    image: Image | None  # None: the file cannot be read
    exposure: float | None = None
    foreign: bool = False  # shows nothing of the scene: no pose is right


@dataclass(frozen=True)
class Clean:
    """Raw frames of a recording, and of another one seen through the same micro-lenses."""

    images: list[Image]
    foreign: list[Image]
    white: Image | None = None  # of an evenly lit target
    begin: int | None = None  # frame at which most faults begin, if it is drawn

    def shots(self, order: range | list[int] | None = None) -> list[Shot]:
        """Frames as they are, all of them or in another order."""
        return [Shot(k, self.images[k]) for k in (order if order is not None else range(len(self.images)))]

    @property
    def middle(self) -> int:
        """Where most faults begin: two fifths of the way, if nobody says otherwise."""
        return 2 * len(self.images) // 5 if self.begin is None else self.begin


Rng = np.random.Generator
Injector = Callable[[Clean, Rng], list[Shot]]
Change = Callable[[Image, int, Rng], Image]  # image, number within the fault


def changed(change: Change, count: int | None, foreign: bool = False) -> Injector:
    """``count`` frames from the middle on (all from there if None; from the beginning if negative) are changed."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        shots = clean.shots()
        begin = 0 if count is not None and count < 0 else clean.middle
        end = len(shots) if count is None or count < 0 else begin + count
        return [
            replace(s, image=change(clean.images[k], k - begin, rng), foreign=foreign)
            if begin <= k < end
            else s
            for k, s in enumerate(shots)
        ]

    return inject


def like(values: Array, image: Image) -> Image:
    """Rounded and clipped to the range of the image."""
    most = np.iinfo(image.dtype).max if np.issubdtype(image.dtype, np.integer) else 255.0
    return np.clip(np.rint(values), 0, most).astype(image.dtype)


# --- what the sensor or the cable does ---------------------------------------------------------------------------


def black(image: Image, k: int, rng: Rng) -> Image:
    """A covered lens: noise about a few grey levels."""
    return like(rng.normal(DARK, 1.0, image.shape), image)


def white(image: Image, k: int, rng: Rng) -> Image:
    """Saturated."""
    return np.full_like(image, np.iinfo(image.dtype).max)


def torn(image: Image, k: int, rng: Rng) -> Image:
    """The lower part belongs to other lines."""
    cut = len(image) // 2
    return np.concatenate([image[:cut], np.roll(image[cut:], 37, axis=0)])


def lower_half_missing(image: Image, k: int, rng: Rng) -> Image:
    """Nothing arrived of the lower half."""
    out = image.copy()
    out[len(image) // 2 :] = 0
    return out


def shifted(pixels: int) -> Change:
    """The raw image lies some columns aside."""
    return lambda image, k, rng: np.roll(image, pixels, axis=1)


def noisy(sigma: float) -> Change:
    """A burst of noise."""
    return lambda image, k, rng: like(image + rng.normal(0.0, sigma, image.shape), image)


def hot_pixels(share: float, moving: bool) -> Change:
    """Saturated pixels: always the same ones, or others in every frame (rain)."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        own = rng if moving else np.random.default_rng(5)
        out = image.copy()
        out[own.random(image.shape[:2]) < share] = np.iinfo(image.dtype).max
        return out

    return change


def dead_lenses(share: float, pitch: float) -> Change:
    """Squares of a micro-lens pitch that stay dark."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        own = np.random.default_rng(6)
        h, w = image.shape[:2]
        cells = own.random((int(h / pitch) + 1, int(w / pitch) + 1)) < share
        y, x = (np.arange(n) / pitch for n in (h, w))
        out = image.copy()
        out[cells[np.ix_(y.astype(int), x.astype(int))]] = 0
        return out

    return change


def dirt(image: Image, k: int, rng: Rng) -> Image:
    """Dark blots that stay where they are."""
    own, mask = np.random.default_rng(7), np.ones(image.shape[:2], np.float32)
    h, w = mask.shape
    for _ in range(12):
        centre = int(own.uniform(0, w)), int(own.uniform(0, h))
        cv2.circle(mask, centre, int(own.uniform(0.01, 0.03) * w), 0.3, -1)
    mask = np.asarray(cv2.GaussianBlur(mask, (0, 0), 0.005 * w))
    return like(image * (mask if image.ndim == 2 else mask[..., None]), image)


def blurred(image: Image, k: int, rng: Rng) -> Image:
    """Out of focus or shaken: every micro-image smeared."""
    return np.asarray(cv2.GaussianBlur(image, (0, 0), 1.5))


# --- light -------------------------------------------------------------------------------------------------------


def gain(factor: float) -> Change:
    """The sensor's gain or the light changes, and nobody says so."""
    return lambda image, k, rng: like(image * factor, image)


def alternating(factor: float) -> Change:
    """Every second frame."""
    return lambda image, k, rng: like(image * factor, image) if k % 2 else image


def gain_steps(image: Image, k: int, rng: Rng) -> Image:
    """An automatic gain that hunts: another factor every three frames."""
    factor = 2.0 ** np.random.default_rng((8, k // 3)).uniform(-1.5, 0.3)
    return like(image * factor, image)


def rolling_exposure(image: Image, k: int, rng: Rng) -> Image:
    """Bands of a lamp at mains frequency that wander over the rows."""
    rows = 1.0 + 0.15 * np.sin(2 * np.pi * (np.arange(len(image)) / len(image) * 1.5 + 0.37 * k))
    return like(image * (rows[:, None] if image.ndim == 2 else rows[:, None, None]), image)


def with_exposure_times(factors: Callable[[int], float]) -> Injector:
    """A change of exposure that is recorded."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        out = []
        for k, s in enumerate(clean.shots()):
            factor = factors(k - clean.middle)
            out.append(
                replace(s, image=like(clean.images[k] * factor, clean.images[k]), exposure=0.01 * factor)
            )
        return out

    return inject


# --- things in the way -------------------------------------------------------------------------------------------


def covered(share: float, count: int | None, real: bool) -> Injector:
    """Something wanders through the image: a part of another recording, or a flat random texture."""

    def change(clean: Clean) -> Change:
        def paint(image: Image, k: int, rng: Rng) -> Image:
            h, w = image.shape[:2]
            width, period = int(share * w), 20 if count is None else max(count, 2)
            phase = (k % period) / (period - 1)
            left = int((w - width) * (phase if (k // period) % 2 == 0 else 1.0 - phase))
            out = image.copy()
            if real:
                patch = clean.foreign[k % len(clean.foreign)]
                out[:, left : left + width] = patch[:, left : left + width]
            else:
                texture = (
                    np.random.default_rng(9).uniform(0, 200, (h // 8 + 1, width // 8 + 1)).astype(np.float32)
                )
                big = cv2.resize(texture, (width, h), interpolation=cv2.INTER_CUBIC)
                out[:, left : left + width] = like(big if image.ndim == 2 else big[..., None], image)
            return out

        return paint

    return lambda clean, rng: changed(change(clean), count)(clean, rng)


def walking_through(clean: Clean, rng: Rng) -> list[Shot]:
    """Somebody comes in on the left, a third of the image wide, and leaves on the right within 16 frames."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        w = image.shape[1]
        width = w // 3
        left = int(-width + (w + width) * k / 15.0)
        a, b = max(left, 0), min(left + width, w)
        out = image.copy()
        if a < b:
            out[:, a:b] = clean.foreign[k % len(clean.foreign)][:, a:b]
        return out

    return changed(change, 16)(clean, rng)


# --- time --------------------------------------------------------------------------------------------------------


def jump(frames: int) -> Injector:
    """Frames are missing at one place."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        return clean.shots(
            [k for k in range(len(clean.images)) if not clean.middle <= k < clean.middle + frames]
        )

    return inject


def still(clean: Clean, rng: Rng) -> list[Shot]:
    """200 frames at rest."""
    m = clean.middle
    return clean.shots([*range(m), *[m] * 200, *range(m, len(clean.images))])


def unreadable(clean: Clean, rng: Rng) -> list[Shot]:
    """One file in the middle is damaged."""
    return [replace(s, image=None) if k == clean.middle else s for k, s in enumerate(clean.shots())]


def dropped(share: float) -> Injector:
    """Frames are missing at random."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        kept = np.flatnonzero(rng.random(len(clean.images)) >= share)
        return clean.shots([int(k) for k in kept])

    return inject


def double_speed(clean: Clean, rng: Rng) -> list[Shot]:
    """Every second frame alone."""
    return clean.shots(range(0, len(clean.images), 2))


def away(cover: Change, frames: int, back: int) -> Injector:
    """The lens is covered for some frames while the camera is carried away, then it is back ``back`` frames earlier."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        m = clean.middle
        dark = [Shot(m, cover(clean.images[m], k, rng), foreign=True) for k in range(frames)]
        return [*clean.shots(range(m)), *dark, *clean.shots(range(max(m - back, 0), len(clean.images)))]

    return inject


def pocket(image: Image, k: int, rng: Rng) -> Image:
    """Cloth before the lens: dim, soft, moving."""
    h, w = image.shape[:2]
    cloth = rng.normal(0.0, 1.0, (h // 32 + 1, w // 32 + 1)).astype(np.float32)
    soft = np.asarray(cv2.resize(cloth, (w, h), interpolation=cv2.INTER_CUBIC))
    values = 12.0 + 4.0 * soft + rng.normal(0.0, 1.0, (h, w))
    return like(values if image.ndim == 2 else values[..., None] + 0.0 * image, image)
