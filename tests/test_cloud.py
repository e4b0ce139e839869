# SPDX-License-Identifier: Apache-2.0
"""PLY clouds: exact round trip, a third party's reader, and damaged files."""

from __future__ import annotations

import numpy as np
import pytest

from prism_vo.cloud import PointCloud, read_ply, write_ply
from prism_vo.errors import InputError, OutputError


@pytest.fixture
def cloud():
    rng = np.random.default_rng(0)
    return PointCloud(
        rng.normal(size=(50, 3)).astype(np.float32),
        rng.integers(0, 256, (50, 3), dtype=np.uint8),
        rng.uniform(0, 1, 50).astype(np.float32),
    )


def test_round_trip(cloud, tmp_path):
    write_ply(cloud, tmp_path / "c.ply")
    back = read_ply(tmp_path / "c.ply")
    np.testing.assert_array_equal(back.points, cloud.points)
    np.testing.assert_array_equal(back.colors, cloud.colors)
    np.testing.assert_array_equal(back.sigma, cloud.sigma)


def test_colour_and_sigma_are_optional(cloud, tmp_path):
    write_ply(PointCloud(cloud.points), tmp_path / "c.ply")
    back = read_ply(tmp_path / "c.ply")
    assert back.colors is None and back.sigma is None and len(back) == 50
    write_ply(PointCloud(cloud.points[:0]), tmp_path / "empty.ply")
    assert len(read_ply(tmp_path / "empty.ply")) == 0


def test_trimesh_reads_the_same_points(cloud, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    write_ply(cloud, tmp_path / "c.ply")
    loaded = trimesh.load(tmp_path / "c.ply")
    np.testing.assert_allclose(loaded.vertices, cloud.points)
    np.testing.assert_array_equal(loaded.colors[:, :3], cloud.colors)


@pytest.mark.parametrize(
    "damage, words",
    [
        (lambda d: b"hello", "not a PLY"),
        (lambda d: d[:-10], "cut off"),
        (lambda d: d.replace(b"binary_little_endian", b"ascii"), "binary little-endian"),
        (lambda d: d.replace(b"float y", b"float q"), "no x, y and z"),
        (lambda d: d.replace(b"float y", b"list uchar int y"), "not understood"),
        (lambda d: d.replace(b"element vertex", b"element face"), "first element"),
        (lambda d: d.replace(b"float y", b"float x"), "given twice"),
    ],
)
def test_damaged_files(cloud, tmp_path, damage, words):
    path = tmp_path / "c.ply"
    write_ply(cloud, path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=words):
        read_ply(path)


def test_a_failed_write_leaves_the_old_file(cloud, tmp_path, monkeypatch):
    path = tmp_path / "c.ply"
    write_ply(cloud, path)
    before = path.read_bytes()

    def disk_full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", disk_full)
    with pytest.raises(OutputError, match="what was there before"):
        write_ply(PointCloud(cloud.points[:3]), path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["c.ply"]
