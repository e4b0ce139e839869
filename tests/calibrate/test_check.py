# SPDX-License-Identifier: Apache-2.0
"""Does this camera fit these images: what is wrong is seen, what is right is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scenes import recording

from prism_vo.calibrate.check import check_camera
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
