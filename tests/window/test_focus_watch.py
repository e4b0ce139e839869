# SPDX-License-Identifier: Apache-2.0
"""When a focus is believed, and what a contradiction means."""

from __future__ import annotations

import pytest

from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.focus import FocusModel
from prism_vo.simulate import preset_camera
from prism_vo.window.focus_step import FocusStep
from prism_vo.window.focus_watch import OPTIMISM, FocusEstimate, FocusWatch, honest_sigma

CAMERA = PlenopticCamera.from_calibration(preset_camera("mini"))
FOCUS = FocusModel.of(CAMERA.view("central"), CAMERA)
SURE, UNSURE = 0.001, 0.02  # mm


def step(shift: float, sigma: float = 0.0005) -> FocusStep:
    """The newest keyframes show another focus (mm)."""
    return FocusStep(7, FOCUS.at(shift).w_infinity - FOCUS.view.w_infinity, sigma)


def after(
    watch: FocusWatch, count: int, shift: float, sigma: float, newest: float | None = None
) -> FocusWatch:
    for _ in range(count):
        seen = None if newest is None else step(newest)
        watch = watch.after(0.0, FocusEstimate(shift, sigma), seen)
    return watch


def test_agreement_makes_trust_only_where_it_is_known_well_enough() -> None:
    assert after(FocusWatch(), 8, 0.0005, SURE).trusted
    assert not after(FocusWatch(), 8, 0.0005, UNSURE).trusted
    assert not after(FocusWatch(), 8, 0.003, SURE).trusted  # between agreement and contradiction


def test_nothing_is_concluded_from_few_keyframes() -> None:
    early = after(FocusWatch(), 3, 0.05, SURE)
    assert early.verdict == "as it was" and not early.trusted


def test_a_focus_that_never_agreed_was_wrong_from_the_start() -> None:
    assert after(FocusWatch(), 4, 0.05, SURE).verdict == "wrong from the start"
    assert after(FocusWatch(), 4, 0.05, UNSURE).verdict == "as it was"


def test_newest_keyframes_that_contradict_show_a_change() -> None:
    watch = after(FocusWatch(), 6, 0.0, SURE, newest=0.0)
    assert watch.trusted
    sigma = float(abs(FOCUS.slopes(0.0).w_infinity))  # per mm
    slightly = 5.0 * (0.0005**2 + 0.001**2) ** 0.5 / sigma  # 5 σ: once is not enough
    once = after(watch, 1, 0.0, SURE, newest=slightly)
    assert once.verdict == "as it was" and once.contradictions == 1
    assert after(once, 1, 0.0, SURE, newest=slightly).verdict == "has changed"
    assert after(once, 1, 0.0, SURE, newest=0.0).contradictions == 0  # chance
    assert after(watch, 1, 0.0, SURE, newest=0.2).verdict == "has changed"  # beyond doubt at once


def test_a_small_difference_that_has_become_certain_is_estimated_from_then_on() -> None:
    watch = after(FocusWatch(), 6, 0.0, SURE, newest=0.0)
    later = after(watch, 1, 0.0025, 0.0005, newest=0.0)
    assert later.verdict == "differs a little" and later.trusted


def test_a_difference_larger_than_agreement_was_known_to_was_there_from_the_start() -> None:
    watch = after(FocusWatch(), 6, 0.0, SURE, newest=0.0)
    assert after(watch, 1, 0.006, 0.0005, newest=0.0).verdict == "wrong from the start"


@pytest.mark.parametrize("sigma", [0.0, 0.01])
def test_what_all_depths_share_limits_the_certainty(sigma: float) -> None:
    least = 0.001 / abs(FOCUS.slopes(0.0).w_infinity)
    assert honest_sigma(sigma, FOCUS) == pytest.approx((least**2 + (OPTIMISM * sigma) ** 2) ** 0.5)
