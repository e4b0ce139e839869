# SPDX-License-Identifier: Apache-2.0
"""Hand-held camera paths: closed walks, small loops with a steady gaze, and sweeps around a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.interpolate import CubicSpline

from prism_vo.arrays import Array
from prism_vo.errors import ConfigError


@dataclass(frozen=True)
class PathSpec:
    """How a scene is filmed.

    ``walk``: closed polygon (x, y, z) rounded to a smooth loop, looking ahead. ``sweep``: closed 6-DoF motion of the
    given half-extents about the first point, looking at ``target``. ``clear``: half-extents (x, z) around the start
    that stay free of obstacles, for loops made smaller than the whole walk.
    """

    kind: Literal["walk", "sweep"]
    points: tuple[tuple[float, float, float], ...]
    step: float  # metres a frame
    clear: tuple[float, float] = (0.6, 0.6)
    target: tuple[float, float, float] = (0.0, 0.0, 3.0)
    extent: tuple[float, float, float] = (0.25, 0.12, 0.2)
    pitch: float = 0.0  # rad, downwards
    sway: float = 1.0  # of the hand: 1 is about 1 cm and half a degree
    turn: float = 1.0  # degrees a frame at most: people slow down in corners
    frames: int = 0  # of a whole sweep; a walk computes its own
    roll: float = 0.0  # rad that a sweep turns about the optical axis, either way


@dataclass(frozen=True)
class Track:
    """Camera-to-world poses (N, 4, 4), and the same path in between for motion blur."""

    poses: Array
    length: float
    closed: bool
    _fine: CubicSpline
    _turn: CubicSpline

    def at(self, frame: float) -> Array:
        """Pose at a fractional frame number."""
        return _pose(self._fine(frame), self._turn(frame))


def plan(spec: PathSpec, frames: int | None, seed: int, size: float | None = None) -> Track:
    """Poses for ``frames`` frames (all of the path if None); ``size``: length in metres of a smaller loop."""
    if frames is not None and frames < 1:
        raise ConfigError(f"--frames must be at least 1, not {frames}.")
    if size is not None and size <= 0:
        raise ConfigError(f"--size must be a positive length in metres, not {size}.")
    rng = np.random.default_rng((seed, 4242))
    if spec.kind == "sweep":
        whole = spec.frames
        count = frames or whole
        phase = np.arange(max(count, 4) + 1) / max(whole, count)
        position, angles = _sweep(spec, phase, rng)
        return _track(position, angles, count, closed=count >= whole)
    position, angles, count = _walk(spec, frames, size)
    swing = _hand(len(position) - 1, rng, spec.sway)
    return _track(position + swing[:, :3], angles + swing[:, 3:], count, closed=True)


def nominal_frames(spec: PathSpec) -> int:
    """Frames of the whole path at its natural speed."""
    return spec.frames if spec.kind == "sweep" else len(_walk(spec, None, None)[0]) - 1


def _track(position: Array, angles: Array, count: int, closed: bool) -> Track:
    index = np.arange(len(position), dtype=float)
    fine, turn = CubicSpline(index, position), CubicSpline(index, angles)
    poses = np.array([_pose(p, a) for p, a in zip(position[:count], angles[:count])])
    length = float(np.linalg.norm(np.diff(position[: count + 1], axis=0), axis=1).sum())
    return Track(poses, length, closed, fine, turn)


def _pose(position: Array, angles: Array) -> Array:
    """Camera-to-world from position and (pitch, yaw, roll): roll about z first, then pitch, then yaw about y."""
    (sp, sy, sr), (cp, cy, cr) = np.sin(angles), np.cos(angles)
    yaw = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    pitch = np.array([[1, 0, 0], [0, cp, sp], [0, -sp, cp]])  # positive looks down (y is down)
    roll = np.array([[cr, -sr, 0], [sr, cr, 0], [0, 0, 1]])
    out = np.eye(4)
    out[:3, :3] = yaw @ pitch @ roll
    out[:3, 3] = position
    return out


def _hand(count: int, rng: np.random.Generator, sway: float) -> Array:
    """Tremor and steps, periodic over the loop: (count + 1, 6), metres and radians."""
    t = np.arange(count + 1) / count
    out = np.zeros((count + 1, 6))
    scale = sway * np.array([0.012, 0.012, 0.012, 0.008, 0.010, 0.008])
    for cycle in (29.0, 17.0, 11.0, 7.3):  # frames a cycle
        turns = max(1, round(count / cycle))
        phase = rng.uniform(0, 2 * np.pi, 6)
        out += scale * min(cycle / 20.0, 1.0) * np.sin(2 * np.pi * turns * t[:, None] + phase) / 2.0
    return out - out[0]


def _sweep(spec: PathSpec, phase: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """A closed Lissajous figure about the first point, looking at the target; phase 1 is once around."""
    waves = np.array([[1, 3], [2, 5], [1, 4]])
    offsets = rng.uniform(0, 2 * np.pi, (3, 2)) * np.array([[0.15, 1.0]])
    angle = 2 * np.pi * phase[:, None, None] * waves + offsets
    figure = np.sin(angle[:, :, 0]) + 0.18 * np.sin(angle[:, :, 1])
    position = np.array(spec.points[0]) + (figure - figure[0]) * np.array(spec.extent)
    look = np.array(spec.target) - position
    yaw = np.arctan2(look[:, 0], look[:, 2])
    pitch = np.arctan2(look[:, 1], np.hypot(look[:, 0], look[:, 2]))
    turns = rng.uniform(0, 2 * np.pi, 3)
    wobble = 0.035 * spec.sway * np.sin(2 * np.pi * phase[:, None] * np.array([4, 3, 5]) + turns)
    roll = spec.roll * np.sin(2 * np.pi * 2 * phase)
    return position, np.stack([pitch, yaw, roll], -1) + wobble


def _walk(spec: PathSpec, frames: int | None, size: float | None) -> tuple[Array, Array, int]:
    corners = np.array(spec.points, float)
    ring = np.concatenate([corners, corners[:1]])
    chord = np.concatenate([[0.0], np.cumsum(np.sqrt(np.linalg.norm(np.diff(ring, axis=0), axis=1)))])
    curve = CubicSpline(chord, ring, bc_type="periodic")
    fine = curve(np.linspace(0, chord[-1], 4001))
    first_yaw = float(np.arctan2(*(fine[40] - fine[0])[[0, 2]]))
    if size is None:
        position, angles = _ahead(fine, spec)
        cost = _cost(position, angles[:, 1], spec)
        nominal = int(np.ceil(cost[-1]))
        if frames is None or frames >= 0.9 * nominal:
            count = frames or nominal
            at = np.interp(np.linspace(0, cost[-1], count + 1), cost, np.arange(len(cost)))
            return _sample(position, at), _sample(angles, at), count
    assert frames is not None or size is not None
    length = size if size is not None else (frames or 1) * spec.step
    count = frames or max(24, round(length / spec.step))
    return (*_small_loop(spec, fine[0], first_yaw, length, count), count)


def _ahead(fine: Array, spec: PathSpec) -> tuple[Array, Array]:
    """Positions at equal arc lengths, and the gaze: the direction of travel, smoothed over a couple of metres."""
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(fine, axis=0), axis=1))])
    n = 4000
    position = np.stack([np.interp(np.linspace(0, s[-1], n + 1), s, fine[:, k]) for k in range(3)], -1)
    ring = position[:-1]
    window = max(3, int(n * min(2.0 / s[-1], 0.12)) | 1)
    heading = np.roll(ring, -window, 0) - ring
    yaw = np.unwrap(np.arctan2(heading[:, 0], heading[:, 2]))
    turns = round((yaw[-1] - yaw[0]) / (2 * np.pi)) * 2 * np.pi
    long = np.concatenate([yaw - turns, yaw, yaw + turns])
    kernel = np.hanning(2 * window + 1)
    smooth = np.convolve(long, kernel / kernel.sum(), "same")[n : 2 * n + 1]
    pitch = np.full(n + 1, spec.pitch)
    return position, np.stack([pitch, smooth, np.zeros(n + 1)], -1)


def _cost(position: Array, yaw: Array, spec: PathSpec) -> Array:
    """Frames needed up to each point: limited by speed and by turning."""
    walk = np.linalg.norm(np.diff(position, axis=0), axis=1) / spec.step
    need = np.maximum(walk, np.abs(np.diff(yaw)) / np.deg2rad(spec.turn))
    return np.concatenate([[0.0], np.cumsum(need)])


def _sample(values: Array, at: Array) -> Array:
    index = np.arange(len(values))
    return np.stack([np.interp(at, index, values[:, k]) for k in range(values.shape[1])], -1)


def _small_loop(spec: PathSpec, start: Array, yaw: float, length: float, count: int) -> tuple[Array, Array]:
    """An ellipse of the given length through the start, gaze nearly steady, with some rise and fall."""
    across, along = spec.clear
    ratio = along / across
    # Ramanujan's perimeter of an ellipse with half-axes a and ratio·a
    unit = np.pi * (3 * (1 + ratio) - np.sqrt((3 + ratio) * (1 + 3 * ratio)))
    a = length / unit
    if a > 1.05 * across:
        raise ConfigError(
            f"A loop of {length:.3g} m does not fit into this scene's free space (at most {unit * across:.3g} m); "
            "use a smaller --size, fewer --frames, or the whole path."
        )
    t = 2 * np.pi * np.arange(count + 1) / count
    side, ahead = a * np.sin(t), a * ratio * (1 - np.cos(t)) - a * ratio
    ahead -= ahead[0]
    rise = 0.12 * min(a, 1.0) * np.sin(2 * t)
    right, forward = np.array([np.cos(yaw), -np.sin(yaw)]), np.array([np.sin(yaw), np.cos(yaw)])
    flat = side[:, None] * right + ahead[:, None] * forward
    position = start + np.stack([flat[:, 0], rise, flat[:, 1]], -1)
    amplitude = np.deg2rad(min(10.0, 0.12 * count))
    angles = np.stack(
        [spec.pitch + 0.3 * amplitude * np.sin(t), yaw - amplitude * np.sin(t), 0.1 * np.sin(t)], -1
    )
    return position, angles
