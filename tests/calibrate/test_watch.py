# SPDX-License-Identifier: Apache-2.0
"""A run looks beside itself whether its camera fits; info and report say what was found."""

from __future__ import annotations

from pathlib import Path

import cv2
import pytest
from scenes import recording

from prism_vo.calibrate.watch import CameraWatch
from prism_vo.cli import main
from prism_vo.optics.calibration import save_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate import preset_camera
from prism_vo.types import RawFrame, UnreadableFrame


@pytest.mark.parametrize("threads", [True, False])
def test_frames_at_growing_distances_are_looked_at(threads: bool) -> None:
    images = recording("table").frames
    watch = CameraWatch(PlenopticCamera.from_calibration(preset_camera("mini")), None, threads)
    assert watch.result() is None
    watch.offer(UnreadableFrame(0, 0.0, "cut off"))
    for k in range(40):
        watch.offer(RawFrame(k, 0.1 * k, images[k % len(images)]))
    found = watch.result()
    assert found is not None and found.problems() == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recording whose camera file has a grid that is half a pixel off."""
    calibration = preset_camera("mini")
    x, y = calibration.mla.origin_px
    wrong = calibration.mla.model_copy(update={"origin_px": (x + 0.4, y + 0.3)})
    path = tmp_path / "walk"
    (path / "raw").mkdir(parents=True)
    save_calibration(calibration.model_copy(update={"mla": wrong}), path / "camera.yaml")
    for k, image in enumerate(recording("table").frames):
        cv2.imwrite(str(path / "raw" / f"{k:06d}.png"), image)
    return path


def test_info_says_how_far_the_grid_is_off(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(folder)]) in (0, None)
    said = capsys.readouterr().out
    assert "does the camera file fit the images? (5 of them)" in said
    assert "0.50 px" in said and "calibrate grid" in said
    main(["info", str(folder), "--no-check"])
    assert "does the camera file fit" not in capsys.readouterr().out


def test_run_notes_it_in_summary_and_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder.parent / "results"
    main(["run", str(folder), "--out", str(out)])
    assert "The micro-lens grid lies 0.5" in capsys.readouterr().out.replace("\n", " ")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Camera file and images" in page and 'class="notice"' in page
