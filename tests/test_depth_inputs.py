# SPDX-License-Identifier: Apache-2.0
"""``prism-vo depth`` takes what ``run`` takes, and single images; what cannot be read is left out and said."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from prism_vo.cli import main

sys.path.insert(0, str(Path(__file__).parent / "datasets"))
from video_files import write_video


def decoded(out: Path) -> list[str]:
    return sorted(p.stem for p in (out / "depth").iterdir())


def test_a_single_image(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside = recording / "raw" / "000004.png"
    assert main(["depth", str(inside), "--out", str(tmp_path / "a")]) == 0
    assert capsys.readouterr().out == f"1 image decoded: {tmp_path / 'a'}\n"
    alone = Path(shutil.copy(inside, tmp_path / "alone.png"))
    options = ["--camera", str(recording / "camera.yaml"), "--white", str(recording / "white.png")]
    assert main(["depth", str(alone), *options, "--out", str(tmp_path / "b")]) == 0
    assert decoded(tmp_path / "b") == ["alone"]
    same = [np.load(tmp_path / k / "depth" / f"{n}.npy") for k, n in (("a", "000004"), ("b", "alone"))]
    np.testing.assert_array_equal(*same)


def test_a_part_of_a_recording(recording: Path, tmp_path: Path) -> None:
    flags = ["--start", "1", "--stride", "4", "--frames", "2"]
    assert main(["depth", str(recording), *flags, "--out", str(tmp_path / "o")]) == 0
    assert decoded(tmp_path / "o") == ["000001", "000005"]


def test_a_video(recording: Path, tmp_path: Path) -> None:
    files = sorted((recording / "raw").iterdir())[:3]
    frames = [cv2.imread(str(p), cv2.IMREAD_UNCHANGED) for p in files]
    video = write_video(tmp_path / "clip.mkv", frames)
    assert main(["depth", str(video), "--out", str(tmp_path / "o")]) == 2
    options = ["--camera", str(recording / "camera.yaml"), "--white", str(recording / "white.png")]
    assert main(["depth", str(video), *options, "--out", str(tmp_path / "o")]) == 0
    assert decoded(tmp_path / "o") == ["000000", "000001", "000002"]


def test_a_bad_image_is_left_out(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(shutil.copytree(recording, tmp_path / "walk"))
    (folder / "raw" / "000000.png").write_bytes(b"")
    assert main(["depth", str(folder), "--frames", "2", "--out", str(tmp_path / "o")]) == 3
    assert "left out: " in capsys.readouterr().err and decoded(tmp_path / "o") == ["000001"]
    assert main(["depth", str(folder / "raw" / "000000.png"), "--out", str(tmp_path / "p")]) == 2
    assert "the file is empty" in capsys.readouterr().err and not (tmp_path / "p").exists()


def test_decoded_recordings_are_not_decoded_again(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["depth", str(recording / "raw" / "000000.png"), "--out", str(tmp_path / "o")]) == 0
    assert main(["depth", str(tmp_path / "o"), "--out", str(tmp_path / "p")]) == 2
    assert "decoded already" in capsys.readouterr().err
