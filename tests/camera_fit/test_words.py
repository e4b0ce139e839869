# SPDX-License-Identifier: Apache-2.0
"""What a calibration says: on the screen, in camera.yaml, and when it cannot be done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from batch.exact_batch import seen_in, world

from prism_vo import se3
from prism_vo.batch.adjust import adjust, camera_prior
from prism_vo.batch.numbers import COUNT
from prism_vo.batch.records import BatchState
from prism_vo.camera_fit.checks import check_motion
from prism_vo.camera_fit.facts import MetricFact, NoFact, TruePoses
from prism_vo.camera_fit.fit import CameraFit, covariance_of
from prism_vo.camera_fit.residuals import by_zone
from prism_vo.camera_fit.uncertainty import with_uncertainty
from prism_vo.camera_fit.words import fit_lines, verdict
from prism_vo.errors import DegenerateError
from prism_vo.optics.calibration import load_calibration, save_calibration
from prism_vo.simulate.cameras import preset_camera


def fitted(metric: bool) -> CameraFit:
    truth = world(points=80, keyframes=6)
    prior = camera_prior(truth.camera.values, np.full(COUNT, np.inf))
    found = adjust(truth, seen_in(truth, 1.0), prior)
    fact: MetricFact = TruePoses(truth.centres) if metric else NoFact()
    covariance, factor = covariance_of(found, fact)
    start = preset_camera("small")
    numbers = found.state.camera
    fit = CameraFit(
        numbers.calibration(start), numbers, covariance, found, factor, fact, list(range(6)), start
    )
    return with_uncertainty(fit)


def test_camera_file_holds_sigma_of_everything_and_reads_back(tmp_path: Path) -> None:
    fit = fitted(metric=True)
    save_calibration(fit.calibration, tmp_path / "camera.yaml")
    again = load_calibration(tmp_path / "camera.yaml")
    assert again.uncertainty is not None
    for name in ("f_L_mm", "b_L0_mm", "B_mm", "F_px", "w_infinity", "kappa_m"):
        assert again.uncertainty[name] > 0, name
    matrix = np.array(again.uncertainty["correlation"]["matrix"])
    np.testing.assert_allclose(np.diag(matrix), 1.0)
    assert len(again.uncertainty["correlation"]["of"]) == len(matrix)
    assert again.nominal == ()


def test_without_a_fact_optics_stay_nominal() -> None:
    fit = fitted(metric=False)
    assert "sensor_distance_mm" in fit.calibration.nominal
    assert fit.calibration.uncertainty is not None
    assert "f_L_mm" not in fit.calibration.uncertainty
    assert "but the scale" in verdict(fit)[0]


def test_screen_names_errors_of_distance_and_what_to_record() -> None:
    text = "\n".join(fit_lines(fitted(metric=True)))
    assert "at 1 m" in text
    assert "at 10 m" in text
    assert "Weakest is" in text


def test_errors_of_distance_grow_with_distance() -> None:
    fit = fitted(metric=True)
    assert fit.scale_sigma(1.0) < fit.scale_sigma(10.0)


def test_residuals_of_an_exact_camera_have_no_pattern() -> None:
    fit = fitted(metric=True)
    zones = by_zone(fit.adjusted, (640, 640))
    assert np.nanmax(np.abs(zones.shift)) < 0.3
    assert np.nanmax(np.abs(zones.slope)) < 2e-3


def moved(state: BatchState, turn_only: bool) -> BatchState:
    poses = state.poses.copy()
    for k, pose in enumerate(poses):
        pose[:] = se3.exp(np.array([0, 0, 0, 0.01 * k, -0.01 * k, 0.02 * k])) if turn_only else np.eye(4)
    return replace(state, poses=poses)


def test_recordings_that_say_nothing_are_refused() -> None:
    good = world(points=150, keyframes=6, field=(0.0, 0.0, 0.0))
    check_motion("good", good, seen_in(good), first=True)
    still, turning = moved(good, False), moved(good, True)
    flat = replace(good, points=good.points * [1, 1, 0] + [0, 0, 1.0])
    for poses in flat.poses:
        poses[2, 3] = 0.0
        poses[:3, :3] = np.eye(3)
    few = world(points=20, keyframes=6)
    for state, words in (
        (still, "does not move"),
        (turning, "only turns"),
        (flat, "flat"),
        (few, "only 20 points"),
    ):
        with pytest.raises(DegenerateError, match=words):
            check_motion("recording", state, seen_in(state), first=True)
