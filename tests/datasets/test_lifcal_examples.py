# SPDX-License-Identifier: Apache-2.0
"""LiFCal's example folders open as they are; without CameraModel.xml one sentence says what is needed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from sequence_files import CALIBRATION, images, write_image

from prism_vo.cli import main
from prism_vo.datasets import open_sequence
from prism_vo.errors import InputError
from prism_vo.optics.calibration import save_calibration

sys.path.insert(0, str(Path(__file__).parents[1] / "optics"))
from vendor_files import write_vendor_files

RAW, FOCUSED, DEPTH = "Images_Raw_Processed", "Images_Focused", "Images_Depth_Filled"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Three frames in the layout of LiFCal's examples, with the camera model LiFCal writes."""
    folder = tmp_path / "example"
    folder.mkdir()
    grid, _ = write_vendor_files(folder)
    grid.rename(folder / "MLA_Calibration.xml")
    for name, text in (
        ("Settings.yaml", "%YAML:1.0\n---\nPath: x\n"),
        ("Constraints.txt", ""),
        ("Fixed_Paramerters.txt", ""),
    ):
        (folder / name).write_text(text)
    for number, raw in enumerate(images(3, channels=3, size=(300, 260))):
        write_image(folder / RAW / f"Img_{number:04d}.png", raw)
        write_image(folder / FOCUSED / f"Img_{number:04d}.png", images(1, size=(150, 130))[0])
        write_image(folder / DEPTH / f"Img_{number:04d}.png", np.full((130, 150), 40000, np.uint16))
    return folder


def test_raw_images_are_used_if_there_are_any(example):
    sequence = open_sequence(example)
    assert not sequence.is_decoded and len(sequence) == 3 and sequence.name == "example"
    assert sequence.camera.calibration.sensor.width == 300 and sequence.camera.tf_scale == 2
    assert sequence.camera.calibration.totally_focused.view == "central"
    np.testing.assert_array_equal(sequence[2].image, images(3, channels=3, size=(300, 260))[2])


def test_focused_images_and_depth_without_raw(example):
    shutil.rmtree(example / RAW)
    with pytest.raises(InputError, match=r"decoded\.yaml is missing"):
        open_sequence(example)
    (example / "decoded.yaml").write_text("{view: focal, convention: micro-image}")
    sequence = open_sequence(example)
    assert sequence.is_decoded and len(sequence) == 3 and sequence.camera.calibration.sensor.width == 300
    assert sequence[0].valid.any()


def test_the_camera_model_may_lie_in_a_folder_of_results(example):
    (example / "Results").mkdir()
    (example / "CameraModel.xml").rename(example / "Results" / "CameraModel.xml")
    assert len(open_sequence(example)) == 3


def test_without_camera_model_the_next_commands_are_named(example, capsys):
    (example / "CameraModel.xml").unlink()
    assert main(["info", str(example)]) == 2
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0] == f"{example}: 3 images (Img_0000.png …), but no camera.yaml. Type next:"
    assert lines[1] == (
        f"  prism-vo import-calibration {example}/MLA_Calibration.xml CameraModel.xml "
        f"--raw-image {example}/{RAW}/Img_0000.png --out {example}/camera.yaml"
    )
    assert lines[2] == f"  prism-vo info {example} --plot grid.png"
    assert "CameraModel.xml is what LiFCal writes" in lines[3] and len(lines) == 4
    assert captured.err.count("\n") == 1 and "CameraModel.xml is missing" in captured.err
    assert main(["run", str(example)]) == 2
    assert "names the two commands to type next" in capsys.readouterr().err


def test_a_camera_file_stands_for_the_missing_model(example, tmp_path):
    (example / "CameraModel.xml").unlink()
    sensor = CALIBRATION.sensor.model_copy(update={"width": 300, "height": 260})
    own = CALIBRATION.model_copy(update={"sensor": sensor})
    save_calibration(own, tmp_path / "mine.yaml")
    assert open_sequence(example, camera=tmp_path / "mine.yaml")[0].image.shape == (260, 300, 3)
    save_calibration(own, example / "camera.yaml")
    assert open_sequence(example).camera.calibration == own


def test_the_first_raw_image_may_be_damaged(example):
    (example / RAW / "Img_0000.png").write_bytes(b"")
    assert open_sequence(example)[1].image.shape == (260, 300, 3)
    for path in (example / RAW).iterdir():
        path.write_bytes(b"")
    with pytest.raises(InputError, match="none of its images can be read"):
        open_sequence(example)
