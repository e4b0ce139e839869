# SPDX-License-Identifier: Apache-2.0
"""What the renderer promises: exact depth, mirrors that mirror, the same bytes whatever the threads."""

from __future__ import annotations

import numpy as np
import pytest

from prism_vo.errors import ConfigError
from prism_vo.simulate import (
    CATALOGUE,
    Renderer,
    Scene,
    SensorModel,
    build_scene,
    plan,
    plane_scene,
    preset_camera,
)
from prism_vo.simulate.mesh import Material, MeshBuilder
from prism_vo.simulate.render import _shared_out
from prism_vo.simulate.sensor import develop
from prism_vo.simulate.textures import atlas_for
from prism_vo.simulate.write import BLUR_POSES

MINI = preset_camera("mini")
POSE = np.eye(4)


def test_images_do_not_depend_on_threads_and_noise_depends_on_seed_and_frame():
    scene = build_scene("fan")
    one, three = (Renderer(MINI, scene, threads=n, seed=5).raw(POSE, frame=3, time=0.2) for n in (1, 3))
    assert one.tobytes() == three.tobytes()
    renderer = Renderer(MINI, scene, seed=5)
    assert renderer.raw(POSE, frame=4, time=0.2).tobytes() != one.tobytes()
    assert Renderer(MINI, scene, seed=6).raw(POSE, frame=3, time=0.2).tobytes() != one.tobytes()


@pytest.mark.parametrize("view", ["central", "focal"])
def test_depth_of_a_tilted_plane_is_exact(view):
    builder = MeshBuilder()
    builder.quad((-3, -3, 0.8), (6, 0, 1.2), (0, 6, 0), Material("clutter", 1.0))
    renderer = Renderer(MINI, Scene("tilted", builder, atlas_for({"clutter"})))
    f, b0, B = 16.0, MINI.main_lens.mla_distance_mm, MINI.mla.sensor_distance_mm
    s = 2 * MINI.sensor.pixel_size_um * 1e-3
    cx, _ = ((c + 0.5) / 2 - 0.5 for c in MINI.main_lens.principal_point_px)
    x = (np.arange(192) - cx) * s / (f if view == "focal" else b0 + B)
    z0 = f * 1e-3 if view == "focal" else 0.0
    expected = (1.4 - 0.2 * x * z0) / (1 - 0.2 * x)  # z = 1.4 + 0.2 X on the plane, X = x (z − z0) on the ray
    assert np.abs(renderer.depth(POSE, view) / expected - 1).max() < 2e-6


def test_a_mirror_shows_what_stands_behind_the_observer_at_the_distance_of_its_image():
    mirror, wall = 1.0, -2.0  # seen in the mirror the wall stands 1 + 3 m away, left and right exchanged
    material = Material("clutter", 2.0, macro=0.0)
    with_mirror, direct = MeshBuilder(), MeshBuilder()
    glass = Material("plain", own=0.0, reflect=1.0)
    with_mirror.quad((-9, -9, mirror), (18, 0, 0), (0, 18, 0), glass)
    with_mirror.quad((-9, -9, wall), (18, 0, 0), (0, 18, 0), material)
    direct.quad((-9, -9, 2 * mirror - wall), (18, 0, 0), (0, 18, 0), material)
    atlas = atlas_for({"clutter", "plain"})
    images = [Renderer(MINI, Scene("m", b, atlas), seed=1).irradiance(POSE) for b in (with_mirror, direct)]
    assert images[1].std() > 0.02
    np.testing.assert_allclose(images[0], images[1], atol=2e-3)


def test_glass_lets_most_light_through_and_depth_ignores_it():
    atlas = atlas_for({"clutter", "plain"})
    pane = Material("plain", macro=0.0, own=0.0, reflect=0.04, transmit=0.9)
    bare, covered = MeshBuilder(), MeshBuilder()
    for builder in (bare, covered):
        builder.quad((-9, -9, 2.0), (18, 0, 0), (0, 18, 0), Material("clutter", 1.0))
    covered.quad((-9, -9, 0.7), (18, 0, 0), (0, 18, 0), pane)
    plain, glazed = (Renderer(MINI, Scene("g", b, atlas)) for b in (bare, covered))
    a, b = plain.view_truth(POSE), glazed.view_truth(POSE)
    np.testing.assert_allclose(b.depth, a.depth, rtol=1e-5)
    sky = float(glazed.scene.sky[2, 3]) * 255 * glazed.sensor.gain
    assert np.abs(b.image - a.image * 0.9 * 0.96).max() < 0.06 * sky + 3.0


def test_far_textures_are_averaged_not_aliased():
    """A small shift of the camera must not make distant texture flicker."""
    renderer = Renderer(MINI, plane_scene(60.0, "gravel", 0.4))
    shifted = np.eye(4)
    shifted[0, 3] = 0.13
    a, b = (renderer.view_truth(p, samples=4).image for p in (POSE, shifted))
    assert np.sqrt(np.mean((a - b) ** 2)) < 1.5


def test_four_rays_a_pixel_see_nearly_what_a_hundred_see():
    """A real pixel gathers all light that falls on it. With positions drawn at random four rays miss it by 0.5 grey
    levels in the median and 2.1 in the mean square here, which is more than the noise of the sensor."""
    scene, track = build_scene("seq_001"), plan(CATALOGUE["seq_001"].path, frames=40, seed=0)
    four, hundred = (Renderer(MINI, scene, samples=n, seed=n) for n in (4, 100))
    error = (four.irradiance(track.poses[20]) - hundred.irradiance(track.poses[20])) * 255.0
    error = error[four.vignetting > 0.3]
    assert abs(error.mean()) < 0.02
    assert np.median(np.abs(error)) < 0.2
    assert np.sqrt(np.mean(error**2)) < 1.3


def test_motion_blur_smears_along_the_motion_only():
    renderer = Renderer(MINI, plane_scene(1.0), samples=16, sensor=SensorModel(noise=0.0))
    poses = []
    for x in np.linspace(-0.012, 0.012, 16):
        pose = np.eye(4)
        pose[0, 3] = x
        poses.append(pose)
    sharp, blurred = (renderer.irradiance(p)[100:280, 100:280] for p in (POSE, poses))
    along, across = (np.std(np.diff(blurred, axis=k)) / np.std(np.diff(sharp, axis=k)) for k in (1, 0))
    assert along < 0.97 * across


@pytest.mark.parametrize("samples", [1, 4, 9, 16, 25])
def test_a_blurred_image_belongs_to_the_middle_of_its_exposure(samples):
    """Four of eight sub-poses once were the first, third, fifth and eighth: blurred images came a 32nd early."""
    which = _shared_out(BLUR_POSES, samples)
    assert len(which) == samples and which == sorted(which)
    assert np.mean(which) == (BLUR_POSES - 1) / 2
    assert samples == 1 or np.std(which) > 0.7 * np.std(np.arange(BLUR_POSES))


def test_noise_has_the_announced_size_and_response_is_inverted_by_gamma():
    light = np.full((400, 400), 0.5, np.float32)
    model = SensorModel(bits=12)
    numbers = develop(light, model, 1.0, 1.0, (0, 0)).astype(float) / 65535
    expected = np.sqrt(0.5 * model.gain / model.full_well + (model.read_noise / model.full_well) ** 2)
    assert numbers.std() == pytest.approx(expected, rel=0.02)
    assert numbers.mean() == pytest.approx(0.5 * model.gain, rel=1e-3)
    curved = develop(light, SensorModel(noise=0.0), 2.2, 1.0, (0, 0)).astype(float) / 255
    assert curved.mean() ** 2.2 == pytest.approx(0.5 * model.gain, rel=0.01)
    double = develop(light, SensorModel(noise=0.0), 1.0, 2.0, (0, 0))
    assert double.mean() == pytest.approx(2 * 0.5 * model.gain * 255, abs=1)


def test_bayer_pixels_see_their_own_colour():
    data = MINI.model_dump()
    data["sensor"]["bayer"] = "RGGB"
    builder = MeshBuilder()
    builder.quad(
        (-9, -9, 1.0), (18, 0, 0), (0, 18, 0), Material("plain", 1.0, (1.0, 0.4, 0.1), (1.0, 0.4, 0.1))
    )
    renderer = Renderer(type(MINI).model_validate(data), Scene("c", builder, atlas_for({"plain"})))
    even = renderer.irradiance(POSE) / np.maximum(renderer.vignetting, 1e-6)
    red, green, blue = (np.median(even[y::2, x::2]) for y, x in ((0, 0), (0, 1), (1, 1)))
    assert red / green == pytest.approx(2.5, rel=0.03)
    assert red / blue == pytest.approx(10.0, rel=0.06)


def test_bad_settings_are_one_sentence():
    for wrong in ({"samples": 5}, {"aperture": 1.5}):
        with pytest.raises(ConfigError):
            Renderer(MINI, plane_scene(1.0), **wrong)
    with pytest.raises(ConfigError):
        Renderer(MINI, plane_scene(1.0)).raw(np.eye(3))
