# SPDX-License-Identifier: Apache-2.0
"""More that happens to the order of frames, and to frames made of several; faults at the very beginning or end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.fault_injectors import Change, Clean, Image, Injector, Rng, Shot, changed, like


def at_first(change: Change, count: int, foreign: bool = False) -> Injector:
    """The first frames are changed: nothing is known yet that they could be compared with."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        shots = clean.shots()
        for k in range(count):
            shots[k] = replace(shots[k], image=change(clean.images[k], k, rng), foreign=foreign)
        return shots

    return inject


def frozen(count: int) -> Injector:
    """The camera goes on, but its last image comes again and again, to the bit."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        image = clean.images[clean.middle - 1]
        return changed(lambda _image, k, rng: image, count)(clean, rng)

    return inject


def every_frame_twice(clean: Clean, rng: Rng) -> list[Shot]:
    """A video of twice the rate."""
    return clean.shots([k for k in range(len(clean.images)) for _ in range(2)])


def backwards(count: int) -> Injector:
    """The camera goes back the way it came for some frames, then on again."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        m = clean.middle
        back = range(m - 1, max(m - 1 - count, 0), -1)
        return clean.shots([*range(m), *back, *range(back[-1], len(clean.images))])

    return inject


def shaking(frames: int) -> Injector:
    """For ten frames the camera is thrown to and fro by as many frames' motion."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        m, last = clean.middle, len(clean.images) - 1
        thrown = [min(m + k + (frames if k % 2 else 0), last) for k in range(10)]
        return clean.shots([*range(m), *thrown, *range(m + 10, len(clean.images))])

    return inject


def rows_late(every: int, frames: int) -> Injector:
    """Every second group of rows belongs to a frame before: fields of a video that were put together wrongly."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        def change(image: Image, k: int, rng: Rng) -> Image:
            late = (np.arange(len(image)) // every) % 2 == 1
            out = image.copy()
            out[late] = clean.images[max(clean.middle + k - frames, 0)][late]
            return out

        return changed(change, None)(clean, rng)

    return inject


def right_third_late(frames: int) -> Injector:
    """The right third belongs to a frame before."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        def change(image: Image, k: int, rng: Rng) -> Image:
            out, left = image.copy(), 2 * image.shape[1] // 3
            out[:, left:] = clean.images[max(clean.middle + k - frames, 0)][:, left:]
            return out

        return changed(change, None)(clean, rng)

    return inject


def double_exposure(frames: int) -> Injector:
    """The mean of a frame and one before it."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        def change(image: Image, k: int, rng: Rng) -> Image:
            before = clean.images[max(clean.middle + k - frames, 0)]
            return like(0.5 * image + 0.5 * before, image)

        return changed(change, None)(clean, rng)

    return inject


def other_scene(count: int) -> Injector:
    """A cut to another scene and back."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        def change(image: Image, k: int, rng: Rng) -> Image:
            return clean.foreign[k % len(clean.foreign)]

        return changed(change, count, foreign=True)(clean, rng)

    return inject


def begins_late(frames: int, count: int) -> Injector:
    """Of the first frames the lower half belongs to a frame before."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        shots, half = clean.shots(), len(clean.images[0]) // 2
        for k in range(count):
            image = clean.images[k + frames].copy()
            image[half:] = clean.images[k][half:]
            shots[k] = Shot(k + frames, image)
        return [*shots[:count], *clean.shots(range(count + frames, len(clean.images)))]

    return inject


def begins_covered(share: float, count: int) -> Injector:
    """Of the first frames a part shows another scene."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        def change(image: Image, k: int, rng: Rng) -> Image:
            out, width = image.copy(), int(share * image.shape[1])
            out[:, :width] = clean.foreign[k % len(clean.foreign)][:, :width]
            return out

        return at_first(change, count)(clean, rng)

    return inject
