# SPDX-License-Identifier: Apache-2.0
"""A camera whose focus is not that of its file: a run finds it, says so, and stays metric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from decoded_frames import CAMERA, VIEW, FrameList
from moved_focus import FOCUS, FRAMES, SHIFT, recording, refocused, run_with, scale_error

from prism_vo import Config, run
from prism_vo.optics.focus import FocusModel
from prism_vo.optics.lens import LensModel
from prism_vo.window.focus_watch import FocusEstimate, FocusWatch


def test_an_exact_camera_file_is_left_alone() -> None:
    result, off = run_with(FRAMES), run_with(FRAMES, "off")
    np.testing.assert_array_equal(result.trajectory.poses, off.trajectory.poses)
    assert result.odometry.window.focus_watch.trusted
    assert not any("focus" in notice for notice in result.notices)
    refined = result.odometry.refined_camera()
    assert refined is not None and refined.main_lens == CAMERA.calibration.main_lens
    assert off.odometry.refined_camera() is None


def test_a_focus_that_is_wrong_from_the_start_is_found() -> None:
    result, off = run_with(0), run_with(0, "off")
    assert scale_error(off) > 0.02
    assert scale_error(result) < 0.004
    assert result.metrics is not None and off.metrics is not None
    assert result.metrics.sim3.rmse_t < off.metrics.sim3.rmse_t
    seen = result.odometry.window.focus_report()
    assert seen is not None and abs(seen.shift - SHIFT) < 3 * seen.sigma
    (notice,) = (n for n in result.notices if "focus" in n)
    assert "is not the one of the camera file" in notice and f"{1e3 * seen.shift:+.1f}" in notice
    refined = result.odometry.refined_camera()
    assert refined is not None and refined.uncertainty is not None
    assert refined.main_lens.mla_distance_mm == CAMERA.calibration.main_lens.mla_distance_mm + seen.shift


def test_a_focus_that_moves_is_noticed_and_the_past_stays() -> None:
    result = run_with(FRAMES // 2)
    assert scale_error(result) < 0.007
    verdicts = {r.index: r.mapping.focus.verdict for r in result.reports if r.mapping and r.mapping.focus}
    changed = [index for index, verdict in verdicts.items() if verdict == "has changed"]
    assert len(changed) == 1 and changed[0] > FRAMES // 2
    (notice,) = (n for n in result.notices if "focus" in n)
    assert f"moved at about frame {changed[0]}" in notice


def test_covariances_are_given_for_every_pose_in_world_axes() -> None:
    result = run_with(FRAMES)
    found = result.odometry.pose_covariances()
    assert found.shape == (len(result.trajectory), 6, 6)
    later = found[10:]
    np.testing.assert_allclose(later, later.transpose(0, 2, 1), atol=1e-15)
    assert (np.linalg.eigvalsh(later) > 0).all()
    assert np.isfinite(result.scale_sigma) and 0 < result.scale_sigma < 0.05


@pytest.mark.parametrize("sigma", [1e-4, 5e-3])
def test_a_file_that_states_its_uncertainty_is_a_prior(sigma: float) -> None:
    """A file sure of its focus keeps it near; one that is not lets the images decide."""
    frames, truth = recording()
    stated = FOCUS.refined(0.0, sigma)
    small = 0.25 * SHIFT
    source = FrameList([refocused(f, small) for f in frames], truth, camera=type(CAMERA)(stated))
    result = run(source, Config())
    seen = result.odometry.window.focus_report()
    assert seen is not None
    if sigma > abs(small):
        assert abs(seen.shift - small) < 3 * seen.sigma
    assert seen.sigma <= sigma * 1.0001 or result.odometry.window.focus_has_moved


def test_a_verdict_is_not_repeated_where_images_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    window = run_with(0).odometry.window
    window.focus_watch = replace(window.focus_watch, verdict="wrong from the start")
    monkeypatch.setattr("prism_vo.window.camera_numbers.focus_estimate", lambda *_: None)
    shift = window.focus_shift
    assert window.follow_focus((np.eye(1), np.zeros(1))) is None
    assert window.focus_watch.verdict == "as it was" and window.focus_shift == shift


@pytest.mark.parametrize(
    "what", ["guessed optics", "a lens moved by half a millimetre", "a focus", "lengths belie it"]
)
def test_what_no_focus_alone_puts_right_is_left_as_it_is(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The images show another focus, keyframe after keyframe, and very clearly."""
    window = run_with(FRAMES).odometry.window
    focus = window.model.focus
    assert focus is not None
    nominal = CAMERA.calibration.model_copy(update={"nominal": ("focal_length_mm",), "uncertainty": None})
    assert FocusModel.of(VIEW, type(CAMERA)(nominal)).known.guessed and not focus.known.guessed
    if what == "guessed optics":
        window.model = replace(window.model, focus=replace(focus, known=replace(focus.known, guessed=True)))
    if what != "lengths belie it":
        monkeypatch.setattr("prism_vo.window.camera_numbers.lengths_would_agree", lambda *_: True)
    shift = 0.5 if what.startswith("a lens") else 0.05
    window.focus_watch = FocusWatch(keyframes=20)
    monkeypatch.setattr("prism_vo.window.camera_numbers.focus_estimate", lambda *_: (shift, 1e-5))
    rescaled = [window.follow_focus((np.eye(1), np.zeros(1))) for _ in range(4)]
    assert (window.focus_shift != 0.0) == any(r is not None for r in rescaled) == (what == "a focus")


def test_a_refused_focus_takes_no_trust_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Depth and parallax agreed before: what comes next is a lens that moved, and is looked for."""
    window = run_with(0).odometry.window
    assert window.focus_is_settled
    monkeypatch.setattr("prism_vo.window.camera_numbers.focus_estimate", lambda *_: (0.05, 1e-5))
    monkeypatch.setattr("prism_vo.window.camera_numbers.focus_step", lambda *_: None)
    shift = window.focus_shift
    assert window.follow_focus((np.eye(1), np.zeros(1))) is None
    assert window.focus_is_settled and window.focus_shift == shift


def test_what_is_held_is_as_wrong_as_images_and_file_say_together() -> None:
    """Images that cannot contradict a file still say that it may be wrong: σ is about the value that is used."""
    window = run_with(FRAMES).odometry.window
    assert not window.focus_is_free and window.focus_seen is not None and window.model.focus is not None
    file, images = window.model.focus.known.sigma, window.model.focus.known.sigma
    for off in (0.0, 2.0 * images):
        window.focus_seen = FocusEstimate(off, images)
        seen = window.focus_report()
        assert seen is not None and seen.shift == 0.0
        assert seen.sigma == pytest.approx(np.hypot(file / np.sqrt(2.0), off / 2.0))


def test_a_wrong_focal_length_is_found_on_request_and_written() -> None:
    """A file with optics that nobody measured: focal length wrong by 3 %, principal point by 6 px."""
    frames, truth = recording()
    model, scale = LensModel.of(CAMERA), CAMERA.tf_scale
    wrong = model.moved(VIEW, np.array([0.03, 6.0 / scale, 0.0]))
    file = model.refined(CAMERA.calibration, wrong, model.sigma)
    file = file.model_copy(update={"uncertainty": None, "nominal": ("focal_length_mm",)})
    runs = {}
    for calibrate in ("focus", "all"):
        source = FrameList([replace(f, view=wrong) for f in frames], truth, camera=type(CAMERA)(file))
        runs[calibrate] = run(source, replace(Config(), calibrate=calibrate))  # type: ignore[arg-type]
    found = runs["all"].odometry.window.lens_report()
    assert found is not None and found.free[0]
    assert abs(found.numbers[0] + 0.03) < 3 * found.sigma[0] < 0.03
    assert abs(found.numbers[1] + 6.0 / scale) < 3 * found.sigma[1]
    before, after = (runs[key].metrics for key in ("focus", "all"))
    assert before is not None and after is not None
    assert after.sim3.rmse_t < 0.5 * before.sim3.rmse_t
    (notice,) = (n for n in runs["all"].notices if n.startswith("The lens"))
    assert f"focal length {100 * found.numbers[0]:+.2f}" in notice
    refined = runs["all"].odometry.refined_camera()
    assert refined is not None and refined.uncertainty is not None
    assert {"F_px", "c_x_px", "c_y_px", "w_infinity"} <= set(refined.uncertainty)
    again = type(CAMERA)(refined).view("central")
    assert again.focal_px == pytest.approx(runs["all"].odometry.window.view.focal_px, rel=1e-12)
    assert runs["focus"].odometry.window.lens_report() is None
