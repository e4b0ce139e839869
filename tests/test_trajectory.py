# SPDX-License-Identifier: Apache-2.0
"""Trajectory files: three formats at full precision, evo as an independent reader, one sentence per fault."""

from __future__ import annotations

import numpy as np
import pytest

from prism_vo import se3
from prism_vo.errors import InputError
from prism_vo.trajectory import HEADERS, Trajectory, read_trajectory, tum_line, write_trajectory


@pytest.fixture
def trajectory():
    rng = np.random.default_rng(5)
    poses = np.stack(
        [se3.exp(np.concatenate([rng.normal(size=3) * 10, rng.normal(size=3)])) for _ in range(25)]
    )
    return Trajectory(np.sort(rng.uniform(0, 100, 25)), poses)


@pytest.mark.parametrize("form", ["tum", "kitti", "euroc"])
def test_round_trip(trajectory, tmp_path, form):
    path = tmp_path / f"path.{form}"
    write_trajectory(trajectory, path, form)
    assert path.read_text().splitlines()[0] == HEADERS[form]
    assert "T_world_cam (camera to world)" in HEADERS[form]
    back = read_trajectory(path)
    np.testing.assert_allclose(back.poses, trajectory.poses, rtol=0, atol=1e-14 * 30)
    np.testing.assert_allclose(back.times, trajectory.times, rtol=0, atol=1e-9 if form == "euroc" else 0)


def test_evo_reads_the_same_poses(trajectory, tmp_path):
    file_interface = pytest.importorskip("evo.tools.file_interface")
    readers = {
        "tum": file_interface.read_tum_trajectory_file,
        "kitti": file_interface.read_kitti_poses_file,
        "euroc": file_interface.read_euroc_csv_trajectory,
    }
    for form, reader in readers.items():
        path = tmp_path / f"{form}.txt"
        write_trajectory(trajectory, path, form)
        np.testing.assert_allclose(np.array(reader(str(path)).poses_se3), trajectory.poses, atol=1e-12)


def test_lines_appended_one_by_one_make_the_same_file(trajectory, tmp_path):
    write_trajectory(trajectory, tmp_path / "whole.txt")
    grown = "\n".join([HEADERS["tum"], *(tum_line(t, p) for t, p in trajectory)]) + "\n"
    assert (tmp_path / "whole.txt").read_text() == grown


def test_length_positions_and_selection():
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, :3, 3] = [[0, 0, 0], [3, 4, 0], [3, 4, 2]]
    path = Trajectory(np.array([0.0, 1.0, 2.0]), poses)
    assert path.length == pytest.approx(7.0) and len(path) == 3
    assert path.select(slice(1, 3)).length == pytest.approx(2.0)
    np.testing.assert_array_equal(path.positions[1], [3, 4, 0])
    with pytest.raises(ValueError):
        Trajectory(np.zeros(2), poses)


LINE = "0.5 1 2 3 0 0 0 1"


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "no poses"),
        ("# only a comment\n", "no poses"),
        ("hello world\n", "line 1: expected numbers"),
        (f"{LINE}\n1.0 1 2 3 0 0 0\n", "line 2: 7 numbers"),
        ("1 2 3\n", "3 numbers a line"),
        ("0 1 2 nan 0 0 0 1\n", "not finite"),
        ("0 1 2 3 0 0 0 2\n", "quaternion has length 2"),
        (f"{LINE}\n{LINE}\n", "line 2: the time does not increase"),
        ("1 0 0 0 0 2 0 0 0 0 1 0\n", "not a rotation"),
    ],
)
def test_faults_name_file_and_line(tmp_path, text, words):
    path = tmp_path / "broken.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as error:
        read_trajectory(path)
    assert str(path) in str(error.value)


def test_missing_and_binary_files(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_trajectory(tmp_path / "nothing.txt")
    (tmp_path / "binary.txt").write_bytes(bytes(range(128, 256)))
    with pytest.raises(InputError, match="not a text file"):
        read_trajectory(tmp_path / "binary.txt")


def test_kitti_rounded_rotations_become_rotations_again(tmp_path):
    r = se3.so3_exp(np.array([0.1, 0.2, 0.3]))
    row = np.concatenate([np.round(r, 4), np.ones((3, 1))], 1).ravel()
    (tmp_path / "k.txt").write_text(" ".join(map(str, row)) + "\n")
    found = read_trajectory(tmp_path / "k.txt").poses[0, :3, :3]
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(found, r, atol=1e-4)
