# SPDX-License-Identifier: Apache-2.0
"""How well a frame is known: from how well two keyframes of its path are.

What errs at a keyframe errs at all frames near it in proportion to the way: a path that is too long by 1 % is so
between keyframes, too, and beyond the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.map.between import PlacedFrame

LEAST_SIGMA = 1e-12  # m or rad: divides where nothing is uncertain
FARTHEST = 2.0  # times the way from one keyframe to the other that a frame may lie from the first
TRIED = 7  # keyframes before the last one, to find a way as long as that of a frame beyond it


def of_frame(
    frame: PlacedFrame,
    covariances: Mapping[int, Array],
    poses: Mapping[int, Array],
    segment: Mapping[int, int],
) -> Array | None:
    """(6, 6) of its T_frame_world, left tangent, from those of keyframes by their ids; None: not known yet."""
    known = covariances.get(frame.keyframe)
    if known is None:
        return None
    T_frame_world = frame.T_frame_ref @ poses[frame.keyframe]
    found = _carried(known, frame.T_frame_ref)
    at, here = _centre(poses[frame.keyframe]), _centre(T_frame_world)
    others = [] if np.array_equal(here, at) else _other_keyframes(frame, covariances, poses, segment)
    if others:
        far = [k for k in others if np.linalg.norm(_centre(poses[k]) - at) >= np.linalg.norm(here - at)]
        other = far[0] if far else others[-1]
        there = _carried(covariances[other], T_frame_world @ se3.inverse(poses[other]))
        found = between(there, found, _share(_centre(poses[other]), at, here))
    return found if frame.covariance is None else found + frame.covariance


def _other_keyframes(
    frame: PlacedFrame,
    covariances: Mapping[int, Array],
    poses: Mapping[int, Array],
    segment: Mapping[int, int],
) -> list[int]:
    """The one after the frame, or those before its own if that is the last, the latest first."""
    if frame.span is not None and frame.span.next in covariances and frame.span.next in poses:
        return [frame.span.next]
    before = (k for k in range(frame.keyframe - 1, -1, -1) if k in covariances and k in poses)
    return list(islice((k for k in before if segment.get(k) == segment.get(frame.keyframe)), TRIED))


def _share(first: Array, second: Array, here: Array) -> float:
    """Of the way from one place to another."""
    way = second - first
    return float(np.clip((here - first) @ way / max(float(way @ way), LEAST_SIGMA), 0.0, FARTHEST))


def between(first: Array, second: Array, share: float) -> Array:
    """Covariance of ``(1 − share) a + share b`` for errors a and b (N,) of which each explains as much of the other as
    their covariances allow; ``share`` may exceed 1."""
    scale = np.sqrt(np.diag(first) + np.diag(second)) + LEAST_SIGMA  # metres and radians alike
    a, b = (_root(c / np.outer(scale, scale)) for c in (first, second))
    u, _, vt = np.linalg.svd(a.T @ b)
    root = scale[:, None] * ((1.0 - share) * a @ u + share * b @ vt.T)
    return np.asarray(root @ root.T)


def _root(covariance: Array) -> Array:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _carried(covariance: Array, T: Array) -> Array:
    adjoint = se3.adjoint(T)
    return np.asarray(adjoint @ covariance @ adjoint.T)


def _centre(T_view_world: Array) -> Array:
    return np.asarray(se3.inverse(T_view_world)[:3, 3])
