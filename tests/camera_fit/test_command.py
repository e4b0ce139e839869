# SPDX-License-Identifier: Apache-2.0
"""``calibrate camera`` and ``refine`` on a tiny rendered recording, and the sentences for what cannot be done."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_vo.cli import main
from prism_vo.optics.calibration import Calibration, load_calibration, save_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.pipeline import RunResult
from prism_vo.simulate import CATALOGUE, Renderer, build_scene, plan
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.write import simulate_sequence
from prism_vo.trajectory import read_trajectory


def part(recording: Path, folder: Path, frames: list[int]) -> Path:
    """A recording with some frames of another, in any order."""
    (folder / "raw").mkdir(parents=True)
    for k, frame in enumerate(frames):
        shutil.copy(sorted((recording / "raw").iterdir())[frame], folder / "raw" / f"{k:06d}.png")
    for name in ("camera.yaml", "white.png"):
        shutil.copy(recording / name, folder / name)
    return folder


def test_a_camera_from_nominal_values(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    true = load_calibration(recording / "camera.yaml")
    data = true.model_dump()
    data["main_lens"]["focal_length_mm"] *= 1.05
    data["main_lens"]["mla_distance_mm"] *= 1.05
    data["mla"]["sensor_distance_mm"] *= 0.95
    save_calibration(Calibration.model_validate(data), tmp_path / "nominal.yaml")
    arguments = ["calibrate", "camera", str(recording), "--camera", str(tmp_path / "nominal.yaml")]
    files = ["--out", str(tmp_path / "camera.yaml"), "--report", str(tmp_path / "report.html"), "--xml"]
    assert main([*arguments, *files]) == 0
    assert "Expect distances" in capsys.readouterr().out
    found = load_calibration(tmp_path / "camera.yaml")
    assert found.uncertainty is not None
    for key, value, truth in (
        ("f_L_mm", found.main_lens.focal_length_mm, true.main_lens.focal_length_mm),
        ("B_mm", found.mla.sensor_distance_mm, true.mla.sensor_distance_mm),
    ):
        assert abs(value - truth) < 4 * found.uncertainty[key], key
    assert "Correlations" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "CameraModel.xml").exists()
    assert main([*arguments, *files]) == 2  # nothing is overwritten
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("frames", "words"), [([0, 1, 2], "at least 5"), ([0] * 6, "does not move")], ids=["few", "still"]
)
def test_recordings_that_cannot_do_it(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], frames: list[int], words: str
) -> None:
    folder = part(recording, tmp_path / "part", frames)
    assert main(["calibrate", "camera", str(folder), "--out", str(tmp_path / "camera.yaml")]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error
    assert not (tmp_path / "camera.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--distance", "0.5"], "belong together"),
        (["--distance", "0.5", "--between", "0", "1:20,30"], "two frames or two pixels"),
        (["--distance", "0.5", "--between", "a", "b"], "write a frame"),
        (["--distance", "-1", "--between", "0", "3"], "positive length"),
        (["--board", "10", "--sensor-distance", "0.4"], "one metric fact"),
        (["--keyframes", "2"], "--keyframes"),
        (["--xml"], "--out"),
    ],
)
def test_contradictions_are_said_at_once(
    recording: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["calibrate", "camera", str(recording), *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_finished_run_is_refined(
    reported: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reported.out is not None
    out = tmp_path / "refined"
    assert main(["refine", str(reported.out), "--out", str(out)]) == 0
    assert "keyframes moved" in capsys.readouterr().out
    before, after = read_trajectory(reported.out / "trajectory.txt"), read_trajectory(out / "trajectory.txt")
    assert len(before) == len(after)
    assert np.abs(before.positions - after.positions).max() < 0.02
    assert main(["refine", str(reported.out), "--out", str(out)]) == 2  # nothing is overwritten
    assert main(["refine", str(tmp_path / "nothing")]) == 2


@pytest.fixture
def one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody presses Ctrl-C in the second round."""
    from prism_vo.camera_fit import calibrate

    whole = calibrate._round

    def interrupted(*arguments: Any, **named: Any) -> Any:
        if arguments[6] > 0:  # the number of the round
            raise KeyboardInterrupt
        return whole(*arguments, **named)

    monkeypatch.setattr(calibrate, "_round", interrupted)


@pytest.mark.usefixtures("one_round")
def test_ctrl_c_keeps_what_was_found_with_the_distance_of_the_sensor_as_fact(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    true = load_calibration(recording / "camera.yaml")
    data = true.model_dump()
    data["main_lens"]["focal_length_mm"] *= 1.03
    data["main_lens"]["mla_distance_mm"] *= 1.03
    data["mla"]["sensor_distance_mm"] *= 0.8
    data["mla"]["pitch_px"] *= 1 - 7e-4
    save_calibration(Calibration.model_validate(data), tmp_path / "nominal.yaml")
    arguments = ["calibrate", "camera", str(recording), "--camera", str(tmp_path / "nominal.yaml")]
    fact = ["--grid", "--sensor-distance", str(true.mla.sensor_distance_mm)]
    assert main([*arguments, *fact, "--out", str(tmp_path / "camera.yaml")]) == 130
    said = capsys.readouterr()
    assert "the last whole round is shown and written" in said.err and "array to sensor B" in said.out
    found = load_calibration(tmp_path / "camera.yaml")
    assert found.mla.sensor_distance_mm == pytest.approx(true.mla.sensor_distance_mm)
    assert found.uncertainty is not None
    assert abs(found.mla.pitch_px / true.mla.pitch_px - 1) < 5e-5
    assert found.uncertainty["grid"]["pitch_px"] < 1e-3
    away = found.main_lens.focal_length_mm - true.main_lens.focal_length_mm
    assert abs(away) < 4 * found.uncertainty["f_L_mm"]


@pytest.mark.usefixtures("one_round")
def test_the_distance_of_two_marked_points(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    true = load_calibration(recording / "camera.yaml")
    camera = PlenopticCamera(true)
    view = camera.view("central")
    frames = len(list((recording / "raw").iterdir()))
    pose = plan(CATALOGUE["table"].path, frames, 0).poses[0]
    depth = Renderer(true, build_scene("table")).depth(pose)
    ends = [(40, 150), (150, 140)]
    places = [
        depth[y, x] * np.array([(x - view.cx) / view.focal_px, (y - view.cy) / view.focal_px, 1.0])
        for x, y in ends
    ]
    distance = float(np.linalg.norm(places[0] - places[1]))
    between = ["--between", *(f"0:{x},{y}" for x, y in ends)]
    out = ["--out", str(tmp_path / "camera.yaml")]
    assert (
        main(["calibrate", "camera", str(recording), "--distance", f"{distance:.5f}", *between, *out]) == 130
    )
    assert "m between 0:" in capsys.readouterr().out
    found = load_calibration(tmp_path / "camera.yaml")
    assert found.uncertainty is not None
    assert found.uncertainty["B_mm"] < 0.1 * true.mla.sensor_distance_mm
    assert abs(found.mla.sensor_distance_mm - true.mla.sensor_distance_mm) < 4 * found.uncertainty["B_mm"]


@pytest.mark.usefixtures("one_round")
def test_a_board_among_other_things(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = tmp_path / "board", tmp_path / "camera.yaml"
    simulate_sequence("board", folder, SimulateOptions(camera="mini", frames=10, truth_every=0))
    true = load_calibration(folder / "camera.yaml")
    fact = ["--board", "30", "--corners", "9", "6"]
    assert main(["calibrate", "camera", str(folder), *fact, "--out", str(out)]) == 130
    assert "checkerboard of 30 mm" in capsys.readouterr().out
    found = load_calibration(out)
    assert found.uncertainty is not None
    assert abs(found.mla.sensor_distance_mm - true.mla.sensor_distance_mm) < 4 * found.uncertainty["B_mm"]
