# SPDX-License-Identifier: Apache-2.0
"""One adjustment of a round: which numbers are free, and whether distortion shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted, adjust, camera_prior
from prism_vo.batch.numbers import A0, A1, COUNT, CURVATURE, DISTORTION, FIELD, TILT_X, TILT_Y, CameraNumbers
from prism_vo.batch.priors import Terms, loose_prior
from prism_vo.batch.records import BatchState, Observations
from prism_vo.batch.system import CameraPrior
from prism_vo.camera_fit.plan import Distortion, Plan, Say
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera

# raw px at the corner: less distortion cannot be told from what bends focused images elsewhere
VISIBLE_SHIFT = 0.5
# virtual depths at the corner: in films of lenses with a plane field errors of the decoder look like 0.002 at the most
VISIBLE_FIELD = 0.02


def adjusted(
    state: BatchState, seen: Observations, camera: PlenopticCamera, plan: Plan, say: Say
) -> Adjusted:
    """With a distortion and a bent field only where they can be seen."""
    found = adjust(state, seen, _prior(camera, state, plan), lambda words: say(words, 0, 0))
    numbers, simpler = found.state.camera, plan
    if plan.distortion == "auto" and corner_shift(numbers, camera.calibration) < VISIBLE_SHIFT:
        numbers, simpler = without(numbers, DISTORTION), replace(simpler, distortion="none")
    if plan.field == "auto" and field_shift(numbers, camera.calibration) < VISIBLE_FIELD:
        numbers, simpler = without(numbers, FIELD), replace(simpler, field="flat")
    if simpler != plan:
        plain = replace(found.state, camera=numbers)
        found = adjust(plain, seen, _prior(camera, plain, simpler), lambda words: say(words, 0, 0))
    return found


def decided(plan: Plan, numbers: CameraNumbers) -> Plan:
    """The plan with what the first round saw: later rounds keep to it."""
    if plan.distortion == "auto":
        plan = replace(plan, distortion="radial" if numbers.values[DISTORTION].any() else "none")
    if plan.field == "auto":
        plan = replace(plan, field="bent" if numbers.values[FIELD].any() else "flat")
    return plan


def _prior(camera: PlenopticCamera, state: BatchState, plan: Plan) -> CameraPrior:
    return camera_prior(*prior_of(camera.calibration, state.camera, plan))


def corner_shift(numbers: CameraNumbers, like: Calibration) -> float:
    """By how many raw px the distortion moves the farthest corner."""
    corner = 0.5 * np.hypot(like.sensor.width, like.sensor.height) * numbers.pixel_mm
    a0, a1 = numbers.values[[A0, A1]]
    return float(abs(a0 * corner**3 + a1 * corner**5) / numbers.pixel_mm)


def field_shift(numbers: CameraNumbers, like: Calibration) -> float:
    """By how many virtual depths the field departs from a plane at the corner where it does most."""
    corner = 0.5 * np.hypot(like.sensor.width, like.sensor.height) * numbers.pixel_mm
    tilt_x, tilt_y, curvature = numbers.values[[TILT_X, TILT_Y, CURVATURE]]
    return float(abs(curvature) * corner**2 + np.hypot(tilt_x, tilt_y) * corner)


def without(numbers: CameraNumbers, which: slice | list[int]) -> CameraNumbers:
    """The same camera with some of its numbers 0."""
    values = numbers.values.copy()
    values[which] = 0.0
    return CameraNumbers(values, numbers.pixel_mm)


def prior_of(like: Calibration, numbers: CameraNumbers, plan: Plan) -> tuple[Array, Array]:
    """What is known of any camera, or of this one where it is held."""
    if plan.hold_camera:
        return numbers.values.copy(), np.zeros(COUNT)
    kinds: dict[Distortion, Terms] = {"auto": "radial", "radial": "radial", "full": "full"}
    size = (like.sensor.width, like.sensor.height)
    prior = loose_prior(
        numbers, size, kinds.get(plan.distortion, "none"), field=plan.field in ("auto", "bent")
    )
    mean = prior.mean.copy()
    if plan.distortion == "held":
        mean[DISTORTION] = numbers.values[DISTORTION]
    return mean, prior.sigma
