# SPDX-License-Identifier: Apache-2.0
"""Small windows over the smooth scene, with exact images, depths and poses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from smooth_scene import SmoothScene, sideways_poses, small_view

from prism_vo.mapping.energy import State, WindowEnergy
from prism_vo.mapping.marginal import Prior
from prism_vo.mapping.points import DEPTH_USED, Points, pattern_at
from prism_vo.mapping.residuals import BLOCK
from prism_vo.mapping.schur import NormalEquations
from prism_vo.mapping.window import FIRST_GATE
from prism_vo.optics.camera import FocusedView
from prism_vo.tracking.pyramid import image_pyramid


@dataclass(frozen=True)
class Exact:
    """A window whose state is the truth."""

    view: FocusedView
    energy: WindowEnergy
    state: State

    @property
    def free(self) -> np.ndarray:
        """All frame variables but the first keyframe's."""
        return np.arange(BLOCK * len(self.energy.slots)) >= BLOCK


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
        state = np.zeros((each, len(depths)), np.int8)
        state[:, host] = -1
        parts.append(
            Points(
                np.full(each, host, np.int32), u.astype(np.float32), v.astype(np.float32), q,
                view.inv_virtual_depth(q), np.full(each, 1e6), np.full(each, DEPTH_USED), color, weight, state,
                np.zeros(each, np.int32), np.zeros(each),
            )
        )  # fmt: skip
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
    energy = WindowEnergy(
        view, images, np.arange(count, dtype=np.int32), np.ones(count), np.full(count, FIRST_GATE, np.float32), points,
        Prior(np.zeros((BLOCK * count, BLOCK * count)), np.zeros(BLOCK * count)), np.zeros((count, 2)),
        16.0 / np.array([0.05, 3.0]) ** 2, eta, 9.0, 2.5,
    )  # fmt: skip
    state = State(
        poses, np.zeros((count, 2)), np.zeros((count, BLOCK)), np.zeros(count, bool), points.inv_depth
    )
    return Exact(view, energy, state)


def random_system(
    seed: int, frames: int = 3, points: int = 40
) -> tuple[NormalEquations, np.ndarray, np.ndarray]:
    """Normal equations of random residuals with the sparsity of a window, and their dense form."""
    rng = np.random.default_rng(seed)
    k = 8 * frames
    h, b = np.zeros((k + points, k + points)), np.zeros(k + points)
    units = np.tile([300.0] * 3 + [900.0] * 3 + [80.0, 1.0], frames)  # mixed, as in a window
    for n in range(points):
        jac = np.zeros((12, k + points))
        jac[:, :k] = rng.normal(size=(12, k)) * units
        jac[:, k + n] = rng.normal(size=12) * 200.0
        h += jac.T @ jac
        b += jac.T @ rng.normal(size=12)
    system = NormalEquations(h[:k, :k], b[:k], h[k:, :k], np.diag(h)[k:], b[k:], 1.0)
    return system, h, b
