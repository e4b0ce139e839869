# SPDX-License-Identifier: Apache-2.0
"""Does this camera fit these images: what is wrong is seen, what is right is left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from scenes import recording

from prism_vo.calibrate.check import check_camera
from prism_vo.cli import main
from prism_vo.optics.calibration import save_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate import preset_camera


def camera(mla: dict[str, Any] | None = None, lens: dict[str, Any] | None = None) -> PlenopticCamera:
    """The mini camera with some numbers of its file changed."""
    calibration = preset_camera("mini")
    return PlenopticCamera.from_calibration(
        calibration.model_copy(
            update={
                "mla": calibration.mla.model_copy(update=mla or {}),
                "main_lens": calibration.main_lens.model_copy(update=lens or {}),
            }
        )
    )


TRUE = camera()
MLA, LENS = TRUE.calibration.mla, TRUE.calibration.main_lens


@pytest.mark.parametrize("scene", ["table", "room"])
def test_the_right_camera_has_no_problems(scene: str) -> None:
    images = recording(scene)
    found = check_camera(TRUE, images.frames, images.white)
    assert found.problems() == []
    assert found.offset_rms < 0.05 and found.grid is not None and found.profile is not None
    assert found.slopes is not None and found.slopes.beyond < 0.02 and found.slopes.matched > 0.5


def test_a_grid_that_is_off_is_measured_to_a_twentieth_of_a_pixel() -> None:
    x, y = MLA.origin_px
    wrong = camera({"pitch_px": MLA.pitch_px * 1.0005, "origin_px": (x + 0.4, y - 0.3)})
    found = check_camera(wrong, recording("table").frames)
    assert found.grid is not None
    centre = found.grid.zones.centre
    truth = (centre - (x + 0.4, y - 0.3)) / 1.0005 + (x, y) - centre
    assert np.abs(found.offsets - truth).max() < 0.05
    assert found.grid.pitch_error == pytest.approx(5e-4, abs=1e-4)
    (problem,) = found.problems()
    assert "calibrate grid" in problem and "px" in problem


def test_a_grid_turned_by_a_tenth_of_a_milliradian_is_seen() -> None:
    turned = check_camera(camera({"rotation_rad": MLA.rotation_rad + 1e-4}), recording("table").frames)
    assert turned.grid is not None
    assert turned.grid.rotation_error == pytest.approx(1e-4, abs=5e-5)
    assert turned.grid.rotation_error > 2 * turned.grid.rotation_sigma


def test_another_focus_puts_the_scene_beyond_infinity() -> None:
    far = camera(lens={"mla_distance_mm": LENS.mla_distance_mm - 0.45})
    problems = check_camera(far, recording("table").frames).problems()
    assert len(problems) == 1 and "beyond infinity" in problems[0]


def test_images_of_another_camera_are_refused_in_one_sentence() -> None:
    other = camera({"pitch_px": MLA.pitch_px * 1.4})
    found = check_camera(other, recording("table").frames)
    assert found.grid is None and np.isnan(found.offset_rms)
    (problem,) = found.problems()
    assert "not found" in problem


def test_a_usable_circle_beyond_the_rim_is_noticed() -> None:
    wide = camera({"border_px": -1.5})
    problems = check_camera(wide, recording("table").frames).problems()
    assert any("border_px" in p for p in problems)


def test_too_few_matches_are_a_problem() -> None:
    """A grid with which two points of a hundred match leaves nothing beyond infinity."""
    found = check_camera(TRUE, recording("table").frames)
    assert found.slopes is not None
    few = replace(found, slopes=replace(found.slopes, matched=0.02, beyond=0.0))
    (problem,) = few.problems()
    assert "Only 2 % of the points" in problem
    assert replace(found, slopes=replace(found.slopes, matched=0.15)).problems() == []


def test_only_what_was_measured_is_said_to_fit() -> None:
    found = check_camera(TRUE, recording("table").frames)
    told, untold = found.measured()
    assert {"grid", "rim", "slopes"} <= set(told)
    told, untold = replace(found, slopes=None, types_agree=False, types_seen=None).measured()
    assert told == ["grid", "rim"] and untold == ["lens types", "slopes"]


def test_a_white_image_that_a_run_refuses_is_a_problem() -> None:
    images = recording("table")
    found = check_camera(TRUE, images.frames, np.zeros_like(images.white))
    (problem,) = found.problems()
    assert "white image is black" in problem
    assert found.slopes is not None and found.slopes.matched > 0.5


def test_info_names_what_was_not_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An even target shows the grid and no slopes; a black white image is no reason for silence about it."""
    images = recording("table")
    (tmp_path / "raw").mkdir()
    for number in range(2):
        cv2.imwrite(str(tmp_path / "raw" / f"{number:06d}.png"), images.white)
    save_calibration(preset_camera("mini"), tmp_path / "camera.yaml")
    assert main(["info", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "yes: grid and rim fit; the images do not tell about lens types and slopes" in said
    cv2.imwrite(str(tmp_path / "white.png"), np.zeros_like(images.white))
    assert main(["info", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "white.png: white image is black" in said and "yes:" not in said
