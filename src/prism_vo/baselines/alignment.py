# SPDX-License-Identifier: Apache-2.0
"""Semi-dense direct image alignment of a frame to a keyframe: the tracking step the baselines share.

Poses are ``T_frame_key`` in the frame of the focused view, whose centre is the pinhole of the image; see
:func:`to_view` for the way to camera coordinates. Residuals are independent of the odometry's own on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.baselines.sampling import bilinear, gradients, image_pyramid
from prism_vo.linear.descent import Damping, descend
from prism_vo.linear.scaling import damped_step
from prism_vo.optics.camera import FocusedView
from prism_vo.optics.pinhole import Pinhole

HUBER = 2.0  # standard deviations of a residual
CUTOFF = 6.0  # standard deviations: beyond, a point is taken for occluded and has no influence
SUBPIXEL = 0.06  # px, geometric noise that strong gradients turn into intensity noise
MAX_POINTS = 12_000  # per level: more cost time and bring no accuracy
MIN_POINTS = 60
MIN_VISIBLE = 0.25  # share of the points that must stay in the image
DAMPING = Damping(
    start=1e-4, fall=0.3, least=1e-7, least_after_refusal=1e-7, rise=8.0, most=1e3, small_gain=1e-5
)


@dataclass(frozen=True)
class Level:
    """Points of a keyframe at one pyramid level, and the pinhole of that level."""

    plane: Pinhole
    rays: Array  # (N, 3), z = 1
    inv_depth: Array  # (N,) q of the view
    variance: Array  # (N,) of q
    intensity: Array  # (N,)
    slope: Array  # (N, 2), of the keyframe's image, grey values per px


@dataclass(frozen=True)
class Alignment:
    """Where a frame stands relative to its keyframe, and how well that is known."""

    T_frame_key: Array
    gain: float  # frame ≈ gain · keyframe + bias
    bias: float
    rms: float  # grey values, of the inliers
    inliers: float  # share of all points that land in the frame with a small residual
    visible: float  # share of the points that land in the frame

    @property
    def ok(self) -> bool:
        """Enough of the keyframe was found again."""
        return self.inliers > 0.4


def to_view(T_a_b: Array, view: FocusedView) -> Array:
    """A motion between camera frames as one between view frames (centres at (0, 0, z0))."""
    shift = np.eye(4)
    shift[2, 3] = view.z0
    return se3.inverse(shift) @ T_a_b @ shift


def from_view(T_a_b: Array, view: FocusedView) -> Array:
    """The inverse of :func:`to_view`."""
    shift = np.eye(4)
    shift[2, 3] = view.z0
    return shift @ T_a_b @ se3.inverse(shift)


def level_count(view: FocusedView) -> int:
    """Levels down to about 60 pixels on the short side."""
    return max(1, 1 + int(np.log2(min(view.width, view.height) / 60.0)))


def keyframe_levels(
    view: FocusedView, image: Floats, inv_depth: Array, variance: Array, levels: int
) -> list[Level]:
    """Pyramid of the valid points (finite variance) of a keyframe, finest first."""
    out = []
    q, var = inv_depth, variance
    for level, grey in enumerate(image_pyramid(image, levels)):
        if level:
            q, var = _halve(q, var)
        valid = np.isfinite(var)
        valid[:2], valid[-2:], valid[:, :2], valid[:, -2:] = False, False, False, False
        y, x = np.nonzero(valid)
        pick = slice(None, None, max(1, -(-len(x) // MAX_POINTS)))
        y, x = y[pick], x[pick]
        plane = view.image_plane.halved(level)
        gx, gy = gradients(grey)
        slope = np.stack([gx[y, x], gy[y, x]], 1).astype(np.float64)
        intensity = grey[y, x].astype(np.float64)
        out.append(Level(plane, plane.rays(x, y), q[y, x], var[y, x], intensity, slope))
    return out


def _halve(q: Array, variance: Array) -> tuple[Array, Array]:
    """Weighted mean of the valid children, harmonic mean of their variances (neighbours are correlated)."""
    h, w = (s // 2 * 2 for s in q.shape)
    blocks = (h // 2, 2, w // 2, 2)
    weight = np.where(np.isfinite(variance), 1.0 / variance, 0.0)[:h, :w].reshape(blocks)
    count = (weight > 0).sum((1, 3))
    total = weight.sum((1, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (weight * np.where(weight > 0, q[:h, :w].reshape(blocks), 0.0)).sum((1, 3)) / total
        return mean, np.where(count > 0, count / total, np.inf)


def align(
    reference: list[Level], frame: list[Floats], T_frame_key: Array, noise: float, iterations: int = 12
) -> Alignment:
    """Coarse-to-fine Levenberg–Marquardt over pose, gain and bias. ``noise``: σ of a grey value."""
    result = Alignment(T_frame_key, 1.0, 0.0, np.inf, 0.0, 0.0)
    for level, image in reversed(list(zip(reference, frame))):
        if len(level.inv_depth) >= MIN_POINTS:
            result = _align_level(level, image, result, noise, iterations)
    return result


@dataclass(frozen=True)
class _State:
    """What the alignment of a level moves."""

    T_frame_key: Array
    gain: float
    bias: float


@dataclass(frozen=True)
class _Linearized:
    """Mean robust energy, normal equations (8), and (rms, inlier share, visible share)."""

    energy: float
    h: Array
    b: Array
    quality: tuple[float, float, float]


@dataclass(frozen=True)
class _LevelProblem:
    """One level, as a descent sees it."""

    level: Level
    image: Floats
    slopes: tuple[Floats, Floats]
    sigma2: Array  # fixed for the level: a variance that grew with the motion would reward moving

    def linearize(self, state: _State) -> _Linearized:
        """H, b and the energy."""
        return _linearise(self.level, self.image, self.slopes, state, self.sigma2)

    def step(self, at: _Linearized, state: _State, damping: float) -> Array | None:
        """Tangent of the pose, gain, bias (8,)."""
        return damped_step(at.h, at.b, damping)

    def moved(self, state: _State, step: Array) -> _State:
        """After a step."""
        return _State(
            se3.exp(step[:6]) @ state.T_frame_key, state.gain + float(step[6]), state.bias + float(step[7])
        )

    def accepted(self, at: _Linearized) -> None:
        """Nothing to adapt."""

    def is_negligible(self, step: Array, state: _State) -> bool:
        """Every step is looked at."""
        return False

    def is_over(self, step: Array, state: _State, taken: bool) -> bool:
        """The gain in energy decides."""
        return False


def _align_level(level: Level, image: Floats, start: Alignment, noise: float, iterations: int) -> Alignment:
    sigma2 = _residual_variance(level, start.T_frame_key, noise)
    problem = _LevelProblem(level, image, gradients(image), sigma2)
    state = _State(start.T_frame_key, start.gain, start.bias)
    found = descend(problem, state, problem.linearize(state), DAMPING, iterations)
    end = found.state
    return Alignment(nearest_pose(end.T_frame_key), end.gain, end.bias, *found.at.quality)


def nearest_pose(T: Array) -> Array:
    """T with an exact rotation: guesses made of earlier results would double rounding errors every frame."""
    out = T.copy()
    u, _, vt = np.linalg.svd(T[:3, :3])
    out[:3, :3] = u @ vt
    return out


def _residual_variance(level: Level, T: Array, noise: float) -> Array:
    """σ² of each residual (N,): noise of two intensities, geometric error, depth's σ times parallax."""
    gx, gy = level.slope.T
    parallax = gx * (T[0, 3] - T[2, 3] * level.rays[:, 0]) + gy * (T[1, 3] - T[2, 3] * level.rays[:, 1])
    by_depth = (level.plane.focal * parallax) ** 2 * level.variance
    return 2 * noise**2 + SUBPIXEL**2 * (gx * gx + gy * gy) + by_depth


def _linearise(
    level: Level,
    image: Floats,
    slopes: tuple[Floats, Floats],
    state: _State,
    sigma2: Array,
) -> _Linearized:
    T, gain, bias = state.T_frame_key, state.gain, state.bias
    points = level.rays @ T[:3, :3].T + level.inv_depth[:, None] * T[:3, 3]  # over the depth in the keyframe
    z = points[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = points[:, 0] / z, points[:, 1] / z
        q = level.inv_depth / z  # inverse depth in the frame
    focal = level.plane.focal
    u, v = focal * x + level.plane.cx, focal * y + level.plane.cy
    h, w = image.shape
    seen = (z > 1e-6) & (u >= 1) & (u <= w - 2) & (v >= 1) & (v <= h - 2)
    x, y, q, u, v, sigma2 = x[seen], y[seen], q[seen], u[seen], v[seen], sigma2[seen]
    if len(u) < max(MIN_POINTS // 2, MIN_VISIBLE * len(z)):  # a step out of the image must not pay off
        return _Linearized(np.inf, np.eye(8), np.zeros(8), (np.inf, 0.0, 0.0))
    value, gx, gy = bilinear((image, *slopes), u, v)
    gx, gy = gx * focal, gy * focal
    intensity = level.intensity[seen]
    residual = value - gain * intensity - bias
    # pose columns: d(x, y)/dξ for a left increment (translation first), scaled by the inverse depth
    down = -(gx * x + gy * y)
    J = np.stack(
        [
            gx * q,
            gy * q,
            down * q,
            -gx * x * y - gy * (1 + y * y),
            gx * (1 + x * x) + gy * x * y,
            gy * x - gx * y,
            -intensity,
            -np.ones_like(x),
        ],
        1,
    )
    size = np.abs(residual) / np.sqrt(sigma2)
    huber = np.minimum(1.0, HUBER / np.maximum(size, 1e-12))
    occluded = size > CUTOFF
    weight = np.where(occluded, 0.0, huber / sigma2)
    most = (2 * CUTOFF - HUBER) * HUBER  # twice Huber's function, at the cutoff
    energy = float(np.where(occluded, most, huber * (2 - huber) * size**2).mean())
    inlier = size < HUBER
    rms = float(np.sqrt(np.mean(residual[inlier] ** 2))) if inlier.any() else np.inf
    JW = J * weight[:, None]
    quality = (rms, float(inlier.sum() / len(z)), len(u) / len(z))
    return _Linearized(energy, JW.T @ J, JW.T @ residual, quality)
