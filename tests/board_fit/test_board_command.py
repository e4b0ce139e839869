# SPDX-License-Identifier: Apache-2.0
"""``calibrate board`` on tables and on rendered pictures, and its sentences."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from board_fit.exact_board import BOARD, camera, seen

from prism_vo.calibrate.grid import Grid
from prism_vo.cli import main
from prism_vo.optics.calibration import Calibration, load_calibration, save_calibration
from prism_vo.simulate import CATALOGUE, Renderer, build_scene, plan, preset_camera

R12 = Path(__file__).resolve().parents[3] / "shared" / "data" / "r12a"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board rendered by the simulator, with a camera file whose optics are five per cent wrong."""
    folder = tmp_path_factory.mktemp("board") / "board"
    (folder / "raw").mkdir(parents=True)
    true = preset_camera("mini")
    renderer = Renderer(true, build_scene("board"))
    for k, pose in enumerate(plan(CATALOGUE["board"].path, None, 0).poses[::16]):
        cv2.imwrite(str(folder / "raw" / f"{k:06d}.png"), renderer.raw(pose, frame=k))
    cv2.imwrite(str(folder / "white.png"), renderer.white())
    save_calibration(true, folder.parent / "true.yaml")
    data = true.model_dump()
    data["main_lens"]["focal_length_mm"] *= 1.05
    data["main_lens"]["mla_distance_mm"] *= 1.05
    data["mla"]["sensor_distance_mm"] *= 0.95
    save_calibration(Calibration.model_validate(data), folder / "camera.yaml")
    return folder


def tables(folder: Path) -> list[str]:
    """Exact corners as another program would write them, and the arguments that go with them."""
    grid = Grid.of(camera().calibration.mla)
    corners = seen(0.1)
    row_of = np.rint(grid.cells(corners.centre)).astype(int)
    column, row = row_of[:, 0] + row_of[:, 1] // 2 + 100, row_of[:, 1] + 100
    lines = [
        f"{k},{j},{u:.3f},{v:.3f},0,{c},{f + 3}"
        for k, j, (u, v), c, f in zip(column, row, corners.xy, corners.corner, corners.frame)
    ]
    (folder / "corners.csv").write_text("\n".join(["k,l,u,v,rho,cluster,frame", *lines]))
    unique = np.unique(np.column_stack([column, row, corners.centre]), axis=0)
    text = "\n".join(f"{int(k)},{int(j)},{u:.3f},{v:.3f}" for k, j, u, v in unique)
    (folder / "centers.csv").write_text("k,l,u,v\n" + text)
    size = ["--corners", str(BOARD.columns), str(BOARD.rows), "--square", "30"]
    sensor = ["--raw-size", "640x640", "--pixel", "16"]
    return [str(folder / "corners.csv"), "--centers", str(folder / "centers.csv"), *size, *sensor]


def test_a_table_of_corners(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "camera.yaml"
    page = tmp_path / "report.html"
    arguments = [*tables(tmp_path), "--out", str(out), "--xml", "--report", str(page)]
    assert main(["calibrate", "board", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "pitch 13.400" in shown and "Expect lengths" in shown
    found, true = load_calibration(out), camera().calibration
    assert found.uncertainty is not None
    assert abs(found.mla.sensor_distance_mm - true.mla.sensor_distance_mm) < 4 * found.uncertainty["B_mm"]
    assert found.nominal == ("focus_virtual_depth",)
    assert (tmp_path / "CameraModel.xml").exists()
    html = page.read_text(encoding="utf-8")
    assert (
        "Expect lengths" in html
        and "within micro-images" in html
        and "by a camera that has not seen it" in html
    )
    assert html.count("<tr><td>") > len(
        set(seen(0.1).frame.tolist())
    )  # a row a picture, and those of the numbers
    assert main(["calibrate", "board", *tables(tmp_path), "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["calibrate", "board", *tables(tmp_path), "--report", str(page)]) == 2
    assert page.read_text(encoding="utf-8") == html


def test_pictures_of_a_board(pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "camera.yaml"
    arguments = [str(pictures), "--square", "30", "--corners", "9", "6", "--out", str(out)]
    assert main(["calibrate", "board", *arguments]) == 0
    assert "stereo slopes" in capsys.readouterr().out
    found, true = load_calibration(out), load_calibration(pictures.parent / "true.yaml")
    assert found.uncertainty is not None
    for key, value, truth in (
        ("f_L_mm", found.main_lens.focal_length_mm, true.main_lens.focal_length_mm),
        ("B_mm", found.mla.sensor_distance_mm, true.mla.sensor_distance_mm),
    ):
        assert abs(value - truth) < 4 * found.uncertainty[key], key
    assert np.abs(found.uncertainty["held_out_squares_percent"]).max() < 3


@pytest.mark.parametrize("corners", [("6", "4"), ("4", "4")])
def test_a_wrong_number_of_corners_is_refused(
    pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], corners: tuple[str, str]
) -> None:
    """Some part of a board of 9 by 6 is found everywhere, each time another one."""
    out = tmp_path / "camera.yaml"
    arguments = [str(pictures), "--square", "30", "--corners", *corners, "--out", str(out)]
    assert main(["calibrate", "board", *arguments]) == 2
    shown = capsys.readouterr()
    assert "do not determine the camera" in shown.err and "leave --corners out" in shown.err
    assert "Expect lengths" not in shown.out and not out.exists()


def test_a_board_that_is_not_seen(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "camera.yaml"
    assert (
        main(
            ["calibrate", "board", str(recording), "--square", "30", "--corners", "9", "6", "--out", str(out)]
        )
        == 2
    )
    error = capsys.readouterr().err
    assert "No checkerboard is seen" in error and "Traceback" not in error
    assert not out.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--square", "-1"], "positive length"),
        (["--corners", "2", "1"], "--corners"),
        (["--corners", "3", "3"], "check --corners"),
        (["--centers", "nowhere.csv"], "no such file"),
        (["--xml"], "--out"),
    ],
)
def test_contradictions_about_a_board(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str], words: str
) -> None:
    arguments = tables(tmp_path)
    if change[0] in arguments:
        at = arguments.index(change[0])
        arguments[at + 1 : at + len(change)] = change[1:]
    else:
        arguments += change
    assert main(["calibrate", "board", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k,l,u\n1,2,3", "no column 'v'"),
        ("k,l,u,v,cluster,frame\n1,2,3\n", "does not hold"),
        ("k,l,u,v,cluster,frame\n1,2,nan,4,0,0\n", "not finite"),
        ("k,l,u,v,cluster,frame\n", "no lines"),
        ("", "no column"),
    ],
)
def test_damaged_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str) -> None:
    arguments = tables(tmp_path)
    (tmp_path / "corners.csv").write_text(text)
    assert main(["calibrate", "board", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.skipif(not R12.is_dir(), reason="the R12's corners are not here")
def test_corners_of_a_real_camera(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [
        str(R12 / "corners.csv"),
        "--centers",
        str(R12 / "centers.csv"),
        "--out",
        str(tmp_path / "camera.yaml"),
    ]
    sizes = ["--corners", "9", "5", "--square", "10", "--raw-size", "4080x3068", "--pixel", "5.5"]
    assert main(["calibrate", "board", *files, *sizes]) == 0
    assert "0.263 px RMS" in capsys.readouterr().out
    found = load_calibration(tmp_path / "camera.yaml")
    assert found.mla.pitch_px == pytest.approx(23.31, abs=0.01)
    assert found.uncertainty is not None
    assert np.abs(found.uncertainty["held_out_squares_percent"]).max() < 0.5
