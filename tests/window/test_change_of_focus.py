# SPDX-License-Identifier: Apache-2.0
"""Going over to another focus: what is rescaled, what is forgotten, what stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from decoded_frames import CAMERA, VIEW, wall
from random_systems import random_system

from prism_vo import se3
from prism_vo.config import SelectConfig, WindowConfig
from prism_vo.linear.marginal import marginalise
from prism_vo.optics.focus import FocusModel
from prism_vo.points.candidates import select_candidates
from prism_vo.sensor import DecodedSensor
from prism_vo.tracking.pyramid import image_pyramid
from prism_vo.window.conditional import ConditionalPoses
from prism_vo.window.refocus import seen_in
from prism_vo.window.terms.prior import Prior

FOCUS = FocusModel.of(VIEW, CAMERA)


def test_measured_candidates_are_read_again_and_traced_ones_follow_the_poses() -> None:
    raw = wall(1)[0][0]
    image = image_pyramid(raw.image, 1)[0]
    sensor, config = DecodedSensor(VIEW), SelectConfig()

    def select(view):  # type: ignore[no-untyped-def]
        rng = np.random.default_rng(0)
        return select_candidates(
            view, image, lambda p: sensor.measure(raw, p), 200, config, WindowConfig().contrast, rng
        )

    now = FOCUS.at(0.05)
    before, expected = select(VIEW), select(now)
    traced = np.arange(len(before)) % 2 == 0
    before = replace(before, quality=np.where(traced, 2.0, 0.0).astype(np.float32))
    again = seen_in(before, VIEW, now, factor=1.25)
    np.testing.assert_allclose(again.inv_depth[~traced], expected.inv_depth[~traced], rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(again.inv_depth[traced], before.inv_depth[traced] / 1.25)
    np.testing.assert_allclose(again.high[traced], before.high[traced] / 1.25)
    # what a measurement leaves open stands on the focus, whatever was found since
    np.testing.assert_allclose(again.widest_low, expected.widest_low, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(again.widest_high, expected.widest_high, rtol=1e-5, atol=1e-3)
    assert seen_in(before, VIEW, VIEW, 3.0) is before


def test_the_prior_forgets_the_camera_and_keeps_what_it_knew_of_the_poses() -> None:
    system, _, _ = random_system(4, frames=3, camera=1)
    prior = Prior(system.h, system.b, 1)
    forgotten = prior.without_camera()
    drop = np.arange(25) == 24
    h, b = marginalise(system.h, system.b, drop)
    np.testing.assert_allclose(forgotten.h[:24, :24], h)
    np.testing.assert_allclose(forgotten.b[:24], b)
    assert not forgotten.involves_camera and len(forgotten.b) == 25


def test_scaled_poses_are_those_of_a_larger_world() -> None:
    rng = np.random.default_rng(1)
    origin, factor = rng.normal(size=3), 1.3
    pose = se3.exp(rng.normal(size=6))
    grown = se3.scaled(pose, origin, factor)
    point = rng.normal(size=3)
    np.testing.assert_allclose(
        se3.transform(grown, origin + factor * (point - origin)),
        factor * se3.transform(pose, point),
        atol=1e-12,
    )


def test_conditional_poses_follow_in_the_larger_world_as_they_did() -> None:
    """Scaling and following commute."""
    rng = np.random.default_rng(2)
    origin, factor = rng.normal(size=3), 0.7
    poses = np.array([se3.exp(rng.normal(size=6)) for _ in range(3)])
    gain = rng.normal(size=(6, 12))
    before = ConditionalPoses([0], [1, 2], poses[:1], poses[1:], gain, np.zeros(1), np.ones((6, 1)))
    after = before.scaled(origin, factor)
    change = 1e-3 * rng.normal(size=12)
    lengths = np.tile([factor] * 3 + [1.0] * 3, 2)
    np.testing.assert_allclose(after.gain @ (lengths * change), lengths[:6] * (gain @ change), atol=1e-12)
    np.testing.assert_allclose(after.left_poses[0], se3.scaled(poses[0], origin, factor))
    assert not after.camera_gain.any()  # it stood on numbers that were wrong
