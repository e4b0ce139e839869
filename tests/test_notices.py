# SPDX-License-Identifier: Apache-2.0
"""What a run says when depth and parallax contradict each other, and when it says nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from prism_vo.notices import (
    agreement_rows,
    contradiction,
    covered_notices,
    focus_notices,
    lamp_notices,
    lens_notices,
    no_pose_notices,
    shading_notices,
)
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.focus import FocusModel
from prism_vo.simulate import preset_camera
from prism_vo.tracking.depth_shares import NO_DEPTH
from prism_vo.window.agreement import DepthAgreement
from prism_vo.window.report import FocusReport, LensReport

CAMERA = PlenopticCamera.from_calibration(preset_camera("mini"))
W, KAPPA = CAMERA.view("central").w_infinity, CAMERA.view("central").kappa


def reports(excess: float, sigma: float = 0.001, count: int = 5) -> list[SimpleNamespace]:
    """Keyframes whose points lie on a line with a wrong intercept, at 2 m."""
    seen = DepthAgreement(W + excess, sigma, W, 1.0, 0.01, 1.0, 500, 0.5)
    return [SimpleNamespace(mapping=SimpleNamespace(agreement=seen)) for _ in range(count)]


def shifted(micrometres: float) -> float:
    """What the intercept becomes when the array moves away from the lens."""
    lens = CAMERA.calibration.main_lens
    moved = lens.model_copy(update={"mla_distance_mm": lens.mla_distance_mm + 1e-3 * micrometres})
    other = PlenopticCamera.from_calibration(CAMERA.calibration.model_copy(update={"main_lens": moved}))
    return other.view("central").w_infinity - W


@pytest.mark.parametrize("moved", [-10.0, 10.0, 25.0])
def test_the_sentence_names_the_shift_and_what_it_does_to_distances(moved: float) -> None:
    excess = shifted(moved)
    sentence = contradiction(reports(excess), CAMERA)  # type: ignore[arg-type]
    assert sentence is not None
    assert f"{moved:+.0f} µm" in sentence
    # the file's distance of a point that is really 2 m away
    really = 1.0 / (0.5 + excess / KAPPA)
    assert ("too small" in sentence) == (really < 2.0)
    assert "near 2 m" in sentence


def test_nothing_is_said_within_chance_bias_or_with_too_little_to_compare() -> None:
    assert contradiction(reports(0.004), CAMERA) is None  # type: ignore[arg-type]
    assert contradiction(reports(0.05, sigma=0.02), CAMERA) is None  # type: ignore[arg-type]
    assert contradiction(reports(0.05, count=2), CAMERA) is None  # type: ignore[arg-type]
    assert contradiction([SimpleNamespace(mapping=None)], CAMERA) is None  # type: ignore[list-item]
    assert agreement_rows([SimpleNamespace(mapping=None)]) == []  # type: ignore[list-item]


def test_the_most_certain_keyframes_decide() -> None:
    mixed = [*reports(0.0, sigma=0.001), *reports(0.2, sigma=0.05, count=20)]
    assert contradiction(mixed, CAMERA) is None  # type: ignore[arg-type]
    ((name, words),) = agreement_rows(mixed)  # type: ignore[arg-type]
    assert name and f"{W:.4f}" in words and np.isfinite(float(words.split("±")[1].split(";")[0]))


def test_nominal_optics_have_no_focus_that_could_have_moved() -> None:
    nominal = CAMERA.calibration.model_copy(update={"nominal": ("focal_length_mm",)})
    sentence = contradiction(reports(0.05), PlenopticCamera.from_calibration(nominal))  # type: ignore[arg-type]
    assert sentence is not None and "nominal optics do not fit" in sentence and f"not {W:.3f}" in sentence


@pytest.mark.parametrize(("sigma", "said"), [(1e-3, False), (4e-2, True)])
def test_a_focus_that_images_do_not_show_is_named_with_what_hangs_on_it(sigma: float, said: bool) -> None:
    seen = reports(0.0)
    for report in seen:
        report.index, report.mapping.focus = 0, FocusReport(0.0, sigma, "as it was")
    sentences = focus_notices(seen, CAMERA)  # type: ignore[arg-type]
    assert len(sentences) == said
    if said:
        model = FocusModel.of(CAMERA.view("central"), CAMERA)
        percent = 100 * abs(model.slopes(0.0).w_infinity) * sigma * 2.0 / KAPPA
        assert "± 40.0 µm" in sentences[0] and f"known to {percent:.0f} % only" in sentences[0]


def followed(depth: float, shift: float) -> list[SimpleNamespace]:
    """Keyframes at some depth whose focus was found to be another one by ``shift`` µm."""
    seen = reports(0.0)
    for report in seen:
        agreement = replace(report.mapping.agreement, median_inv_depth=1.0 / depth)
        focus = FocusReport(1e-3 * shift, 5e-4, "as it was")
        report.index, report.mapping = 0, SimpleNamespace(agreement=agreement, focus=focus)
    return seen


def test_what_was_next_to_infinity_is_not_corrected_by_so_many_per_cent() -> None:
    """The camera file has infinity itself at the distance that is said instead."""
    (near,) = focus_notices(followed(0.1, -20.0), CAMERA)  # type: ignore[arg-type]
    assert "distances near 0.1 m are corrected by" in near
    model = FocusModel.of(CAMERA.view("central"), CAMERA)
    by_file, true = model.at(0.0), model.at(-0.02)
    rho_infinity = (1.0 / true.w_infinity - true.alpha) / true.beta
    at_infinity = 1.0 / float(by_file.inv_depth_from_virtual(rho_infinity))
    for depth in (0.9 * at_infinity, 1.1 * at_infinity):
        (far,) = focus_notices(followed(depth, -20.0), CAMERA)  # type: ignore[arg-type]
        assert "%" not in far and f"would seem to lie {at_infinity:.2g} m away" in far


@pytest.mark.parametrize(("found", "said"), [(0.002, False), (0.005, True)])
def test_a_lens_that_is_not_the_one_of_the_file_is_named(found: float, said: bool) -> None:
    seen = reports(0.0)
    for report in seen:
        sigma, free = np.array([1e-3, 0.5, 0.5]), np.ones(3, bool)
        report.mapping.lens = LensReport(np.array([found, 0.1, -0.2]), sigma, free)
    sentences = lens_notices(seen, CAMERA)  # type: ignore[arg-type]
    assert len(sentences) == said
    assert not said or "focal length +0.50 ± 0.10 %" in sentences[0]


def test_bands_of_a_lamp_are_said() -> None:
    assert lamp_notices(0, 60) == [] and lamp_notices(5, 60) == []
    (sentence,) = lamp_notices(40, 60)
    assert "lamp" in sentence and "10 ms" in sentence


def covered_at(*numbers: int, frames: int = 100) -> list[SimpleNamespace]:
    """Frames of which 40 % are covered."""
    return [SimpleNamespace(index=n, covered=0.4 if n in numbers else 0.0) for n in range(frames)]


def test_covered_frames_are_said_with_their_number_and_share() -> None:
    (sentence,) = covered_notices(covered_at(*range(20, 40, 2), 90))  # type: ignore[arg-type]
    assert "In 11 of 100 frames (20 to 90)" in sentence
    assert "40 % in the mean" in sentence


def test_a_few_covered_frames_far_apart_are_nothing_to_speak_of() -> None:
    assert covered_notices(covered_at()) == []  # type: ignore[arg-type]
    assert covered_notices(covered_at(*range(20, 27))) == []  # type: ignore[arg-type]
    assert covered_notices(covered_at(*range(0, 100, 5))) == []  # type: ignore[arg-type]


def lost(reason: str | None, problem: str | None = None) -> SimpleNamespace:
    verdict = None if reason is None else SimpleNamespace(contradiction=reason)
    return SimpleNamespace(status="lost", verdict=verdict, problem=problem)


def test_without_any_pose_the_commonest_reason_is_said() -> None:
    seen = [
        lost(NO_DEPTH),
        lost("Something else."),
        lost(NO_DEPTH),
        lost(None, "a.png: is empty."),
        lost(None),
    ]
    (sentence,) = no_pose_notices(seen)  # type: ignore[arg-type]
    assert f"In 2 of 5 frames: {NO_DEPTH}" in sentence and "prism-vo info" in sentence
    assert no_pose_notices([*seen, SimpleNamespace(status="ok")]) == []  # type: ignore[list-item]
    assert len(no_pose_notices([lost(None)])) == 1 and no_pose_notices([]) == []  # type: ignore[list-item]


def shaded_at(shading: float, *numbers: int, status: str = "ok") -> list[SimpleNamespace]:
    """Frames whose micro-images are shaded otherwise."""
    return [
        SimpleNamespace(index=n, status=status, shading=shading if n in numbers else 1.0) for n in range(60)
    ]


def test_frames_that_are_shaded_otherwise_are_said_with_their_number() -> None:
    (sentence,) = shading_notices(shaded_at(0.73, *range(24, 60)))  # type: ignore[arg-type]
    assert "In 36 of 60 frames (24 to 59)" in sentence and "-27 %" in sentence


def test_a_few_shaded_frames_or_lost_ones_are_nothing_to_speak_of() -> None:
    assert shading_notices(shaded_at(0.73, *range(24, 30))) == []  # type: ignore[arg-type]
    assert shading_notices(shaded_at(1.1, *range(24, 60))) == []  # type: ignore[arg-type]
    assert shading_notices(shaded_at(0.0, *range(24, 60), status="lost")) == []  # type: ignore[arg-type]
