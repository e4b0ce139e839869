# SPDX-License-Identifier: Apache-2.0
"""Which class of lenses has which focus, seen from how their sharpness changes with depth.

A lens focused at ρ_f = 1/v_f is blurred in proportion to |ρ − ρ_f|. The logarithm of the power of its fine structure,
against that of its neighbours of the other classes (which see the same content), is taken to follow
F = −log(1 + (ρ − ρ_f)²/w²): a parabola near the focus, where three classes differ by straight lines, and a logarithm
far from it, where the class that is focused nearest is the sharpest. Of the six ways to give the focuses of the file to
the classes the one that explains most, with any depth of field w, is the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers
from prism_vo.calibrate.features import grey_frames
from prism_vo.calibrate.grid import CLASS_COUNT
from prism_vo.calibrate.middle import middle_part
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
CLEAR = 5.0  # standard deviations between the best order and the next
DEPTHS_OF_FIELD = (
    0.05,
    0.1,
    0.2,
    0.4,
    0.8,
    1.6,
    3.2,
)  # w in units of the range of the focuses: it is not known
# neighbours of lens (i, j) of class c: the first three are of class c + 1, the others of class c − 1
NEXT, PREVIOUS = ((1, 0), (0, -1), (-1, 1)), ((-1, 0), (0, 1), (1, -1))


class LensOrder(NamedTuple):
    """Classes by their focus, and how clearly that was seen."""

    classes: tuple[int, ...]  # the first is focused at the largest ρ, so at the least virtual depth
    certainty: float  # standard deviations between it and the next best order

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
    """The order of three lens classes in raw images (H, W) or (H, W, 3); None where too little texture has depth.

    The file's three focuses are taken to be right, their order is not.
    """
    focus = sorted({1.0 / kind.focus_virtual_depth for kind in calibration.mla.lens_types}, reverse=True)
    if len(focus) != CLASS_COUNT:
        return None
    part = middle_part(calibration)
    images, calibration = [part.of(image) for image in images], part.calibration
    kinds = calibration.mla.model_copy(update={"lens_types": (LensType(focus_virtual_depth=3.0),)})
    camera = PlenopticCamera.from_calibration(calibration.model_copy(update={"mla": kinds}))
    array, decoder = MicroLensArray.of(camera), Decoder(camera)
    most = int(np.clip(MOST_PIXELS / np.prod(images[0].shape[:2]), 1, MOST_FRAMES))
    picked = np.unique(np.linspace(0, len(images) - 1, most).astype(int))
    parts = [_samples(camera, array, decoder, images[k], n) for n, k in enumerate(picked)]
    rho, sharpness, block = (np.concatenate(column) for column in zip(*parts))
    if len(rho) < FEWEST_LENSES:
        return None
    return _order(_Samples(rho, sharpness, block), np.array(focus))


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
    reach, side = DEPTH_REACH, 2 * DEPTH_REACH + 1
    padded = np.pad(rho, reach, constant_values=np.nan)
    x, y = np.rint(camera.tf_from_raw(array.image_centres)).astype(int).T
    inside = (x >= 0) & (y >= 0) & (x < rho.shape[1]) & (y < rho.shape[0])
    about = sliding_window_view(padded, (side, side))[y[inside], x[inside]].reshape(-1, side * side)
    out = np.full(len(array), np.nan)
    out[inside] = row_medians(about)
    return out


def row_medians(rows: Array) -> Array:
    """Median of the finite numbers of each row; NaN where there are too few of them. All rows at once."""
    ordered = np.sort(rows, 1)  # NaN comes last
    count = np.isfinite(rows).sum(1)
    enough, at = count >= FEWEST_DEPTHS, np.arange(len(rows))
    count = np.maximum(count, 1)
    middle = 0.5 * (ordered[at, (count - 1) // 2] + ordered[at, count // 2])
    return np.where(enough, middle, np.nan)


def _order(samples: _Samples, focus: Array) -> LensOrder:
    """The order that explains most, and by a jackknife over blocks how certain it is; ``focus``: ρ_f, largest first."""
    orders = list(permutations(range(CLASS_COUNT)))
    blocks, block = np.unique(samples.block, return_inverse=True)
    agreement = np.empty((len(DEPTHS_OF_FIELD), len(orders), len(blocks)))  # model × data, by blocks
    size = np.empty((len(DEPTHS_OF_FIELD), 1, len(blocks)))  # model²
    for n, share in enumerate(DEPTHS_OF_FIELD):
        width = share * (focus[0] - focus[-1])
        model = -np.log1p(((samples.rho[:, None] - focus) / width) ** 2)
        model -= model.mean(1, keepdims=True)
        size[n, 0] = np.bincount(block, (model**2).sum(1), len(blocks))
        for m, order in enumerate(orders):
            product = (model * samples.sharpness[:, order]).sum(1)
            agreement[n, m] = np.bincount(block, product, len(blocks))
    explained = _explained(agreement.sum(-1), size.sum(-1))
    best, next_best = np.argsort(-explained)[:2]
    without = np.array(
        [
            _explained(agreement.sum(-1) - agreement[..., b], size.sum(-1) - size[..., b])
            for b in range(len(blocks))
        ]
    )
    ahead = without[:, best] - without[:, next_best]
    sigma = np.sqrt((len(blocks) - 1) * ahead.var())
    certainty = float((explained[best] - explained[next_best]) / max(sigma, 1e-12))
    return LensOrder(orders[best], certainty if len(blocks) > 2 else 0.0)


def _explained(agreement: Array, size: Array) -> Array:
    """Sum of squares (orders,) that the best depth of field explains, with a factor that is not negative."""
    return np.asarray((np.maximum(agreement, 0.0) ** 2 / np.maximum(size, 1e-12)).max(0))
