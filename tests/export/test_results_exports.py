# SPDX-License-Identifier: Apache-2.0
"""What a run found, written for other programs and read back as they read it: metres, conventions, positions."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from prism_vo import se3
from prism_vo.cli import main
from prism_vo.cloud import PointCloud, read_ply, write_ply
from prism_vo.export.finished_run import FinishedRun
from prism_vo.export.glb import glb_bytes
from prism_vo.export.pictures import view_of_run
from prism_vo.optics.calibration import load_calibration, save_calibration
from prism_vo.pipeline import RunResult
from prism_vo.trajectory import Trajectory, read_trajectory, write_trajectory


@pytest.fixture(scope="module")
def results(reported: RunResult) -> Path:
    assert reported.out is not None
    return reported.out


@pytest.fixture(scope="module")
def colmap(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """COLMAP's folder of all frames."""
    out = tmp_path_factory.mktemp("export") / "colmap"
    assert main(["export", str(results), "--as", "colmap", "--which", "all", "--out", str(out), "-q"]) == 0
    return out


def text_model(folder: Path) -> tuple[list[float], dict[int, tuple[Any, ...]], dict[int, Any]]:
    """Camera, images (pose, name, observations) and points of a text model, read without our writer."""

    def lines(name: str) -> list[str]:
        return [line for line in (folder / name).read_text().split("\n") if not line.startswith("#")]

    camera = [float(word) for word in lines("cameras.txt")[0].split()[2:]]
    images = {}
    rows = lines("images.txt")
    for head, seen in zip(rows[0::2], rows[1::2]):
        if not head:
            continue
        words = head.split()
        w, x, y, z, *t = map(float, words[1:8])
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = se3.quaternion_to_rotation(np.array([x, y, z, w])), t
        images[int(words[0])] = (T, words[9], np.array(seen.split(), np.float64).reshape(-1, 3))
    points = {int(p.split()[0]): p.split() for p in lines("points3D.txt") if p}
    return camera, images, points


def test_colmap_projects_points_to_where_they_are_seen(colmap: Path) -> None:
    (_, _, fx, fy, cx, cy), images, points = text_model(colmap / "sparse/0")
    errors = []
    for T, _, seen in images.values():
        X = np.array([[float(v) for v in points[int(i)][1:4]] for i in seen[:, 2]])
        local = se3.transform(T, X)
        uv = np.stack([fx * local[:, 0] / local[:, 2] + cx, fy * local[:, 1] / local[:, 2] + cy], -1)
        errors.append(np.linalg.norm(uv - seen[:, :2], axis=1))
    error = np.concatenate(errors)
    followed = error[error > 1e-3]  # the others are the pixels that points were chosen at
    assert len(followed) > 1000
    assert np.sqrt((followed**2).mean()) < 0.5
    assert np.median(followed) < 0.25


def test_colmap_tracks_and_observations_name_each_other(colmap: Path) -> None:
    _, images, points = text_model(colmap / "sparse/0")
    total = 0
    for number, words in points.items():
        track = [int(word) for word in words[8:]]
        assert len(track) != 2, "a point seen once only"
        for image, at in zip(track[0::2], track[1::2]):
            assert images[image][2][at, 2] == number
            total += 1
    assert total == sum(len(seen) for _, _, seen in images.values())


def test_colmap_images_and_poses_are_those_of_the_run(colmap: Path, results: Path) -> None:
    trajectory = read_trajectory(results / "trajectory.txt")
    (width, height, *_), images, points = text_model(colmap / "sparse/0")
    assert len(images) == len(trajectory) and len(points) == len(read_ply(results / "points.ply"))
    for number, (T, name, _) in images.items():
        np.testing.assert_allclose(T @ trajectory.poses[number - 1], np.eye(4), atol=1e-12)
        picture = cv2.imread(str(colmap / "images" / name))
        assert picture is not None and picture.shape == (height, width, 3) and picture.std() > 5


def test_pycolmap_reads_it(colmap: Path) -> None:
    pycolmap = pytest.importorskip("pycolmap")
    model = pycolmap.Reconstruction(str(colmap / "sparse/0"))
    assert model.num_reg_images() == 12
    assert model.compute_mean_reprojection_error() < 0.5
    assert model.compute_mean_track_length() > 2


def test_nerfstudio_sees_the_same_points_at_the_same_pixels(
    colmap: Path, results: Path, tmp_path: Path
) -> None:
    out = tmp_path / "nerf"
    assert main(["export", str(results), "--as", "nerfstudio", "--which", "all", "--out", str(out)]) == 0
    content = json.loads((out / "transforms.json").read_text())
    points = read_ply(out / content["ply_file_path"]).points.astype(np.float64)
    (width, height, fx, fy, cx, cy), images, _ = text_model(colmap / "sparse/0")
    assert (content["w"], content["h"]) == (width, height)
    for frame, (T, name, _) in zip(content["frames"], images.values()):
        assert frame["file_path"] == f"images/{name}" and (out / frame["file_path"]).is_file()
        local = se3.transform(se3.inverse(np.array(frame["transform_matrix"])), points)
        assert (local[:, 2] < 0).mean() > 0.9, "the camera looks along −z"
        # y up and z backwards, as OpenGL has it
        u = content["fl_x"] * local[:, 0] / -local[:, 2] + content["cx"]
        v = content["fl_y"] * -local[:, 1] / -local[:, 2] + content["cy"]
        other = se3.transform(T, points)
        np.testing.assert_allclose(u, fx * other[:, 0] / other[:, 2] + cx, atol=1e-6)
        np.testing.assert_allclose(v, fy * other[:, 1] / other[:, 2] + cy, atol=1e-6)


@pytest.mark.parametrize("form", ["tum", "kitti", "euroc"])
def test_paths_are_read_back_exactly(results: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"path_{form}.txt"
    assert main(["export", str(results), "--as", form, "--out", str(out)]) == 0
    found, wanted = read_trajectory(out, form), read_trajectory(results / "trajectory.txt")  # type: ignore[arg-type]
    np.testing.assert_allclose(found.poses, wanted.poses, atol=1e-12)
    np.testing.assert_allclose(found.times, wanted.times, atol=1e-9)
    if form == "kitti":  # tools of that benchmark read nothing but numbers
        assert np.loadtxt(out, comments=None).shape == (12, 12)


def test_glb_is_upright_and_metric(results: Path, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    out = tmp_path / "map.glb"
    assert main(["export", str(results), "--as", "glb", "--out", str(out)]) == 0
    scene = trimesh.load(out)
    cloud = read_ply(results / "points.ply")
    found = scene.geometry["map"]
    turned = cloud.points * [1, -1, -1]
    np.testing.assert_allclose(found.vertices, turned, atol=1e-6)
    content, data = glb_chunks(out.read_bytes())
    line = content["meshes"][1]["primitives"][0]
    view = content["bufferViews"][content["accessors"][line["attributes"]["POSITION"]]["bufferView"]]
    path = np.frombuffer(data[view["byteOffset"] :][: view["byteLength"]], "<f4").reshape(-1, 3)
    wanted = read_trajectory(results / "trajectory.txt").positions
    assert line["mode"] == 3, "a line strip"
    np.testing.assert_allclose(path, wanted * [1, -1, -1], atol=1e-6)


def glb_chunks(data: bytes) -> tuple[Any, bytes]:
    """The two chunks of a binary glTF file."""
    magic, version, length, text = struct.unpack("<4sIII", data[:16])
    assert (magic, version, length) == (b"glTF", 2, len(data))
    return json.loads(data[20 : 20 + text]), data[28 + text :]


def test_ply_is_the_map(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "map.ply"
    assert main(["export", str(results), "--as", "ply", "--out", str(out)]) == 0
    found, wanted = read_ply(out), read_ply(results / "points.ply")
    np.testing.assert_array_equal(found.points, wanted.points)
    assert found.sigma is not None and found.colors is not None


@pytest.mark.parametrize(("form", "name"), [("ply", "map.ply"), ("glb", "mesh.glb")])
def test_a_dense_map_comes_first(results: Path, tmp_path: Path, form: str, name: str) -> None:
    run, out = tmp_path / "run", tmp_path / f"out.{form}"
    shutil.copytree(results, run)
    cloud = PointCloud(np.zeros((3, 3), np.float32))
    write_ply(cloud, run / "map.ply")
    (run / "mesh.glb").write_bytes(glb_bytes(cloud, []))
    assert main(["export", str(run), "--as", form, "--out", str(out)]) == 0
    assert out.read_bytes() == (run / name).read_bytes()


def test_nerfstudio_starts_from_the_dense_map(results: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "nerf"
    shutil.copytree(results, run)
    write_ply(PointCloud(np.ones((7, 3), np.float32)), run / "map.ply")
    assert main(["export", str(run), "--as", "nerfstudio", "--out", str(out), "-q"]) == 0
    assert len(read_ply(out / "points.ply")) == 7


@pytest.mark.parametrize("form", ["mcap", "rosbag2"])
def test_bags_hold_poses_covariances_map_and_images(results: Path, tmp_path: Path, form: str) -> None:
    pytest.importorskip("rosbags")
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    out = tmp_path / form
    assert main(["export", str(results), "--as", form, "--out", str(out)]) == 0
    assert list(out.glob("*.mcap" if form == "mcap" else "*.db3"))
    read: dict[str, list[Any]] = {}
    with AnyReader([out], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
        for connection, time, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            read.setdefault(connection.topic, []).append((time, message))
    run = FinishedRun.read(results)
    covariances = run.covariances()
    assert covariances is not None
    for (time, message), (wanted_time, T), covariance in zip(
        read["/prism_vo/pose"], run.trajectory, covariances
    ):
        assert time == round(wanted_time * 1e9)
        place = message.pose.pose.position
        np.testing.assert_allclose([place.x, place.y, place.z], T[:3, 3], atol=1e-12)
        if np.isfinite(covariance).all():
            np.testing.assert_allclose(np.reshape(message.pose.covariance, (6, 6)), covariance)
    cloud = read["/prism_vo/map"][0][1]
    values = np.frombuffer(cloud.data.tobytes(), "<f4").reshape(-1, 5)
    np.testing.assert_array_equal(values[:, :3], run.cloud.points)
    image, info = read["/prism_vo/image"][0][1], read["/prism_vo/camera_info"][0][1]
    assert image.data.size == 3 * image.width * image.height and image.encoding == "rgb8"
    assert len(read["/prism_vo/image"]) == len(run.keyframes) and (info.width, info.height) == (
        image.width,
        image.height,
    )
    assert len(read["/tf"]) == len(run.trajectory)
    static = read["/tf_static"][0][1].transforms[0]
    q = static.transform.rotation
    forward = se3.quaternion_to_rotation(np.array([q.x, q.y, q.z, q.w])) @ [0, 0, 1]
    np.testing.assert_allclose(forward, [1, 0, 0], atol=1e-12)  # REP 103


def test_a_recording_that_names_its_camera_is_decoded_with_that_of_the_run(
    results: Path, recording: Path, tmp_path: Path
) -> None:
    shutil.copytree(recording / "raw", tmp_path / "cam0")
    shutil.copy(recording / "camera.yaml", tmp_path / "own.yaml")
    (tmp_path / "sequence.yaml").write_text(
        "format: prism-vo/sequence/1\nraw: 'cam0/*.png'\ncamera: own.yaml\n"
    )
    camera = load_calibration(recording / "camera.yaml")
    moved = camera.main_lens.model_copy(update={"mla_distance_mm": camera.main_lens.mla_distance_mm + 0.01})
    run = FinishedRun.read(results, recording=tmp_path)
    plain = view_of_run(run).focal_px
    save_calibration(camera.model_copy(update={"main_lens": moved}), tmp_path / "other.yaml")
    other = FinishedRun.read(results, recording=tmp_path, camera=tmp_path / "other.yaml")
    longer = view_of_run(other).focal_px
    lengths = camera.main_lens.mla_distance_mm + camera.mla.sensor_distance_mm
    assert longer / plain == pytest.approx((lengths + 0.01) / lengths, rel=1e-3)
    assert len(other.sequence) == 12 and next(iter(other.sequence)).image.shape == (384, 384)


def in_two_worlds(results: Path, folder: Path) -> Path:
    """The same results as if tracking had started again at the fifth pose."""
    shutil.copytree(results, folder)
    keyframes = read_trajectory(folder / "keyframes.txt")
    for name in ("trajectory.txt", "keyframes.txt"):
        poses = read_trajectory(folder / name)
        start = keyframes.times[len(keyframes) // 2]
        segments = (poses.times >= start).astype(np.int32)
        write_trajectory(Trajectory(poses.times, poses.poses, segments), folder / name)
    return folder


def test_segments_become_models_of_their_own(results: Path, tmp_path: Path) -> None:
    folder, out = in_two_worlds(results, tmp_path / "run"), tmp_path / "colmap"
    assert main(["export", str(folder), "--as", "colmap", "--out", str(out), "-q"]) == 0
    models = [text_model(out / "sparse" / n) for n in "01"]
    assert all(len(images) > 0 for _, images, _ in models)
    assert sum(len(points) for _, _, points in models) == len(read_ply(folder / "points.ply"))
    names = [name for _, images, _ in models for _, name, _ in images.values()]
    assert sorted(names) == sorted(p.name for p in (out / "images").iterdir())


def test_one_world_only_where_a_file_holds_one(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = in_two_worlds(results, tmp_path / "run")
    assert main(["export", str(folder), "--as", "glb", "--out", str(tmp_path / "a.glb")]) == 0
    assert "1 other segments left out" in capsys.readouterr().out
    assert main(["export", str(folder), "--as", "kitti", "--out", str(tmp_path / "k.txt")]) == 2
    assert "--as tum" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "form", "sentence"),
    [
        ("file", "ply", "exists already"),
        ("folder", "colmap", "not empty"),
        ("moved", "colmap", "give it with --sequence"),
        ("unfinished", "tum", "is not finished"),
        ("other", "nerfstudio", "not of the images"),
        ("points", "colmap", "names keyframes that"),
        ("form", "dso", "results can be exported as"),
        ("cut map", "ply", "map.ply: the file is cut off"),
        ("cut mesh", "glb", "mesh.glb: the file is cut off"),
        ("no mesh", "glb", "mesh.glb: not a glTF file"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    results: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: str,
    form: str,
    sentence: str,
) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    shutil.copytree(results, run)
    more: list[str] = []
    if change == "file":
        out.write_text("mine")
    elif change == "folder":
        out.mkdir()
        (out / "mine.txt").write_text("mine")
    elif change == "moved":
        settings = run / "config.yaml"
        settings.write_text(settings.read_text().replace("path: ", "path: /nowhere"))
    elif change == "unfinished":
        (run / "points.ply").unlink()
    elif change == "other":
        poses = read_trajectory(run / "keyframes.txt")
        write_trajectory(Trajectory(poses.times + 0.01, poses.poses), run / "keyframes.txt")
    elif change == "points":
        cloud = PointCloud(np.zeros((2, 3), np.float32), keyframe=np.array([0, 99], np.int32))
        write_ply(cloud, run / "points.ply")
    elif change == "cut map":
        (run / "map.ply").write_bytes((run / "points.ply").read_bytes()[:-7])
    elif change == "cut mesh":
        (run / "mesh.glb").write_bytes(glb_bytes(read_ply(run / "points.ply"), [])[:-7])
    elif change == "no mesh":
        (run / "mesh.glb").write_bytes(b"glTF")
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    assert main(["export", str(run), "--as", form, "--out", str(out), *more]) == 2
    assert sentence in capsys.readouterr().err
    assert sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*")) == before


def test_a_recording_has_no_results(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(recording), "--as", "glb", "--out", str(tmp_path / "a.glb")]) == 2
    assert "holds no results" in capsys.readouterr().err
