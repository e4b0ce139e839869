# SPDX-License-Identifier: Apache-2.0
"""Which class of lenses has which focus, seen from how their sharpness changes with depth.

A lens focused at ρ_f = 1/v_f is blurred in proportion to |ρ − ρ_f|, so the logarithm of its sharpness against that of
its neighbours of the other classes (which see the same content) is a line in ρ whose slope grows with ρ_f. The order
of the three slopes is the order of the three focuses; where on the lines the scene lies does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers
from prism_vo.calibrate.features import grey_frames
from prism_vo.calibrate.grid import CLASS_COUNT
from prism_vo.calibrate.zones import ZONES
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import Calibration, LensType
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.types import RawFrame

MOST_FRAMES = 4
MOST_PIXELS = 25e6  # of all frames together, for the time they take
FINE_PX = 1.5  # width of the smoothing whose remainder is sharpness
INNER_SHARE = 0.3  # of the pitch: radius within which rims do not count
LEAST_CONTRAST = 4.0  # grey levels: a lens with less shows nothing to be sharp
NOISE_POWER = 0.05  # grey levels squared: fine structure below it is noise
DEPTH_REACH = 5  # px of the focused image about a lens, whose median depth counts
FEWEST_DEPTHS = 8
FEWEST_LENSES = 200
CLEAR = 5.0  # standard deviations between neighbouring slopes
# neighbours of lens (i, j) of class c: the first three are of class c + 1, the others of class c − 1
NEXT, PREVIOUS = ((1, 0), (0, -1), (-1, 1)), ((-1, 0), (0, 1), (1, -1))


class LensOrder(NamedTuple):
    """Classes by their focus, and how clearly that was seen."""

    classes: tuple[int, ...]  # the first is focused at the largest ρ, so at the least virtual depth
    certainty: float  # standard deviations between the slopes that are hardest to tell apart

    @property
    def clear(self) -> bool:
        """Whether the order is seen and not guessed."""
        return self.certainty > CLEAR

    def focus_by_class(self, focus: Sequence[float]) -> tuple[float, ...]:
        """The same focuses (virtual depths), given to the classes that show them."""
        by_class = dict(zip(self.classes, sorted(focus)))
        return tuple(by_class[c] for c in range(len(focus)))


class _Samples(NamedTuple):
    rho: Array  # (N,)
    sharpness: Array  # (N, 3): logarithm by class about the mean of the three
    block: Integers  # (N,): zone and frame


def see_lens_order(images: Sequence[NDArray[Any]], calibration: Calibration) -> LensOrder | None:
    """The order of three lens classes in raw images (H, W) or (H, W, 3); None where too little texture has depth."""
    kinds = calibration.mla.model_copy(update={"lens_types": (LensType(focus_virtual_depth=3.0),)})
    camera = PlenopticCamera.from_calibration(calibration.model_copy(update={"mla": kinds}))
    array, decoder = MicroLensArray.of(camera), Decoder(camera)
    most = int(np.clip(MOST_PIXELS / np.prod(images[0].shape[:2]), 1, MOST_FRAMES))
    picked = np.unique(np.linspace(0, len(images) - 1, most).astype(int))
    parts = [_samples(camera, array, decoder, images[k], n) for n, k in enumerate(picked)]
    rho, sharpness, block = (np.concatenate(column) for column in zip(*parts))
    if len(rho) < FEWEST_LENSES:
        return None
    return _order(_Samples(rho, sharpness, block))


def _samples(
    camera: PlenopticCamera, array: MicroLensArray, decoder: Decoder, image: NDArray[Any], frame: int
) -> _Samples:
    (grey,) = grey_frames([image])
    sharp = _log_sharpness(grey, array)
    rho = _depth_at(camera, array, decoder, RawFrame(frame, float(frame), image))
    i, j = array.grid.T
    classes = np.mod(i - j, CLASS_COUNT)
    groups = []
    for neighbours in (NEXT, PREVIOUS):
        rows = np.stack([array.rows(i + di, j + dj) for di, dj in neighbours])
        groups.append(np.where(rows >= 0, sharp[rows], np.nan).mean(0))
    by_class = np.empty((len(array), CLASS_COUNT))
    for shift, values in enumerate((sharp, *groups)):  # own class, the next, the one before
        by_class[np.arange(len(array)), np.mod(classes + shift, CLASS_COUNT)] = values
    known = np.isfinite(rho) & np.isfinite(by_class).all(1)
    by_class -= by_class.mean(1, keepdims=True)
    height, width = grey.shape
    row, column = (array.image_centres[:, (1, 0)] * ZONES // (height, width)).clip(0, ZONES - 1).astype(int).T
    block = (frame * ZONES + row) * ZONES + column
    return _Samples(rho[known], by_class[known], block[known].astype(np.int32))


def _log_sharpness(grey: Floats, array: MicroLensArray) -> Array:
    """Logarithm of the power of fine structure in the middle of each lens (N,); NaN where there is nothing to see."""
    radius = INNER_SHARE * array.diameter
    ticks = np.arange(-int(radius), int(radius) + 1)
    disc = (np.hypot(*np.meshgrid(ticks, ticks)) <= radius).astype(np.float32)
    disc /= disc.sum()
    fine = grey - cv2.GaussianBlur(grey, (0, 0), FINE_PX)
    mean, square, power = (cv2.filter2D(m, cv2.CV_32F, disc) for m in (grey, grey * grey, fine * fine))
    height, width = grey.shape
    x, y = np.rint(array.image_centres).astype(int).T
    whole = (x >= radius) & (y >= radius) & (x < width - radius) & (y < height - radius)
    x, y = x.clip(0, width - 1), y.clip(0, height - 1)
    contrast = np.sqrt(np.maximum(square[y, x] - mean[y, x] ** 2, 0.0))
    value = np.log(power[y, x].astype(np.float64) + NOISE_POWER)
    return np.where(whole & (contrast > LEAST_CONTRAST), value, np.nan)


def _depth_at(camera: PlenopticCamera, array: MicroLensArray, decoder: Decoder, raw: RawFrame) -> Array:
    """Median ρ_v about each lens (N,); NaN where too little is measured."""
    frame = decoder.dense(raw)
    assert frame.inv_virtual_depth is not None and frame.valid is not None
    rho = np.where(frame.valid, frame.inv_virtual_depth, np.nan)
    out = np.full(len(array), np.nan)
    for n, (x, y) in enumerate(np.rint(camera.tf_from_raw(array.image_centres)).astype(int)):
        top, left = max(y - DEPTH_REACH, 0), max(x - DEPTH_REACH, 0)
        part = rho[top : max(y + DEPTH_REACH + 1, 0), left : max(x + DEPTH_REACH + 1, 0)]
        part = part[np.isfinite(part)]
        if len(part) >= FEWEST_DEPTHS:
            out[n] = np.median(part)
    return out


def _order(samples: _Samples) -> LensOrder:
    """Slopes of sharpness over ρ, and by a jackknife over blocks how certain their order is."""
    slopes = _slopes(samples, np.ones(len(samples.rho), bool))
    order = np.argsort(-slopes)
    blocks = np.unique(samples.block)
    without = np.array([np.diff(_slopes(samples, samples.block != b)[order]) for b in blocks])
    sigma = np.sqrt((len(blocks) - 1) * without.var(0))
    certainty = float((np.abs(np.diff(slopes[order])) / np.maximum(sigma, 1e-12)).min())
    return LensOrder(tuple(int(c) for c in order), certainty if len(blocks) > 2 else 0.0)


def _slopes(samples: _Samples, use: NDArray[np.bool_]) -> Array:
    x = samples.rho[use] - samples.rho[use].mean()
    return np.asarray(x @ samples.sharpness[use] / max(float(x @ x), 1e-12))
