# SPDX-License-Identifier: Apache-2.0
"""A camera from a recording of any rigid scene: odometry with a start, then observe and adjust until nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence as Many
from dataclasses import dataclass, replace

import numpy as np

from prism_vo import pipeline, se3
from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted, adjust, camera_prior
from prism_vo.batch.numbers import A0, A1, B0, B1, COUNT, CX, CY, FOCAL, KAPPA, W, CameraNumbers
from prism_vo.batch.observe import Marked, observe
from prism_vo.camera_fit.checks import check_frames, check_motion, check_result, check_run
from prism_vo.camera_fit.facts import MetricFact
from prism_vo.camera_fit.fit import CameraFit, covariance_of
from prism_vo.camera_fit.frames import Chosen, choose, images_of
from prism_vo.camera_fit.start import Start, start_camera
from prism_vo.camera_fit.uncertainty import with_uncertainty
from prism_vo.config import Config
from prism_vo.datasets.source import Sequence, Stream
from prism_vo.errors import InputError
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame

KEYFRAMES = 40
MOST_ROUNDS = 4  # of observing and adjusting
STILL = 0.3  # σ: a camera that moves less in a round has come to rest
FIRST_LOOK = 25  # frames that the start is found in
FOCAL_PRIOR = 0.15  # of F: nominal lenses are not worse
CENTRE_PRIOR = 0.05  # of the image's width
RADIAL_PRIOR, TANGENTIAL_PRIOR = 0.03, 0.003  # shift at the corner of the image, of its distance from the centre
Say = Callable[[str, int, int], None]
MakeFact = Callable[[Chosen], MetricFact]


@dataclass(frozen=True)
class Plan:
    """What a user may choose."""

    keyframes: int = KEYFRAMES
    distortion: bool = True
    hold_camera: bool = False  # refine poses and points alone
    marked: tuple[tuple[int, int, int], ...] = ()  # frame of the recording, x, y (TF px)
    frames: tuple[int, ...] = ()  # that must take part
    threads: bool = True


def calibrate_camera(
    recording: Sequence, make_fact: MakeFact, plan: Plan = Plan(), say: Say = lambda words, done, of: None
) -> CameraFit:
    """The whole way from nominal optics to a camera with its uncertainty."""
    calibration = recording.camera.calibration
    check_frames(recording)
    say("looking at slopes", 0, 0)
    start = _start(recording, calibration)
    tracked = _track(recording, start, plan, say)
    chosen = choose(
        tracked.trajectory, recording.times, plan.keyframes, (*plan.frames, *(m[0] for m in plan.marked))
    )
    camera = start.camera
    before: Array | None = None
    for turn in range(MOST_ROUNDS):
        found = _round(recording, camera, start, chosen, plan, say, turn)
        camera = PlenopticCamera(found.state.camera.calibration(camera.calibration))
        chosen = Chosen(chosen.indices, _at_rest(found.state.poses))
        fact = make_fact(chosen)
        covariance, factor = covariance_of(found, fact)
        sigma = np.sqrt(np.maximum(np.diag(covariance), 0.0))[:KAPPA]
        values = found.state.camera.values[:KAPPA]
        if before is not None and (np.abs(values - before) <= STILL * np.maximum(sigma, 1e-12)).all():
            break
        before = values
    check_result(found, covariance)
    numbers = found.state.camera.with_kappa(float(found.state.camera.values[KAPPA]) * factor)
    fit = CameraFit(
        numbers.calibration(calibration), numbers, covariance, found, factor, fact, chosen.indices, calibration
    )
    return with_uncertainty(fit)


def _start(recording: Sequence, calibration: Calibration) -> Start:
    frames: list[RawFrame] = []
    for index in range(min(len(recording), FIRST_LOOK)):
        frame = recording[index]
        if not isinstance(frame, RawFrame):
            raise InputError(f"{recording.name}: holds decoded frames; a calibration needs raw images.")
        frames.append(frame)
    return start_camera(calibration, frames, recording.white)


def _track(recording: Sequence, start: Start, plan: Plan, say: Say) -> pipeline.RunResult:
    source = Stream(recording, start.camera, recording.name, white=recording.white)
    config = Config()
    config = replace(config, variant="plenoptic", decode=_decode(config, start))
    result = pipeline.run(
        source,
        config,
        progress=lambda done, of, report: say("tracking with the first camera", done, len(recording)),
        threads=plan.threads,
        check=True,
    )
    check_run(recording.name, result)
    return result


def _decode(config: Config, start: Start):  # type: ignore[no-untyped-def]
    return replace(config.decode, near=min(config.decode.near, start.near), view="central")


def _round(
    recording: Sequence, camera: PlenopticCamera, start: Start, chosen: Chosen, plan: Plan, say: Say, turn: int
) -> Adjusted:
    """Observe with a camera, adjust it."""
    decoder = Decoder(camera, _decode(Config(), start), white=recording.white)
    images = images_of(recording, chosen, decoder, say)
    marked = [Marked(chosen.indices.index(f), x, y) for f, x, y in plan.marked if f in chosen.indices]
    state, seen = observe(images, chosen.poses, camera, decoder, marked, say=say)
    check_motion(recording.name, state, seen, first=turn == 0)
    prior = camera_prior(*prior_of(camera.calibration, state.camera, plan))
    return adjust(state, seen, prior, lambda words: say(words, 0, 0))


def prior_of(like: Calibration, numbers: CameraNumbers, plan: Plan) -> tuple[Array, Array]:
    """What is known of any camera: F roughly, a centre near the middle, little distortion; nothing of w_∞."""
    mean = numbers.values.copy()
    sensor = like.sensor
    mean[[CX, CY]] = sensor.width / 2 - 0.5, sensor.height / 2 - 0.5
    mean[[A0, A1, B0, B1]] = 0.0
    sigma = np.zeros(COUNT)
    if plan.hold_camera:
        return numbers.values.copy(), sigma
    corner = 0.5 * np.hypot(sensor.width, sensor.height) * numbers.pixel_mm
    sigma[FOCAL] = FOCAL_PRIOR * mean[FOCAL]
    sigma[[CX, CY]] = CENTRE_PRIOR * sensor.width
    if plan.distortion:
        sigma[[A0, A1]] = RADIAL_PRIOR / corner**2, RADIAL_PRIOR / corner**4
        sigma[[B0, B1]] = TANGENTIAL_PRIOR / corner
    sigma[W] = np.inf
    return mean, sigma


def _at_rest(poses: Array) -> Array:
    """Poses with the first one as the world."""
    first = se3.inverse(poses[0])
    return np.array([se3.renormalised(pose @ first) for pose in poses])


def truth_of(recording: Sequence, chosen: Chosen) -> Array | None:
    """Ground-truth positions (K, 3) of the chosen frames; None where the recording has none for all of them."""
    truth = recording.groundtruth
    if truth is None or not len(truth):
        return None
    times = np.asarray(recording.times)[chosen.indices]
    nearest = [int(np.argmin(np.abs(truth.times - t))) for t in times]
    step = float(np.median(np.diff(truth.times))) if len(truth) > 1 else 0.01
    if max(abs(truth.times[k] - t) for k, t in zip(nearest, times)) > 0.5 * step:
        return None
    return np.asarray(truth.positions[nearest])


Frames = Many[RawFrame]
