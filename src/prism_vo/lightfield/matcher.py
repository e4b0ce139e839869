# SPDX-License-Identifier: Apache-2.0
"""The matcher: kernels of ``measure`` with the tables of one camera, and the judgement which matches are valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.config import DecodeConfig
from prism_vo.errors import ConfigError
from prism_vo.lightfield.accumulate import GREY_OFFSET, WIDEST
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.geometry import StereoGeometry
from prism_vo.lightfield.matching import RESULTS
from prism_vo.lightfield.measure import measure_blocks, measure_points
from prism_vo.lightfield.nearby import lens_grid
from prism_vo.lightfield.search import SEARCH_SIDE
from prism_vo.lightfield.variance import (
    SampleNoise,
    fit_noise,
    noise_in_gradients,
    pixel_correlation,
    rim_share,
    slope_variance,
)
from prism_vo.optics.photometric import Vignetting

RUNG_SHIFT_PX = 0.3  # motion at the rim of a micro-image between rungs of the ladder
NODE_PX = 1.5  # spacing of matching nodes in raw pixels of a micro-image, at the slope of the TF image
WINDOW = 2  # nodes to each side of the matching window
LARGEST_WINDOW = 20  # that leaves room in a box
MOST_LENSES = 40  # lenses per sample beyond which only every second (third …) is used
SEEK_SHIFT_PX = 1.0  # the same three for the search; motion at the rim of the part it looks at
SEEK_NODE_PX = 2.1
SEEK_LENSES = 4.0  # lenses per sample, the nearest ones
MEASURE_ROWS = 32  # TF rows whose points are measured one after the other, from left to right
NOISE_POINTS = 1600  # matches the noise is estimated from
LARGEST_BLOCK = 64  # TF pixels a side of the blocks of a dense map
REFINE_LIMIT = 2.0  # the search passes on what promises a σ up to this times the largest valid one


@dataclass(frozen=True)
class Matches:
    """Raw results of the kernels, any shape."""

    slope: Floats
    curvature: Floats
    grey: Floats
    redundancy: Floats  # lenses a node beyond the first, times the nodes of the window
    residual: Floats  # variance where the gradients are
    repeats: Floats  # how often the window's sums count one error
    steepness: Floats  # mean square of differences over two nodes


class Matcher:
    """Measures stereo slopes in prepared raw images of one camera."""

    def __init__(self, geometry: StereoGeometry, config: DecodeConfig, bands: Bands) -> None:
        self.geometry = geometry
        self._config = config
        self._bands = bands
        self.scale = geometry.camera.tf_scale
        ratio = 1.0 + RUNG_SHIFT_PX / geometry.radius
        rungs = int(np.ceil(np.log(geometry.slope_far / geometry.slope_near) / np.log(ratio))) + 3
        self.ladder = geometry.slope_near * ratio ** (np.arange(rungs) - 1.0)
        lenses = lenses_per_sample(geometry, geometry.radius, self.ladder)
        self.strides = np.maximum(1, np.rint(np.sqrt(lenses / MOST_LENSES))).astype(np.int64)
        self.seek = search_ladder(geometry)
        self.pitch = NODE_PX / geometry.rest_slope
        self._alike = pixel_correlation(self.pitch * self.ladder) / pixel_correlation(0.0)
        self.seek_pitch = SEEK_NODE_PX / geometry.rest_slope
        self.window = WINDOW if config.window is None else config.window
        if not 1 <= self.window <= LARGEST_WINDOW:
            raise ConfigError(
                f"decode.window is {self.window}; it must lie between 1 and {LARGEST_WINDOW} nodes to each side."
            )
        nodes = WIDEST - 2 * self.window - 5  # that fit a box beside the window's margins
        self.block = min(LARGEST_BLOCK, int(nodes * self.pitch / self.scale))
        self._grid = lens_grid(geometry)

    def points(self, raw: Floats, points: Array, fall: float, everything: bool = False) -> Matches:
        """Match at TF pixels (N, 2); ``everything``: also where the search says that nothing can be measured."""
        order = np.lexsort(
            (points[:, 0], points[:, 1] // MEASURE_ROWS)
        )  # neighbours find each other's pixels cached
        ordered, out = points[order], np.empty((RESULTS, len(points)), np.float32)
        tables = self._tables(raw, fall, 0.0 if everything else self._limit)

        def band(first: int, last: int) -> None:
            measure_points(*tables, self.window, ordered, first, last, out)  # type: ignore[call-arg]

        self._bands.run(len(points), band)
        found = np.empty_like(out)
        found[:, order] = out
        return Matches(*found)

    def everywhere(self, raw: Floats, fall: float) -> Matches:
        """Match at every TF pixel (h, w)."""
        view = self.geometry.view
        out = np.empty((RESULTS, view.height, view.width), np.float32)
        tables = self._tables(raw, fall, self._limit)

        def band(first: int, last: int) -> None:
            measure_blocks(*tables, self.window, self.block, first, last, out)  # type: ignore[call-arg]

        self._bands.run(-(-view.height // self.block), band)
        return Matches(*out)

    @property
    def _limit(self) -> float:
        """Largest slope variance the search passes on, in the units of its own window."""
        g = self.geometry
        detail = ((2 * self.window + 1) / SEARCH_SIDE) ** 2  # matching nodes per search node
        return float((REFINE_LIMIT * self._config.max_sigma * g.view.beta * NODE_PX) ** 2 * detail)

    def _tables(self, raw: Floats, fall: float, limit: float) -> tuple[Any, ...]:
        g = self.geometry
        ladders = (self.ladder, self.strides, self._alike, self.seek)
        pitches = (self.pitch, self.seek_pitch)
        return raw, g.lenses, g.array.index, self._grid, *ladders, fall, limit, self.scale, *pitches

    def estimate_noise(self, raw: Floats, fall: float) -> SampleNoise:
        """Noise of samples from an even grid of matches over one frame."""
        view = self.geometry.view
        step = max(1.0, np.sqrt(view.width * view.height / NOISE_POINTS))
        x, y = np.meshgrid(np.arange(step / 2, view.width, step), np.arange(step / 2, view.height, step))
        found = self.points(raw, np.rint(np.stack([x.ravel(), y.ravel()], -1)), fall, everything=True)
        good = np.isfinite(found.slope) & (found.curvature > 0) & (found.redundancy > 0)
        texture = found.curvature[good] / found.redundancy[good]
        return fit_noise(found.grey[good] + GREY_OFFSET, found.residual[good], texture)

    def judge(self, found: Matches, noise: SampleNoise, fall: float) -> tuple[Array, Array, Mask]:
        """(ρ_v, its variance, valid); NaN and inf where invalid."""
        beta = self.geometry.view.beta
        with np.errstate(divide="ignore", invalid="ignore"):
            floor = noise.variance(found.grey + np.float32(GREY_OFFSET))
            lenses = found.redundancy / np.float32((2 * self.window + 1) ** 2)
            in_gradients = noise_in_gradients(floor, found.steepness, lenses)
            residual = np.maximum(found.residual, floor)
            variance = slope_variance(found.curvature, residual, found.repeats, in_gradients, rim_share(fall))
            variance /= beta**2
            valid = np.isfinite(found.slope) & (found.curvature > 0)
            valid &= (variance > 0) & (variance < self._config.max_sigma**2)
        rho = self.geometry.inv_virtual_depth(found.slope)
        return np.where(valid, rho, np.nan), np.where(valid, variance, np.inf), valid


def lenses_per_sample(geometry: StereoGeometry, radius: ArrayLike, slope: ArrayLike) -> Array:
    """Micro-images whose circle of ``radius`` (raw px) shows one TF sample at ``slope``."""
    in_use = np.count_nonzero(geometry.array.index >= 0) / len(geometry.lenses)
    return np.asarray(
        0.907 * in_use * (2.0 * np.asarray(radius) / geometry.array.diameter / np.asarray(slope)) ** 2
    )


def search_ladder(geometry: StereoGeometry) -> Array:
    """(rungs, 3) of the search: slope, radius with SEEK_LENSES lenses in it, share of the information of all.

    One rung lies outside the range on either side: a minimum has neighbours.
    """
    rungs: list[tuple[float, float, float]] = []
    slope, beyond = geometry.slope_near, 0
    while beyond < 2:
        full = float(lenses_per_sample(geometry, geometry.radius, slope))
        radius = geometry.radius * min(1.0, np.sqrt(SEEK_LENSES / full))
        step = 1.0 + SEEK_SHIFT_PX / radius
        share = (radius / geometry.radius) ** 4  # lenses times squared baselines
        if not rungs:
            rungs.append((slope / step, radius, share))
        rungs.append((slope, radius, share))
        beyond += slope >= geometry.slope_far
        slope *= step
    return np.array(rungs)


def transmission_fall(vignetting: Vignetting, radius: float) -> float:
    """Least-squares ``fall`` of V = 1 − fall·q over the usable area, q = r²/R²."""
    q = np.linspace(0.0, 1.0, 33)
    v = vignetting.transmission(radius * np.sqrt(q))
    return float(np.clip(((1.0 - v) * q).sum() / (q * q).sum(), 0.0, 0.95))
