# SPDX-License-Identifier: Apache-2.0
"""A camera from a recording of any rigid scene: odometry with a start, then observe and adjust until nothing moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from prism_vo import pipeline, se3
from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted, adjust, camera_prior
from prism_vo.batch.numbers import A0, A1, B0, B1, COUNT, KAPPA, CameraNumbers
from prism_vo.batch.observe import KeyframeImage, Marked, observe
from prism_vo.batch.priors import Terms, loose_prior
from prism_vo.batch.records import BatchState, Observations, Rows
from prism_vo.batch.system import CameraPrior
from prism_vo.board_fit.checkerboard import find_board
from prism_vo.camera_fit.board import with_board
from prism_vo.camera_fit.checks import check_frames, check_motion, check_result, check_run
from prism_vo.camera_fit.facts import MetricFact
from prism_vo.camera_fit.fit import CameraFit, covariance_of
from prism_vo.camera_fit.frames import Chosen, choose, images_of
from prism_vo.camera_fit.start import Start, start_camera
from prism_vo.camera_fit.uncertainty import with_uncertainty
from prism_vo.config import Config, DecodeConfig
from prism_vo.datasets.source import Sequence, Stream
from prism_vo.errors import DegenerateError, InputError
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame

KEYFRAMES = 40
MOST_ROUNDS = 4  # of observing and adjusting
STILL = 0.3  # σ: a camera that moves less in a round has come to rest
FIRST_LOOK = 25  # frames that the start is found in
VISIBLE_SHIFT = (
    0.5  # raw px at the corner: less distortion cannot be told from what bends focused images elsewhere
)
Say = Callable[[str, int, int], None]
Distortion = Literal["auto", "none", "radial", "full", "held"]


@dataclass(frozen=True)
class Known:
    """What a metric fact may refer to: the chosen frames, rows of marked points, and of a board with its places."""

    chosen: Chosen
    marked: list[int]
    corners: Rows | None = None  # (N,)
    places: Array | None = None  # (N, 3) metres


MakeFact = Callable[[Known], MetricFact]


@dataclass(frozen=True)
class Plan:
    """What a user may choose."""

    keyframes: int = KEYFRAMES
    distortion: Distortion = "auto"
    hold_camera: bool = False  # refine poses and points alone
    marked: tuple[tuple[int, int, int], ...] = ()  # frame of the recording, x, y (TF px)
    frames: tuple[int, ...] = ()  # that must take part
    square: float | None = None  # m, of a checkerboard that some frames show
    board_size: tuple[int, int] | None = None  # its inner corners, columns and rows
    threads: bool = True


DEFAULT = Plan()


def calibrate_camera(
    recording: Sequence, make_fact: MakeFact, plan: Plan = DEFAULT, say: Say = lambda words, done, of: None
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
        found, known = _round(recording, camera, start, chosen, plan, say, turn)
        if plan.distortion == "auto":  # decided once
            bent = bool(found.state.camera.values[[A0, A1, B0, B1]].any())
            plan = replace(plan, distortion="radial" if bent else "none")
        camera = PlenopticCamera(found.state.camera.calibration(camera.calibration))
        chosen = Chosen(chosen.indices, _at_rest(found.state.poses))
        fact = make_fact(replace(known, chosen=chosen))
        covariance, factor = covariance_of(found, fact)
        sigma = np.sqrt(np.maximum(np.diag(covariance), 0.0))[:KAPPA]
        values = found.state.camera.values[:KAPPA]
        if before is not None and (np.abs(values - before) <= STILL * np.maximum(sigma, 1e-12)).all():
            break
        before = values
    check_result(found, covariance)
    numbers = found.state.camera.with_kappa(float(found.state.camera.values[KAPPA]) * factor)
    fit = CameraFit(
        numbers.calibration(calibration),
        numbers,
        covariance,
        found,
        factor,
        fact,
        chosen.indices,
        calibration,
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
    config = replace(config, variant="plenoptic", calibrate="off", decode=_decode(config, start))
    result = pipeline.run(
        source,
        config,
        progress=lambda done, of, report: say("tracking with the first camera", done, len(recording)),
        threads=plan.threads,
        check=True,
    )
    check_run(recording.name, result)
    return result


def _decode(config: Config, start: Start) -> DecodeConfig:
    return replace(config.decode, near=min(config.decode.near, start.near), view="central")


def _round(
    recording: Sequence,
    camera: PlenopticCamera,
    start: Start,
    chosen: Chosen,
    plan: Plan,
    say: Say,
    turn: int,
) -> tuple[Adjusted, Known]:
    """Observe with a camera, adjust it."""
    decoder = Decoder(camera, _decode(Config(), start), white=recording.white)
    images = images_of(recording, chosen, decoder, say)
    marked = [Marked(chosen.indices.index(f), x, y) for f, x, y in plan.marked if f in chosen.indices]
    observed = observe(images, chosen.poses, camera, decoder, marked, say=say)
    state, seen, known = observed.state, observed.seen, Known(chosen, observed.marked)
    check_motion(recording.name, state, seen, first=turn == 0)
    if plan.square is not None:
        state, seen, known = _with_board(state, seen, known, images, camera, plan)
    found = adjust(state, seen, _prior(camera, state, plan), lambda words: say(words, 0, 0))
    if plan.distortion == "auto" and corner_shift(found.state.camera, camera.calibration) < VISIBLE_SHIFT:
        undistorted = replace(found.state, camera=without_distortion(found.state.camera))
        prior = _prior(camera, undistorted, replace(plan, distortion="none"))
        found = adjust(undistorted, seen, prior, lambda words: say(words, 0, 0))
    return found, known


def _with_board(
    state: BatchState,
    seen: Observations,
    known: Known,
    images: list[KeyframeImage],
    camera: PlenopticCamera,
    plan: Plan,
) -> tuple[BatchState, Observations, Known]:
    board = find_board([image.image for image in images], plan.board_size)
    if board is None or plan.square is None:
        raise DegenerateError(
            "No checkerboard is seen in two of the frames; show all of it, sharp and evenly lit, or give the number of "
            "its inner corners with --corners."
        )
    state, seen, rows = with_board(state, seen, board, camera)
    return state, seen, replace(known, corners=rows, places=board.places * plan.square)


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
