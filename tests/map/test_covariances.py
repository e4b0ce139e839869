# SPDX-License-Identifier: Apache-2.0
"""Frames between keyframes, and beyond the last one, err as these do."""

import numpy as np
import pytest

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.map.between import PlacedFrame
from prism_vo.map.covariances import between, of_frame
from prism_vo.map.span import Span

PLACES = {0: 0.0, 1: 1.0, 2: 1.5, 4: 3.0}  # keyframes along a bent path
SCALE = 0.02


def pose(along: float) -> Array:
    """T_view_world."""
    T_world_view = se3.exp(np.array([0.0, 0.0, 0.0, 0.1, 0.3, -0.2]) * along)
    T_world_view[:3, 3] = along * np.array([0.1, -0.2, 1.0])
    return se3.inverse(T_world_view)


def of_scale(T_view_world: Array) -> Array:
    """What a path errs by whose lengths are wrong by SCALE, all by the same: a left tangent."""
    moved = SCALE * T_view_world[:3, 3]
    error = np.concatenate([moved, np.zeros(3)])
    return np.outer(error, error)


POSES = {k: pose(along) for k, along in PLACES.items()}
SEGMENT = dict.fromkeys(PLACES, 0)


@pytest.mark.parametrize(
    "keyframe, next_keyframe, along", [(0, 1, 0.5), (1, 2, 1.2), (2, 4, 2.9), (4, None, 3.0), (4, None, 3.8)]
)
def test_a_wrong_scale_is_as_wrong_between_keyframes(
    keyframe: int, next_keyframe: int | None, along: float
) -> None:
    T = pose(along)
    span = None
    if next_keyframe is not None:
        span = Span(next_keyframe, POSES[next_keyframe] @ se3.inverse(POSES[keyframe]))
    frame = PlacedFrame(0.0, keyframe, T @ se3.inverse(POSES[keyframe]), span=span)
    found = of_frame(frame, {k: of_scale(T) for k, T in POSES.items()}, POSES, SEGMENT)
    assert found is not None
    np.testing.assert_allclose(found[:3, :3], of_scale(T)[:3, :3], atol=1e-9)


def test_its_own_uncertainty_comes_on_top_and_another_segment_says_nothing() -> None:
    own, covariances = 1e-4 * np.eye(6), {k: of_scale(T) for k, T in POSES.items()}
    frame = PlacedFrame(0.0, 4, pose(3.8) @ se3.inverse(POSES[4]), covariance=own)
    alone = of_frame(frame, covariances, POSES, {**SEGMENT, 4: 1})
    adjoint = se3.adjoint(frame.T_frame_ref)
    assert alone is not None
    np.testing.assert_allclose(alone, adjoint @ covariances[4] @ adjoint.T + own)
    assert of_frame(frame, {}, POSES, SEGMENT) is None


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0, 1.5])
def test_between_is_at_most_as_uncertain_as_errors_that_go_together(share: float) -> None:
    rng = np.random.default_rng(3)
    roots = rng.normal(size=(2, 6, 6)) * np.array([1e-3] * 3 + [1.0] * 3)[:, None]
    first, second = (root @ root.T for root in roots)
    found = between(first, second, share)
    assert np.linalg.eigvalsh(found).min() > -1e-12
    most = abs(1 - share) * np.sqrt(np.diag(first)) + share * np.sqrt(np.diag(second))
    assert (np.sqrt(np.diag(found)) <= most * (1 + 1e-9)).all()
    if share in (0.0, 1.0):
        np.testing.assert_allclose(found, (first, second)[int(share)], rtol=1e-8, atol=1e-18)
    np.testing.assert_allclose(
        between(np.zeros((6, 6)), second, share), share**2 * second, rtol=1e-8, atol=1e-18
    )
