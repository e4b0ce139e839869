# SPDX-License-Identifier: Apache-2.0
"""Toy terms that touch the numbers of the camera, and windows that estimate them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from exact_windows import exact_window
from filled_windows import fill

from prism_vo import se3
from prism_vo.config import WindowConfig
from prism_vo.points.records import Points
from prism_vo.window.contents import WindowModel
from prism_vo.window.keyframe import BLOCK
from prism_vo.window.state import CameraBlock, State
from prism_vo.window.system import System
from prism_vo.window.terms.depth import DepthTerm
from prism_vo.window.terms.prior import Prior
from prism_vo.window.window import Window

CAMERA = 2
TRUTH = np.array([0.02, -0.01])  # of the toy camera: factor and offset of what it calls inverse depth


@dataclass(frozen=True)
class Rows:
    """Residuals and their derivatives by all variables: those that are no points, then the points."""

    residuals: np.ndarray  # (R,)
    jacobian: np.ndarray  # (R, size + N)

    def add_to(self, system: System) -> float:
        """Each residual may touch one point."""
        size = len(system.b)
        variables, points = self.jacobian[:, :size], self.jacobian[:, size:]
        assert ((points != 0).sum(1) <= 1).all()
        system.h += variables.T @ variables
        system.b += variables.T @ self.residuals
        system.h_cross += points.T @ variables
        system.h_points += (points**2).sum(0)
        system.b_points += points.T @ self.residuals
        return float(self.residuals @ self.residuals)


@dataclass(frozen=True)
class ToyDepth:
    """``r_n = (q_n (1 + c₀) + c₁ − m_n) / σ``: the camera's own opinion of a point's inverse depth."""

    measured: np.ndarray  # (N,) m
    sigma: float

    def rows(self, state: State) -> Rows:
        """Derivatives by the camera's numbers at their first estimates, residuals at their present values."""
        q, now, first = state.inv_depth, state.camera.value, state.camera.base
        jacobian = np.zeros((len(q), state.size + len(q)))
        jacobian[:, state.size - CAMERA], jacobian[:, state.size - 1] = q, 1.0
        jacobian[np.arange(len(q)), state.size + np.arange(len(q))] = 1.0 + first[0]
        return Rows((q * (1.0 + now[0]) + now[1] - self.measured) / self.sigma, jacobian / self.sigma)

    def linearize(self, state: State, system: System) -> float:
        return self.rows(state).add_to(system)


@dataclass(frozen=True)
class RandomTies:
    """``r = Σ_k A_k t_k + B c + g q_n − m`` with random numbers: keyframes' translations, camera, one point each."""

    by_translation: np.ndarray  # (R, K, 3)
    by_camera: np.ndarray  # (R, 2)
    by_point: np.ndarray  # (R,)
    point: np.ndarray  # (R,)
    offset: np.ndarray  # (R,)

    @classmethod
    def random(cls, seed: int, frames: int, points: int, count: int = 60) -> RandomTies:
        rng = np.random.default_rng(seed)
        return cls(
            300.0 * rng.normal(size=(count, frames, 3)),
            50.0 * rng.normal(size=(count, CAMERA)),
            200.0 * rng.normal(size=count),
            rng.integers(0, points, count),
            rng.normal(size=count),
        )

    def rows(self, state: State) -> Rows:
        """Derivatives at first estimates, residuals at the present state."""
        places = state.poses[:, :3, 3]
        r = np.einsum("rki,ki->r", self.by_translation, places) + self.by_camera @ state.camera.value
        r = r + self.by_point * state.inv_depth[self.point] - self.offset
        jacobian = np.zeros((len(r), state.size + len(state.inv_depth)))
        for k, first in enumerate(state.base_pose[:, :3, 3]):
            # exp(v, w) moves the translation t of T_view_world to t + v + w × t
            jacobian[:, BLOCK * k : BLOCK * k + 3] = self.by_translation[:, k]
            jacobian[:, BLOCK * k + 3 : BLOCK * k + 6] = -self.by_translation[:, k] @ se3.hat(first)
        jacobian[:, state.camera_rows.start : state.size] = self.by_camera
        jacobian[np.arange(len(r)), state.size + self.point] = self.by_point
        return Rows(r, jacobian)

    def linearize(self, state: State, system: System) -> float:
        return self.rows(state).add_to(system)


@dataclass(frozen=True)
class DepthWithCamera(DepthTerm):
    """Plenoptic depth, which holds the scale, and the toy camera's opinion of the same points."""

    toy: ToyDepth | None = None

    def linearize(self, state: State, system: System) -> float:
        assert self.toy is not None
        return super().linearize(state, system) + self.toy.linearize(state, system)


class ToyWindow(Window):
    """A window whose depth terms touch its camera; what the true camera measures follows from exact depths."""

    def depth(self, points: Points) -> DepthWithCamera:
        plain = super().depth(points)
        assert plain is not None
        true = self.view.inv_depth_from_virtual(points.measured)
        toy = ToyDepth(true * (1.0 + TRUTH[0]) + TRUTH[1], sigma=1e-3)
        return DepthWithCamera(**vars(plain), toy=toy)


def toy_window(count: int = 4, wrong: float = 3e-3) -> ToyWindow:
    """Filled; the camera's numbers begin off the truth."""
    exact = exact_window(count=count, each=40)
    window = ToyWindow(exact.view, WindowConfig(), WindowModel())
    window.camera = CameraBlock(TRUTH + wrong, np.zeros(CAMERA))
    window.prior = Prior.blank(0, CAMERA)
    fill(window, count)
    return window
