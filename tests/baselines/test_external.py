# SPDX-License-Identifier: Apache-2.0
"""Exports and adapters: stand-ins read the files as the real programs do and write their kind of answer."""

from __future__ import annotations

import shutil
import stat
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml
from plane_scene import pinhole_view, write_decoded_sequence

from prism_vo import se3
from prism_vo.baselines.export import Exported, export_sequence
from prism_vo.baselines.external import (
    PROGRAMS,
    NotInstalledError,
    ProgramSettings,
    find_executable,
    read_programs,
    run_program,
)
from prism_vo.baselines.focused import focused_frames, view_of
from prism_vo.cli import main
from prism_vo.datasets import open_sequence
from prism_vo.errors import InputError
from prism_vo.evaluate.metrics import evaluate_trajectory

COUNT = 8


@pytest.fixture(scope="module")
def sequence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recording") / "relief"
    write_decoded_sequence(folder, COUNT)
    return folder


def exported(sequence: Path, form: str, out: Path) -> Exported:
    recording = open_sequence(sequence)
    return export_sequence(
        focused_frames(recording),
        view_of(recording),
        recording.groundtruth,
        form,
        out,  # type: ignore[arg-type]
    )


# Each stand-in parses its input as strictly as the real program and answers with the path in another world.
ANSWER = """
import sys, math, pathlib, os
import cv2
def answer(path, stamps, truth):
    rows = []
    for line in open(truth):
        if line.startswith("#"): continue
        t, x, y, z, qx, qy, qz, qw = map(float, line.split())
        rows.append((t, x, y, z, qx, qy, qz, qw))
    with open(path, "w") as out:
        for stamp, row in zip(stamps, rows):
            t, x, y, z = row[:4]
            numbers = (stamp, 3 * x + 1, 3 * y - 2, 3 * z, *row[4:])
            out.write(" ".join(f"{n:.9f}" for n in numbers) + "\\n")
"""
DSO = """
options = dict(a.split("=", 1) for a in sys.argv[1:])
assert not any(" " in a for a in sys.argv[1:]), "DSO ends a path at its first space"
assert options["nogui"] == "1" and options["quiet"] == "1" and options["mode"] in "12", options
lines = open(options["calib"]).read().splitlines()
name, fx, fy, cx, cy, omega = lines[0].split()
assert name == "Pinhole" and omega == "0" and lines[2] == "none" and lines[1] == lines[3]
width, height = map(int, lines[1].split())
images = sorted(pathlib.Path(options["files"]).iterdir())
times = [l.split() for l in open(pathlib.Path(options["files"]).parent / "times.txt")]
assert len(times) == len(images) and all(len(t) == 3 for t in times)
for image in images:
    assert cv2.imread(str(image), cv2.IMREAD_UNCHANGED).shape == (height, width)
assert float(fx) > 1 and abs(float(cx) - (width - 1) / 2) < 1
answer("result.txt", [float(t[1]) for t in times], pathlib.Path(options["files"]).parent / "groundtruth.txt")
"""
ORBSLAM3 = """
vocabulary, settings, folder = sys.argv[1:]
assert open(vocabulary).read() == "words"
storage = cv2.FileStorage(settings, cv2.FILE_STORAGE_READ)
assert storage.isOpened() and storage.getNode("Camera.type").string() == "PinHole"
assert storage.getNode("loopClosing").real() == 0 and storage.getNode("Camera1.fx").real() > 1
assert storage.getNode("Camera.width").isInt() and storage.getNode("Camera.fps").isInt()
lines = open(folder + "/rgb.txt").read().splitlines()[3:]
stamps = []
for line in lines:
    stamp, image = line.split()
    assert cv2.imread(folder + "/" + image, cv2.IMREAD_UNCHANGED) is not None
    stamps.append(float(stamp))
answer("KeyFrameTrajectory.txt", stamps, folder + "/groundtruth.txt")
"""
DPVO = """
options = dict(a[2:].split("=", 1) if "=" in a else (a[2:], "") for a in sys.argv[1:])
calibration = [float(w) for w in open(options["calib"]).read().split(" ")]
assert len(calibration) == 4 and "save_trajectory" in options and options["stride"] == "1"
images = sorted(os.listdir(options["imagedir"]))
pathlib.Path("saved_trajectories").mkdir(exist_ok=True)
truth = pathlib.Path(options["imagedir"]).parent / "groundtruth.txt"
answer(f"saved_trajectories/{options['name']}.txt", range(len(images)), truth)
"""
STAND_INS = {"dso": DSO, "orbslam3": ORBSLAM3, "dpvo": DPVO}


def stand_in(folder: Path, body: str) -> tuple[str, ...]:
    script = folder / "program.py"
    script.write_text(f"#!{sys.executable}\n{ANSWER}{body}")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return (str(script),)


@pytest.mark.parametrize("name", ["dso", "orbslam3", "dpvo"])
def test_adapters_speak_the_programs_formats(name: str, sequence: Path, tmp_path: Path) -> None:
    (tmp_path / "ORBvoc.txt").write_text("words")
    settings = ProgramSettings(
        executable=stand_in(tmp_path, STAND_INS[name]), vocabulary=str(tmp_path / "ORBvoc.txt"), timeout=60
    )
    files = exported(sequence, PROGRAMS[name].form, tmp_path / "images for it")
    work = tmp_path / "work"
    work.mkdir()
    trajectory = run_program(name, settings, files, work)
    truth = open_sequence(sequence).groundtruth
    assert truth is not None
    result = evaluate_trajectory(trajectory, truth)
    assert result.matched == COUNT
    assert result.sim3.rmse_t < 1e-6 and result.scale == pytest.approx(1 / 3, rel=1e-5)


def test_a_missing_program_is_not_installed(tmp_path: Path) -> None:
    for name in PROGRAMS:
        with pytest.raises(NotInstalledError, match=f"{name}.executable"):
            find_executable(name, ProgramSettings(executable=("/nowhere/program",)))


def test_a_program_that_fails_is_reported_with_its_log(sequence: Path, tmp_path: Path) -> None:
    files = exported(sequence, "dso", tmp_path / "dso")
    (tmp_path / "result.txt").write_text("0 0 0 0 0 0 0 1\n")  # left over from an earlier run
    settings = ProgramSettings(executable=stand_in(tmp_path, "print('no luck'); sys.exit(3)"))
    with pytest.raises(InputError, match="ended with code 3"):
        run_program("dso", settings, files, tmp_path)
    assert "no luck" in (tmp_path / "dso.log").read_text()


def test_programs_file_is_strict(tmp_path: Path) -> None:
    good = tmp_path / "programs.yaml"
    good.write_text("dso: {executable: [/opt/dso_dataset]}\n")
    assert read_programs(good).dso.executable == ("/opt/dso_dataset",)
    good.write_text("dzo: {executable: [/opt/dso_dataset]}\n")
    with pytest.raises(InputError, match="dzo"):
        read_programs(good)


def test_depth_exports_hold_metres(sequence: Path, tmp_path: Path) -> None:
    for form, units in (("tum", 5000.0), ("rgbd", 1000.0)):
        out = tmp_path / form
        assert main(["export", str(sequence), "--as", form, "--out", str(out), "--last", "1"]) == 0
        depth = cv2.imread(str(out / "depth/000000.png"), cv2.IMREAD_UNCHANGED)
        assert depth.dtype == np.uint16
        values = depth[depth > 0] / units
        near, far = np.percentile(values, [10, 80])
        assert near == pytest.approx(1.1, rel=0.05) and far == pytest.approx(1.5, rel=0.05)
    lines = (tmp_path / "tum/associations.txt").read_text().splitlines()
    assert lines[1].split() == ["0.100000000", "rgb/000001.png", "0.100000000", "depth/000001.png"]


def test_colmap_model_reprojects(sequence: Path, tmp_path: Path) -> None:
    out = tmp_path / "colmap"
    assert main(["export", str(sequence), "--as", "colmap", "--out", str(out)]) == 0
    camera = (out / "sparse/0/cameras.txt").read_text().splitlines()[1].split()
    focal, cx = float(camera[4]), float(camera[6])
    view = pinhole_view()
    assert focal == pytest.approx(view.focal_px) and cx == pytest.approx(view.cx + 0.5)
    rows = [line.split() for line in (out / "sparse/0/images.txt").read_text().splitlines() if ".png" in line]
    assert len(rows) == COUNT
    truth = open_sequence(sequence).groundtruth
    assert truth is not None
    w, x, y, z, *t = map(float, rows[3][1:8])
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = se3.quaternion_to_rotation(np.array([x, y, z, w])), t
    np.testing.assert_allclose(T @ truth.poses[3], np.eye(4), atol=1e-9)


def test_synchronised_images_are_exported_as_they_are(sequence: Path, tmp_path: Path) -> None:
    arguments = ["export", str(sequence), "--as", "dso", "--images", "mono", "--out", str(tmp_path / "dso")]
    assert main(arguments) == 2, "this recording has none"
    folder = tmp_path / "with_mono"
    shutil.copytree(sequence, folder)
    (folder / "mono").mkdir()
    numbers = {"width": 50, "height": 40, "fx": 60.0, "fy": 60.0, "cx": 24.0, "cy": 19.5}
    (folder / "mono.yaml").write_text(yaml.safe_dump(numbers))
    for k in range(COUNT):
        cv2.imwrite(str(folder / f"mono/{k:06d}.png"), np.full((40, 50), 10 * k, np.uint8))
    assert main([*arguments[:1], str(folder), *arguments[2:]]) == 0
    assert (tmp_path / "dso/camera.txt").read_text().splitlines()[:2] == ["Pinhole 60 60 24 19.5 0", "50 40"]
    assert (cv2.imread(str(tmp_path / "dso/images/000003.png"), cv2.IMREAD_UNCHANGED) == 30).all()


def test_export_never_writes_into_a_full_folder(
    sequence: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    assert main(["export", str(sequence), "--as", "mono", "--out", str(tmp_path)]) == 2
    assert "not empty" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["precious.txt"]
    assert main(["export", str(sequence), "--as", "mono", "--first", "99"]) == 2
