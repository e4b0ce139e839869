# SPDX-License-Identifier: Apache-2.0
"""A raw image made ready for sampling: vignetting removed; sharpened for the TF image, blurred for matching.

Micro-images are undersampled: a line thinner than a pixel moves by up to half a pixel with its phase, and where it
runs along the pixel rows all its samples move together. Matching therefore sees the image through the binomial
filter [1 2 1]/4, which takes away what lies near the Nyquist frequency.
"""

from __future__ import annotations

import threading

import numpy as np
from numba import njit

from prism_vo.arrays import Floats
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.sample_steps import OUTSIDE
from prism_vo.optics.photometric import SATURATION

BILINEAR_BLUR = (
    1.0 / 12.0
)  # bilinear sampling at a random phase adds (1/12) I'' on average: subtract it beforehand
PIXEL_BLUR = 1.0 / 24.0  # the mean over a pixel of width 1 adds (1/24) I''
BLUR = (0.25, 0.5, 0.25)  # of micro-images before matching: the binomial filter
RIM_CONTINUATION = 0.88  # share of the last difference by which a micro-image is continued beyond its rim


class PreparedRaw:
    """One raw image, ready for both uses; what only one of them needs is made when it is asked for."""

    def __init__(
        self, values: Floats, gain: Floats, border: int, bands: Bands, largest: Floats | None = None
    ) -> None:
        """Linear raw values (H, W) times vignetting gain; ``largest`` (H, W): of a pixel's channels, if it has some."""
        self._values, self._border, self._bands = values, border, bands
        self._largest = values if largest is None else largest
        self._light = np.empty(values.shape, np.float32)
        self._matching: Floats | None = None
        self._lock = threading.Lock()
        bands.run(len(values), lambda first, last: _devignette_rows(values, gain, first, last, self._light))

    def sharpened(self, amount: float) -> Floats:
        """Less ``amount · I''``, padded: for the focused image."""
        border, share, light = self._border, np.float32(amount), self._light_to_focus()
        sharp = self._padded()
        self._bands.run(
            len(sharp), lambda first, last: _sharpen_rows(light, share, border, first, last, sharp)
        )
        return sharp

    @property
    def matching_image(self) -> Floats:
        """For matching: padded, blurred; OUTSIDE marks what must not be used (also saturated pixels)."""
        with self._lock:
            if self._matching is None:
                usable = self._padded()
                largest, light, limit = self._largest, self._light, np.float32(SATURATION)
                self._bands.run(
                    len(usable),
                    lambda first, last: _pad_rows(largest, light, limit, self._border, first, last, usable),
                )
                self._matching = self._blurred(usable)
            return self._matching

    def _padded(self) -> Floats:
        """Room for the image with its border."""
        height, width = self._values.shape
        return np.empty((height + 2 * self._border, width + 2 * self._border), np.float32)

    def _light_to_focus(self) -> Floats:
        """What the focused image is made of (H, W)."""
        return self._light

    def _blurred(self, usable: Floats) -> Floats:
        """Usable pixels through the binomial filter, OUTSIDE elsewhere."""
        blurred = np.empty_like(usable)
        self._bands.run(len(usable), lambda first, last: _blur_rows(usable, first, last, blurred))
        return blurred


@njit(nogil=True, cache=True, fastmath=True)
def _devignette_rows(values, gain, first, last, out):  # type: ignore[no-untyped-def]
    """Every value times the gain of its pixel."""
    for y in range(first, last):
        for x in range(values.shape[1]):
            out[y, x] = values[y, x] * gain[y, x]


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


@njit(nogil=True, cache=True, fastmath=True)
def _blurred(before, centre, after):  # type: ignore[no-untyped-def]
    """[1 2 1]/4 of three neighbours; one beyond the rim is continued from the two others, without both nothing."""
    known_before, known_after = before > np.float32(0.0), after > np.float32(0.0)
    slope = np.float32(RIM_CONTINUATION)
    left = before if known_before else centre + slope * (centre - after)
    right = after if known_after else centre + slope * (centre - before)
    blurred = np.float32(BLUR[1]) * centre + np.float32(BLUR[0]) * (left + right)
    return blurred if known_before or known_after else centre


@njit(nogil=True, cache=True, fastmath=True)
def _blur_rows(image, first, last, out):  # type: ignore[no-untyped-def]
    """Rows of the image through the binomial filter, along columns and then along rows."""
    height, width = image.shape
    line = np.empty(width, np.float32)
    for y in range(first, last):
        up, down = max(y - 1, 0), min(y + 1, height - 1)
        for x in range(width):
            centre = image[y, x]
            line[x] = _blurred(image[up, x], centre, image[down, x]) if centre > np.float32(0.0) else OUTSIDE
        out[y, 0], out[y, width - 1] = OUTSIDE, OUTSIDE
        for x in range(1, width - 1):
            centre = line[x]
            out[y, x] = _blurred(line[x - 1], centre, line[x + 1]) if centre > np.float32(0.0) else OUTSIDE
