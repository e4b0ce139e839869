# SPDX-License-Identifier: Apache-2.0
"""The sliding window: keyframes, points, candidates and the prior, and what happens when a keyframe comes in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.config import Config
from prism_vo.map_points import MapPoints
from prism_vo.mapping.activate import solve_depths, spread
from prism_vo.mapping.energy import Solved, State, WindowEnergy, minimise
from prism_vo.mapping.eta import EtaBalance
from prism_vo.mapping.initialise import improve_depths
from prism_vo.mapping.keyframe import Keyframe
from prism_vo.mapping.leaving import choose_leaving
from prism_vo.mapping.locate import locate
from prism_vo.mapping.marginal import Prior
from prism_vo.mapping.points import DEPTH_USED, Candidates, Points
from prism_vo.mapping.residuals import BLOCK, IN, NONE, OUTSIDE
from prism_vo.mapping.smoothing import Departure, departure
from prism_vo.mapping.trace import FOUND, SKIPPED, trace_points
from prism_vo.mapping.uncertainty import pose_uncertainty
from prism_vo.optics.camera import FocusedView

Array = NDArray[np.float64]
Floats = NDArray[np.float32]
FIRST_GATE = 8 * 12.0**2  # energy of a residual pattern above which it is an outlier, before statistics exist


@dataclass(frozen=True)
class MappingReport:
    """What one keyframe's mapping did."""

    energies: list[float]  # of the accepted states
    photometric_residuals: int
    depth_residuals: int
    active: int
    candidates: int
    activated: int
    marginalised_points: int
    left: list[int]  # ids of the keyframes that left
    eta: float
    noise: float  # grey levels
    healthy: bool
    scale_sigma: float  # relative, 1σ


class Window:
    """State of the back end. Poses are those of the totally focused view: T_view_world."""

    def __init__(self, view: FocusedView, config: Config) -> None:
        self.view, self.config = view, config.window
        self.uses_depth_terms = config.variant == "full"
        size = (config.window.keyframes + 1, view.height, view.width, 3)
        self.images = np.zeros(size, np.float32)
        self.keyframes: list[Keyframe] = []
        self.points = Points.empty()
        self.candidates: Candidates | None = None
        self.prior = Prior.empty()
        self.balance = EtaBalance(config.window)
        self.departures: list[Departure] = []
        self.departed: list[MapPoints] = []  # good points that left, until the map takes them over
        self.spacing = 4  # px kept between active points, adapted to hold their number

    # --- a keyframe comes in ---------------------------------------------------------------------------------

    def insert(self, keyframe: Keyframe, image: Floats) -> None:
        """Put a keyframe at the end of the window; every active point gets a residual to it."""
        self.images[keyframe.slot] = image
        self.keyframes.append(keyframe)
        self.points = self.points.with_keyframe()
        self.prior = self.prior.with_new_keyframe()

    def free_slot(self) -> int:
        """A place in the image stack that no keyframe uses."""
        used = {k.slot for k in self.keyframes}
        return next(s for s in range(len(self.images)) if s not in used)

    def add_candidates(self, new: Candidates) -> None:
        """Candidates selected in the newest keyframe."""
        self.candidates = new if self.candidates is None else self.candidates.joined(new)

    def update(self) -> MappingReport:
        """Activate, optimise, clean, marginalise: the back end's turn after a keyframe was inserted."""
        activated = self.activate()
        solved = self.optimise()
        self._keep_statistics(solved)
        reduced, _ = solved.last.system.reduced()
        scale_sigma = pose_uncertainty(self.keyframes, reduced, self.free_variables(), self.balance.noise2)
        leaving = choose_leaving(self.keyframes, self.points, self.config.keyframes)
        if leaving:
            self.departures.append(departure(self.keyframes, leaving, reduced, self.free_variables()))
        marginalised = self._points_leave(leaving)
        ids = [self.keyframes[k].id for k in leaving]
        for position in sorted(leaving, reverse=True):
            self._keyframe_leaves(position)
        inside = int((solved.last.state == IN).sum())
        used = int((self.points.information > 0).sum())
        return MappingReport(
            solved.accepted, inside, used, len(self.points), len(self.candidates) if self.candidates else 0,
            activated, marginalised, ids, self.balance.eta, float(np.sqrt(self.balance.noise2)), solved.healthy,
            scale_sigma,
        )  # fmt: skip

    # --- candidates ------------------------------------------------------------------------------------------

    def trace(self, image: Floats, T_view_world: Array, affine: Array, exposure: float) -> None:
        """Narrow the candidates' depth intervals with a tracked frame."""
        c = self.candidates
        if c is None or len(c) == 0:
            return
        relative = np.array([T_view_world @ se3.inverse(k.pose) for k in self.keyframes])
        gains = [exposure / k.exposure * np.exp(affine[0] - k.affine[0]) for k in self.keyframes]
        brightness = np.array(
            [[g, affine[1] - g * k.affine[1]] for g, k in zip(gains, self.keyframes)], np.float32
        )
        result = np.empty(len(c), np.int8)
        low, high, depth, quality = c.low.copy(), c.high.copy(), c.inv_depth.copy(), c.quality.copy()
        v = self.view
        trace_points(
            image, np.array([v.focal_px, v.cx, v.cy], np.float32),
            np.ascontiguousarray(relative[:, :3, :3], dtype=np.float32),
            np.ascontiguousarray(relative[:, :3, 3], dtype=np.float32), brightness,
            c.host, c.u, c.v, c.color, depth, low, high, quality, 1.0 / self.config.nearest,
            self.config.trace_longest * (v.width + v.height), np.float32(self.config.huber), result,
        )  # fmt: skip
        failed = (result != FOUND) & (result != SKIPPED)
        failures = np.where(failed, c.failures + 1, 0).astype(np.int8)
        self.candidates = replace(
            c, low=low, high=high, inv_depth=depth, quality=quality, failures=failures
        ).take(failures < 4)

    def activate(self) -> int:
        """Bring candidates into the energy; returns how many."""
        c = self.candidates
        if c is None or len(c) == 0 or len(self.keyframes) < 2:
            return 0
        older = c.host < len(self.keyframes) - 1
        ready = older & self._is_ready(c)
        x, y, seen = self._in_newest(c.host, c.u, c.v, np.nan_to_num(c.inv_depth))
        self._adapt_spacing()
        occupied = np.zeros((self.view.height, self.view.width), np.bool_)
        px, py, visible = self._in_newest(
            self.points.host, self.points.u, self.points.v, self.points.inv_depth
        )
        occupied[py[visible].astype(int), px[visible].astype(int)] = True
        order = np.flatnonzero(ready & seen)
        order = order[np.argsort(c.kind[order], kind="stable")]  # those with depth first
        chosen = np.zeros(len(order), np.bool_)
        spread(occupied, x[order], y[order], self.spacing, chosen)
        picked = order[chosen]
        stay = np.ones(len(c), np.bool_)
        stay[picked] = False
        stay &= ~(older & ~seen)  # out of the newest keyframe's view: of no more use
        added = 0
        if len(picked):
            some = c.take(picked)
            points = Points.from_candidates(some, some.inv_depth, len(self.keyframes))
            solved = solve_depths(
                self._energy(points), State.of(self.keyframes, points), 3, self._least_curvature()
            )
            fresh = solved.points.take(solved.good)
            added = len(fresh)
            self.points = self.points.joined(fresh)
        self.candidates = c.take(stay)
        return added

    def activate_measured(self) -> None:
        """The first keyframe: its points start at the measured depth, no parallax needed."""
        c = self.candidates
        assert c is not None
        used = c.kind == DEPTH_USED
        some = c.take(used)
        self.points = self.points.joined(Points.from_candidates(some, some.inv_depth, len(self.keyframes)))
        self.candidates = c.take(~used)

    def activate_blind(self) -> None:
        """Monocular start: all candidates on a plane of inverse depth 1."""
        c = self.candidates
        assert c is not None
        ones = np.ones(len(c))
        points = Points.from_candidates(c, ones, len(self.keyframes))
        self.points = replace(points, curvature=self.balance.noise2 / (0.3 * ones) ** 2)
        self.candidates = c.take(np.zeros(len(c), np.bool_))

    def _is_ready(self, c: Candidates) -> NDArray[np.bool_]:
        """Depth known and its interval short in the image: < 8 px of parallax in the newest keyframe."""
        newest = self.keyframes[-1].pose
        shift = np.array([np.linalg.norm((newest @ se3.inverse(k.pose))[:3, 3]) for k in self.keyframes])
        with np.errstate(invalid="ignore"):
            interval = (c.high - c.low) * shift[c.host] * self.view.focal_px
            sure = (c.quality > self.config.quality) | (c.information > 0)
            return np.isfinite(c.inv_depth) & (interval < 8.0) & sure & (c.failures == 0)

    def _in_newest(
        self, host: NDArray[np.int32], u: Floats, v: Floats, q: Array
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Pixels of points in the newest keyframe and whether they lie inside it."""
        x, y, z, _ = self.project(len(self.keyframes) - 1, host, u, v, q)
        inside = (z > 1e-3) & (x >= 4) & (y >= 4) & (x < self.view.width - 5) & (y < self.view.height - 5)
        return x, y, inside

    def project(
        self, target: int, host: NDArray[np.int32], u: Floats, v: Floats, q: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Pixels, scaled depth z·q and inverse depth of points in the keyframe at a window position."""
        pose = self.keyframes[target].pose
        relative = np.array([pose @ se3.inverse(k.pose) for k in self.keyframes])[host]
        f, cx, cy = self.view.focal_px, self.view.cx, self.view.cy
        rays = np.stack([(u - cx) / f, (v - cy) / f, np.ones(len(u))], -1)
        moved = np.einsum("nij,nj->ni", relative[:, :3, :3], rays) + relative[:, :3, 3] * q[:, None]
        z = moved[:, 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            return f * moved[:, 0] / z + cx, f * moved[:, 1] / z + cy, z, q / z

    def _adapt_spacing(self) -> None:
        """Hold the number of active points near the wanted one."""
        ratio = len(self.points) / self.config.points
        if ratio < 0.8:
            self.spacing = max(self.spacing - 1, 1)
        elif ratio > 1.0:
            self.spacing = min(self.spacing + 1, 12)

    # --- optimisation ----------------------------------------------------------------------------------------

    def _energy(self, points: Points) -> WindowEnergy:
        c, noise2 = self.config, self.balance.noise2
        return WindowEnergy(
            self.view, self.images, np.array([k.slot for k in self.keyframes], np.int32),
            np.array([k.exposure for k in self.keyframes]),
            np.array([k.gate for k in self.keyframes], np.float32), points, self.prior,
            np.array([k.tracked_affine for k in self.keyframes]),
            noise2 / np.array([c.sigma_gain, c.sigma_offset]) ** 2,
            self.balance.eta if self.uses_depth_terms else 0.0, c.huber, c.depth_huber,
        )  # fmt: skip

    def _least_curvature(self) -> float:
        """Curvature below which a depth is no knowledge: σ_q above half of 1/m at the present noise."""
        return self.balance.noise2 / 0.5**2

    def free_variables(self) -> NDArray[np.bool_]:
        """All frame variables but those of the fixed keyframe (the gauge)."""
        return np.repeat([not k.fixed for k in self.keyframes], BLOCK)

    def optimise(self) -> Solved:
        """Minimise the window's energy and take the result over."""
        if len(self.keyframes) < 2:
            state = State.of(self.keyframes, self.points)
            last = self._energy(self.points).linearize(state)
            return Solved(state, last, [last.system.energy], True)
        solved = minimise(
            self._energy(self.points), State.of(self.keyframes, self.points), self.free_variables(),
            self.config.iterations,
        )  # fmt: skip
        for k, keyframe in enumerate(self.keyframes):
            keyframe.base_pose = solved.state.base_pose[k]
            keyframe.base_affine = solved.state.base_affine[k]
            keyframe.x = solved.state.x[k]
        states = solved.last.state
        self.points = replace(
            self.points,
            inv_depth=solved.state.inv_depth,
            state=states,
            good=self.points.good + (states[:, -1] == IN).astype(np.int32),
            curvature=solved.last.system.h_points,
        )
        return solved

    def _keep_statistics(self, solved: Solved) -> None:
        """Outlier gates from the 70th percentile of energies, noise and η from this solve."""
        for k, keyframe in enumerate(self.keyframes):
            counted = solved.last.state[:, k] >= 0
            counted &= solved.last.state[:, k] != OUTSIDE
            if counted.sum() > 20:
                root = np.sqrt(np.quantile(solved.last.energies[counted, k], 0.7))
                keyframe.gate = float((0.5 * 26.0 + 0.5 * 1.5 * root) ** 2)
        inside = solved.last.state == IN
        self.balance.update(solved.last, inside, self.points)

    def locate(self, image: Floats, T_view_world: Array, affine: Array, exposure: float) -> Array | None:
        """Refine the pose of a frame that is no keyframe against all active points."""
        energy, state = self._with_frame(image, T_view_world, affine, exposure)
        return locate(energy, state, self.config.iterations)

    def improve_blind(self, image: Floats, T_view_world: Array, affine: Array, exposure: float) -> float:
        """Monocular initialisation: better depths from one more frame; returns the factor of all distances."""
        energy, state = self._with_frame(image, T_view_world, affine, exposure)
        size = BLOCK * len(energy.slots)
        blank = Prior(np.zeros((size, size)), np.zeros(size))
        points = replace(self.points, state=np.repeat(np.array([[NONE, IN]], np.int8), len(self.points), 0))
        energy = replace(energy, points=points, prior=blank, eta=self.balance.noise2)
        improved, factor = improve_depths(energy, state)
        self.points = replace(improved, state=self.points.state)
        return factor

    def _with_frame(
        self, image: Floats, T_view_world: Array, affine: Array, exposure: float
    ) -> tuple[WindowEnergy, State]:
        """The window's energy and state with one more frame at the end, in a free image slot."""
        slot = self.free_slot()
        self.images[slot] = image
        energy = self._energy(self.points)
        energy = replace(
            energy,
            slots=np.append(energy.slots, np.int32(slot)),
            exposure=np.append(energy.exposure, exposure),
            gates=np.append(energy.gates, energy.gates[-1]),
            affine_centre=np.vstack([energy.affine_centre, affine]),
        )
        state = State.of(self.keyframes, self.points)
        state = replace(
            state,
            base_pose=np.concatenate([state.poses, T_view_world[None]]),
            base_affine=np.vstack([state.affine, affine]),
            x=np.zeros((len(self.keyframes) + 1, BLOCK)),
            tied=np.zeros(len(self.keyframes) + 1, np.bool_),
        )
        return energy, state

    # --- leaving ---------------------------------------------------------------------------------------------

    def _points_leave(self, leaving: list[int]) -> int:
        """Marginalise or drop the points that are of no more use; returns how many were marginalised."""
        p, count = self.points, len(self.keyframes)
        if len(p) == 0:
            return 0
        hosted_out = np.isin(p.host, leaving)
        recent = p.state[:, max(count - 2, 0) :]
        unseen = np.all(recent != IN, axis=1) & (p.host < count - 2) & (count > 2)
        gone = hosted_out | unseen
        inside = (p.state == IN).sum(1)
        worthy = gone & (p.good >= 3) & (inside >= 1) & (p.curvature > self._least_curvature())
        if worthy.any() and count > 1:
            self.departed.append(self.map_points(worthy))
            self._into_prior(p.take(worthy))
        self.points = p.take(~gone)
        if self.candidates is not None:
            self.candidates = self.candidates.take(~np.isin(self.candidates.host, leaving))
        return int(worthy.sum())

    def _into_prior(self, points: Points) -> None:
        """Add what these points know about the keyframes, at the keyframes' first estimates."""
        only = replace(points, state=np.where(points.state == IN, points.state, NONE).astype(np.int8))
        energy = self._energy(only)
        energy = replace(energy, prior=replace(self.prior, h=0 * self.prior.h, b=0 * self.prior.b),
                         affine_information=np.zeros(2))  # fmt: skip
        state = State.of(self.keyframes, only)
        h, b = energy.linearize(state).system.reduced()
        x = state.x.reshape(-1)
        self.prior = self.prior.plus(h, b - h @ x)
        self._tie()

    def _tie(self) -> None:
        for k, keyframe in enumerate(self.keyframes):
            keyframe.tied = keyframe.tied or (self.prior.ties(k) and not keyframe.fixed)

    def _keyframe_leaves(self, position: int) -> None:
        keyframe = self.keyframes[position]
        size = BLOCK * len(self.keyframes)
        h, b = np.zeros((size, size)), np.zeros(size)
        information = self._energy(self.points).affine_information
        rows = BLOCK * position + np.array([6, 7])
        h[rows, rows] = information
        b[rows] = information * (keyframe.base_affine - keyframe.tracked_affine)
        if self.prior.ties(position):
            self.prior = self.prior.plus(h, b)
        self.prior = self.prior.without(position, keyframe.fixed)
        self.points = self.points.without_keyframe(position)
        if self.candidates is not None:
            host = self.candidates.host
            self.candidates = replace(self.candidates, host=host - (host > position).astype(np.int32))
        del self.keyframes[position]
        self._tie()

    # --- what tracking needs ---------------------------------------------------------------------------------

    def reference_maps(self, position: int = -1) -> tuple[Floats, Floats]:
        """Sparse maps of inverse depth and variance in a keyframe: active points fused with its plenoptic depth."""
        shape = (self.view.height, self.view.width)
        weight, total = np.zeros(shape), np.zeros(shape)
        here = position % len(self.keyframes)
        p = self.points
        if len(p):
            x, y, z, q = self.project(here, p.host, p.u, p.v, p.inv_depth)
            seen = (z > 1e-3) & (x >= 2) & (y >= 2) & (x < shape[1] - 3) & (y < shape[0] - 3)
            seen &= (p.state[:, here] == IN) | (p.host == here)
            variance = self._variance(p) / np.maximum(z, 1e-3) ** 4
            self._fuse(total, weight, x[seen], y[seen], q[seen], variance[seen])
        c = self.candidates
        if c is not None:
            own = (c.host == here) & (c.information > 0) & np.isfinite(c.inv_depth)
            slope = self.view.inv_virtual_depth_slope(c.inv_depth[own])
            self._fuse(
                total, weight, c.u[own], c.v[own], c.inv_depth[own], 1.0 / (c.information[own] * slope**2)
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            return (total / weight).astype(np.float32), (1.0 / weight).astype(np.float32)

    def _variance(self, p: Points) -> Array:
        """σ²(q) of active points: inverse curvature, or the measurement's before any solve."""
        slope = self.view.inv_virtual_depth_slope(p.inv_depth)
        measured = p.information * slope**2 * self.balance.noise2
        return self.balance.noise2 / np.maximum(np.maximum(p.curvature, measured), 1e-9)

    def map_points(self, which: NDArray[np.bool_]) -> MapPoints:
        """Some of the active points, as the map keeps them."""
        p = self.points.take(which)
        ids = np.array([k.id for k in self.keyframes], np.int32)
        return MapPoints(ids[p.host], p.u, p.v, p.inv_depth, self._variance(p), p.color[:, 4])

    @staticmethod
    def _fuse(
        total: Array, weight: Array, x: Array | Floats, y: Array | Floats, q: Array, variance: Array
    ) -> None:
        ix, iy = np.rint(x).astype(int), np.rint(y).astype(int)
        np.add.at(total, (iy, ix), q / variance)
        np.add.at(weight, (iy, ix), 1.0 / variance)
