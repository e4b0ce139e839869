# SPDX-License-Identifier: Apache-2.0
"""Distances in blocks of voxels become a closed surface in the right place, facing outwards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_vo.arrays import Array
from prism_vo.dense import volume as v
from prism_vo.dense.components import without_crumbs
from prism_vo.dense.facing import facing
from prism_vo.dense.records import Mesh
from prism_vo.dense.surface import surface
from prism_vo.dense.volume import Volume
from prism_vo.optics.view import FocusedView

RADIUS, CENTRE = 0.05, np.array([0.013, -0.021, 0.4])
PLACES = st.integers(-(1 << 17), (1 << 17) - 1)


def sphere(level: int, sigma: float = 0.01, reverse: bool = False) -> Volume:
    """Every block about a sphere, each voxel seen three times at its exact distance."""
    size = float(v.voxel_size(level))
    reach = int(np.ceil((RADIUS + 4 * size) / (8 * size))) + 1
    around = np.arange(-reach, reach + 1)
    middle = np.floor(CENTRE / (8 * size)).astype(np.int64)
    places = middle + np.stack(np.meshgrid(around, around, around, indexing="ij"), -1).reshape(-1, 3)
    keys = v.pack(np.full(len(places), level), places)
    found = Volume.empty()
    for part in np.array_split(keys[::-1] if reverse else keys, 5):
        found.allocate(part)
    fill(found, sigma)
    return found


def fill(volume: Volume, sigma: float) -> None:
    levels, places = v.unpack(volume.keys)
    n = np.arange(v.VOXELS)
    inside = np.stack([n // 64, n // 8 % 8, n % 8], -1)
    size = v.voxel_size(levels)[:, None, None]
    centres = (places[:, None] * 8 + inside + 0.5) * size
    distance = np.linalg.norm(centres - CENTRE, axis=-1) - RADIUS
    near = np.abs(distance) < v.TRUNCATION * size[..., 0]
    weight = np.where(near, 3 / sigma**2, 0)
    volume.sums[..., v.DISTANCE] = weight * distance
    volume.sums[..., v.WEIGHT] = volume.sums[..., v.INFORMATION] = weight
    volume.sums[..., v.COUNT] = 3 * near
    volume.sums[..., v.RED :] = weight[..., None] * np.array([10, 200, 30])


def edges(mesh: Mesh) -> Array:
    t = mesh.triangles
    return np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])


def test_a_sphere_is_closed_round_and_faces_outwards() -> None:
    mesh = surface(sphere(level=1))
    away = mesh.vertices - CENTRE
    distance = np.linalg.norm(away, axis=1)
    assert np.abs(distance - RADIUS).max() < 2e-4  # a tenth of a voxel
    assert ((mesh.normals * away).sum(1) / distance > 0.98).all()
    assert (mesh.colors == [10, 200, 30]).all()
    assert np.allclose(mesh.sigma, 0.01, rtol=1e-4)
    # every edge has one triangle to each side, turning the same way round: no hole, no fold
    directed = {tuple(e) for e in edges(mesh).tolist()}
    assert len(directed) == len(edges(mesh))
    assert {(b, a) for a, b in directed} == directed
    corners = mesh.vertices[mesh.triangles].astype(float) - CENTRE
    inside = np.linalg.det(corners).sum() / 6
    assert abs(inside / (4 / 3 * np.pi * RADIUS**3) - 1) < 0.01


def test_blocks_do_not_depend_on_the_order_they_were_asked_for() -> None:
    one, other = surface(sphere(1)), surface(sphere(1, reverse=True))
    assert one.vertices.tobytes() == other.vertices.tobytes()
    assert one.triangles.tobytes() == other.triangles.tobytes()


def test_merging_the_finest_level_keeps_the_surface() -> None:
    volume = sphere(level=1)
    blocks = len(volume.keys)
    assert volume.coarsen()
    assert len(volume.keys) < blocks / 4
    assert volume.finest == 2
    mesh = surface(volume)
    distance = np.linalg.norm(mesh.vertices - CENTRE, axis=1)
    assert np.abs(distance - RADIUS).max() < 1e-3  # a quarter of a voxel
    assert np.allclose(mesh.sigma, 0.01, rtol=1e-3)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(v, "MOST_BLOCKS", 50)
    assert len(sphere(level=0).keys) <= 50


def test_of_two_levels_that_show_the_same_the_finer_one_is_taken() -> None:
    fine, coarse = sphere(1), sphere(2)
    both = Volume.empty()
    both.allocate(np.concatenate([fine.keys, coarse.keys]))
    fill(both, 0.01)
    assert len(surface(both).triangles) == len(surface(fine).triangles)


def test_what_no_camera_saw_from_the_front_is_left_out() -> None:
    mesh = surface(sphere(level=1))
    view = FocusedView("central", 200, 200, 300.0, 100.0, 100.0, 0.0, 2.0, 0.5, 0.02, 0.98)
    seen = facing(mesh, [np.eye(4)], view)
    # of a sphere 5 cm wide 40 cm away, less than the half that is nearer
    assert 0.3 < len(seen.triangles) / len(mesh.triangles) < 0.5
    assert seen.vertices[:, 2].max() < CENTRE[2]
    assert not len(facing(mesh, [np.diag([1.0, -1.0, -1.0, 1.0])], view).triangles)  # it looks elsewhere


def test_crumbs_are_left_out() -> None:
    mesh = surface(sphere(level=2))
    far = mesh.vertices + np.float32(1.0)
    crumb = np.array([[0, 1, 2]], np.int32) + len(mesh.vertices)
    joined = Mesh(
        np.concatenate([mesh.vertices, far[:3]]),
        np.concatenate([mesh.normals, mesh.normals[:3]]),
        np.concatenate([mesh.colors, mesh.colors[:3]]),
        np.concatenate([mesh.sigma, mesh.sigma[:3]]),
        np.concatenate([mesh.triangles, crumb]),
    )
    kept = without_crumbs(joined)
    assert (kept.vertices == mesh.vertices).all()
    assert (kept.triangles == mesh.triangles).all()
    assert without_crumbs(Mesh(*(a[:0] for a in vars(mesh).values()))).triangles.size == 0


@given(st.integers(v.LOWEST_LEVEL, v.HIGHEST_LEVEL), st.tuples(PLACES, PLACES, PLACES))
def test_keys_hold_level_and_place(level: int, place: tuple[int, int, int]) -> None:
    levels, places = v.unpack(v.pack(np.array([level]), np.array([place])))
    assert levels[0] == level
    assert tuple(places[0]) == place
