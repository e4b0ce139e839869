# SPDX-License-Identifier: Apache-2.0
"""Whether a bent field is found where there is one, and left out where there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from exact_batch import seen_in, world

from prism_vo.batch.numbers import CURVATURE, FIELD, FOCAL, TILT_X, W
from prism_vo.camera_fit.adjusting import adjusted, decided, field_shift
from prism_vo.camera_fit.plan import DEFAULT
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate.cameras import preset_camera

CAMERA = PlenopticCamera(preset_camera("small"))
PLAN = replace(DEFAULT, distortion="none")
STRAIGHT = (0.0, 0.0, 0.0, 0.0)


def test_a_bent_field_is_found() -> None:
    truth = world(distortion=STRAIGHT, field=(0.02, -0.01, -0.01))
    found = adjusted(truth, seen_in(truth, noise=1.0), CAMERA, PLAN, lambda words, done, of: None)
    values, true = found.state.camera.values, truth.camera.values
    assert values[CURVATURE] == pytest.approx(-0.01, rel=0.05)
    assert values[TILT_X] == pytest.approx(0.02, abs=0.002)
    assert values[W] == pytest.approx(true[W], abs=0.02)
    assert values[FOCAL] == pytest.approx(true[FOCAL], rel=0.01)
    assert decided(PLAN, found.state.camera).field == "bent"
    assert field_shift(found.state.camera, CAMERA.calibration) > 0.3


def test_what_cannot_be_told_from_a_plane_is_one() -> None:
    truth = world(distortion=STRAIGHT, field=(1e-4, 0.0, 2e-5))
    found = adjusted(truth, seen_in(truth, noise=0.1), CAMERA, PLAN, lambda words, done, of: None)
    assert not np.any(found.state.camera.values[FIELD])
    assert decided(PLAN, found.state.camera).field == "flat"
