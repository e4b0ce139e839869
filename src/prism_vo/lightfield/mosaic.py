# SPDX-License-Identifier: Apache-2.0
"""A raw image behind a colour mosaic, made ready for sampling without demosaicing it.

Demosaicing blurs by the parity of a pixel and across the rims of micro-images, and both move depth. But a kernel that
gives even and odd pixels half of its weight each vanishes at the frequencies by which the four sites of a mosaic
alternate: what it leaves is the luminance (R + 2G + B)/4. Matches read it through the narrowest such kernels that blur
alike at pixels and between them; what they do at the rim of a micro-image is derived in docs/decoding.md.

The focused image needs more detail: from each pixel the mean difference to that luminance is taken off that pixels of
its site have round it. That difference is the colour, and what pictures are painted with.
"""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.compiled import njit
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.raw import PreparedRaw
from prism_vo.lightfield.sample_steps import OUTSIDE, STEPS_A_PIXEL

# Kernels whose even and odd pixels count a half each, with a blur of ½ px² at pixels and between them.
AT_PIXEL, BESIDE_PIXEL = 8.0 / 16.0, 4.0 / 16.0  # weight of a pixel at itself and one pixel away,
HALF_AWAY, FARTHER_AWAY = 7.0 / 16.0, 1.0 / 16.0  # half a pixel away and one and a half
# Between the last two pixels before the rim: of the last, then inwards. Even and odd pixels count a half each, no first
# moment, and over the half pixel between it and the kernel before no third moment either.
BEFORE_RIM = (39.0 / 80.0, 41.0 / 80.0, 1.0 / 80.0, -1.0 / 80.0)
LOST_AT_RIM = 0.5  # px: there is no luminance beyond it, so micro-images of a mosaic end so much earlier
SITE_MEAN = (20.0 / 64.0, 15.0 / 64.0, 6.0 / 64.0, 1.0 / 64.0)  # of pixels 0, 2, 4 and 6 to both sides
REACH = 6  # px: the outermost of them
LEAST_WEIGHT = 1e-6  # of a mean; without any weight it is zero
EDGE = 3  # px along the edges of the padded image that hold no micro-image
LEAST_LIGHT = 1e-3  # of a pixel inside a micro-image: 0 means outside


class PreparedMosaic(PreparedRaw):
    """The same uses as of a grey image, and the colour."""

    _has_hot_pixels = False  # beside a pixel that sees a bright red, others that see green may well be dark

    def __init__(
        self, values: Floats, gain: Floats, border: int, bands: Bands, largest: Floats | None = None
    ) -> None:
        super().__init__(values, gain, border, bands, largest)
        self._colour: Floats | None = None  # (H, W): colour at every pixel's own site
        self._neutral: Floats | None = None  # (H, W): light without it

    def channel(self, row: int, column: int) -> Floats:
        """Colour, channel less luminance, of the channel at site (row, column), at every pixel; padded."""
        self._light_to_focus()
        colour, light, border = self._colour, self._light, self._border
        plane = self._padded()
        self._bands.run(
            len(plane),
            lambda first, last: _fill_rows(colour, light, row, column, border, first, last, plane),
        )
        return plane

    def _light_to_focus(self) -> Floats:
        if self._neutral is None:
            usable, light, border = self._usable(), self._light, self._border
            difference = np.empty_like(usable)  # to the blurred luminance; OUTSIDE where unknown
            self._bands.run(
                len(usable), lambda first, last: _difference_rows(usable, first, last, difference)
            )
            colour, neutral = np.empty_like(light), np.empty_like(light)
            self._bands.run(
                len(light),
                lambda first, last: _colour_rows(difference, light, border, first, last, colour, neutral),
            )
            self._colour, self._neutral = colour, neutral
        return self._neutral

    def _at_half_pixels(self, usable: Floats) -> Floats:
        height, width = usable.shape
        luminance = self._matching_room((STEPS_A_PIXEL * height, STEPS_A_PIXEL * width))
        self._bands.run(height, lambda first, last: _luminance_rows(usable, first, last, luminance))
        return luminance


@njit(nogil=True, cache=True, fastmath=True, inline="always")
def _before_rim(third, second, before, after, second_after, third_after):  # type: ignore[no-untyped-def]
    """What lies between ``before`` and ``after`` where one of them is the last pixel; their mean without two behind."""
    f, zero = np.float32, np.float32(0.0)
    if before <= zero or after <= zero:
        return f(OUTSIDE)
    last, inner, inwards, farther = (before, after, second_after, third_after)
    if second > zero:
        last, inner, inwards, farther = (after, before, second, third)
    if inwards <= zero or farther <= zero:
        return f(0.5) * (last + inner)
    value = f(BEFORE_RIM[0]) * last + f(BEFORE_RIM[1]) * inner
    value += f(BEFORE_RIM[2]) * inwards + f(BEFORE_RIM[3]) * farther
    return max(value, f(LEAST_LIGHT))


@njit(nogil=True, cache=True, fastmath=True)
def _luminance_along(line, out):  # type: ignore[no-untyped-def]
    """A line of pixels → twice as many values: at each pixel and half a pixel after it; OUTSIDE at both ends."""
    f, zero, end = np.float32, np.float32(0.0), len(line) - EDGE
    out[: 2 * EDGE], out[2 * end :] = f(OUTSIDE), f(OUTSIDE)
    for x in range(EDGE, end):
        out[2 * x] = f(AT_PIXEL) * line[x] + f(BESIDE_PIXEL) * (line[x - 1] + line[x + 1])
        near, far = line[x] + line[x + 1], line[x - 1] + line[x + 2]
        out[2 * x + 1] = f(HALF_AWAY) * near + f(FARTHER_AWAY) * far
    for x in range(EDGE, end):
        if out[2 * x] <= zero:
            out[2 * x] = f(OUTSIDE)
        if out[2 * x + 1] <= zero:
            out[2 * x + 1] = _before_rim(
                line[x - 2], line[x - 1], line[x], line[x + 1], line[x + 2], line[x + 3]
            )


@njit(nogil=True, cache=True, fastmath=True)
def _luminance_rows(image, first, last, out):  # type: ignore[no-untyped-def]
    """Rows of a mosaic → two rows each of luminance at half-pixel steps."""
    f, zero = np.float32, np.float32(0.0)
    height, width = image.shape
    line = np.empty(width, np.float32)
    for y in range(first, last):
        if y < EDGE or y >= height - EDGE:
            out[2 * y], out[2 * y + 1] = OUTSIDE, OUTSIDE
            continue
        above, here, below, second = image[y - 1], image[y], image[y + 1], image[y + 2]
        for x in range(width):
            value = f(AT_PIXEL) * here[x] + f(BESIDE_PIXEL) * (above[x] + below[x])
            line[x] = value if value > zero else f(OUTSIDE)
        _luminance_along(line, out[2 * y])
        for x in range(width):
            line[x] = f(HALF_AWAY) * (here[x] + below[x]) + f(FARTHER_AWAY) * (above[x] + second[x])
        top, bottom = image[y - 2], image[y + 3]
        for x in range(width):
            if line[x] <= zero:
                line[x] = _before_rim(top[x], above[x], here[x], below[x], second[x], bottom[x])
        _luminance_along(line, out[2 * y + 1])


@njit(nogil=True, cache=True, fastmath=True)
def _difference_rows(image, first, last, difference):  # type: ignore[no-untyped-def]
    """What pixels of a mosaic differ by from its luminance at them: all that a focused image needs of it."""
    f, zero = np.float32, np.float32(0.0)
    height, width = image.shape
    line = np.empty(width, np.float32)
    for y in range(first, last):
        difference[y] = OUTSIDE
        if y < EDGE or y >= height - EDGE:
            continue
        above, here, below, out = image[y - 1], image[y], image[y + 1], difference[y]
        for x in range(width):
            value = f(AT_PIXEL) * here[x] + f(BESIDE_PIXEL) * (above[x] + below[x])
            line[x] = value if value > zero else f(OUTSIDE)
        for x in range(EDGE, width - EDGE):
            luminance = f(AT_PIXEL) * line[x] + f(BESIDE_PIXEL) * (line[x - 1] + line[x + 1])
            out[x] = here[x] - luminance if luminance > zero else f(OUTSIDE)


@njit(nogil=True, cache=True, fastmath=True)
def _colour_rows(difference, light, border, first, last, colour, neutral):  # type: ignore[no-untyped-def]
    """Mean difference of the known pixels of the same site round each pixel, and the light without it."""
    f, zero = np.float32, np.float32(0.0)
    w0, w1, w2, w3 = f(SITE_MEAN[0]), f(SITE_MEAN[1]), f(SITE_MEAN[2]), f(SITE_MEAN[3])
    width = light.shape[1]
    total, weight = np.zeros(width + 2 * REACH, np.float32), np.zeros(width + 2 * REACH, np.float32)
    sums, weights = total[REACH : REACH + width], weight[REACH : REACH + width]
    for y in range(first, last):
        sums[:], weights[:] = zero, zero
        for offset in range(-REACH, REACH + 1, 2):
            row = y + border + offset
            if row < 0 or row >= difference.shape[0]:
                continue
            share, line = f(SITE_MEAN[abs(offset) // 2]), difference[row, border : border + width]
            for x in range(width):
                known = share if line[x] > OUTSIDE else zero
                sums[x] += known * line[x]
                weights[x] += known
        here, mean, out = light[y], colour[y], neutral[y]
        for x in range(width):
            m = x + REACH
            t = w0 * total[m] + w1 * (total[m - 2] + total[m + 2])
            t += w2 * (total[m - 4] + total[m + 4]) + w3 * (total[m - 6] + total[m + 6])
            w = w0 * weight[m] + w1 * (weight[m - 2] + weight[m + 2])
            w += w2 * (weight[m - 4] + weight[m + 4]) + w3 * (weight[m - 6] + weight[m + 6])
            c = t / max(w, f(LEAST_WEIGHT))
            mean[x] = c
            out[x] = max(here[x] - c, f(LEAST_LIGHT)) if here[x] > zero else zero


@njit(nogil=True, cache=True, fastmath=True)
def _fill_rows(colour, light, site_row, site_column, border, first, last, out):  # type: ignore[no-untyped-def]
    """At every pixel the mean of its neighbours of one site (or itself), as far as they lie inside micro-images."""
    f, zero, one = np.float32, np.float32(0.0), np.float32(1.0)
    height, width = colour.shape
    total, count = np.zeros(width + 2, np.float32), np.zeros(width + 2, np.float32)
    for padded_row in range(first, last):
        y = padded_row - border
        out[padded_row, :] = zero
        if y < 0 or y >= height:
            continue
        total[:], count[:] = zero, zero
        aside = (y + site_row) & 1
        for row in range(y - aside, y + aside + 1, 2):
            if 0 <= row < height:
                for x in range(site_column, width, 2):
                    lit = one if light[row, x] > zero else zero
                    total[x + 1] += lit * colour[row, x]
                    count[x + 1] += lit
        line = out[padded_row, border : border + width]
        for x in range(width):  # columns of other sites hold nothing
            c = count[x] + count[x + 1] + count[x + 2]
            line[x] = (total[x] + total[x + 1] + total[x + 2]) / max(c, f(LEAST_WEIGHT))
