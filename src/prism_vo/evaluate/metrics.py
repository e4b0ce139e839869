# SPDX-License-Identifier: Apache-2.0
"""Trajectory metrics: absolute and relative pose error under SE(3) and Sim(3), scale error, drift. No I/O.

The estimate is never changed; an alignment is part of the result. Definitions: docs/evaluation.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.errors import DegenerateError
from prism_vo.evaluate import drift as loop
from prism_vo.evaluate.association import PoseSeries, TrajectoryLike, as_series, associate, covered_share

Alignment = Literal["SE(3)", "Sim(3)"]

MIN_POSES = 3
FULL_COLLINEAR_RATIO = 1e-4  # over a whole path: only what is a straight line to the precision of its file
SEGMENT_COLLINEAR_RATIO = 1e-2  # of a segment: those that are straighter are aligned by a pose
RPE_TOLERANCE = 0.1  # a pair of poses counts as delta apart within this share of delta


@dataclass(frozen=True)
class RelativeError:
    """Relative pose error of pose pairs a fixed length of ground-truth path apart."""

    delta: float  # m
    pairs: int
    translation: float  # RMSE, m per delta
    rotation_deg: float  # RMSE, degrees per delta


@dataclass(frozen=True)
class AlignedError:
    """Absolute pose error after one alignment. ``rmse_t`` is what others call ATE."""

    alignment: Alignment
    transform: se3.Similarity  # estimate → ground truth; that of the largest segment
    rmse_t: float  # m
    rmse_t_percent: float  # of the ground-truth path
    rmse_r_deg: float
    median_t: float  # m
    max_t: float  # m
    relative: RelativeError | None  # None: the path is shorter than delta
    errors_t: Array  # (N,) m, per matched pose
    errors_r_deg: Array  # (N,)


@dataclass(frozen=True)
class TrajectoryMetrics:
    """Everything measured on one estimate."""

    se3: AlignedError
    sim3: AlignedError
    scale: float  # factor that takes the estimate to true size (Sim(3) over all matched poses of the largest segment)
    path_length: float  # m, ground truth over the matched poses (scaled estimate where truth has a gap)
    matched: int
    estimated: int
    covered: float  # share of the ground-truth poses with an estimate
    drift: loop.Drift | None
    drift_refusal: str  # why there is no drift, else empty
    times: Array  # (N,) of the matched poses
    segments: int = 1  # separate worlds among them; each is aligned by itself

    @property
    def scale_error(self) -> float:
        """max(s, 1/s) − 1: 0.02 means two per cent too large or too small."""
        return max(self.scale, 1.0 / self.scale) - 1.0

    def aligned(self, alignment: Alignment) -> AlignedError:
        """The errors under one alignment."""
        return self.se3 if alignment == "SE(3)" else self.sim3


def evaluate_trajectory(
    estimate: TrajectoryLike,
    truth: TrajectoryLike,
    *,
    max_difference: float = 0.01,
    rpe_delta: float = 1.0,
    segment_share: float = 0.15,
) -> TrajectoryMetrics:
    """Measure an estimate (camera-to-world poses) against ground truth.

    Raises ``DegenerateError`` when the two share too few poses or a straight line leaves the rotation
    open. Drift needs more; if only drift is impossible, ``drift`` is None and ``drift_refusal`` says why.
    """
    all_estimated, all_true = as_series(estimate), as_series(truth)
    chosen, partners = associate(all_estimated, all_true, max_difference)
    if len(chosen) < MIN_POSES:
        raise DegenerateError(f"Only {len(chosen)} poses have ground truth; at least {MIN_POSES} are needed.")
    est, true = all_estimated.take(chosen), all_true.take(partners)
    loop.require_spread(true.positions, "the ground truth", FULL_COLLINEAR_RATIO)
    loop.require_spread(est.positions, "the estimate", 0.0)
    gap = loop.truth_gap(all_true.times)
    span = float(all_true.times[0]), float(all_true.times[-1])
    sparse = len(chosen) < loop.SPARSE * len(all_true.times) and gap is None
    drift, refusal = _drift_or_reason(est, true, all_estimated, gap, segment_share, span if sparse else None)
    scale = _alignment(est, true, est.worlds()[0], "Sim(3)").scale
    length = loop.path_length(true.positions)
    if gap is not None:
        worlds = all_estimated.worlds()
        length = scale * sum(loop.path_length(all_estimated.positions[world]) for world in worlds)
    return TrajectoryMetrics(
        se3=absolute_error(est, true, "SE(3)", length, rpe_delta, gap),
        sim3=absolute_error(est, true, "Sim(3)", length, rpe_delta, gap),
        scale=scale,
        path_length=length,
        matched=len(chosen),
        estimated=len(all_estimated.times),
        covered=covered_share(all_estimated, all_true, max_difference),
        drift=drift,
        drift_refusal=refusal,
        times=est.times,
        segments=len(est.worlds()),
    )


def _drift_or_reason(
    est: PoseSeries,
    true: PoseSeries,
    all_estimated: PoseSeries,
    gap: tuple[float, float] | None,
    share: float,
    sparse_span: tuple[float, float] | None,
) -> tuple[loop.Drift | None, str]:
    worlds = len(est.worlds())
    if worlds > 1:
        return None, f"the estimate has {worlds} segments, each in its own world; drift needs one."
    try:
        if sparse_span is not None:
            segments = loop.sparse_segments(true.times, sparse_span, share)
        else:
            segments = loop.loop_segments(true.times, gap, share)
        length = None if gap is not None else loop.path_length(true.positions)
        return loop.measure_drift(
            est.positions, true.positions, all_estimated.positions, segments, length
        ), ""
    except DegenerateError as error:
        return None, str(error)


def absolute_error(
    est: PoseSeries,
    true: PoseSeries,
    alignment: Alignment,
    length: float,
    rpe_delta: float,
    gap: tuple[float, float] | None = None,
) -> AlignedError:
    """Absolute and relative pose error of matched poses after least-squares alignment of the positions, those of each
    segment by themselves."""
    worlds = est.worlds()
    transforms = [_alignment(est, true, world, alignment) for world in worlds]
    moved = est.poses.copy()
    for world, transform in zip(worlds, transforms):
        moved[world] = apply_similarity(transform, est.poses[world])
    errors_t = np.linalg.norm(moved[:, :3, 3] - true.positions, axis=1)
    errors_r = rotation_angles_deg(_transposed(true.poses[:, :3, :3]) @ moved[:, :3, :3])
    return AlignedError(
        alignment=alignment,
        transform=transforms[0],
        rmse_t=_rms(errors_t),
        rmse_t_percent=100.0 * _rms(errors_t) / length,
        rmse_r_deg=_rms(errors_r),
        median_t=float(np.median(errors_t)),
        max_t=float(errors_t.max()),
        relative=relative_error(PoseSeries(true.times, moved, est.segments), true, rpe_delta, gap),
        errors_t=errors_t,
        errors_r_deg=errors_r,
    )


def _alignment(
    est: PoseSeries, true: PoseSeries, world: NDArray[np.intp], alignment: Alignment
) -> se3.Similarity:
    """Of the poses of one world; of so few that positions leave the rotation open, by the pose in their middle."""
    ours, theirs = est.positions[world], true.positions[world]
    try:
        if est.segments is not None:
            loop.require_spread(theirs, "a segment", SEGMENT_COLLINEAR_RATIO)
        return se3.align(ours, theirs, with_scale=alignment == "Sim(3)")
    except DegenerateError:
        middle = world[len(world) // 2]
        moved = true.poses[middle] @ se3.inverse(est.poses[middle])
        return se3.Similarity(1.0, moved[:3, :3], moved[:3, 3])


def relative_error(
    est: PoseSeries, true: PoseSeries, delta: float, gap: tuple[float, float] | None = None
) -> RelativeError | None:
    """RMSE of ``(Q_i⁻¹ Q_j)⁻¹ (P_i⁻¹ P_j)`` over all pairs ``delta`` metres of ground-truth path apart."""
    first, second = pairs_by_path(true.positions, delta)
    if gap is not None:
        inside = (true.times[first] <= gap[0]) == (true.times[second] <= gap[0])
        first, second = first[inside], second[inside]
    if est.segments is not None:
        together = est.segments[first] == est.segments[second]
        first, second = first[together], second[together]
    if len(first) == 0:
        return None
    true_motion = np.linalg.inv(true.poses[first]) @ true.poses[second]
    est_motion = np.linalg.inv(est.poses[first]) @ est.poses[second]
    error = np.linalg.inv(true_motion) @ est_motion
    return RelativeError(
        delta=delta,
        pairs=len(first),
        translation=_rms(np.linalg.norm(error[:, :3, 3], axis=1)),
        rotation_deg=_rms(rotation_angles_deg(error[:, :3, :3])),
    )


def pairs_by_path(positions: Array, delta: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All (i, j), i < j, whose path distance is nearest to ``delta`` and within the tolerance of it."""
    steps = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    travelled = np.concatenate([[0.0], np.cumsum(steps)])
    pairs = []
    for i in range(len(positions) - 1):
        distance = np.abs(travelled[i + 1 :] - travelled[i] - delta)
        j = int(np.argmin(distance))
        if distance[j] <= RPE_TOLERANCE * delta:
            pairs.append((i, i + 1 + j))
    table = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def apply_similarity(t: se3.Similarity, poses: Array) -> Array:
    """Poses (N, 4, 4) in another world: positions mapped, orientations rotated (they carry no scale)."""
    out = poses.copy()
    out[:, :3, :3] = t.rotation @ poses[:, :3, :3]
    out[:, :3, 3] = t.apply(poses[:, :3, 3])
    return out


def rotation_angles_deg(rotations: Array) -> Array:
    """Angles of rotation matrices (N, 3, 3) in degrees, accurate near 0 and near 180."""
    skew = rotations - _transposed(rotations)
    sine = 0.5 * np.sqrt(skew[:, 2, 1] ** 2 + skew[:, 0, 2] ** 2 + skew[:, 1, 0] ** 2)
    cosine = 0.5 * (np.trace(rotations, axis1=1, axis2=2) - 1.0)
    return np.degrees(np.arctan2(sine, cosine))


def _transposed(matrices: Array) -> Array:
    return matrices.transpose(0, 2, 1)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
