# SPDX-License-Identifier: Apache-2.0
"""A raw image behind a colour mosaic, made ready for sampling without demosaicing it.

Demosaicing blurs by the parity of a pixel and across the rims of micro-images, and both move depth. But the binomial
filter of :mod:`~prism_vo.lightfield.raw` vanishes at the three frequencies by which the four sites of a mosaic
alternate: what it leaves of a mosaic is its luminance (R + 2G + B)/4, blurred as a grey image would be. Only at the
rim, where a neighbour is missing, the alternation must be known; it is estimated from the pixels further inside.

The focused image needs more detail: from each pixel the mean difference to the blurred luminance is taken off that
pixels of its site have round it. That difference is the colour, and what pictures are painted with.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from prism_vo.arrays import Floats
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.raw import BLUR, RIM_CONTINUATION, PreparedRaw
from prism_vo.lightfield.sample_steps import OUTSIDE

# Half the alternation, from five pixels inwards of the rim. Any multiple of the second difference (1 −2 1)/4 and the
# fourth (1 −4 6 −4 1)/16 that sum to one see it; curved grey texture moves depth with the first one way and with
# the second the other way, and with a third and two thirds of them not at all.
ALTERNATION = (3.0 / 24.0, -8.0 / 24.0, 8.0 / 24.0, -4.0 / 24.0, 1.0 / 24.0)
SHORT_ALTERNATION = (0.25, -0.5, 0.25)  # where a micro-image has less than five pixels in a row
SITE_MEAN = (20.0 / 64.0, 15.0 / 64.0, 6.0 / 64.0, 1.0 / 64.0)  # of pixels 0, 2, 4 and 6 to both sides
REACH = 6  # px: the outermost of them
LEAST_WEIGHT = 1e-6  # of a mean; without any weight it is zero
INNER = 4  # px that a rim looks inwards
LEAST_LIGHT = 1e-3  # of a pixel inside a micro-image: 0 means outside


class PreparedMosaic(PreparedRaw):
    """The same uses as of a grey image, and the colour."""

    def __init__(
        self, values: Floats, gain: Floats, border: int, bands: Bands, largest: Floats | None = None
    ) -> None:
        super().__init__(values, gain, border, bands, largest)
        self._difference: Floats | None = None  # padded, to the blurred luminance; OUTSIDE where unknown
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
            _ = self.matching_image  # makes the difference
            difference, light, border = self._difference, self._light, self._border
            colour, neutral = np.empty_like(light), np.empty_like(light)
            self._bands.run(
                len(light),
                lambda first, last: _colour_rows(difference, light, border, first, last, colour, neutral),
            )
            self._colour, self._neutral = colour, neutral
        return self._neutral

    def _blurred(self, usable: Floats) -> Floats:
        blurred, difference = np.empty_like(usable), np.empty_like(usable)
        self._bands.run(
            len(usable),
            lambda first, last: _blur_mosaic_rows(usable, first, last, blurred, difference),
        )
        self._difference = difference
        return blurred


@njit(nogil=True, cache=True, fastmath=True)
def _at_rim(p0, p1, p2, p3, p4):  # type: ignore[no-untyped-def]
    """The binomial filter at the last pixel ``p0`` before a rim; the others follow inwards, not all of them known.

    Without the alternation d the two last are p0 − d and p1 + d; a third is continued beyond the rim from them.
    """
    f, zero = np.float32, np.float32(0.0)
    if p1 <= zero:
        return OUTSIDE
    if p2 <= zero:
        return f(0.5) * (p0 + p1)
    if p3 > zero and p4 > zero:
        d = f(ALTERNATION[0]) * p0 + f(ALTERNATION[1]) * p1 + f(ALTERNATION[2]) * p2
        d += f(ALTERNATION[3]) * p3 + f(ALTERNATION[4]) * p4
    else:
        d = f(SHORT_ALTERNATION[0]) * p0 + f(SHORT_ALTERNATION[1]) * p1 + f(SHORT_ALTERNATION[2]) * p2
    last, before = p0 - d, p1 + d
    beyond = last + f(RIM_CONTINUATION) * (last - before)
    return f(BLUR[1]) * last + f(BLUR[0]) * (before + beyond)


@njit(nogil=True, cache=True, fastmath=True)
def _blur_mosaic_rows(image, first, last, out, difference):  # type: ignore[no-untyped-def]
    """Rows of a mosaic through the binomial filter, along columns and then along rows, and what it took away."""
    f, zero = np.float32, np.float32(0.0)
    height, width = image.shape
    line = np.empty(width, np.float32)
    for y in range(first, last):
        if y < INNER or y >= height - INNER:
            out[y, :], difference[y, :] = OUTSIDE, OUTSIDE
            continue
        up, here, down = image[y - 1], image[y], image[y + 1]
        for x in range(width):
            line[x] = f(BLUR[1]) * here[x] + f(BLUR[0]) * (up[x] + down[x])
        for x in range(width):
            if here[x] <= zero:
                line[x] = OUTSIDE
            elif down[x] <= zero:
                line[x] = _at_rim(here[x], up[x], image[y - 2, x], image[y - 3, x], image[y - 4, x])
            elif up[x] <= zero:
                line[x] = _at_rim(here[x], down[x], image[y + 2, x], image[y + 3, x], image[y + 4, x])
        out[y, :INNER], out[y, width - INNER :] = OUTSIDE, OUTSIDE
        for x in range(INNER, width - INNER):
            value = f(BLUR[1]) * line[x] + f(BLUR[0]) * (line[x - 1] + line[x + 1])
            if line[x] <= zero:
                value = OUTSIDE
            elif line[x + 1] <= zero:
                value = _at_rim(line[x], line[x - 1], line[x - 2], line[x - 3], line[x - 4])
            elif line[x - 1] <= zero:
                value = _at_rim(line[x], line[x + 1], line[x + 2], line[x + 3], line[x + 4])
            out[y, x] = value
        for x in range(width):
            difference[y, x] = here[x] - out[y, x] if out[y, x] > zero else OUTSIDE


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


@njit(nogil=True, cache=True, fastmath=True)
def paint_rows(image, red, blue, gains, first, last, out):  # type: ignore[no-untyped-def]
    """RGB rows of luminance and colour. (R + 2G + B)/4 is the luminance, so green follows from red and blue.

    ``gains`` (3,) by which the channels were multiplied are taken back.
    """
    f = np.float32
    undo = (f(1.0 / gains[0]), f(1.0 / gains[1]), f(1.0 / gains[2]))
    half, least, most = f(0.5), f(0.0), f(255.0)
    for y in range(first, last):
        for x in range(image.shape[1]):
            light, r, b = image[y, x], red[y, x], blue[y, x]
            out[y, x, 0] = np.uint8(min(max((light + r) * undo[0], least), most) + half)
            out[y, x, 1] = np.uint8(min(max((light - half * (r + b)) * undo[1], least), most) + half)
            out[y, x, 2] = np.uint8(min(max((light + b) * undo[2], least), most) + half)
