# SPDX-License-Identifier: Apache-2.0
"""Paths: loops close, neighbouring frames overlap, nobody walks through a wall."""

from __future__ import annotations

import numpy as np
import pytest

from prism_vo.errors import ConfigError
from prism_vo.se3 import inverse, rotation_angle
from prism_vo.simulate import CATALOGUE, PRESETS, Renderer, build_scene, plan, preset_camera

LOOPS = [name for name, entry in CATALOGUE.items() if entry.path.kind == "walk"]


def steps(poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance and angle from each pose to the next, around the loop."""
    moves = [inverse(a) @ b for a, b in zip(poses, np.roll(poses, -1, 0))]
    return np.array([np.linalg.norm(m[:3, 3]) for m in moves]), np.array(
        [rotation_angle(m[:3, :3]) for m in moves]
    )


@pytest.mark.parametrize("name", LOOPS)
def test_loops_end_where_they_began_at_a_walking_pace(name):
    spec = CATALOGUE[name].path
    whole = plan(spec, None, 0)
    distance, angle = steps(whole.poses)
    assert distance.max() < 1.5 * spec.step + 0.02  # closing step included
    assert np.rad2deg(angle).max() < 2.2
    assert 9.0 < whole.length < 210.0


@pytest.mark.parametrize("name", ["room", "street", "seq_003", "seq_009"])
def test_smaller_loops_close_and_have_the_length_asked_for(name):
    track = plan(CATALOGUE[name].path, 100, 1, size=4.0)
    distance, angle = steps(track.poses)
    assert len(track.poses) == 100
    assert track.length == pytest.approx(4.0, rel=0.35)  # the hand adds its own way
    assert distance.max() < 0.12
    assert np.rad2deg(angle).max() < 2.0
    assert np.linalg.svd(np.diff(track.poses[:, :3, 3], axis=0))[1][1] > 0.05  # not a straight line


def test_open_sweeps_are_cut_short_not_hurried():
    spec = CATALOGUE["table"].path
    whole, part = plan(spec, None, 0), plan(spec, 60, 0)
    np.testing.assert_allclose(part.poses, whole.poses[:60], atol=1e-9)


def test_image_motion_is_a_few_per_cent_of_the_width():
    for name in ("room", "seq_005", "seq_008", "table"):
        entry = CATALOGUE[name]
        track, preset = plan(entry.path, None, 0), PRESETS[entry.camera]
        renderer = Renderer(preset_camera("mini"), build_scene(name), samples=1)
        half = preset.size[0] * preset.pixel_um * 1e-3 / 2 / (preset.b_L0 + preset.B)
        for k in np.linspace(0, len(track.poses) - 2, 6).astype(int):
            depth = np.median(renderer.depth(track.poses[k]))
            move = inverse(track.poses[k]) @ track.poses[k + 1]
            flow = np.hypot(*move[:2, 3]) / depth + rotation_angle(move[:3, :3])
            assert flow / (2 * half) < 0.045


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_nothing_stands_in_the_way(name):
    entry = CATALOGUE[name]
    track = plan(entry.path, None, 0)
    renderer = Renderer(preset_camera("mini"), build_scene(name), samples=1)
    shortest = [renderer.depth(pose).min() for pose in track.poses[:: max(1, len(track.poses) // 40)]]
    assert min(shortest) > 0.25


def test_impossible_wishes_are_one_sentence():
    spec = CATALOGUE["room"].path
    for wrong in ({"frames": 0}, {"frames": 50, "size": -1.0}, {"frames": 50, "size": 900.0}):
        with pytest.raises(ConfigError):
            plan(spec, wrong["frames"], 0, wrong.get("size"))
