# SPDX-License-Identifier: Apache-2.0
"""Sequence folders: complete, resumable, never mixed; meshes of the user's own; the command line."""

from __future__ import annotations

import json

import cv2
import numpy as np
import pytest
import trimesh

from prism_vo.cli import main
from prism_vo.errors import ConfigError, InputError
from prism_vo.optics.calibration import load_calibration
from prism_vo.simulate import SimulateOptions, Simulation, simulate_sequence
from prism_vo.simulate.baseline import DEPTH_SCALE, depth_camera
from prism_vo.simulate.user_mesh import load_mesh_scene

SMALL = SimulateOptions(
    camera="mini", frames=4, truth_every=2, exposure_change=0.5, motion_blur=0.4, baselines=True
)


def contents(folder) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_folder_is_complete_and_resumes_to_the_same_bytes(tmp_path):
    out = simulate_sequence("table", tmp_path / "a", SMALL)
    first = contents(out)
    for name in (
        "camera.yaml",
        "white.png",
        "times.txt",
        "groundtruth.txt",
        "mono.yaml",
        "mono/000003.png",
        "rgbd/000003.png",
        "raw/000003.png",
        "depth/000002.npy",
        "reference_focal/000002.png",
    ):
        assert name in first
    for frame in (1, 3):
        (out / "raw" / f"{frame:06d}.png").unlink()
    simulate_sequence("table", out, SMALL, threads=1)
    assert contents(out) == first
    assert load_calibration(out / "camera.yaml") == SMALL.calibration("r5")


def test_times_and_poses_are_those_of_the_simulation(tmp_path):
    out = simulate_sequence("table", tmp_path / "a", SMALL)
    simulation = Simulation.prepare("table", SMALL)
    times = np.loadtxt(out / "times.txt")
    np.testing.assert_allclose(times[:, 1] / 0.01, simulation.exposures(), rtol=1e-6)
    truth = np.loadtxt(out / "groundtruth.txt")
    np.testing.assert_allclose(truth[:, 1:4], simulation.track.poses[:, :3, 3], atol=1e-8)
    depth = np.load(out / "depth" / "000002.npy")
    assert depth.dtype == np.float32 and depth.shape == (192, 192)
    reference = cv2.imread(str(out / "reference" / "000002.png"), -1)
    exact = simulation.renderer().view_truth(
        simulation.track.poses[2], time=0.2, exposure=simulation.exposures()[2]
    )
    assert np.abs(reference - exact.image).max() < 0.501  # rounded to whole numbers, in single precision


def test_another_simulator_does_not_continue_a_recording(tmp_path, monkeypatch):
    """Frames of two versions in one folder would belong to two paths."""
    out = simulate_sequence("table", tmp_path / "a", SMALL)
    (out / "raw" / "000001.png").unlink()
    monkeypatch.setattr("prism_vo.simulate.options._simulator_digest", lambda: "another")
    with pytest.raises(InputError, match="another version of the simulator"):
        simulate_sequence("table", out, SMALL)


def test_other_settings_or_other_files_are_left_alone(tmp_path):
    out = simulate_sequence("table", tmp_path / "a", SMALL)
    before = contents(out)
    with pytest.raises(InputError, match="other settings"):
        simulate_sequence("table", out, SimulateOptions(camera="mini", frames=5))
    assert contents(out) == before
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="not a simulation"):
        simulate_sequence("table", tmp_path / "b", SMALL)


def test_depth_camera_noise_grows_with_distance_and_edges_are_lost():
    depth = np.full((200, 400), 1.0, np.float32)
    depth[:, 200:] = 4.0
    numbers = depth_camera(depth, 600.0, (0, 0)) / DEPTH_SCALE
    near, far = numbers[:, :190], numbers[:, 210:]
    assert np.median(near[near > 0]) == pytest.approx(1.0, abs=0.01)
    assert far[far > 0].std() > 5 * near[near > 0].std()
    assert (numbers[:, 199:201] == 0).mean() > 0.9


@pytest.mark.parametrize("suffix", [".glb", ".obj", ".ply"])
def test_own_meshes_can_be_filmed(tmp_path, suffix):
    mesh = trimesh.creation.icosphere(subdivisions=2, radius=0.5)
    mesh.export(tmp_path / f"ball{suffix}")
    options = SimulateOptions(camera="mini", frames=1)
    simulation = Simulation.prepare(str(tmp_path / f"ball{suffix}"), options)
    depth = simulation.renderer().depth(simulation.track.poses[0])
    raw = simulation.raw(simulation.renderer(), 0, 1.0)
    assert np.isfinite(depth).mean() > 0.2
    assert raw.std() > 5


def test_faces_given_many_times_are_met_once(tmp_path):
    box = trimesh.creation.box()
    again = trimesh.Trimesh(box.vertices, np.tile(box.faces, (50, 1)), process=False)
    again.export(tmp_path / "box.obj")
    scene = load_mesh_scene(tmp_path / "box.obj")
    assert sum(len(corners) for corners in scene.still.corners) == len(box.faces)


def test_damaged_or_missing_meshes_are_one_sentence(tmp_path):
    (tmp_path / "broken.ply").write_bytes(b"not a mesh at all")
    for name in ("broken.ply", "absent.glb"):
        with pytest.raises(InputError):
            Simulation.prepare(str(tmp_path / name), SMALL)
    for wrong in ({"camera": "r99"}, {"bayer": "RGBG"}, {"motion_blur": 2.0}, {"scale": 0.0}):
        with pytest.raises(ConfigError):
            SimulateOptions(**wrong).calibration("mini")


def test_command_lists_previews_and_reports_mistakes(tmp_path, capsys):
    assert main(["simulate", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"seq_{k:03d}" in listed for k in range(1, 12)) and "07_workshop" in listed and "fan" in listed
    assert main(["simulate", "05_wires", str(tmp_path / "sheet.png"), "--preview", "--camera", "mini"]) == 0
    assert cv2.imread(str(tmp_path / "sheet.png")).shape[1] == 1024
    assert main(["simulate", "nowhere", str(tmp_path / "x")]) == 2
    assert main(["simulate", "table"]) == 2
    assert not (tmp_path / "x").exists()


def test_a_mesh_of_very_many_pieces_is_refused_at_once(tmp_path):
    data = trimesh.creation.box().export(file_type="glb")
    size = int.from_bytes(data[12:16], "little")
    tree = json.loads(data[20 : 20 + size])
    tree["meshes"][0]["primitives"] *= 30_000
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    length = (20 + len(text) + len(data) - 20 - size).to_bytes(4, "little")
    (tmp_path / "many.glb").write_bytes(
        data[:8] + length + len(text).to_bytes(4, "little") + data[16:20] + text + data[20 + size :]
    )
    with pytest.raises(InputError, match="claims more than it holds"):
        load_mesh_scene(tmp_path / "many.glb")
