# SPDX-License-Identifier: Apache-2.0
"""The command line: lazy, one sentence per fault, exit codes; info and config."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from prism_vo import __version__, cli
from prism_vo.cli import COMMANDS, main
from prism_vo.cloud import PointCloud, write_ply
from prism_vo.errors import InputError, PrismError

sys.path.insert(0, str(Path(__file__).parent / "datasets"))
sys.path.insert(0, str(Path(__file__).parent / "optics"))
from sequence_files import images, write_image, write_raw_sequence
from vendor_files import write_vendor_files

DATA = Path(os.environ.get("PRISM_VO_DATA", Path(__file__).parents[2] / "shared" / "data"))
TABLE_60 = DATA / "table_60"
HEAVY = ("numpy", "cv2", "numba", "scipy", "pydantic", "yaml", "matplotlib")


def test_help_and_version(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "info" in out and "config" in out and "import-calibration" in out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


def test_help_imports_nothing_heavy():
    """Start-up stays short because no numeric package is loaded before a command runs."""
    code = (
        "import sys; from prism_vo.cli import main; main(['--help']); "
        f"print('LOADED', [m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "LOADED []"


def test_every_command_of_the_table_has_help(capsys):
    for name in cli.build_app():
        if not name.startswith("-"):
            assert main([name, "--help"]) == 0, name
            assert capsys.readouterr().out.startswith(f"Usage: prism-vo {name}")


def test_names_in_the_table_are_unique():
    assert len({name for name, _, _ in COMMANDS}) == len(COMMANDS)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["infoo"], "infoo"),
        (["info"], "info --help"),
        (["info", "a", "--no-such-flag"], "no-such-flag"),
        (["info", "/no/such/path"], "/no/such/path: no such file or folder."),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_2(arguments, words, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err and captured.err.count("\n") == 1 and captured.err.startswith("prism-vo: ")


@pytest.mark.parametrize(
    "error, code, words",
    [
        (InputError("a: is wrong."), 2, "a: is wrong."),
        (PrismError("b."), 2, "b."),
        (PermissionError(13, "Permission denied", "/root/x"), 2, "/root/x: Permission denied."),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (KeyboardInterrupt(), 130, "Interrupted."),
    ],
)
def test_errors_are_caught_once(monkeypatch, capsys, error, code, words):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr(cli, "build_app", lambda: broken)
    assert main([]) == code
    captured = capsys.readouterr()
    assert captured.err == f"prism-vo: {words}\n" or words in captured.err
    assert "Traceback" not in captured.err and captured.err.count("\n") == 1


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m prism_vo config | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert result.returncode == 0 and result.stderr == ""


def test_commands_may_return_an_exit_code(monkeypatch):
    monkeypatch.setattr(cli, "build_app", lambda: lambda *_, **__: 3)
    assert main([]) == 3


def test_info_of_a_sequence(tmp_path, capsys):
    folder = write_raw_sequence(tmp_path / "walk", images(3, np.uint16))
    assert main(["info", str(folder), "--plot", str(tmp_path / "grid.png")]) == 0
    out = capsys.readouterr().out
    for words in (
        "walk: 3 raw plenoptic images, 64x48, uint16",
        "field of view",
        "measures",
        "20 frames a second",
    ):
        assert words in out
    for words in ("white image (white.png)", "ground truth (groundtruth.txt)", "exposure times"):
        assert f"missing       {words}" in out
    assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")


def test_info_of_other_files(tmp_path, capsys):
    grid, model = write_vendor_files(tmp_path)
    write_image(tmp_path / "i.png", images(1)[0])
    write_ply(PointCloud(np.zeros((7, 3), np.float32)), tmp_path / "c.ply")
    (tmp_path / "t.txt").write_text("0 0 0 0 0 0 0 1\n1 3 4 0 0 0 0 1\n")
    expected = {
        grid: "Raytrix micro-lens calibration, pitch 14.3 px",
        model: "LiFCal camera model",
        tmp_path / "i.png": "grey image 64x48, uint8",
        tmp_path / "c.ply": "point cloud, 7 points",
        tmp_path / "t.txt": "2 poses, 5.000 m in 1.000 s",
    }
    for path, words in expected.items():
        assert main(["info", str(path)]) == 0
        assert words in capsys.readouterr().out


def test_info_of_results(tmp_path, capsys):
    (tmp_path / "trajectory.txt").write_text("0 0 0 0 0 0 0 1\n1 3 4 0 0 0 0 1\n")
    (tmp_path / "config.yaml").write_text("seed: 0\n")
    assert main(["info", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "results of a run" in out and "5.000 m" in out
    assert "missing       points.ply" in out and "missing       config.yaml" not in out


def test_info_faults(tmp_path, capsys):
    (tmp_path / "x.bin").write_bytes(b"\x00\x01")
    folder = write_raw_sequence(tmp_path / "walk", images(1))
    (tmp_path / "empty").mkdir()
    odd = write_raw_sequence(tmp_path / "odd", images(1))
    (odd / "camera.yaml").unlink()
    (odd / "camera.yaml").mkdir()
    assert main(["run", str(odd), "--out", str(tmp_path / "out")]) == 2
    assert f"{odd / 'camera.yaml'}: is a folder" in capsys.readouterr().err
    cases = [
        ([str(tmp_path / "x.bin")], "not a sequence, calibration"),
        ([str(folder), "--plot", str(tmp_path / "grid.jpg")], "ending in .png"),
        (
            [str(folder / "camera.yaml"), "--plot", str(tmp_path / "grid.png")],
            "needs a sequence with raw images",
        ),
        ([str(folder), "--plot", str(tmp_path / "nowhere" / "grid.png")], "No such file or directory"),
        ([str(tmp_path / "empty")], "the folder is empty"),
        ([str(odd)], "camera.yaml: is a folder"),
    ]
    for arguments, words in cases:
        assert main(["info", *arguments]) == 2
        captured = capsys.readouterr().err
        assert words in captured and captured.count("\n") == 1


@pytest.mark.skipif(not TABLE_60.is_dir(), reason="table_60 is not on this machine")
def test_info_reports_table_60(capsys):
    assert main(["info", str(TABLE_60)]) == 0
    out = capsys.readouterr().out
    for words in (
        "table_60: 60 raw plenoptic images, 1024x1024, uint8",
        "0 to 5.9 s, 10 frames a second",
        "60 poses, 0.567 m",
        "white image   present",
        "16 mm; micro-lens array 15.05 mm behind it, sensor 0.38 mm",
        "40.1 x 40.1 degrees",
        "hexagonal, 14.3 px apart, 3 kinds of focus",
        "512x512 (central view)",
        "to infinity",
    ):
        assert words in out
    table = out[out.index("distance   virtual depth") :].splitlines()[1:]
    rows = {words[0]: words for words in (line.split() for line in table) if words}
    # v and σ(z) by hand: f 16, b_L0 15.05, B 0.38, σ(ρ_v) 0.002
    assert float(rows["1"][2]) == pytest.approx(3.185, abs=1e-3)
    assert float(rows["1"][3]) == pytest.approx(0.029, abs=1e-3)
    assert float(rows["10"][2]) == pytest.approx(2.567, abs=1e-3) and 4 <= float(rows["10"][-1]) <= 7
