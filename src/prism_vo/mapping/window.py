# SPDX-License-Identifier: Apache-2.0
"""The sliding window: keyframes, points, candidates and the prior, and what happens when a keyframe comes in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.config import Config
from prism_vo.map_points import MapPoints
from prism_vo.mapping.activate import solve_depths
from prism_vo.mapping.energy import Solved, State, WindowEnergy, minimise
from prism_vo.mapping.eta import EtaBalance
from prism_vo.mapping.frontier import choose_candidates, trace_candidates
from prism_vo.mapping.initialise import improve_depths
from prism_vo.mapping.keyframe import Keyframe
from prism_vo.mapping.leaving import choose_leaving
from prism_vo.mapping.locate import locate
from prism_vo.mapping.marginal import Prior
from prism_vo.mapping.points import DEPTH_USED, Candidates, Points
from prism_vo.mapping.reference import depth_variance, reference_maps
from prism_vo.mapping.residuals import BLOCK, IN, NONE, OUTSIDE, information_at_estimate
from prism_vo.mapping.smoothing import Departure, departure
from prism_vo.mapping.uncertainty import pose_uncertainty
from prism_vo.optics.camera import FocusedView

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

    def __init__(self, view: FocusedView, config: Config, variance_power: float = 0.0) -> None:
        """``variance_power``: of the sensor."""
        self.view, self.config = view, config.window
        self._variance_power = variance_power
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
        new = replace(new, host=np.full(len(new), len(self.keyframes) - 1, np.int32))
        if not self.uses_depth_terms:
            scale = self._drift_of_scale()
            new = replace(new, inv_depth=scale * new.inv_depth, low=scale * new.low, high=scale * new.high)
        self.candidates = new if self.candidates is None else self.candidates.joined(new)

    def _drift_of_scale(self) -> float:
        """Optimised over measured inverse depth: without depth terms the window's scale wanders off the metre, and
        new depths must join it where it is."""
        p = self.points.take((self.points.information > 0) & (self.points.good > 0))
        if len(p) < 50:
            return 1.0
        measured = self.view.inv_depth_from_virtual(p.measured)
        near = measured > 1e-3
        return float(np.median(p.inv_depth[near] / measured[near])) if near.sum() >= 50 else 1.0

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
        self.candidates = trace_candidates(
            self.view, self.keyframes, c, image, T_view_world, affine, exposure, self.config
        )

    def activate(self) -> int:
        """Bring candidates into the energy; returns how many."""
        c = self.candidates
        if c is None or len(c) == 0 or len(self.keyframes) < 2:
            return 0
        self._adapt_spacing()
        picked, stay = choose_candidates(
            self.view, self.keyframes, c, self.points, self.spacing, self.config.quality
        )
        added = 0
        if len(picked):
            some = c.take(picked)
            points = Points.from_candidates(some, some.inv_depth, len(self.keyframes))
            state = State.of(self.keyframes, points)
            solved = solve_depths(self._energy(points), state, 3, self._least_curvature())
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
        points = Points.from_candidates(some, some.inv_depth, len(self.keyframes))
        sigma = np.maximum((some.high - some.low) / 4.0, 1e-6)
        self.points = self.points.joined(replace(points, curvature=self.balance.noise2 / sigma**2))
        self.candidates = c.take(~used)

    def activate_blind(self) -> None:
        """Monocular start: all candidates on a plane of inverse depth 1."""
        c = self.candidates
        assert c is not None
        ones = np.ones(len(c))
        points = Points.from_candidates(c, ones, len(self.keyframes))
        self.points = replace(points, curvature=self.balance.noise2 / (0.3 * ones) ** 2)
        self.candidates = c.take(np.zeros(len(c), np.bool_))

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
        sure = information_at_estimate(
            self.view, points.inv_depth, points.measured, points.information, self._variance_power
        )
        return WindowEnergy(
            self.view, self.images, np.array([k.slot for k in self.keyframes], np.int32),
            np.array([k.exposure for k in self.keyframes]),
            np.array([k.gate for k in self.keyframes], np.float32), replace(points, information=sure), self.prior,
            np.array([k.tracked_affine for k in self.keyframes]),
            noise2 / np.array([c.sigma_gain, c.sigma_offset]) ** 2,
            self._eta, c.huber, c.depth_huber,
        )  # fmt: skip

    @property
    def _eta(self) -> float:
        return self.balance.eta if self.uses_depth_terms else 0.0

    def _least_curvature(self) -> float:
        """Curvature below which a depth is no knowledge: σ_q above half of 1/m at the present noise."""
        return self.balance.noise2 / 0.5**2

    def free_variables(self) -> Mask:
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
            counted = (solved.last.state[:, k] >= 0) & (solved.last.state[:, k] != OUTSIDE)
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
        """Sparse maps (h, w) of inverse depth and variance in a keyframe of the window (the newest by default)."""
        here = position % len(self.keyframes)
        return reference_maps(
            self.view, self.keyframes, here, self.points, self.depth_variance(self.points), self.candidates
        )

    def depth_variance(self, points: Points) -> Array:
        """σ²(q) of active points."""
        return depth_variance(self.view, points, self._eta, self.balance.noise2)

    def map_points(self, which: Mask) -> MapPoints:
        """Some of the active points, as the map keeps them."""
        p = self.points.take(which)
        ids = np.array([k.id for k in self.keyframes], np.int32)
        return MapPoints(ids[p.host], p.u, p.v, p.inv_depth, self.depth_variance(p), p.color[:, 4])
