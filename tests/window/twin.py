# SPDX-License-Identifier: Apache-2.0
"""The slow twin of the photometric residuals: one pixel at a time in float64, straight from docs/method.md, eq. 9."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from central_differences import with_gradients

from prism_vo import se3
from prism_vo.points.pattern import NONE, PATTERN
from prism_vo.window.state import State
from prism_vo.window.terms.photometric import PhotometricTerm

Sample = Callable[[float, float], tuple[float, float, float]]  # (x, y) → value, d/dx, d/dy


@dataclass(frozen=True)
class Pair:
    """All a residual depends on: two keyframes, one point."""

    focal: float
    cx: float
    cy: float
    host_pose: np.ndarray  # T_view_world
    target_pose: np.ndarray
    host_light: np.ndarray  # a, b
    target_light: np.ndarray
    exposure_ratio: float  # t_target / t_host
    u: float
    v: float
    q: float
    color: np.ndarray  # (8,)

    def warp(self, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pixel in the target and the point there (up to scale) of one pattern pixel."""
        relative = self.target_pose @ se3.inverse(self.host_pose)
        ray = [(self.u + offset[0] - self.cx) / self.focal, (self.v + offset[1] - self.cy) / self.focal, 1.0]
        point = relative[:3, :3] @ np.array(ray) + relative[:3, 3] * self.q
        return self.focal * point[:2] / point[2] + np.array([self.cx, self.cy]), point

    @property
    def gain(self) -> float:
        """e_ji."""
        return float(self.exposure_ratio * np.exp(self.target_light[0] - self.host_light[0]))

    def residuals(self, sample: Sample) -> np.ndarray:
        """r (8,)."""
        out = []
        for offset, color in zip(PATTERN.astype(np.float64), self.color):
            x, _ = self.warp(offset)
            value = sample(*x)[0]
            out.append(value - self.target_light[1] - self.gain * (color - self.host_light[1]))
        return np.array(out)

    def jacobian(self, sample: Sample, base: Pair | None = None, centre: bool = False) -> np.ndarray:
        """∂r/∂(host 8, target 8, q): (8, 17).

        Geometry and brightness factors are taken at ``base`` (first estimates), image gradients here. ``centre``: one
        geometry for the whole pattern.
        """
        base = base or self
        relative = base.target_pose @ se3.inverse(base.host_pose)
        rows = []
        for offset, color in zip(PATTERN.astype(np.float64), self.color):
            gradient = np.array(sample(*self.warp(offset)[0])[1:])
            _, p = base.warp(np.zeros(2) if centre else offset)
            by_point = base.focal * np.array([[1, 0, -p[0] / p[2]], [0, 1, -p[1] / p[2]]]) / p[2]
            # left increment (v, w) of the target moves the scaled point p = q·X by q·v + w × p
            by_target = by_point @ np.hstack([base.q * np.eye(3), -se3.hat(p)])
            pose_t = gradient @ by_target
            pose_h = -pose_t @ se3.adjoint(relative)
            by_a = -base.gain * (color - base.host_light[1])
            by_q = gradient @ by_point @ relative[:3, 3]
            rows.append(np.concatenate([pose_h, [-by_a, base.gain], pose_t, [by_a, -1.0], [by_q]]))
        return np.array(rows)

    def moved(self, delta: np.ndarray) -> Pair:
        """The pair after an increment (host 8, target 8, q)."""
        return replace(
            self,
            host_pose=se3.exp(delta[:6]) @ self.host_pose,
            host_light=self.host_light + delta[6:8],
            target_pose=se3.exp(delta[8:14]) @ self.target_pose,
            target_light=self.target_light + delta[14:16],
            q=self.q + delta[16],
        )


def bilinear(image: np.ndarray) -> Sample:
    """Interpolation of an image (h, w) and of its central differences in float64."""
    stacked = with_gradients(image)

    def sample(x: float, y: float) -> tuple[float, float, float]:
        ix, iy = int(x), int(y)
        fx, fy = x - ix, y - iy
        cells = stacked[iy : iy + 2, ix : ix + 2]
        top, bottom = (1 - fx) * cells[0, 0] + fx * cells[0, 1], (1 - fx) * cells[1, 0] + fx * cells[1, 1]
        value, gx, gy = (1 - fy) * top + fy * bottom
        return float(value), float(gx), float(gy)

    return sample


@dataclass(frozen=True)
class Dense:
    """Full normal equations over all keyframes and points, and the energy."""

    h: np.ndarray  # (8K + N, 8K + N)
    b: np.ndarray
    energy: float


def dense_system(term: PhotometricTerm, state: State, centre: bool) -> Dense:
    """The term's normal equations by brute force (residuals must all be inside)."""
    frames, points = len(term.slots), term.points
    size = 8 * frames + len(points)
    h, b, total = np.zeros((size, size)), np.zeros(size), 0.0
    samples = [bilinear(term.images[slot]) for slot in term.slots]
    for n in range(len(points)):
        for j in range(frames):
            if points.residual_status[n, j] == NONE or points.host[n] == j:
                continue
            now = pair_of(term, state.poses, state.affine, state.inv_depth, n, j)
            first = pair_of(term, state.base_pose, state.base_affine, state.inv_depth, n, j)
            r = now.residuals(samples[j])
            robust = np.where(np.abs(r) <= term.huber, 1.0, term.huber / np.maximum(np.abs(r), 1e-12))
            weight = points.weight[n] * robust
            i = int(points.host[n])
            columns = [*range(8 * i, 8 * i + 8), *range(8 * j, 8 * j + 8), 8 * frames + n]
            jac = now.jacobian(samples[j], base=first, centre=centre)
            h[np.ix_(columns, columns)] += jac.T @ (weight[:, None] * jac)
            b[columns] += jac.T @ (weight * r)
            total += float((weight * r**2 * (2.0 - robust)).sum())
    return Dense(h, b, total)


def pair_of(
    term: PhotometricTerm, poses: np.ndarray, light: np.ndarray, q: np.ndarray, n: int, target: int
) -> Pair:
    """Point n of a window seen from a target keyframe."""
    p = term.points
    i = int(p.host[n])
    return Pair(
        focal=float(term.intrinsics.focal),
        cx=float(term.intrinsics.cx),
        cy=float(term.intrinsics.cy),
        host_pose=poses[i],
        target_pose=poses[target],
        host_light=light[i],
        target_light=light[target],
        exposure_ratio=term.exposure[target] / term.exposure[i],
        u=float(p.u[n]),
        v=float(p.v[n]),
        q=float(q[n]),
        color=p.color[n].astype(np.float64),
    )
