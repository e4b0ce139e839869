# SPDX-License-Identifier: Apache-2.0
"""A moved focus: the view as a function of it, against a camera file with the other number."""

from __future__ import annotations

import pytest

from prism_vo.optics.camera import PlenopticCamera, ViewName
from prism_vo.optics.focus import USUAL_SIGMA, FocusModel
from prism_vo.simulate import preset_camera

CALIBRATION = preset_camera("mini")
CAMERA = PlenopticCamera.from_calibration(CALIBRATION)
VIEWS: tuple[ViewName, ...] = ("central", "focal")


def moved(shift: float) -> PlenopticCamera:
    lens = CALIBRATION.main_lens
    other = lens.model_copy(update={"mla_distance_mm": lens.mla_distance_mm + shift})
    return PlenopticCamera.from_calibration(CALIBRATION.model_copy(update={"main_lens": other}))


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("shift", [-0.05, -1e-3, 0.0, 0.02])
def test_the_view_is_that_of_the_moved_camera(name: ViewName, shift: float) -> None:
    ours, theirs = FocusModel(CAMERA.view(name), CAMERA).at(shift), moved(shift).view(name)
    assert ours.w_infinity == pytest.approx(theirs.w_infinity, rel=1e-12)
    assert ours.kappa == pytest.approx(theirs.kappa, rel=1e-12)
    assert ours.focal_px == pytest.approx(theirs.focal_px, rel=1e-12)
    # stereo slopes were measured with the numbers of the file, and stay
    assert (ours.alpha, ours.beta) == (CAMERA.view(name).alpha, CAMERA.view(name).beta)


@pytest.mark.parametrize("name", VIEWS)
def test_slopes_are_central_differences(name: ViewName) -> None:
    model, step = FocusModel(CAMERA.view(name), CAMERA), 1e-5
    for shift in (-0.02, 0.0, 0.01):
        less, more, slopes = model.at(shift - step), model.at(shift + step), model.slopes(shift)
        assert (more.w_infinity - less.w_infinity) / (2 * step) == pytest.approx(slopes.w_infinity, rel=1e-7)
        assert (more.kappa - less.kappa) / (2 * step) == pytest.approx(slopes.kappa, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", VIEWS)
def test_the_shift_is_found_from_the_intercept(name: ViewName) -> None:
    model = FocusModel(CAMERA.view(name), CAMERA)
    assert model.shift_of(moved(0.013).view(name).w_infinity) == pytest.approx(0.013, abs=1e-12)


def test_what_the_file_says_about_its_focus_counts() -> None:
    silent = FocusModel.of(CAMERA.view(), CAMERA)
    assert (silent.known.sigma, silent.known.stated) == (USUAL_SIGMA, False)
    refined = silent.refined(0.004, 0.0015)
    assert refined.main_lens.mla_distance_mm == pytest.approx(CALIBRATION.main_lens.mla_distance_mm + 0.004)
    again = FocusModel.of(CAMERA.view(), PlenopticCamera.from_calibration(refined))
    assert again.known.stated
    assert again.known.sigma == pytest.approx(0.0015, rel=1e-3)


def test_the_unit_of_length_may_be_stated_too() -> None:
    kappa = CAMERA.view().kappa
    camera = PlenopticCamera.from_calibration(
        CALIBRATION.model_copy(update={"uncertainty": {"kappa_m": 0.004 * kappa}})
    )
    known = FocusModel.of(camera.view(), camera).known
    assert known.scale == pytest.approx(0.004) and not known.stated


@pytest.mark.parametrize("nonsense", [-1.0, 0.0, "large", None])
def test_nonsense_about_the_uncertainty_is_no_statement(nonsense: object) -> None:
    camera = PlenopticCamera.from_calibration(
        CALIBRATION.model_copy(update={"uncertainty": {"w_infinity": nonsense}})
    )
    assert not FocusModel.of(camera.view(), camera).known.stated
