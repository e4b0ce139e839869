# SPDX-License-Identifier: Apache-2.0
"""The sliding window: what happens when a keyframe comes in, and what the rest of the method asks of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism_vo.arrays import Array, Mask
from prism_vo.config import WindowConfig
from prism_vo.linear.quantile import quantile
from prism_vo.optics.view import FocusedView
from prism_vo.points.finished import FinishedPoints
from prism_vo.points.pattern import IN, OUTSIDE
from prism_vo.points.records import Candidates, Points
from prism_vo.points.trace import trace_candidates
from prism_vo.tracking.brightness import ZoneAgreement
from prism_vo.tracking.reference import KeyframeDepth
from prism_vo.types import PosedFrame, PosedImage
from prism_vo.window.activation import Spacing, activate, at_scale_of
from prism_vo.window.agreement import depth_agreement
from prism_vo.window.camera_numbers import WindowWithCamera
from prism_vo.window.conditional import ConditionalPoses
from prism_vo.window.contents import WindowModel
from prism_vo.window.depth_edges import find_depth_edges
from prism_vo.window.depth_map import depth_map, depth_variance
from prism_vo.window.hidden import in_covered_zones, without_hidden, zones_that_do_not_fit
from prism_vo.window.keyframe import BLOCK
from prism_vo.window.leaving import choose_leaving
from prism_vo.window.leaving_candidates import knowing_candidates
from prism_vo.window.locate import Located, locate
from prism_vo.window.marginalisation import absorb_keyframe, absorb_points, choose_points
from prism_vo.window.refocus import seen_in
from prism_vo.window.report import MappingReport, WindowChange
from prism_vo.window.solver import Solved, minimise
from prism_vo.window.terms.depth import DepthTerm
from prism_vo.window.uncertainty import (
    Uncertainty,
    step_covariance,
    uncertainty_of,
)

ENERGY_QUANTILE = 0.7  # of a keyframe's residuals, from which its outlier energy is taken
USUAL_ROOT, QUANTILE_FACTOR = 26.0, 1.5  # root of the outlier energy: mean of one and of the other · root
LEAST_RESIDUALS = 20  # that a quantile is taken of
# of a window that fills: a camera that moved sideways between its first images lies in a long valley towards a turn
FIRST_ITERATIONS = 30
LEAST_GOOD = 0.7  # share of points that fit in zones where nothing covers them


class Window(WindowWithCamera):
    """State of the back end and its events."""

    def __init__(
        self, view: FocusedView, config: WindowConfig, model: WindowModel, first_id: int = 0
    ) -> None:
        super().__init__(view, config, model, first_id)
        self.spacing = Spacing()
        self.scale_sigma = np.nan  # relative
        self.began = first_id  # id of the first keyframe, or of the first after a loss

    def add(
        self, posed: PosedFrame, covered: ZoneAgreement | None = None, for_places: bool = False
    ) -> WindowChange:
        """A keyframe comes in: activate, minimise, marginalise; returns what left.

        ``covered``: zones of it in which something covers the scene; nothing is learnt from them.
        ``for_places``: keyframes that leave, and the step to this one, are described for finding places again.
        """
        self.insert(posed, covered=covered)
        if self.model.depth_terms:
            find_depth_edges(self, self.depth_variance(self.points))
        activated = self._activate()
        self.points = without_hidden(self.plane, self.hosts, self.keyframes, self.points)
        depth = self.depth(self.points)
        solved = self._minimise(depth)
        if self._finds_more_covered():
            solved = self._minimise(depth)
        self._learn(solved, depth)
        reduced = solved.system.reduced()
        agreement = depth_agreement(self, self.focus_since)
        rescaling = self.follow_focus(reduced)
        if self.focus_watch.verdict != "as it was":
            solved = self._minimise(self.depth(self.points))
            reduced = solved.system.reduced()
        self.follow_lens(reduced[0])
        known = self._note_uncertainty(reduced[0])
        self.scale_sigma = float("nan") if known is None else known.scale
        leaving = choose_leaving(self.keyframes, self.points, self.config.keyframes)
        ids = [self.keyframes[k].id for k in leaving]
        departed = [self.keyframe_depth(k) for k in leaving] if for_places else []
        step = step_covariance(self.keyframes, known.plain) if for_places and known is not None else None
        free = self.free_variables()
        conditional = None
        if leaving:
            conditional = ConditionalPoses.of(self.keyframes, leaving, reduced[0], free, self.camera.value)
        finished = self._marginalise_points(leaving)
        for position in reversed(leaving):
            absorb_keyframe(self, position)
        report = MappingReport(
            energies=solved.energies,
            photometric_residuals=int((solved.system.photometric.status == IN).sum()),
            depth_residuals=int((self.points.information > 0).sum()),
            active=len(self.points),
            candidates=len(self.candidates),
            activated=activated,
            marginalised_points=0 if finished is None else len(finished.u),
            left=ids,
            eta=self.eta,
            noise=float(np.sqrt(self.balance.noise2)),
            healthy=solved.healthy,
            scale_sigma=self.scale_sigma,
            agreement=agreement,
            focus=self.focus_report(),
            lens=self.lens_report(),
        )
        return WindowChange(report, finished, conditional, departed, step, rescaling)

    @property
    def is_young(self) -> bool:
        """Whether the first keyframe, or the first after a loss, is still in it: depths that are known from one image
        alone, or across a gap, move the poses about them when more is learnt."""
        return any(k.id == self.began for k in self.keyframes)

    @property
    def is_filling(self) -> bool:
        """Whether it has had no more keyframes yet than it can hold."""
        return self.next_id - self.first_id <= self.config.keyframes

    @property
    def is_learning(self) -> bool:
        """Whether first depths, or the camera with them, are still being learnt: every keyframe is worth its while."""
        camera = not self.focus_is_settled or self.focus_has_moved or bool(self.lens_is_free.any())
        return self.is_filling or camera

    def _activate(self) -> int:
        if len(self.candidates) == 0 or len(self.keyframes) < 2:
            return 0
        self.spacing = self.spacing.adapted(len(self.points), self.config.points)
        return activate(self, self.spacing)

    def _finds_more_covered(self) -> bool:
        """Whether the points show zones of the newest keyframe to be covered that its track could not know of: those
        that were covered in its reference, too."""
        newest, poses = self.keyframes[-1], (self.plane, self.hosts, self.points)
        status = self.points.residual_status[:, -1]
        found = zones_that_do_not_fit(*poses, newest.pose, status, self._sigma, LEAST_GOOD)
        if found is None:
            return False
        covered = found if newest.covered is None else newest.covered.joined(found)
        self.keyframes[-1] = replace(newest, covered=covered)
        self.points = without_hidden(self.plane, self.hosts, self.keyframes, self.points)
        return True

    def _minimise(self, depth: DepthTerm | None) -> Solved:
        """Minimise the window's energy and take the result over."""
        start, free = self.state(self.points), self.free_variables()
        most = max(self.config.iterations, FIRST_ITERATIONS if self.is_filling else 0)
        solved = minimise(
            self.energy(depth), start, free, most, self.model.scale_is_gauge, self.balance.noise2
        )
        s, residuals = solved.state, solved.system.photometric
        self.keyframes = [
            replace(k, base_pose=s.base_pose[n], base_affine=s.base_affine[n], delta=s.delta[n])
            for n, k in enumerate(self.keyframes)
        ]
        self.camera = s.camera
        self.points = replace(
            self.points,
            inv_depth=s.inv_depth,
            residual_status=residuals.status,
            inlier_count=self.points.inlier_count + (residuals.status[:, -1] == IN).astype(np.int32),
            curvature=solved.system.h_points,
            photometric_curvature=residuals.curvature,
        )
        return solved

    def _learn(self, solved: Solved, depth: DepthTerm | None) -> None:
        """Outlier energies, noise and η from this solve."""
        residuals = solved.system.photometric
        for n, keyframe in enumerate(self.keyframes):
            status = residuals.status[:, n]
            counted = (status >= 0) & (status != OUTSIDE)
            if counted.sum() > LEAST_RESIDUALS:
                root = np.sqrt(quantile(residuals.energy[counted, n], ENERGY_QUANTILE))
                limit = (0.5 * USUAL_ROOT + 0.5 * QUANTILE_FACTOR * root) ** 2
                self.keyframes[n] = replace(keyframe, outlier_energy=float(limit))
        curvature = None if depth is None else depth.residuals(self.points.inv_depth, self.focus_shift).h
        self.balance.update(residuals, self.points, curvature)

    def _note_uncertainty(self, reduced: Array) -> Uncertainty | None:
        """Give the keyframes their covariances."""
        free = self.free_variables()
        free[BLOCK * len(self.keyframes) :] = True  # what is held is not known any better for that
        focus = self.focus_report()
        sigma = None if focus is None else focus.sigma
        found = uncertainty_of(self.keyframes, reduced, free, self.balance.noise2, sigma)
        if found is None:
            return None
        self.keyframes = [replace(k, covariance=c) for k, c in zip(self.keyframes, found.poses)]
        if self.model.lens is not None:  # what was learnt cannot be less than what the file knew
            self.lens_sigma = np.minimum(np.sqrt(np.diag(found.camera))[:-1], self.model.lens.sigma)
        unit = (
            0.0 if self.model.focus is None else self.model.focus.known.scale
        )  # of length, in the camera file
        return replace(found, scale=float(np.hypot(found.scale, unit)))

    def _marginalise_points(self, leaving: list[int]) -> FinishedPoints | None:
        """Points of no more use go: into the prior and to the map if they know something, else nowhere.

        Candidates of keyframes that leave go into the prior alone.
        """
        which = choose_points(self.points, leaving, self.least_curvature())
        finished = None
        if which.worthy.any():
            finished = self.finished_points(which.worthy)
            absorb_points(self, self.points.take(which.worthy))
        others = knowing_candidates(self, leaving)
        if others is not None:
            absorb_points(self, others)
        self.points = self.points.take(~which.gone)
        self.candidates = self.candidates.take(~np.isin(self.candidates.host, leaving))
        return finished

    # --- candidates ------------------------------------------------------------------------------------------

    def adopt(self, new: Candidates, view: FocusedView) -> None:
        """Candidates selected in the newest keyframe, whose depths were computed with ``view``.

        Those in covered zones lie on something that may move: they are left out.
        """
        covered = self.keyframes[-1].covered
        if covered is not None:
            new = new.take(covered.uncovered(new.u, new.v, self.plane))
        new = seen_in(new, view, self.view)
        if self.model.scale_is_gauge:
            new = at_scale_of(self, new)
        self.candidates = self.candidates.joined(new.hosted_in(len(self.keyframes) - 1))

    def start_with(self, which: Mask, inv_depth: Array, sigma: Array) -> None:
        """Some candidates of the first keyframe become points at once, at depths (N,) of which σ is known."""
        points = Points.from_candidates(self.candidates.take(which), inv_depth, len(self.keyframes))
        slope = self.view.inv_virtual_depth_slope(inv_depth)
        known, measured = 1.0 / sigma**2, self.depth_information(points) * slope**2
        # no residuals yet: what is known beyond the point's own measurement stands in for them
        others = self.balance.noise2 * np.maximum(known - measured, 0.0)
        self.points = replace(points, curvature=self.balance.noise2 * known, photometric_curvature=others)
        self.candidates = self.candidates.take(~which)

    def trace(self, posed: PosedFrame) -> None:
        """Narrow the candidates' depth intervals with a tracked frame."""
        if len(self.candidates):
            self.candidates = trace_candidates(self.plane, self.hosts, self.candidates, posed, self.config)

    # --- what tracking and the map need ----------------------------------------------------------------------

    def keyframe_depth(self, position: int = -1) -> KeyframeDepth:
        """A keyframe of the window (the newest by default) with sparse maps of its inverse depth and variance."""
        here = position % len(self.keyframes)
        k, variance = self.keyframes[here], self.depth_variance(self.points)
        maps = depth_map(self.plane, self.hosts, here, self.points, variance, self.candidates)
        image = self.images[k.slot].copy()
        return KeyframeDepth(k.id, k.pose, k.affine, k.exposure, self.plane, image, *maps)

    def depth_variance(self, points: Points) -> Array:
        """σ²(q) of active points."""
        information = self.depth_information(points)
        return depth_variance(self.view, points, information, self.balance.noise2)

    def _sigma(self) -> Array:
        """σ(q) of active points."""
        return np.sqrt(self.depth_variance(self.points))

    def finished_points(self, which: Mask) -> FinishedPoints:
        """Some of the active points, as the map keeps them."""
        p = self.points.take(which)
        ids = np.array([k.id for k in self.keyframes], np.int32)
        # what residuals repeat is counted once in a point's own variance; the scale is wrong for all of them alike
        shared = 0.0 if np.isnan(self.scale_sigma) else self.scale_sigma
        variance = self.depth_variance(p) + (shared * p.inv_depth) ** 2
        return FinishedPoints(ids[p.host], p.u, p.v, p.inv_depth, variance, p.rgb)

    def locate(self, posed: PosedImage, covered: ZoneAgreement | None = None) -> Located | None:
        """A better pose of a frame that is no keyframe, from all active points; None: not found.

        ``covered``: zones of it in which something covers the scene, as its reference shows it; more of them are found
        by the points of the other keyframes.
        """
        frame, poses = self.with_frame(posed), (self.plane, self.hosts, self.points)
        how = self.config.iterations, self.balance.noise2
        hidden = None if covered is None else in_covered_zones(*poses, posed.T_view_world, covered)
        first = locate(*frame, *how, hidden)
        others = zones_that_do_not_fit(*poses, first.T_view_world, first.status, self._sigma)
        if others is None:
            return first.located
        more = in_covered_zones(*poses, first.T_view_world, others)
        hidden = more if hidden is None else hidden | more
        second = locate(*frame, *how, hidden)
        return second.located or first.located
