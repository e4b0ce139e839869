# SPDX-License-Identifier: Apache-2.0
"""Mesh files, read back by other programs' readers and by our own."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from prism_vo.cloud import PointCloud, read_ply, write_ply
from prism_vo.dense.mesh_files import write_mesh_glb, write_mesh_ply
from prism_vo.dense.records import Mesh

VERTICES = np.array([[0, 0, 1], [1, 0, 1], [0, 1, 1.5], [1, 1, 2]], np.float32)


@pytest.fixture
def mesh() -> Mesh:
    normals = np.tile(np.array([[0, 0, -1]], np.float32), (4, 1))
    colors = np.array([[0, 0, 0], [255, 255, 255], [200, 100, 50], [10, 20, 30]], np.uint8)
    triangles = np.array([[0, 2, 1], [1, 2, 3]], np.int32)
    return Mesh(VERTICES, normals, colors, np.full(4, 0.002, np.float32), triangles)


def test_ply_is_read_by_others_and_by_our_own_reader(mesh: Mesh, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    write_mesh_ply(mesh, tmp_path / "mesh.ply")
    other = trimesh.load(tmp_path / "mesh.ply", process=False)
    assert np.allclose(other.vertices, VERTICES)
    assert (other.faces == mesh.triangles).all()
    assert (other.visual.vertex_colors[:, :3] == mesh.colors).all()
    cloud = read_ply(tmp_path / "mesh.ply")
    assert (cloud.points == VERTICES).all()
    assert cloud.sigma is not None
    assert (cloud.sigma == mesh.sigma).all()


def test_glb_is_upright_for_others(mesh: Mesh, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    write_mesh_glb(mesh, tmp_path / "mesh.glb")
    scene = trimesh.load(tmp_path / "mesh.glb", process=False)
    (other,) = scene.dump()
    assert np.allclose(other.vertices, VERTICES * [1, -1, -1], atol=1e-6)  # y up, the camera looks along −z
    assert (other.faces == mesh.triangles).all()


def test_glb_is_what_the_specification_says(mesh: Mesh, tmp_path: Path) -> None:
    write_mesh_glb(mesh, tmp_path / "mesh.glb")
    data = (tmp_path / "mesh.glb").read_bytes()
    magic, version, length = struct.unpack("<4sII", data[:12])
    assert (magic, version, length) == (b"glTF", 2, len(data))
    size, kind = struct.unpack("<I4s", data[12:20])
    assert kind == b"JSON"
    assert size % 4 == 0
    scene = json.loads(data[20 : 20 + size])
    rest, kind = struct.unpack("<I4s", data[20 + size : 28 + size])
    assert kind == b"BIN\0"
    assert 28 + size + rest == len(data)
    assert scene["buffers"][0]["byteLength"] == sum(view["byteLength"] for view in scene["bufferViews"])
    assert scene["accessors"][0]["min"] == [0, 0, 1]
    start = 28 + size + scene["bufferViews"][2]["byteOffset"]
    colors = np.frombuffer(data, "<u2", 16, start).reshape(4, 4)
    assert (colors[1] == 65535).all()
    assert abs(colors[2, 0] / 65535 - ((200 / 255 + 0.055) / 1.055) ** 2.4) < 1e-4  # linear light


def test_normals_of_a_cloud_survive(tmp_path: Path) -> None:
    normals = np.tile(np.array([[0, 0, -1]], np.float32), (4, 1))
    write_ply(PointCloud(VERTICES, normals=normals), tmp_path / "c.ply")
    again = read_ply(tmp_path / "c.ply")
    assert again.normals is not None
    assert (again.normals == normals).all()
