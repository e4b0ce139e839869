# SPDX-License-Identifier: Apache-2.0
"""A smooth surface with a smooth texture, imaged exactly: every pixel value and depth is an analytic number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.optics.camera import FocusedView


def small_view(width: int = 128, height: int = 96, focal: float = 160.0) -> FocusedView:
    """A central view with the optics of a camera focused at infinity (f_L 16, b_L0 15.3, B 0.35 mm)."""
    f, b, gap = 16.0, 15.3, 0.35
    lam = b / (b + gap)
    return FocusedView(
        name="central",
        width=width,
        height=height,
        focal_px=focal,
        cx=width / 2 - 0.7,
        cy=height / 2 + 0.4,
        z0=0.0,
        w_infinity=(b + gap) * (f - b) / (gap * f),
        kappa=b * (b + gap) / gap * 1e-3,
        alpha=1.0 - lam,
        beta=lam,
    )


@dataclass(frozen=True)
class Waves:
    """``mean + Σ amplitude · sin(k·x + phase)`` over the plane, with its gradient."""

    mean: float
    amplitude: np.ndarray  # (M,)
    wave: np.ndarray  # (M, 2), rad per unit
    phase: np.ndarray  # (M,)

    @classmethod
    def random(
        cls, seed: int, shortest: float, longest: float, contrast: float, mean: float = 120.0
    ) -> Waves:
        """Twelve waves of random direction; ``contrast`` is the standard deviation."""
        rng = np.random.default_rng(seed)
        length = np.exp(rng.uniform(np.log(shortest), np.log(longest), 12))
        angle = np.linspace(0, np.pi, 12, endpoint=False) + rng.uniform(0, 0.2, 12)
        wave = 2 * np.pi / length[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1)
        amplitude = np.full(12, contrast * np.sqrt(2.0 / 12.0))
        return cls(mean, amplitude, wave, rng.uniform(0, 2 * np.pi, 12))

    def value(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """At points of any shape."""
        angle = np.multiply.outer(x, self.wave[:, 0]) + np.multiply.outer(y, self.wave[:, 1]) + self.phase
        return self.mean + np.sin(angle) @ self.amplitude

    def gradient(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(d/dx, d/dy)."""
        angle = np.multiply.outer(x, self.wave[:, 0]) + np.multiply.outer(y, self.wave[:, 1]) + self.phase
        slope = np.cos(angle) * self.amplitude
        return slope @ self.wave[:, 0], slope @ self.wave[:, 1]


@dataclass(frozen=True)
class SmoothScene:
    """World surface z = relief(x, y) with a texture on it; wavelengths in metres."""

    texture: Waves
    relief: Waves

    @classmethod
    def build(
        cls, seed: int = 0, depth: float = 1.5, finest: float = 0.16, contrast: float = 35.0
    ) -> SmoothScene:
        """A gently rolling wall at about ``depth`` metres; ``finest`` is the shortest wavelength of the texture."""
        texture = Waves.random(seed, finest, 3.0 * finest, contrast)
        relief = Waves.random(seed + 1, 1.3 * depth, 2.5 * depth, 0.12 * depth, mean=depth)
        return cls(texture, relief)

    def meet(self, origin: np.ndarray, rays: np.ndarray) -> np.ndarray:
        """Distance factors s with origin + s·ray on the surface (Newton to machine precision)."""
        s = (self.relief.mean - origin[2]) / rays[..., 2]
        for _ in range(7):
            x, y, z = (origin[c] + s * rays[..., c] for c in range(3))
            gx, gy = self.relief.gradient(x, y)
            s = s - (z - self.relief.value(x, y)) / (rays[..., 2] - gx * rays[..., 0] - gy * rays[..., 1])
        return s

    def see(self, view: FocusedView, T_view_world: np.ndarray, u: np.ndarray, v: np.ndarray):
        """(intensity, inverse depth q) at pixels of a view."""
        rays = np.stack(
            [(u - view.cx) / view.focal_px, (v - view.cy) / view.focal_px, np.ones(np.shape(u))], -1
        )
        back = se3.inverse(T_view_world)
        world = rays @ back[:3, :3].T
        s = self.meet(back[:3, 3], world)
        p = back[:3, 3] + s[..., None] * world
        return self.texture.value(p[..., 0], p[..., 1]), 1.0 / s

    def image(self, view: FocusedView, T_view_world: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Image (float32) and inverse depth (float64) of the whole view."""
        v, u = np.mgrid[: view.height, : view.width].astype(np.float64)
        value, q = self.see(view, T_view_world, u, v)
        return value.astype(np.float32), q


def sideways_poses(count: int, step: float = 0.03) -> np.ndarray:
    """T_view_world of a camera that drifts sideways, forward a little, and turns towards where it came from."""
    out = []
    for k in range(count):
        world_from_view = se3.exp(np.array([step * k, 0.35 * step * k, 0.2 * step * k, 0.0, 0.0, 0.0]))
        world_from_view = world_from_view @ se3.exp(np.array([0, 0, 0, 0.003 * k, -0.01 * k, 0.004 * k]))
        out.append(se3.inverse(world_from_view))
    return np.array(out)
