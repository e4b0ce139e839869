# SPDX-License-Identifier: Apache-2.0
"""The examples run as a reader would start them, and print what they promise."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import threading
import time
from pathlib import Path
from types import ModuleType

import cv2
import pytest

FOLDER = Path(__file__).resolve().parent.parent / "examples"


def example(name: str) -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name[:2]}", FOLDER / name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The recording of example 02 and the output of its run."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("examples") / "table"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        example("02_run_simulated.py").main(["--frames", "12", "--out", str(folder)])
    return folder, printed.getvalue()


def test_02_tracks_every_frame_and_names_its_error(simulated: tuple[Path, str]) -> None:
    _, printed = simulated
    assert len(re.findall(r"^frame \d+: (?:ok|keyframe)", printed, re.M)) == 12
    found = re.search(r"error ([\d.]+) mm = ([\d.]+) % of", printed)
    assert found is not None
    assert float(found[2]) < 2.0


def test_01_measures_depth_of_the_table(
    simulated: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example("01_depth_from_one_image.py").main([str(simulated[0]), "--out", str(tmp_path)])
    depths = [float(d) for d in re.findall(r": ([\d.]+) m ±", capsys.readouterr().out)]
    assert len(depths) == 3
    assert all(0.4 < d < 3.5 for d in depths)  # the scene reaches from 0.6 to 2.6 m
    assert cv2.imread(str(tmp_path / "depth.png")).shape[2] == 3
    assert cv2.imread(str(tmp_path / "focused.png"), 0).std() > 5


def test_03_runs_a_layout_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = example("03_own_dataset.py")
    recording = module.simulated_recording(tmp_path / "walk.npz", frames=10)
    assert module.Loader().recognises(recording)
    module.main([str(recording), "--out", str(tmp_path / "out")])
    assert "10 poses" in capsys.readouterr().out
    assert (tmp_path / "out" / "trajectory.txt").is_file()


def test_04_takes_frames_from_a_generator(capsys: pytest.CaptureFixture[str]) -> None:
    example("04_live_stream.py").main(["--frames", "5"])
    assert capsys.readouterr().out.count("camera at") == 5


def test_04_follows_a_folder_that_grows(
    simulated: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, growing = simulated[0], tmp_path / "growing"
    (growing / "raw").mkdir(parents=True)
    images = sorted((source / "raw").iterdir())[:6]
    for name in ("camera.yaml", "white.png"):
        shutil.copy(source / name, growing)
    shutil.copy(images[0], growing / "raw")

    def fill() -> None:
        for image in images[1:]:
            time.sleep(0.1)
            data = image.read_bytes()
            target = growing / "raw" / image.name
            target.write_bytes(data[: len(data) // 2])  # a camera writes a file in pieces
            time.sleep(0.1)
            target.write_bytes(data)

    writer = threading.Thread(target=fill)
    writer.start()
    example("04_live_stream.py").main(["--folder", str(growing), "--patience", "3"])
    writer.join()
    assert capsys.readouterr().out.count("camera at") == 6


def test_05_notebook_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.syspath_prepend(str(FOLDER.parent / "tools"))
    from run_notebook import run_notebook

    notebook = json.loads((FOLDER / "05_notebook.ipynb").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    done = run_notebook(notebook)
    shown = [output["data"] for cell in done["cells"] for output in cell.get("outputs", [])]
    assert sum("text/html" in data for data in shown) >= 6
    assert sum("image/png" in data for data in shown) == 2
    kept = [len(cell.get("outputs", [])) for cell in notebook["cells"]]
    assert kept == [len(cell.get("outputs", [])) for cell in done["cells"]], (
        "run tools/run_notebook.py and keep what the cells show"
    )
