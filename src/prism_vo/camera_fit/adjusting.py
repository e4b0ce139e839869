# SPDX-License-Identifier: Apache-2.0
"""One adjustment of a round: which numbers are free, and whether distortion shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted, adjust, camera_prior
from prism_vo.batch.numbers import A0, A1, B0, B1, COUNT, CameraNumbers
from prism_vo.batch.priors import Terms, loose_prior
from prism_vo.batch.records import BatchState, Observations
from prism_vo.batch.system import CameraPrior
from prism_vo.camera_fit.plan import Distortion, Plan, Say
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera

# raw px at the corner: less distortion cannot be told from what bends focused images elsewhere
VISIBLE_SHIFT = 0.5


def adjusted(
    state: BatchState, seen: Observations, camera: PlenopticCamera, plan: Plan, say: Say
) -> Adjusted:
    """With a distortion only where it can be seen."""
    found = adjust(state, seen, _prior(camera, state, plan), lambda words: say(words, 0, 0))
    if plan.distortion == "auto" and corner_shift(found.state.camera, camera.calibration) < VISIBLE_SHIFT:
        undistorted = replace(found.state, camera=without_distortion(found.state.camera))
        prior = _prior(camera, undistorted, replace(plan, distortion="none"))
        found = adjust(undistorted, seen, prior, lambda words: say(words, 0, 0))
    return found


def _prior(camera: PlenopticCamera, state: BatchState, plan: Plan) -> CameraPrior:
    return camera_prior(*prior_of(camera.calibration, state.camera, plan))


def corner_shift(numbers: CameraNumbers, like: Calibration) -> float:
    """By how many raw px the distortion moves the farthest corner."""
    corner = 0.5 * np.hypot(like.sensor.width, like.sensor.height) * numbers.pixel_mm
    a0, a1 = numbers.values[[A0, A1]]
    return float(abs(a0 * corner**3 + a1 * corner**5) / numbers.pixel_mm)


def without_distortion(numbers: CameraNumbers) -> CameraNumbers:
    """The same camera with a perfect lens."""
    values = numbers.values.copy()
    values[[A0, A1, B0, B1]] = 0.0
    return CameraNumbers(values, numbers.pixel_mm)


def prior_of(like: Calibration, numbers: CameraNumbers, plan: Plan) -> tuple[Array, Array]:
    """What is known of any camera, or of this one where it is held."""
    if plan.hold_camera:
        return numbers.values.copy(), np.zeros(COUNT)
    kinds: dict[Distortion, Terms] = {"auto": "radial", "radial": "radial", "full": "full"}
    size = (like.sensor.width, like.sensor.height)
    prior = loose_prior(numbers, size, kinds.get(plan.distortion, "none"))
    mean = prior.mean.copy()
    if plan.distortion == "held":
        mean[[A0, A1, B0, B1]] = numbers.values[[A0, A1, B0, B1]]
    return mean, prior.sigma
