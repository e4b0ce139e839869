# SPDX-License-Identifier: Apache-2.0
"""The baselines' image alignment on images whose motion is known."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from plane_scene import Relief, arc, near_depth_edge, pinhole_view

from prism_vo import se3
from prism_vo.baselines import alignment
from prism_vo.baselines.sampling import gradients, image_pyramid


def keyframe(view, scene, pose):  # type: ignore[no-untyped-def]
    image, depth = scene.render(view, pose)
    q = view.inv_depth_of(depth)
    return image, q, np.where(near_depth_edge(depth), np.inf, 1e-6)


def test_a_known_motion_and_brightness_are_found() -> None:
    view, scene = pinhole_view(), Relief()
    poses = arc(12)
    levels = alignment.level_count(view)
    reference = alignment.keyframe_levels(view, *keyframe(view, scene, poses[0]), levels)
    image, _ = scene.render(view, poses[1])
    frame = image_pyramid((0.8 * image + 12).astype(np.float32), levels)
    result = alignment.align(reference, frame, np.eye(4), noise=2.0)
    error = se3.log(se3.inverse(poses[1]) @ poses[0] @ se3.inverse(result.T_frame_key))
    assert np.linalg.norm(error[:3]) < 3e-4 and np.linalg.norm(error[3:]) < 3e-4
    assert result.gain == pytest.approx(0.8, abs=0.02) and result.bias == pytest.approx(12, abs=3)
    assert result.ok and result.visible > 0.7


def test_another_scene_is_not_called_tracked() -> None:
    view = pinhole_view()
    levels = alignment.level_count(view)
    reference = alignment.keyframe_levels(view, *keyframe(view, Relief(3), np.eye(4)), levels)
    image, _ = Relief(4).render(view, np.eye(4))
    assert not alignment.align(reference, image_pyramid(image, levels), np.eye(4), noise=2.0).ok


def test_the_jacobian_is_the_derivative() -> None:
    view, scene = pinhole_view(), Relief()
    reference = alignment.keyframe_levels(view, *keyframe(view, scene, arc(6)[0]), 1)[0]
    # a plane as image: bilinear sampling and central differences are exact on it
    y, x = np.mgrid[: view.height, : view.width].astype(np.float32)
    image = 0.7 * x - 0.4 * y + 3
    slopes = gradients(image)
    T = se3.inverse(arc(40)[1])

    inner = (
        np.abs(reference.rays[:, :2]).max(1) < 0.25
    )  # these stay in the image, so the visible share is constant
    assert inner.sum() > 1000
    reference = dataclasses.replace(
        reference,
        **{
            name: getattr(reference, name)[inner]
            for name in ("rays", "inv_depth", "variance", "intensity", "slope")
        },
    )
    sigma2 = np.full(inner.sum(), 1e8)  # no robust weights

    def energy(xi: np.ndarray) -> float:
        state = alignment._State(se3.exp(xi[:6]) @ T, 1 + xi[6], xi[7])
        return alignment._linearise(reference, image, slopes, state, sigma2).energy

    b = alignment._linearise(reference, image, slopes, alignment._State(T, 1.0, 0.0), sigma2).b
    steps = 1e-3 * np.eye(8)
    numeric = np.array([(energy(s) - energy(-s)) / 2e-3 for s in steps])
    np.testing.assert_allclose(2 * b / inner.sum(), numeric, rtol=1e-3, atol=1e-4 * np.abs(numeric[:6]).min())


def test_view_conjugation_round_trip() -> None:
    view = pinhole_view()
    focal_like = type(view)("focal", 10, 10, 100.0, 4.5, 4.5, 0.016, 2.0, 0.7, 0.0, 1.0)
    T = se3.exp(np.array([0.1, -0.2, 0.3, 0.1, 0.2, -0.1]))
    np.testing.assert_allclose(
        alignment.from_view(alignment.to_view(T, focal_like), focal_like), T, atol=1e-15
    )
    point = np.array([0.2, 0.1, 1.4])
    moved = se3.transform(T, point)
    expected = focal_like.project(moved)
    in_view = se3.transform(alignment.to_view(T, focal_like), point - [0, 0, 0.016])
    np.testing.assert_allclose(in_view[:2] / in_view[2] * 100 + 4.5, expected, atol=1e-9)
