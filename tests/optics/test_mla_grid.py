# SPDX-License-Identifier: Apache-2.0
"""The micro-lens grid: positions, types, ownership, visibility; against NumPy and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from optics_cases import make_camera
from owners_twin import owner_maps_numpy

from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.visibility import lenses_seeing, owner_maps

DISTORTION = {"radial": (3e-3, 1e-5), "tangential": (5e-4, -3e-4)}
CAMERAS = {
    "hexagonal": make_camera(),
    "turned": make_camera(rotation=0.4, pitch=11.7),
    "rectangular": make_camera(layout="rectangular", types=2),
    "distorted": make_camera(distortion=DISTORTION),
    "close focus": make_camera(f=50.0, b0=52.1, B=0.33),
}
WIDTH, HEIGHT = 300, 260


@pytest.fixture(params=CAMERAS, scope="module")
def camera(request):
    return CAMERAS[request.param]


@pytest.fixture(scope="module")
def array(camera):
    return MicroLensArray.of(camera)


def test_axes_in_image_coordinates():
    """Row direction turned by +rotation with y down; second axis by another +60° (or +90°)."""
    hexagonal = MicroLensArray.of(make_camera(rotation=0.1, pitch=10.0)).axes
    angles = np.arctan2(hexagonal[:, 1], hexagonal[:, 0])
    assert angles == pytest.approx([0.1, 0.1 + np.pi / 3])
    assert np.linalg.norm(hexagonal, axis=1) == pytest.approx([10.0, 10.0])
    rectangular = MicroLensArray.of(make_camera(rotation=0.1, pitch=10.0, layout="rectangular")).axes
    assert np.arctan2(rectangular[1, 1], rectangular[1, 0]) == pytest.approx(0.1 + np.pi / 2)


def test_types_of_the_lenses_around_the_origin():
    array = MicroLensArray.of(make_camera())
    types = {tuple(g): t for g, t in zip(array.grid.tolist(), array.lens_type.tolist())}
    assert [types[0, 0], types[1, 0], types[2, 0], types[0, 1], types[1, 1]] == [0, 1, 2, 2, 0]
    for (i, j), kind in types.items():  # in a hexagonal array of three types no two neighbours are alike
        for di, dj in ((1, 0), (0, 1), (1, -1)):
            assert types.get((i + di, j + dj), -1) != kind


def test_every_micro_image_on_the_sensor_is_listed_once(camera, array):
    mla = camera.calibration.mla
    reach = 60
    ii, jj = np.meshgrid(np.arange(-reach, reach), np.arange(-reach, reach))
    centres = np.array(mla.origin_px) + ii[..., None] * array.axes[0] + jj[..., None] * array.axes[1]
    r = mla.pitch_px / 2
    on = ((centres > -r) & (centres < np.array([WIDTH, HEIGHT]) - 1 + r)).all(-1)
    assert len(array) == on.sum() and len(np.unique(array.grid, axis=0)) == len(array)
    for row in (0, len(array) // 2, len(array) - 1):
        assert array.rows(*array.grid[row].astype(int)) == row


def test_each_pixel_belongs_to_the_nearest_micro_image(array):
    maps = owner_maps(array, WIDTH, HEIGHT)
    rng = np.random.default_rng(0)
    pixels = np.stack([rng.integers(0, WIDTH, 500), rng.integers(0, HEIGHT, 500)], -1)
    distance = np.linalg.norm(pixels[:, None] - array.image_centres, axis=2)
    owner = maps.owner[pixels[:, 1], pixels[:, 0]]
    inside = (pixels >= 20).all(1) & (pixels < np.array([WIDTH, HEIGHT]) - 20).all(1)
    assert (owner[inside] >= 0).all()
    chosen = distance[np.arange(500), owner]
    np.testing.assert_allclose(chosen[owner >= 0], distance.min(1)[owner >= 0])
    usable = maps.usable[pixels[:, 1], pixels[:, 0]]
    np.testing.assert_array_equal(usable, (owner >= 0) & (distance.min(1) < array.usable_radius))


def test_owner_kernel_equals_its_numpy_twin(array):
    kernel, twin = owner_maps(array, WIDTH, HEIGHT), owner_maps_numpy(array, WIDTH, HEIGHT)
    np.testing.assert_array_equal(kernel.owner, twin.owner)
    np.testing.assert_array_equal(kernel.usable, twin.usable)


def seen_by_brute_force(camera, array, x, v):
    """Every lens tried: straight rays to the sensor, compared with the undistorted micro-image centre."""
    pp = camera.principal_point
    centres = pp + (array.lens_centres - pp) * (camera.b_L0 + camera.B) / camera.b_L0
    images = array.lens_centres + (x - array.lens_centres) / v
    return np.flatnonzero(np.linalg.norm(images - centres, axis=1) < array.usable_radius)


def test_lenses_that_see_a_point(camera, array):
    rng = np.random.default_rng(2)
    x = rng.uniform(-30, 330, (300, 2))  # the virtual image is wider than the sensor
    v = rng.uniform(1.1, 9.0, 300)
    seen = lenses_seeing(camera, array, x, v)
    for n in range(300):
        rows = seen.rows[seen.starts[n] : seen.starts[n + 1]]
        np.testing.assert_array_equal(rows, seen_by_brute_force(camera, array, x[n], v[n]))


def test_points_without_a_virtual_depth_are_seen_by_no_lens(camera, array):
    x = np.array([[150.0, 130.0]] * 4)
    assert len(lenses_seeing(camera, array, x, [np.nan, -2.0, 0.0, np.inf]).rows) == 0


def test_lenses_crowd_around_the_central_projection_not_around_the_point():
    camera = make_camera(pitch=8.0)
    array = MicroLensArray.of(camera)
    x, v = np.array([[290.0, 20.0]]), 6.0
    rows = lenses_seeing(camera, array, x, v).rows
    by_chief_ray = np.linalg.norm(array.lens_centres - camera.array_point(x[0], v), axis=1)
    by_point = np.linalg.norm(array.lens_centres - x[0], axis=1)
    nearest = np.argsort(by_chief_ray)[: len(rows)]
    assert set(rows) == set(nearest)
    assert set(rows) != set(np.argsort(by_point)[: len(rows)])


@pytest.mark.parametrize("layout, density", [("hexagonal", 0.9069), ("rectangular", 0.7854)])
def test_number_of_lenses_that_see_a_point(layout, density):
    camera = make_camera(layout=layout, pitch=14.3, border=1.0)
    array = MicroLensArray.of(camera)
    v, x = 3.0, np.random.default_rng(3).uniform(100, 200, (4000, 2))
    expected = density * v**2 * (1 - 2 * 1.0 / 14.3) ** 2
    # measured in lens pitches (λ image pitches) the disc is narrower by (b_L0 + B)/b_L than v says
    shrink = (camera.b_L0 + camera.B) / (camera.b_L0 + v * camera.B)
    assert len(lenses_seeing(camera, array, x, v).rows) / 4000 == pytest.approx(
        expected * shrink**2, rel=0.02
    )
