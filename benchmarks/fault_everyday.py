# SPDX-License-Identifier: Apache-2.0
"""What cables, sensors, weather and hands do besides: thought of last, when the program had met all the others."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from benchmarks.fault_injectors import Change, Clean, Image, Injector, Rng, Shot, changed, like
from prism_vo.arrays import Array


def _light(image: Image, values: Array) -> Array:
    """(h, w) as the image has its channels."""
    return values if image.ndim == 2 else values[..., None]


# --- cables and converters ---------------------------------------------------------------------------------------


def bytes_missing(count: int) -> Change:
    """Some bytes were lost on the way: what follows them lies too far to the left."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        flat = image.reshape(-1).copy()
        begin = int(rng.uniform(0.3, 0.6) * len(flat))
        flat[begin:] = np.roll(flat[begin:], -count)
        return flat.reshape(image.shape)

    return change


def bit_stuck(bit: int) -> Change:
    """One bit of the converter is always set."""
    return lambda image, k, rng: np.asarray(image | image.dtype.type(1 << bit))


def odd_columns(factor: float) -> Change:
    """Two amplifiers take turns, and one of them has another gain."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        out = image.astype(np.float64)
        out[:, 1::2] *= factor
        return like(out, image)

    return change


def hum(grey: float, rows: float) -> Change:
    """Stripes of the mains on the signal, elsewhere in every frame."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        at = np.arange(image.shape[0])[:, None] + 0.3 * np.arange(image.shape[1])[None, :]
        return like(image + _light(image, grey * np.sin(2 * np.pi * (at / rows + 0.31 * k))), image)

    return change


def heats_up(frames: int, sigma: float, grey: float) -> Change:
    """More noise and a higher black level from frame to frame."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        share = min(1.0, (k + 1) / frames)
        return like(image + share * (grey + rng.normal(0.0, sigma, image.shape)), image)

    return change


def binned(image: Image, k: int, rng: Rng) -> Image:
    """Four pixels read as one, and enlarged again."""
    h, w = image.shape[:2]
    small = cv2.resize(image, (w // 2, h // 2), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, (w, h), interpolation=cv2.INTER_NEAREST))


def worse_and_worse_jpeg(frames: int, worst: int) -> Change:
    """A coder that must save more and more."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        quality = round(90 + (worst - 90) * min(1.0, (k + 1) / frames))
        data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        return np.asarray(cv2.imdecode(data, cv2.IMREAD_UNCHANGED))

    return change


def writing(image: Image, k: int, rng: Rng) -> Image:
    """The camera writes date and time over its images."""
    h, w = image.shape[:2]
    out = image.copy()
    out[int(0.86 * h) : int(0.97 * h), int(0.03 * w) : int(0.7 * w)] = 0
    size = w / 640.0
    origin = int(0.05 * w), int(0.94 * h)
    cv2.putText(
        out, f"2026-05-17 {k:06d}", origin, cv2.FONT_HERSHEY_SIMPLEX, size, 255, max(int(2 * size), 1)
    )
    return out


# --- the sensor under its lenses ---------------------------------------------------------------------------------


def turned_on_the_sensor(degrees: float) -> Change:
    """The micro-lens array slips and turns a little about its middle."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        h, w = image.shape[:2]
        turn = cv2.getRotationMatrix2D(((w - 1) / 2, (h - 1) / 2), degrees, 1.0)
        flags = cv2.INTER_CUBIC
        return np.asarray(cv2.warpAffine(image, turn, (w, h), flags=flags, borderMode=cv2.BORDER_REPLICATE))

    return change


def by_whole_lenses(pitch: float) -> Change:
    """The image lies aside by about as many lenses as make a whole number of pixels: their pattern looks the same."""
    count = min(range(1, 12), key=lambda n: abs(n * pitch - round(n * pitch)) + 0.01 * n)
    return lambda image, k, rng: np.roll(image, round(count * pitch), axis=1)


def shimmer(pixels: float) -> Change:
    """Hot air: the image wobbles by parts, differently in every frame."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        h, w = image.shape[:2]
        x, y = np.meshgrid(np.arange(w, dtype=np.float32), np.arange(h, dtype=np.float32))
        for axis in (x, y):
            coarse = rng.normal(0.0, pixels, (8, 8)).astype(np.float32)
            axis += cv2.resize(coarse, (w, h), interpolation=cv2.INTER_CUBIC)
        return np.asarray(cv2.remap(image, x, y, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE))

    return change


# --- light and weather -------------------------------------------------------------------------------------------


def flashes(factor: float, every: int) -> Change:
    """Somebody else takes photographs."""
    return lambda image, k, rng: like(image * factor, image) if k % every == 0 else image


def snow(flakes: int) -> Change:
    """Bright flakes of all sizes, elsewhere in every frame."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        h, w = image.shape[:2]
        mask = np.zeros((h, w), np.float32)
        for _ in range(flakes):
            centre = int(rng.uniform(0, w)), int(rng.uniform(0, h))
            cv2.circle(mask, centre, max(int(w * 0.002 / rng.uniform(0.05, 1.0)), 1), 1.0, -1)
        soft = _light(image, np.asarray(cv2.GaussianBlur(mask, (0, 0), 0.002 * w), np.float64))
        return like(image * (1.0 - 0.8 * soft) + 0.8 * 230.0 * soft, image)

    return change


def torch(ambient: float) -> Change:
    """The light goes out, and a torch on the camera lights the middle of the image."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        h, w = image.shape[:2]
        squared = ((np.arange(w) / w - 0.5) ** 2)[None, :] + ((np.arange(h) / w - 0.5 * h / w) ** 2)[:, None]
        return like(image * _light(image, ambient + np.exp(-0.5 * squared / 0.25**2)), image)

    return change


def smears_more(frames: int, pixels: int) -> Change:
    """Longer and longer exposures in the dusk: every image is smeared sideways, more each time."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        length = 1 + 2 * round(0.5 * (pixels - 1) * min(1.0, (k + 1) / frames))
        return np.asarray(cv2.filter2D(image, -1, np.full((1, length), 1.0 / length, np.float32)))

    return change


# --- order -------------------------------------------------------------------------------------------------------


def old_frames(every: int, before: int) -> Injector:
    """A ring buffer: now and then a frame comes that is ``before`` frames old."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        n, m = len(clean.images), clean.middle
        return clean.shots([k - before if k >= m and (k - m) % every == 0 else k for k in range(n)])

    return inject


def from_the_start_again(clean: Clean, rng: Rng) -> list[Shot]:
    """Two recordings of one way in one file."""
    return clean.shots([*range(2 * clean.middle), *range(len(clean.images))])


def stops_for(frames: int, sigma: float) -> Injector:
    """The camera stands still from one frame to the next, and goes on as it came."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        shots, m = clean.shots(), clean.middle
        image = clean.images[m]
        noisy = [like(image + rng.normal(0.0, sigma, image.shape), image) for _ in range(frames)]
        return [*shots[: m + 1], *(replace(shots[m], image=again) for again in noisy), *shots[m + 1 :]]

    return inject


def each_often(times: int, sigma: float) -> Injector:
    """A video of a far higher rate than the camera's, each frame coded anew."""

    def inject(clean: Clean, rng: Rng) -> list[Shot]:
        out: list[Shot] = []
        for shot in clean.shots():
            image = clean.images[shot.source]
            noisy = [like(image + rng.normal(0.0, sigma, image.shape), image) for _ in range(times - 1)]
            out += [shot, *(replace(shot, image=again) for again in noisy)]
        return out

    return inject


def rolling_shutter(clean: Clean, rng: Rng) -> list[Shot]:
    """The last row is exposed when the next frame begins; compared with the pose of the first row."""
    images = clean.images
    share = np.linspace(0.0, 1.0, len(images[0]))
    share = share[:, None] if images[0].ndim == 2 else share[:, None, None]
    return [
        Shot(k, like((1.0 - share) * images[k] + share * images[min(k + 1, len(images) - 1)], images[k]))
        for k in range(len(images))
    ]


def torn_apart(clean: Clean, rng: Rng) -> list[Shot]:
    """The right half belongs to the frame after: two readers of one sensor, out of step."""

    def change(image: Image, k: int, rng: Rng) -> Image:
        out, half = image.copy(), image.shape[1] // 2
        out[:, half:] = clean.images[min(clean.middle + k + 1, len(clean.images) - 1)][:, half:]
        return out

    return changed(change, None)(clean, rng)
