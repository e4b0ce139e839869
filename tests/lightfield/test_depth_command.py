# SPDX-License-Identifier: Apache-2.0
"""``prism-vo depth``: what it writes can be read again; it never overwrites."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from light_fields import mini

from prism_vo.cli import main
from prism_vo.datasets import open_sequence
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import save_calibration


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    field = mini()
    folder = tmp_path / "recording"
    (folder / "raw").mkdir(parents=True)
    save_calibration(field.camera.calibration, folder / "camera.yaml")
    cv2.imwrite(str(folder / "white.png"), field.white)
    for n in range(2):
        cv2.imwrite(str(folder / "raw" / f"{n:06d}.png"), field.raw.image)
    return folder


def test_folder_is_decoded_and_reads_back(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["depth", str(recording), "--out", str(out)]) == 0
    sequence = open_sequence(out)
    assert sequence.is_decoded and len(sequence) == 2
    frame = sequence[1]
    field = mini()
    expected = Decoder(field.camera, white=field.white).dense(field.raw)
    np.testing.assert_array_equal(frame.valid, expected.valid)
    np.testing.assert_allclose(frame.inv_virtual_depth, expected.inv_virtual_depth, atol=1e-5)
    np.testing.assert_allclose(frame.variance[frame.valid], expected.variance[frame.valid], rtol=1e-4)
    depth = np.load(out / "depth" / "000001.npy")
    assert depth.dtype == np.float32 and np.isnan(depth[~expected.valid]).all()
    away = expected.valid & np.isfinite(depth)
    assert np.median(np.abs(depth[away] / field.depth[away] - 1)) < 0.05
    assert cv2.imread(str(out / "preview" / "000001.png")).shape[1] == 2 * depth.shape[1]


def test_existing_results_are_never_touched(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    assert main(["depth", str(recording), "--out", str(out)]) == 2
    assert "nothing was overwritten" in " ".join(capsys.readouterr().err.split())
    assert [p.name for p in out.iterdir()] == ["notes.txt"]


def test_missing_camera_and_missing_images_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "a").mkdir()
    image = tmp_path / "a" / "x.png"
    cv2.imwrite(str(image), np.zeros((64, 64), np.uint8))
    assert main(["depth", str(image), "--out", str(tmp_path / "o")]) == 2
    assert "--camera" in capsys.readouterr().err
    assert main(["depth", str(tmp_path / "none.png"), "--out", str(tmp_path / "o")]) == 2
    assert "no such file" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()
