# SPDX-License-Identifier: Apache-2.0
"""More that can happen to a recording: parts that belong together no longer, poor light, frames in disorder."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from benchmarks.fault_injectors import Change, Clean, Image, Injector, Rng, Shot, changed, like

FOG = 140.0  # grey level of the air


def late_lower_half(frames: int, count: int | None) -> Injector:
    """The lower half belongs to a frame before: a buffer that is read while it is written."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        def change(image: Image, k: int, rng: Rng) -> Image:
            out, half = image.copy(), len(image) // 2
            out[half:] = clean.images[max(clean.middle + k - frames, 0)][half:]
            return out

        return changed(change, count)(clean, rng)

    return inject


def goes_with_the_camera(share: float) -> Injector:
    """A part of the image always shows the same picture: something is fixed before the lens."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        def change(image: Image, k: int, rng: Rng) -> Image:
            out, width = image.copy(), int(share * image.shape[1])
            out[:, :width] = clean.foreign[0][:, :width]
            return out

        return changed(change, None)(clean, rng)

    return inject


def reflection(clean: Clean, rng: Rng) -> list[Shot]:
    """A window pane: two fifths of the light come from another recording."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        return like(0.6 * image + 0.4 * clean.foreign[k % len(clean.foreign)], image)

    return changed(change, None)(clean, rng)


def fog(share: float) -> Change:
    """Contrast is lost, the mean stays."""
    return lambda image, k, rng: like((1.0 - share) * image + share * FOG, image)


def left_half_darker(factor: float) -> Change:
    """A shadow with a sharp edge."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        out = image.astype(np.float64)
        out[:, : image.shape[1] // 2] *= factor
        return like(out, image)

    return change


def mirrored(image: Image, k: int, rng: Rng) -> Image:
    """A setting of the camera that somebody touched."""
    return np.ascontiguousarray(image[:, ::-1])


def motion_blur(pixels: int) -> Change:
    """Every micro-image smeared sideways."""
    kernel = np.full((1, pixels), 1.0 / pixels, np.float32)
    return lambda image, k, rng: np.asarray(cv2.filter2D(image, -1, kernel))


def compressed(quality: int) -> Change:
    """As JPEG, in the camera."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        return np.asarray(cv2.imdecode(data, cv2.IMREAD_UNCHANGED))

    return change


# --- order -------------------------------------------------------------------------------------------------------


def swapped_pairs(clean: Clean, rng: Rng) -> list[Shot]:
    """From the middle on every two frames come in the wrong order."""
    order = list(range(len(clean.images)))
    for k in range(clean.middle, len(order) - 1, 2):
        order[k], order[k + 1] = order[k + 1], order[k]
    return clean.shots(order)


def every_third_unreadable(clean: Clean, rng: Rng) -> list[Shot]:
    """A cable that is too slow."""
    return [replace(s, image=None) if k % 3 == 2 else s for k, s in enumerate(clean.shots())]


def jump_early(frames: int) -> Injector:
    """Frames are missing after a quarter of the way."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        begin = len(clean.images) // 4
        return clean.shots([k for k in range(len(clean.images)) if not begin <= k < begin + frames])

    return inject
