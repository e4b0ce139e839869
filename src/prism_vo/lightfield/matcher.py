# SPDX-License-Identifier: Apache-2.0
"""The matcher: kernels of ``measure`` with the tables of one camera, and the judgement which matches are valid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.config import DecodeConfig
from prism_vo.errors import ConfigError
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.displaced import PlacedMatches, clustered_variance, fit_displacement
from prism_vo.lightfield.geometry import StereoGeometry
from prism_vo.lightfield.ladders import refinement_ladder, search_ladder
from prism_vo.lightfield.matching import RESULTS
from prism_vo.lightfield.measure import block_scratch, measure_blocks, measure_points, point_scratch
from prism_vo.lightfield.nearby import lens_grid
from prism_vo.lightfield.records import MatchingImage, MatchTables, Sampling
from prism_vo.lightfield.sample_steps import GREY_OFFSET
from prism_vo.lightfield.search import SEARCH_SIDE
from prism_vo.lightfield.variance import (
    SampleNoise,
    fit_noise,
    nodes_of_a_lens,
    noise_in_gradients,
    rim_share,
    slope_variance,
    unskewed,
)
from prism_vo.lightfield.workspace import WIDEST
from prism_vo.optics.photometric import Vignetting

NODE_PX = 1.5  # spacing of matching nodes in raw pixels of a micro-image, at the slope of the TF image
SEARCH_NODE_PX = 2.1  # the same for nodes of the search
WINDOW = 2  # nodes to each side of the matching window
LARGEST_WINDOW = 20  # that leaves room in a box
NODES_OF_MARGIN = 5  # beside block and window: two for gradients, three as a block ends between nodes
MEASURE_ROWS = 32  # TF rows whose points are measured one after the other, from left to right
NOISE_POINTS = 1600  # matches the noise is estimated from
DISPLACEMENT_POINTS = 400  # at most so many of them tell how far micro-images are displaced, to 0.005 px,
FEW_POINTS = 120  # with windows larger than usual, which take longer, so many
LARGEST_BLOCK = 64  # TF pixels a side of the blocks of a dense map
REFINE_LIMIT = 2.0  # the search passes on what promises a σ up to this times the largest valid one
FALL_SAMPLES = 33  # radii at which the transmission is compared with its model
LARGEST_FALL = 0.95  # keeps the transmission at the rim, and so every weight, positive


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
        window = WINDOW if config.window is None else config.window
        if not 1 <= window <= LARGEST_WINDOW:
            raise ConfigError(
                f"decode.window is {window}; it must lie between 1 and {LARGEST_WINDOW} nodes to each side."
            )
        scale, slope = geometry.camera.tf_scale, geometry.rest_slope
        self.sampling = Sampling(float(scale), NODE_PX / slope, SEARCH_NODE_PX / slope, window)
        self.ladder = refinement_ladder(geometry, self.sampling.pitch, config.max_sigma * geometry.view.beta)
        self._search_ladder = search_ladder(geometry)
        nodes = WIDEST - 2 * window - NODES_OF_MARGIN
        self.block = min(LARGEST_BLOCK, int(nodes * self.sampling.pitch / scale))
        self._lenses = lens_grid(geometry)

    def points(self, image: MatchingImage, points: Array, everything: bool = False) -> Matches:
        """Match at TF pixels (N, 2); ``everything``: also where the search says that nothing can be measured."""
        # neighbours find each other's pixels cached
        order = np.lexsort((points[:, 0], points[:, 1] // MEASURE_ROWS))
        ordered, out = points[order], np.empty((RESULTS, len(points)), np.float32)
        tables = self._tables(0.0 if everything else self._limit)

        def band(first: int, last: int) -> None:
            measure_points(tables, image, ordered, first, last, point_scratch(tables), out)

        self._bands.run(len(points), band)
        found = np.empty_like(out)
        found[:, order] = out
        return Matches(*found)

    def everywhere(self, image: MatchingImage) -> Matches:
        """Match at every TF pixel (h, w)."""
        view = self.geometry.view
        out = np.empty((RESULTS, view.height, view.width), np.float32)
        tables = self._tables(self._limit)

        def band(first: int, last: int) -> None:
            scratch = block_scratch(tables, self.block)
            measure_blocks(tables, image, self.block, first, last, scratch, out)

        self._bands.run(-(-view.height // self.block), band)
        return Matches(*out)

    @property
    def reach(self) -> float:
        """Raw px about a point that its match reads."""
        return (self.sampling.window + 1) * self.sampling.pitch

    @property
    def _limit(self) -> float:
        """Largest slope variance the search passes on, in the units of its own window."""
        g = self.geometry
        detail = (self._side / SEARCH_SIDE) ** 2  # matching nodes per search node
        return float((REFINE_LIMIT * self._config.max_sigma * g.view.beta * NODE_PX) ** 2 * detail)

    @property
    def _side(self) -> int:
        """Nodes of the matching window along one axis."""
        return 2 * self.sampling.window + 1

    def _tables(self, refine_limit: float) -> MatchTables:
        return MatchTables(self._lenses, self.ladder, self._search_ladder, self.sampling, refine_limit)

    def estimate_noise(self, image: MatchingImage) -> SampleNoise:
        """Noise of samples from an even grid of matches over one frame."""
        view = self.geometry.view
        step = max(1.0, np.sqrt(view.width * view.height / NOISE_POINTS))
        x, y = np.meshgrid(np.arange(step / 2, view.width, step), np.arange(step / 2, view.height, step))
        points = np.rint(np.stack([x.ravel(), y.ravel()], -1))
        found = self.points(image, points, everything=True)
        good = np.isfinite(found.slope) & (found.curvature > 0) & (found.redundancy > 0)
        texture = found.curvature[good] / found.redundancy[good]
        noise = fit_noise(found.grey[good] + GREY_OFFSET, found.residual[good], texture)
        return replace(noise, displaced=self._displacement(image, points, found, noise))

    def _displacement(self, image: MatchingImage, points: Array, found: Matches, noise: SampleNoise) -> float:
        """Variance (px²) by which single micro-images are displaced, from valid matches at TF pixels (N, 2)."""
        stated = self._slope_variance(found, noise, image.fall)
        moved = self._slope_variance(found, replace(noise, displaced=1.0), image.fall)
        used = np.flatnonzero(self._certain(found, stated))
        most = DISPLACEMENT_POINTS if self.sampling.window <= WINDOW else FEW_POINTS
        used = used[:: max(1, -(-len(used) // most))]
        if not len(used):
            return 0.0
        slope, curvature = (np.asarray(a[used], np.float64) for a in (found.slope, found.curvature))
        rung = np.clip(np.searchsorted(self.ladder.slope, slope) - 1, 0, len(self.ladder.slope) - 1)
        at = self.sampling.scale * (points[used] + 0.5) - 0.5
        placed = PlacedMatches(at, slope, curvature, self.ladder.stride[rung])
        seen = clustered_variance(image, self.geometry, placed, self.sampling.pitch, self.sampling.window)
        return fit_displacement(seen, stated[used], moved[used] - stated[used])

    def judge(self, found: Matches, noise: SampleNoise, fall: float) -> tuple[Array, Array, Mask]:
        """(ρ_v, its variance, valid); NaN and inf where invalid."""
        variance = self._slope_variance(found, noise, fall)
        valid = self._certain(found, variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = unskewed(found.slope, variance)
        variance /= self.geometry.view.beta**2
        rho = self.geometry.inv_virtual_depth(slope)
        return np.where(valid, rho, np.nan), np.where(valid, variance, np.inf), valid

    def _certain(self, found: Matches, variance: Array) -> Mask:
        """Which matches with the slope variance ``variance`` are valid."""
        with np.errstate(invalid="ignore"):
            valid = np.isfinite(found.slope) & (found.curvature > 0) & (variance > 0)
            return np.asarray(valid & (variance < (self._config.max_sigma * self.geometry.view.beta) ** 2))

    def _slope_variance(self, found: Matches, noise: SampleNoise, fall: float) -> Array:
        """σ²(h) of matches."""
        nodes = np.float32(self._side**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            floor = noise.variance(found.grey + np.float32(GREY_OFFSET))
            in_gradients = noise_in_gradients(floor, found.steepness, found.redundancy / nodes)
            spacing = self.sampling.pitch * found.slope  # of nodes in a micro-image, raw px
            moved = noise.displaced * found.steepness / (2.0 * spacing) ** 2  # τ² |∇I|²
            seen = nodes_of_a_lens(self._side, spacing, self.geometry.radius)
            errors = np.maximum(found.residual, floor) * found.repeats + moved * seen
            return slope_variance(found.curvature, errors, in_gradients, rim_share(fall))


def transmission_fall(vignetting: Vignetting, radius: float) -> float:
    """Least-squares ``fall`` of V = 1 − fall·q over the usable area, q = r²/R²."""
    q = np.linspace(0.0, 1.0, FALL_SAMPLES)
    v = vignetting.transmission(radius * np.sqrt(q))
    return float(np.clip(((1.0 - v) * q).sum() / (q * q).sum(), 0.0, LARGEST_FALL))
