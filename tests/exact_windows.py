# SPDX-License-Identifier: Apache-2.0
"""Small windows over the smooth scene, with exact images, depths and poses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from smooth_scene import SmoothScene, sideways_poses, small_view

from prism_vo import se3
from prism_vo.optics.camera import FocusedView
from prism_vo.points.pattern import NONE, pattern_at
from prism_vo.points.records import DEPTH_USED, Points
from prism_vo.tracking.pyramid import image_pyramid
from prism_vo.window.energy import WindowEnergy
from prism_vo.window.keyframe import BLOCK, FIRST_OUTLIER_ENERGY, Keyframe
from prism_vo.window.solver import Solved, minimise
from prism_vo.window.state import State
from prism_vo.window.system import System
from prism_vo.window.terms.brightness import BrightnessTerm
from prism_vo.window.terms.depth import DepthTerm
from prism_vo.window.terms.photometric import PhotometricTerm
from prism_vo.window.terms.prior import Prior

DEPTH_HUBER = 2.5


@dataclass(frozen=True)
class Exact:
    """A window whose state is the truth, and the terms of its energy."""

    view: FocusedView
    photometric: PhotometricTerm
    eta: float  # 0: no depth terms
    brightness: BrightnessTerm
    prior: Prior
    state: State

    @property
    def points(self) -> Points:
        """Those of the photometric term."""
        return self.photometric.points

    @property
    def depth(self) -> DepthTerm | None:
        """Of the same points."""
        if self.eta == 0.0:
            return None
        p = self.points
        return DepthTerm(self.view, p.measured, p.information, self.eta, DEPTH_HUBER)

    @property
    def energy(self) -> WindowEnergy:
        """All terms."""
        others = (self.brightness, self.prior)
        return WindowEnergy(self.photometric, others if self.depth is None else (self.depth, *others))

    @property
    def free(self) -> np.ndarray:
        """All variables but the first keyframe's."""
        return np.arange(self.state.size) >= BLOCK

    def with_points(self, points: Points) -> Exact:
        """Other points; the state keeps its depths."""
        return replace(self, photometric=replace(self.photometric, points=points))

    def photometric_alone(self, state: State) -> System:
        """The photometric term without any other."""
        return WindowEnergy(self.photometric).linearize(state)

    def minimised(self, start: State, iterations: int) -> Solved:
        """From a state; without depth terms the scale is a gauge."""
        return minimise(self.energy, start, self.free, iterations, scale_is_gauge=self.eta == 0.0)


def host_points(
    view: FocusedView, images: np.ndarray, depths: list[np.ndarray], each: int, seed: int
) -> Points:
    """Random whole pixels of every keyframe with their exact depth and its exact ρ_v (σ = 0.001)."""
    rng = np.random.default_rng(seed)
    parts = []
    for host, q_map in enumerate(depths):
        u = rng.integers(6, view.width - 6, each)
        v = rng.integers(6, view.height - 6, each)
        q = q_map[v, u]
        color, weight = pattern_at(images[host], u.astype(np.float32), v.astype(np.float32), 50.0)
        status = np.zeros((each, len(depths)), np.int8)
        status[:, host] = NONE
        parts.append(
            Points(
                host=np.full(each, host, np.int32),
                u=u.astype(np.float32),
                v=v.astype(np.float32),
                inv_depth=q,
                measured=view.inv_virtual_depth(q),
                information=np.full(each, 1e6),
                kind=np.full(each, DEPTH_USED),
                color=color,
                weight=weight,
                residual_status=status,
                inlier_count=np.zeros(each, np.int32),
                curvature=np.zeros(each),
                photometric_curvature=np.zeros(each),
            )
        )
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.joined(part)
    return whole


@lru_cache(maxsize=16)
def exact_window(
    count: int = 4, each: int = 60, seed: int = 0, eta: float = 16.0, step: float = 0.03, zoom: int = 1
) -> Exact:
    """Keyframes of a sideways path over the smooth wall; ``zoom`` samples the same images more finely."""
    view, scene = small_view(128 * zoom, 96 * zoom, 160.0 * zoom), SmoothScene.build(seed)
    poses = sideways_poses(count, step)
    seen = [scene.image(view, pose) for pose in poses]
    images = np.array([image_pyramid(image, 1)[0] for image, _ in seen])
    points = host_points(view, images, [q for _, q in seen], each, seed)
    photometric = PhotometricTerm(
        intrinsics=view.image_plane.intrinsics,
        images=images,
        slots=np.arange(count, dtype=np.int32),
        exposure=np.ones(count),
        outlier_energy=np.full(count, FIRST_OUTLIER_ENERGY, np.float32),
        points=points,
        huber=9.0,
    )
    brightness = BrightnessTerm(np.zeros((count, 2)), 16.0 / np.array([0.05, 3.0]) ** 2)
    state = State(
        poses, np.zeros((count, 2)), np.zeros((count, BLOCK)), np.zeros(count, bool), points.inv_depth
    )
    return Exact(view, photometric, eta, brightness, Prior.blank(count), state)


def keyframes_along(places: list[float]) -> list[Keyframe]:
    """Keyframes at places (m) of the x axis; the first is the gauge."""
    out = []
    for k, x in enumerate(places):
        pose = se3.inverse(se3.exp(np.array([x, 0, 0, 0, 0, 0])))
        out.append(Keyframe(k, k, float(k), 1.0, k, pose, np.zeros(2), np.zeros(2), k == 0, 1000.0))
    return out
