# SPDX-License-Identifier: Apache-2.0
"""Drift over a loop: how differently the start and the end of an estimate align to ground truth.

``T_start`` and ``T_end`` ∈ Sim(3) take the estimate to ground truth on the two segments; their difference
``T_drift = T_end T_start⁻¹`` holds everything that went wrong in between (docs/evaluation.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.errors import DegenerateError

MIN_SEGMENT_POSES = 20
MIN_SPARSE_POSES = 5  # of keyframes, which stand for the frames between them
SPARSE = 0.5  # share of the frames below which an estimate consists of keyframes
SPARSE_FACTORS = (1.0, 1.5, 2.0)  # of the usual share of the recording
COLLINEAR_RATIO = (
    0.01  # RMS spread across a path over the spread along it, below which its roll is not determined
)
GAP_INTERVALS = 5.0  # a gap in the ground truth is this many times its usual interval …
GAP_SHARE = 0.1  # … and this share of its duration


@dataclass(frozen=True)
class Drift:
    """The paper's drift metrics of one loop."""

    d_s: float  # scale of the whole estimate, √(s_e s_s)
    e_s: float  # scale drift, s_e/s_s
    e_r_deg: float  # rotation drift
    e_align: float  # m, RMS distance between the two alignments of all poses
    e_align_percent: float  # of the path length
    path_length: float  # m, that e_align_percent refers to
    start: se3.Similarity
    end: se3.Similarity
    start_poses: int
    end_poses: int

    @property
    def d_s_prime(self) -> float:
        """max(d_s, 1/d_s) ≥ 1."""
        return max(self.d_s, 1.0 / self.d_s)

    @property
    def e_s_prime(self) -> float:
        """max(e_s, 1/e_s) ≥ 1."""
        return max(self.e_s, 1.0 / self.e_s)


def path_length(positions: Array) -> float:
    """Length of the polygon through positions (N, 3)."""
    return float(np.linalg.norm(np.diff(positions, axis=0), axis=1).sum())


def collinearity(positions: Array) -> float:
    """RMS spread along the second principal axis over that along the first: 0 for a straight line."""
    s = np.linalg.svd(positions - positions.mean(0), compute_uv=False)
    return float(s[1] / s[0]) if s[0] > 0 else 0.0


def require_spread(positions: Array, what: str, ratio: float = COLLINEAR_RATIO) -> None:
    """Refuse positions that do not determine a rotation, saying which ones."""
    extent = np.ptp(positions, axis=0).max()
    if extent <= 1e-9 * max(1.0, float(np.abs(positions).max())):
        raise DegenerateError(f"The camera does not move in {what}: no alignment is determined.")
    if collinearity(positions) < ratio:
        raise DegenerateError(
            f"The camera moves along a straight line in {what}: the rotation about it is not determined."
        )


def truth_gap(times: Array) -> tuple[float, float] | None:
    """(last stamp before, first after) the gap of a ground truth that covers only the ends of a loop."""
    if len(times) < 4:
        return None
    steps = np.diff(times)
    k = int(np.argmax(steps))
    is_gap = steps[k] > GAP_INTERVALS * np.median(steps) and steps[k] > GAP_SHARE * (times[-1] - times[0])
    return (float(times[k]), float(times[k + 1])) if is_gap else None


def sparse_segments(times: Array, span: tuple[float, float], share: float) -> tuple[slice, slice]:
    """The same for keyframes alone: the poses in the outer ``share`` of the recording's time, or of a little more.

    Fewer poses than frames determine a segment well enough if they are spread over it.
    """
    start, end = span
    for factor in SPARSE_FACTORS:
        reach = min(factor * share, 0.5) * (end - start)
        first, last = int(np.sum(times <= start + reach)), int(np.sum(times >= end - reach))
        if min(first, last) >= MIN_SPARSE_POSES:
            return slice(0, first), slice(len(times) - last, len(times))
    raise DegenerateError(
        f"The ends of the loop have {first} and {last} keyframes; drift needs at least {MIN_SPARSE_POSES} each."
    )


def loop_segments(times: Array, gap: tuple[float, float] | None, share: float) -> tuple[slice, slice]:
    """Start and end segment of the matched poses: around the gap, else the outer ``share`` each."""
    count = len(times)
    if gap is not None:
        first, last = int(np.sum(times <= gap[0])), int(np.sum(times >= gap[1]))
    else:
        first = last = int(share * count + 1e-9)
    for name, size in (("start", first), ("end", last)):
        if size < MIN_SEGMENT_POSES:
            raise DegenerateError(
                f"The {name} segment has {size} poses with ground truth; "
                f"drift needs at least {MIN_SEGMENT_POSES} at either end."
            )
    return slice(0, first), slice(count - last, count)


def measure_drift(
    estimated: Array, true: Array, all_estimated: Array, segments: tuple[slice, slice], length: float | None
) -> Drift:
    """Drift metrics from matched positions (N, 3) and all estimated positions (M, 3).

    ``length`` is the ground-truth path length in metres; ``None`` when only the ends have truth (then d_s
    times the estimated length stands in).
    """
    alignments = []
    for segment, name in zip(segments, ("start", "end")):
        require_spread(true[segment], f"the {name} segment of the ground truth")
        require_spread(estimated[segment], f"the {name} segment of the estimate", ratio=0.0)
        alignments.append(se3.align(estimated[segment], true[segment], with_scale=True))
    start, end = alignments
    drift = end.compose(start.inverse())
    d_s = float(np.sqrt(end.scale * start.scale))
    length = d_s * path_length(all_estimated) if length is None else length
    apart = np.linalg.norm(start.apply(all_estimated) - end.apply(all_estimated), axis=1)
    e_align = float(np.sqrt(np.mean(apart**2)))
    return Drift(
        d_s=d_s,
        e_s=drift.scale,
        e_r_deg=float(np.degrees(se3.rotation_angle(drift.rotation))),
        e_align=e_align,
        e_align_percent=100.0 * e_align / length,
        path_length=length,
        start=start,
        end=end,
        start_poses=segments[0].stop - segments[0].start,
        end_poses=segments[1].stop - segments[1].start,
    )
