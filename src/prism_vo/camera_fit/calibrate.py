# SPDX-License-Identifier: Apache-2.0
"""A camera from a recording of any rigid scene: odometry with a start, then observe and adjust until nothing moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from prism_vo import pipeline, se3
from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted
from prism_vo.batch.numbers import KAPPA, CameraNumbers
from prism_vo.batch.observe import POINTS_A_KEYFRAME, KeyframeImage, Marked, observe
from prism_vo.batch.records import BatchState, Observations
from prism_vo.board_fit.checkerboard import find_board
from prism_vo.calibrate.findings import look_at_grid
from prism_vo.calibrate.grid import Grid
from prism_vo.calibrate.grid_file import corrected_calibration
from prism_vo.camera_fit.adjusting import adjusted, decided
from prism_vo.camera_fit.board import with_board
from prism_vo.camera_fit.checks import check_frames, check_grid, check_motion, check_result, unbroken_path
from prism_vo.camera_fit.facts import MetricFact
from prism_vo.camera_fit.fit import CameraFit, covariance_of
from prism_vo.camera_fit.frames import Chosen, choose, images_of
from prism_vo.camera_fit.plan import DEFAULT, Known, MakeFact, Plan, Say
from prism_vo.camera_fit.start import Start, start_camera
from prism_vo.camera_fit.uncertainty import with_uncertainty
from prism_vo.config import Config, DecodeConfig
from prism_vo.datasets.source import Sequence, Stream
from prism_vo.errors import DegenerateError, InputError
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame

MOST_ROUNDS = 4  # of observing and adjusting
STILL = 0.3  # σ: a camera that moves less in a round has come to rest
CORRECTING_FRAMES = 8  # that a grid is corrected in
GRID_FRAMES = 3  # that the grid is looked for in
FIRST_LOOK = 25  # frames that the start is found in
TRACKERS: tuple[Literal["plenoptic", "full"], ...] = (
    "plenoptic",
    "full",
)  # tried in this order until no frame is lost
LEAST_PART = 20  # frames of an unbroken part that a better first camera is looked for in
FIRST_POINTS = 60  # a keyframe, in the first round: its camera is soon thrown away


def calibrate_camera(
    recording: Sequence, make_fact: MakeFact, plan: Plan = DEFAULT, say: Say = lambda words, done, of: None
) -> CameraFit:
    """The whole way from nominal optics to a camera with its uncertainty."""
    check_frames(recording)
    say("looking at slopes", 0, 0)
    calibration = recording.camera.calibration
    if plan.correct_grid:
        calibration = _with_own_grid(recording, calibration, say)
    start = _start(recording, calibration)
    tracked = _track(recording, start, plan, say)
    if tracked.segments > 1:
        start = _from_longest_part(recording, start, tracked, plan, say)
        tracked = _track(recording, start, plan, say)
    wanted = (*plan.frames, *(m[0] for m in plan.marked))
    path = unbroken_path(recording.name, tracked, needs_all=bool(wanted) or plan.square is not None)
    chosen = choose(path, recording.times, plan.keyframes, wanted)
    return _until_at_rest(recording, calibration, make_fact, plan, say, start, chosen)


def _until_at_rest(
    recording: Sequence,
    calibration: Calibration,
    make_fact: MakeFact,
    plan: Plan,
    say: Say,
    start: Start,
    chosen: Chosen,
) -> CameraFit:
    """Observe and adjust until nothing moves; whoever stops it gets the camera of the last whole round."""
    camera = start.camera
    latest: CameraFit | None = None
    for turn in range(MOST_ROUNDS):
        try:
            found, known = _round(recording, camera, start, chosen, plan, say, turn)
        except KeyboardInterrupt as interrupt:
            if latest is None:
                raise
            return _checked(replace(latest, stopped=interrupt))
        plan = decided(plan, found.state.camera)
        camera = PlenopticCamera(found.state.camera.calibration(camera.calibration))
        chosen = Chosen(chosen.indices, _at_rest(found.state.poses))
        before, latest = (
            latest,
            metric_fit(found, make_fact(replace(known, chosen=chosen)), chosen.indices, calibration),
        )
        if before is not None and _is_at_rest(before, latest):
            break
    assert latest is not None
    return _checked(latest)


def _checked(fit: CameraFit) -> CameraFit:
    check_result(fit.adjusted, fit.covariance)
    return fit


def metric_fit(found: Adjusted, fact: MetricFact, indices: list[int], start: Calibration) -> CameraFit:
    """The camera of an adjustment in metres, with its uncertainty; ``indices``: its frames in the recording."""
    covariance, factor = covariance_of(found, fact)
    numbers = found.state.camera.with_kappa(float(found.state.camera.values[KAPPA]) * factor)
    camera = numbers.calibration(start)
    fit = CameraFit(camera, numbers, covariance, found, factor, fact, indices, start)
    return with_uncertainty(fit)


def _is_at_rest(before: CameraFit, now: CameraFit) -> bool:
    """Whether a round moved the camera by little beside its σ."""
    moved = np.abs(now.numbers.values - before.numbers.values)[:KAPPA]
    return bool((moved <= STILL * np.maximum(now.sigma[:KAPPA], 1e-12)).all())


def _with_own_grid(recording: Sequence, calibration: Calibration, say: Say) -> Calibration:
    """The camera with the grid that the recording's own images show."""
    few = np.unique(np.linspace(0, len(recording) - 1, CORRECTING_FRAMES).astype(int))
    frames = [frame for frame in (recording[int(k)] for k in few) if isinstance(frame, RawFrame)]
    start = Grid.of(calibration.mla)
    findings = look_at_grid([frame.image for frame in frames], start, lambda words: say(words, 0, 0))
    return corrected_calibration(calibration, findings)


def _start(recording: Sequence, calibration: Calibration) -> Start:
    frames: list[RawFrame] = []
    for index in range(min(len(recording), FIRST_LOOK)):
        frame = recording[index]
        if not isinstance(frame, RawFrame):
            raise InputError(f"{recording.name}: holds decoded frames; a calibration needs raw images.")
        frames.append(frame)
    few = np.unique(np.linspace(0, len(frames) - 1, GRID_FRAMES).astype(int))
    check_grid(recording.name, calibration, [frames[k].image for k in few])
    return start_camera(calibration, frames, recording.white)


def _track(recording: Sequence, start: Start, plan: Plan, say: Say) -> pipeline.RunResult:
    """One path through all frames; where a wrong camera makes one way of tracking break off, another may not."""
    source = Stream(recording, start.camera, recording.name, white=recording.white)
    config = Config()
    config = replace(config, calibrate="off", decode=_decode(config, start, start.camera))
    found = []
    for variant in TRACKERS:
        result = pipeline.run(
            source,
            replace(config, variant=variant),
            progress=lambda done, of, report: say("tracking with the first camera", done, len(recording)),
            threads=plan.threads,
            check=False,
        )
        found.append(result)
        if result.segments == 1 and result.lost == 0:
            break
    return min(found, key=lambda result: (result.segments, result.lost))


def _from_longest_part(
    recording: Sequence, start: Start, tracked: pipeline.RunResult, plan: Plan, say: Say
) -> Start:
    """A better camera from the longest unbroken part of a path; the same one where it is too short."""
    longest = tracked.trajectory.in_segment(tracked.trajectory.largest_segment)
    if len(longest) < LEAST_PART:
        return start
    chosen = choose(longest, recording.times, plan.keyframes)
    try:
        found, _ = _round(
            recording, start.camera, start, chosen, replace(plan, square=None, marked=()), say, 0
        )
        return replace(
            start, camera=PlenopticCamera(found.state.camera.calibration(start.camera.calibration))
        )
    except DegenerateError:
        return start


def _decode(config: Config, start: Start, camera: PlenopticCamera) -> DecodeConfig:
    near = start.near_of(CameraNumbers.of(camera.calibration))
    return replace(config.decode, near=min(config.decode.near, near), view="central")


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
    decoder = Decoder(camera, _decode(Config(), start, camera), white=recording.white)
    images = images_of(recording, chosen, decoder, say)
    marked = [Marked(chosen.indices.index(f), x, y) for f, x, y in plan.marked if f in chosen.indices]
    points = FIRST_POINTS if turn == 0 else POINTS_A_KEYFRAME
    observed = observe(images, chosen.poses, camera, decoder, marked, points, say)
    state, seen, known = observed.state, observed.seen, Known(chosen, observed.marked)
    check_motion(recording.name, state, seen, first=turn == 0)
    if plan.square is not None:
        state, seen, known = _with_board(state, seen, known, images, camera, plan)

    return adjusted(state, seen, camera, plan, say), known


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
