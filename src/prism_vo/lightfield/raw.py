# SPDX-License-Identifier: Apache-2.0
"""A raw image made ready for sampling: vignetting removed; sharpened for the TF image, blurred for matching.

Micro-images are undersampled: a line thinner than a pixel moves by up to half a pixel with its phase, and where it
runs along the pixel rows all its samples move together. Matching therefore sees the image through the quadratic
B-spline, whose blur is the same wherever a sample lies, prepared at half-pixel steps. What its kernels do at the rim
of a micro-image is derived in docs/decoding.md.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress

import cv2
import numpy as np

from prism_vo.arrays import Floats
from prism_vo.compiled import njit
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.sample_steps import OUTSIDE, STEPS_A_PIXEL
from prism_vo.optics.photometric import SATURATION

BILINEAR_BLUR = (
    1.0 / 12.0
)  # bilinear sampling at a random phase adds (1/12) I'' on average: subtract it beforehand
PIXEL_BLUR = 1.0 / 24.0  # the mean over a pixel of width 1 adds (1/24) I''
# the quadratic B-spline at whole pixels and between them: weight of a pixel at itself, beside it, half a pixel away
AT_PIXEL, BESIDE_PIXEL, BETWEEN_PIXELS = 0.75, 0.125, 0.5
# the same at the last pixel before the rim and beside it (the rest is the share of the one behind): no first moment,
# and over the half pixel between it and the spline no third moment either
AT_LAST_PIXEL, BESIDE_LAST_PIXEL = 0.975, 0.05
LOOKED_AT = (
    7  # every so many rows are searched for black pixels: rows that are missing regularly are among them, too
)
LEAST_BLACK = 0.003  # share of black pixels worth doing anything about
LEAST_LIGHT = 8.0  # mean grey level of a frame in which black says more than that it is dark
MISSING = 0.9  # share of the pixels of a row or column that are black, if none of it arrived
HOT = 0.75  # of a saturated pixel: what its neighbours stay below is no light
BESIDE = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], np.uint8)  # the four neighbours of a pixel
NEXT_TO = ((0, 1), (0, -1), (1, 0), (-1, 0))
SPECK = np.ones((3, 3), np.uint8)  # px: single black pixels are noise
REGISTER = 16  # floats
ONLY_HERE = 2  # references to an array that one variable holds: that, and the count's own


class PreparedRaw:
    """One raw image, ready for both uses; what only one of them needs is made when it is asked for."""

    _has_hot_pixels = (
        True  # a pixel and those beside it see the same colour, so that a single bright one is no light
    )

    def __init__(
        self, values: Floats, gain: Floats, border: int, bands: Bands, largest: Floats | None = None
    ) -> None:
        """Linear raw values (H, W), bytes or float32, times vignetting gain.

        ``largest`` (H, W): of a pixel's channels, if it has some.
        """
        self._inside, self._border, self._bands = gain, border, bands
        self._light, brightest = np.empty(values.shape, np.float32), np.empty(len(values), np.float32)
        self._matching: Floats | None = None
        self.room: list[Floats] = []  # memory of images for matching that nobody reads any more
        self._lock = threading.Lock()
        bands.run(
            len(values),
            lambda first, last: _devignette_rows(values, gain, first, last, self._light, brightest),
        )
        peak = brightest.max() if largest is None else largest.max()
        self._largest = None  # of large images every array counts
        if peak >= SATURATION:
            largest = values.astype(np.float32, copy=False) if largest is None else largest
            self._largest = _without_hot_pixels(self._light, largest) if self._has_hot_pixels else largest

    def sharpened(self, amount: float) -> Floats:
        """Less ``amount · I''``, padded: for the focused image."""
        border, share, light = self._border, np.float32(amount), self._light_to_focus()
        sharp = self._padded()
        self._bands.run(
            len(sharp), lambda first, last: _sharpen_rows(light, share, border, first, last, sharp)
        )
        return sharp

    def lit(self) -> Floats | None:
        """1 at pixels that show something, 0 at dead lenses and dirt (black in a lit frame), padded; None: no such."""
        black, light, looked_at = _count_black(self._light, self._inside, LOOKED_AT)
        if black < LEAST_BLACK * looked_at or light < LEAST_LIGHT * looked_at:
            return None
        inside = self._inside > 0
        black = ((self._light == 0) & inside).astype(np.uint8)
        dead = np.asarray(cv2.dilate(cv2.erode(black, SPECK), SPECK))
        for axis in (0, 1):  # columns and rows that did not arrive may be single ones
            missing = black.sum(axis) > MISSING * inside.sum(axis)
            dead = dead | (black & np.expand_dims(missing, axis))
        return np.pad(np.float32(1.0) - dead.astype(np.float32), self._border)

    def saturated(self) -> Floats | None:
        """1 at pixels that are too bright, 0 elsewhere, padded; None: no such. Single hot pixels do not count."""
        if self._largest is None:
            return None
        beside = np.asarray(cv2.dilate(self._largest, BESIDE))
        bright = (self._largest >= np.float32(SATURATION)) & (beside > np.float32(HOT * SATURATION))
        return np.pad(bright.astype(np.float32), self._border) if bright.any() else None

    @property
    def matching_image(self) -> Floats:
        """For matching: padded, at half-pixel steps; OUTSIDE marks what must not be used (also saturated pixels)."""
        with self._lock:
            if self._matching is None:
                self._matching = self._at_half_pixels(self._usable())
            return self._matching

    def forget_matching(self) -> None:
        """Whoever is reading it keeps it; it is made again for whoever asks. If nobody is, the next image takes its
        memory: at 2048², new memory takes as long to come by as the image to make."""
        with self._lock:
            image, self._matching = self._matching, None
            if image is not None and sys.getrefcount(image) == ONLY_HERE and not self.room:
                self.room.append(image)

    def _usable(self) -> Floats:
        """The light of pixels that are neither saturated nor outside, padded."""
        usable = self._padded()
        light, limit = self._light, np.float32(SATURATION)
        largest = light if self._largest is None else self._largest
        limit = np.float32(np.inf) if self._largest is None else limit
        self._bands.run(
            len(usable),
            lambda first, last: _pad_rows(largest, light, limit, self._border, first, last, usable),
        )
        return usable

    def _padded(self) -> Floats:
        """Room for the image with its border."""
        height, width = self._inside.shape
        return np.empty((height + 2 * self._border, width + 2 * self._border), np.float32)

    def _matching_room(self, shape: tuple[int, int]) -> Floats:
        """Room for the image for matching, used or new."""
        with suppress(IndexError):
            if (used := self.room.pop()).shape == shape:
                return used
        return np.empty(shape, np.float32)

    def _light_to_focus(self) -> Floats:
        """What the focused image is made of (H, W)."""
        return self._light

    def _at_half_pixels(self, usable: Floats) -> Floats:
        """Usable pixels (h, w) → values at half-pixel steps (2h, 2w), OUTSIDE where there are none."""
        height, width = usable.shape
        spline = self._matching_room((STEPS_A_PIXEL * height, STEPS_A_PIXEL * width))
        self._bands.run(height, lambda first, last: _spline_rows(usable, first, last, spline))
        return spline


def _without_hot_pixels(light: Floats, largest: Floats) -> Floats:
    """Saturated pixels among dark ones get the light of those beside them, in place; the raw values without them.

    Left alone, one of them takes 25 places from matching and a grey level from the focused image about it: with one in
    a hundred a street came out 2 % too long.
    """
    beside = np.asarray(cv2.dilate(largest, BESIDE))
    y, x = np.nonzero((largest >= np.float32(SATURATION)) & (beside <= np.float32(HOT * SATURATION)))
    if len(y) == 0:
        return largest
    light[y, x] = 0.0
    h, w = light.shape
    near = np.stack([light[np.clip(y + dy, 0, h - 1), np.clip(x + dx, 0, w - 1)] for dy, dx in NEXT_TO])
    light[y, x] = near.sum(0) / np.maximum((near > 0).sum(0), 1)
    calm = largest.copy()
    calm[y, x] = beside[y, x]
    return calm


@njit(nogil=True, cache=True, fastmath=True)
def _devignette_rows(values, gain, first, last, out, brightest):  # type: ignore[no-untyped-def]
    """Every value times the gain of its pixel; the largest value of each row."""
    for y in range(first, last):
        given, light, share, most = values[y], out[y], gain[y], values[y, 0]
        for x in range(values.shape[1]):
            light[x] = np.float32(given[x]) * share[x]
        for x in range(values.shape[1]):
            most = max(most, given[x])
        brightest[y] = most


@njit(nogil=True, cache=True, fastmath=True)
def _count_black(light, inside, every):  # type: ignore[no-untyped-def]
    """Black pixels inside micro-images, sum of the light and number of pixels of every so many rows."""
    black, total, zero = 0, 0.0, np.float32(0.0)
    for y in range(0, light.shape[0], every):
        row, lens, some, none = light[y], inside[y], zero, np.int32(0)
        for x in range(light.shape[1]):
            some += row[x]
            none += np.int32((lens[x] > zero) & (row[x] == zero))
        black += int(none)
        total += float(some)
    return black, total, ((light.shape[0] + every - 1) // every) * light.shape[1]


@njit(nogil=True, cache=True, fastmath=True)
def _sharpen_rows(light, amount, border, first, last, out):  # type: ignore[no-untyped-def]
    """Neighbours outside a micro-image (0) count as equal to the pixel itself: no light leaks across borders."""
    height, width = light.shape
    zero = np.float32(0.0)
    for row in range(first, last):
        y = row - border
        if y < 0 or y >= height:
            out[row, :] = zero
            continue
        out[row, :border] = zero
        out[row, border + width :] = zero
        up, here, down = light[max(y - 1, 0)], light[y], light[min(y + 1, height - 1)]
        sharp = out[row, border : border + width]
        sharp[0], sharp[width - 1] = here[0], here[width - 1]
        for x in range(1, width - 1):
            centre = here[x]
            a, b, c, d = here[x - 1], here[x + 1], up[x], down[x]
            a = a if a > zero else centre
            b = b if b > zero else centre
            c = c if c > zero else centre
            d = d if d > zero else centre
            sharp[x] = centre + amount * (np.float32(4.0) * centre - a - b - c - d)


@njit(nogil=True, cache=True)
def _pad_rows(values, light, limit, border, first, last, out):  # type: ignore[no-untyped-def]
    """The image with a border; OUTSIDE where a pixel is saturated or lies outside the micro-images."""
    height, width = values.shape
    for row in range(first, last):
        y = row - border
        out[row, :] = OUTSIDE
        if y < 0 or y >= height:
            continue
        for x in range(width):
            usable = values[y, x] < limit and light[y, x] > 0.0
            out[row, x + border] = light[y, x] if usable else OUTSIDE


@njit(nogil=True, cache=True, fastmath=True, inline="always")
def _softened(second_before, before, centre, after, second_after):  # type: ignore[no-untyped-def]
    """The spline at a pixel; what replaces it at one without a neighbour; one without two to one side, itself.

    A pixel that must not be used makes everything it takes part in negative. Nothing branches, so loops vectorise.
    """
    zero, outside = np.float32(0.0), np.float32(OUTSIDE)
    last, inner = np.float32(AT_LAST_PIXEL), np.float32(BESIDE_LAST_PIXEL)
    spline = np.float32(AT_PIXEL) * centre + np.float32(BESIDE_PIXEL) * (before + after)
    neighbour = before if before > zero else after
    second = second_before if before > zero else second_after
    rim = last * centre + inner * neighbour + (np.float32(1.0) - last - inner) * second
    rim = rim if min(min(neighbour, second), rim) > zero else centre
    rim = rim if centre > zero else outside
    return spline if spline > zero else rim


@njit(nogil=True, cache=True, fastmath=True)
def _spline_rows(image, first, last, out):  # type: ignore[no-untyped-def]
    """Rows of the image → two rows each of the image at half-pixel steps, along columns and then along rows.

    A row goes through short loops over one working array: values along columns, then at pixels, then between them. Only
    the last one, which lays the two beside each other, does not calculate.
    """
    size, one, two = np.uint64, np.uint64(1), np.uint64(2)
    height, width, outside = image.shape[0], image.shape[1], np.float32(OUTSIDE)
    pixels, values, line = image.ravel(), out.ravel(), size(image.shape[1])
    at, between = (
        size(width + REGISTER),
        two * size(width + REGISTER),
    )  # where they begin in the working array
    work = np.zeros(3 * (width + REGISTER), np.float32)
    for step in range(2 * first, 2 * last):
        y = step // 2
        here, below = size(y) * line, size(min(y + 1, height - 1)) * line
        if step % 2 == 0:
            top, above = size(max(y - 2, 0)) * line, size(max(y - 1, 0)) * line
            bottom = size(min(y + 2, height - 1)) * line
            for x in range(width):
                k = size(x)
                work[k] = _softened(
                    pixels[top + k],
                    pixels[above + k],
                    pixels[here + k],
                    pixels[below + k],
                    pixels[bottom + k],
                )
        else:
            for x in range(width):
                k = size(x)
                work[k] = np.float32(BETWEEN_PIXELS) * (pixels[here + k] + pixels[below + k])
        for x in range(2, width - 2):
            k = size(x)
            work[k + at] = _softened(work[k - two], work[k - one], work[k], work[k + one], work[k + two])
        for x in range(2, width - 2):
            k = size(x)
            value = np.float32(BETWEEN_PIXELS) * (work[k] + work[k + one])
            work[k + between] = value if value > np.float32(0.0) else outside
        out[step, :4], out[step, 2 * (width - 2) :] = outside, outside
        start = size(step) * two * line
        for x in range(2, width - 2):
            k = size(x)
            values[start + k + k], values[start + k + k + one] = work[k + at], work[k + between]
