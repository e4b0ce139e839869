# SPDX-License-Identifier: Apache-2.0
"""Faults that grow, mix or come in bursts: what a day outside does to a camera."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from benchmarks.fault_injectors import Change, Clean, Image, Injector, Rng, Shot, changed, like
from prism_vo.arrays import Array

FINGER = 25.0  # grey level of a finger on the lens
SCREEN = 160.0  # brightest grey level of a screen


def exposure_ramp(rise: int, stay: int, most: float) -> Change:
    """Brighter from frame to frame until much is saturated, then back: an exposure that overshoots."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        share = min(1.0, k / rise, max(0.0, (2 * rise + stay - k) / rise))
        return like(image * most**share, image)

    return change


def shaken(frames: int, pixels: int) -> Injector:
    """For five frames the camera is thrown to and fro by as many frames' motion, and smears."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        shots, m, last = clean.shots(), clean.middle, len(clean.images) - 1
        kernel = np.full((1, pixels), 1.0 / pixels, np.float32)
        for k in range(5):
            source = int(np.clip(m + k + (frames if k % 2 else -frames), 0, last))
            shots[m + k] = Shot(source, np.asarray(cv2.filter2D(clean.images[source], -1, kernel)))
        return shots

    return inject


def finger(share: float, grow: int) -> Change:
    """Something dark and out of focus comes over the lens from the right, and stays."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        edge = 1.0 - share * min(1.0, (k + 1) / grow)
        x = np.arange(image.shape[1]) / image.shape[1]
        cover = np.broadcast_to(0.5 + 0.5 * np.tanh((x - edge) / 0.05), image.shape[:2])
        if image.ndim == 3:
            cover = cover[..., None]
        return like(image * (1.0 - cover) + FINGER * cover, image)

    return change


def bar(share: float, grow: int) -> Change:
    """A black bar with a sharp edge grows from the left, and stays."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        out = image.copy()
        out[:, : int(image.shape[1] * share * min(1.0, (k + 1) / grow))] = 0
        return out

    return change


def frozen_noisily(count: int, sigma: float) -> Injector:
    """The camera goes on, but its last image comes again and again, coded anew each time."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        image = clean.images[clean.middle - 1]
        return changed(lambda _, k, rng: like(image + rng.normal(0.0, sigma, image.shape), image), count)(
            clean, rng
        )

    return inject


def twice_with_noise(sigma: float) -> Injector:
    """A video of twice the rate whose second frames are the first ones, coded anew."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        out: list[Shot] = []
        for shot in clean.shots():
            image = clean.images[shot.source]
            again = like(image + rng.normal(0.0, sigma, image.shape), image)
            out += [shot, replace(shot, image=again)]
        return out

    return inject


def part_moves_by_itself(share: float, speed: int) -> Injector:
    """A part of the image goes ahead of the rest, some frames more each frame: a large thing that is moved by hand."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        def change(image: Image, k: int, rng: Rng) -> Image:
            h, w = image.shape[:2]
            ahead = clean.images[min(clean.middle + k + speed * (k + 1), len(clean.images) - 1)]
            out, top, left = image.copy(), int(0.2 * h), int(0.3 * w)
            side = slice(top, top + int(np.sqrt(share) * h)), slice(left, left + int(np.sqrt(share) * w))
            out[side] = ahead[side]
            return out

        return changed(change, None)(clean, rng)

    return inject


def flicker(low: float, high: float) -> Change:
    """Two dark frames, two bright ones."""
    return lambda image, k, rng: like(image * (low if k % 4 < 2 else high), image)


def dim_and_noisy(gain: float, sigma: float) -> Change:
    """Dusk: darker, with the noise of a high gain."""
    return lambda image, k, rng: like(gain * image + rng.normal(0.0, sigma, image.shape), image)


def bursts_dropped(burst: int, every: int) -> Injector:
    """A buffer that overflows again and again."""
    return lambda clean, rng: clean.shots(
        [k for k in range(len(clean.images)) if k < every or k % every >= burst]
    )


def rows_jitter(pixels: int) -> Change:
    """Rows begin some pixels early or late."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        by = rng.integers(-pixels, pixels + 1, len(image))
        return np.stack([np.roll(row, n, axis=0) for row, n in zip(image, by)])

    return change


def stale_blocks(share: float, size: int) -> Injector:
    """Packets are lost; blocks of the frame before fill their places."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        def change(image: Image, k: int, rng: Rng) -> Image:
            h, w = image.shape[:2]
            lost = rng.random((h // size + 1, w // size + 1)) < share
            mask = np.kron(lost, np.ones((size, size), np.bool_))[:h, :w]
            out = image.copy()
            out[mask] = clean.images[max(clean.middle + k - 1, 0)][mask]
            return out

        return changed(change, None)(clean, rng)

    return inject


def drops_on_the_lens(count: int) -> Change:
    """Rain: round parts of the image are out of focus from one frame on."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        own, mask = np.random.default_rng(11), np.zeros(image.shape[:2], np.float32)
        h, w = mask.shape
        for _ in range(count):
            centre = int(own.uniform(0, w)), int(own.uniform(0, h))
            cv2.circle(mask, centre, int(own.uniform(0.03, 0.07) * w), 1.0, -1)
        soft = np.asarray(cv2.GaussianBlur(mask, (0, 0), 0.005 * w))
        if image.ndim == 3:
            soft = soft[..., None]
        return like(image * (1.0 - soft) + cv2.GaussianBlur(image, (0, 0), 4.0) * soft, image)

    return change


def focus_breathes(frames: int, sigma: float) -> Change:
    """Out of focus more and more, and back again: a lens that hunts."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        width = sigma * (1.0 - abs(2.0 * k / frames - 1.0))
        return image if width < 0.1 else np.asarray(cv2.GaussianBlur(image, (0, 0), width))

    return change


def screen(share: float) -> Change:
    """A screen in the scene shows another picture in every frame."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        h, w = image.shape[:2]
        side = int(np.sqrt(share) * h), int(np.sqrt(share) * w)
        top, left = (h - side[0]) // 2, (w - side[1]) // 2
        picture: Array = rng.uniform(0, SCREEN, (side[0] // 24 + 1, side[1] // 24 + 1)).astype(np.float32)
        big = cv2.resize(picture, (side[1], side[0]), interpolation=cv2.INTER_CUBIC)
        out = image.copy()
        out[top : top + side[0], left : left + side[1]] = like(
            big if image.ndim == 2 else big[..., None], image
        )
        return out

    return change


def fog_comes(frames: int, share: float) -> Change:
    """Contrast is lost slowly."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        now = share * min(1.0, (k + 1) / frames)
        return like((1.0 - now) * image + now * 140.0, image)

    return change


def two_jumps(frames: int) -> Injector:
    """Frames are missing at two places."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        n = len(clean.images)
        gone = {k + first for first in (n // 4, 2 * n // 3) for k in range(frames)}
        return clean.shots([k for k in range(n) if k not in gone])

    return inject


def remembers(share: float) -> Injector:
    """A filter against noise: each image keeps a share of the one before it, which keeps one of its own."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        shots, mean = clean.shots(), clean.images[clean.middle].astype(np.float64)
        for k in range(clean.middle, len(shots)):
            mean = share * mean + (1.0 - share) * clean.images[k]
            shots[k] = replace(shots[k], image=like(mean, clean.images[k]))
        return shots

    return inject
