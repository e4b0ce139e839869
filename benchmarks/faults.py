# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.faults [FOLDER ...]``: faults put into raw frames; error, lost frames, what was said.

Without folders it simulates its own recordings (tiny camera, 60 frames, three seeds, kept in ``--keep``). A folder
is a recording with ground truth; without ground truth (real frames) the error is the distance from the run over the
clean frames. ``--only WORDS`` runs the rows that contain one of the words, ``--quick`` one seed.

Error: RMS in per cent of the path after SE(3) alignment of each segment by itself; the scale is not fitted. *Over
clean*: what the fault adds to the error of the clean frames, if that row is among those that are run. *Shape*: with
the scale of each segment fitted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fault_folder import run_without
from benchmarks.fault_injectors import Clean, Shot
from benchmarks.fault_list import NO_TIMES, TURNS, Fault, faults
from prism_vo import pipeline, se3
from prism_vo.arrays import Array
from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.datasets.source import Stream
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.write import Simulation, simulate_sequence
from prism_vo.types import RawFrame, SourceFrame, UnreadableFrame

FRAMES = 60
SCENES = ("table", "room")
TURN_DEG, TURN_FRAMES = 2.4, 8
BACK_DEG, BACK_FRAMES = 3.0, 6
HEADER = (
    "| recording | fault | error % | over clean | shape % | lost | segments | exit | met | said |\n"
    + "|---" * 10
    + "|"
)
EXIT_SILENT_LIMIT = 0.5  # %: above it a run must not end with exit code 0


@dataclass(frozen=True)
class Recording:
    """Clean raw frames with their true poses."""

    name: str
    camera: PlenopticCamera
    white: NDArray[Any] | None
    clean: Clean
    poses: Array | None  # (N, 4, 4)
    rate: float

    @property
    def pitch(self) -> float:
        """Of the micro-lenses, raw px."""
        return self.camera.calibration.mla.pitch_px


@dataclass(frozen=True)
class Outcome:
    """What came of one row."""

    error: float  # %
    shape: float  # %: the same with the scale of each segment fitted
    lost: int  # frames that show the scene and have no pose
    false: int  # poses of frames that show nothing of the scene
    segments: int
    code: int
    said: str


def run_shots(recording: Recording, shots: list[Shot], poses: Array | None) -> Outcome:
    """The whole chain over faulty frames, as ``prism-vo run`` does it."""
    times = np.arange(len(shots)) / recording.rate
    frames: list[SourceFrame] = [
        UnreadableFrame(k, t, "damaged file.") if s.image is None else RawFrame(k, t, s.image, s.exposure)
        for k, (t, s) in enumerate(zip(times.tolist(), shots))
    ]
    result = pipeline.run(
        Stream(frames, recording.camera, recording.name, white=recording.white), Config(), check=True
    )
    lost = sum(r.status == "lost" and not s.foreign for r, s in zip(result.reports, shots))
    false = sum(r.status != "lost" and s.foreign for r, s in zip(result.reports, shots))
    error = shape = float("nan")
    if poses is not None:
        true = np.array([poses[s.source] for s in shots])
        error, shape = (segment_error(result, times, true, fitted) for fitted in (False, True))
    return Outcome(error, shape, lost, false, result.segments, result.exit_code, what_was_said(result))


def run_folder(recording: Recording, missing: set[int], poses: Array | None) -> Outcome:
    """The same over a folder of files some of which are missing: their times are those of the numbers."""
    clean = recording.clean
    result, notes = run_without(missing, clean.images, recording.camera, recording.white)
    times = np.arange(len(clean.images)) / recording.rate
    error = shape = float("nan")
    if poses is not None:
        error, shape = (segment_error(result, times, poses, fitted) for fitted in (False, True))
    said = "; ".join(words for words in (*(n[:60] for n in notes), what_was_said(result)) if words)
    return Outcome(error, shape, result.lost, 0, result.segments, result.exit_code, said)


def segment_error(result: pipeline.RunResult, times: Array, true: Array, with_scale: bool = False) -> float:
    """RMS over all poses, each segment aligned by itself, % of the whole true path; NaN: no frame has a pose."""
    if len(result.trajectory.times) == 0:
        return float("nan")
    found = result.trajectory
    segment = {r.time: r.segment for r in result.reports if r.status != "lost"}
    # a run that began again has poses of frames that were lost when they came
    which = np.array([segment.get(t, own) for t, own in zip(found.times.tolist(), found.segments.tolist())])
    truth = true[np.searchsorted(times, found.times - 1e-9)]
    squared = []
    for number in np.unique(which):
        ours, theirs = found.positions[which == number], truth[which == number][:, :3, 3]
        moved = ours - ours.mean(0) + theirs.mean(0) if len(ours) < 3 else _aligned(ours, theirs, with_scale)
        squared.append(((moved - theirs) ** 2).sum(1))
    length = float(np.linalg.norm(np.diff(true[:, :3, 3], axis=0), axis=1).sum())
    return 100.0 * float(np.sqrt(np.concatenate(squared).mean())) / length


def _aligned(ours: Array, theirs: Array, with_scale: bool) -> Array:
    return np.asarray(se3.align(ours, theirs, with_scale=with_scale).apply(ours))


def what_was_said(result: pipeline.RunResult) -> str:
    """In a few words."""
    words = []
    if result.lost:
        words.append(f"{result.lost} without a pose")
    if result.segments > 1:
        words.append(f"{result.segments} segments")
    return "; ".join([*words, *(notice.split(":")[0][:60] for notice in result.notices)])


def verdict(fault: Fault, outcome: Outcome) -> str:
    """Empty when everything expected holds, else what does not."""
    missed = []
    if outcome.error > fault.bound:
        missed.append("error")
    if outcome.error > EXIT_SILENT_LIMIT and outcome.code == 0:
        missed.append("silent")
    if fault.said and not outcome.said:
        missed.append("unsaid")
    if fault.recovered and outcome.segments > 1:
        missed.append("not recovered")
    if outcome.false:
        missed.append(f"{outcome.false} invented")
    return "yes" if not missed else "NO: " + ", ".join(missed)


def simulated(scene: str, seed: int, folder: Path) -> Recording:
    """A recording of our own simulator; what wanders through it is the other seed's scene."""
    own = read_recording(_folder_of(scene, seed, folder), f"{scene} {seed}")
    other = read_recording(_folder_of(scene, seed + 1, folder), "other")
    return replace(own, clean=replace(own.clean, foreign=other.clean.images))


def _folder_of(scene: str, seed: int, folder: Path) -> Path:
    path = folder / f"{scene}_{seed}"
    if (path / "groundtruth.txt").is_file():  # kept: used as it is, whichever version rendered it
        return path
    options = SimulateOptions(camera="mini", frames=FRAMES, seed=seed, truth_every=0)
    return simulate_sequence(scene, path, options)


def read_recording(folder: Path, name: str | None = None, part: slice = slice(None)) -> Recording:
    """Any recording of raw images; what wanders through it is its own end, backwards."""
    sequence = open_sequence(folder)
    chosen = range(len(sequence))[part]
    images = [np.asarray(sequence[k].image) for k in range(len(sequence))]
    truth, poses = sequence.groundtruth, None
    if truth is not None:
        at = np.asarray(sequence.times)[list(chosen)]
        poses = truth.poses[[int(np.argmin(np.abs(truth.times - t))) for t in at]]
    own = [images[k] for k in chosen]
    return Recording(
        name or sequence.name,
        sequence.camera,
        sequence.white,
        Clean(own, images[::-1], sequence.white),
        poses,
        sequence.camera.calibration.frame_rate,
    )


def turned(scene: str, seed: int, recording: Recording, back: bool) -> tuple[list[Shot], Array]:
    """The same path, but from the middle on the camera suddenly turns where it stands: by 2.4° a frame, for good, or by
    3° a frame and ``back``."""
    options = SimulateOptions(camera="mini", frames=FRAMES, seed=seed, truth_every=0)
    simulation = Simulation.prepare(scene, options)
    renderer, middle = simulation.renderer(), recording.clean.middle
    count = 2 * BACK_FRAMES if back else TURN_FRAMES
    poses, shots = [], []
    for k in range(len(simulation)):
        turns = min(max(k - middle, 0), count)
        angle = BACK_DEG * min(turns, count - turns) if back else TURN_DEG * turns
        source = k if k < middle else max(k - count, middle)
        pose = simulation.track.poses[source].copy()
        pose[:3, :3] = pose[:3, :3] @ se3.so3_exp(np.array([0.0, np.radians(angle), 0.0]))
        poses.append(pose)
        image = (
            recording.clean.images[k]
            if k <= middle
            else renderer.raw(pose, frame=k, time=0.1 * k, exposure=1.0)
        )
        shots.append(Shot(k, image))
    return shots, np.array(poses)


def reference_poses(recording: Recording) -> Array:
    """Where there is no truth: the run over the clean frames stands in for it."""
    frames = [RawFrame(k, k / recording.rate, image) for k, image in enumerate(recording.clean.images)]
    result = pipeline.run(Stream(frames, recording.camera, white=recording.white), Config())
    if result.lost or result.segments > 1:
        raise SystemExit(
            f"{recording.name}: the clean frames cannot be tracked: no faults can be judged by them."
        )
    return result.trajectory.poses


def rows_of(
    recording: Recording, only: list[str], scene: tuple[str, int] | None
) -> list[tuple[Fault, Outcome]]:
    """Run and print the rows of one recording."""
    poses = recording.poses if recording.poses is not None else reference_poses(recording)
    out: list[tuple[Fault, Outcome]] = []
    clean = float("nan")
    for fault in faults(recording.pitch):
        if not _is_wanted(fault, only) or (fault.other and scene is None):
            continue
        rng = np.random.default_rng(zlib.crc32(fault.name.encode()))
        outcome = run_shots(recording, fault.inject(recording.clean, rng), poses)
        clean = outcome.error if fault.group == "clean" else clean
        out.append(_row(recording, fault, outcome, clean))
    if _is_wanted(NO_TIMES, only):
        out.append(_row(recording, NO_TIMES, run_folder(recording, {recording.clean.middle}, poses), clean))
    for back, turn in enumerate(TURNS):
        if scene is not None and _is_wanted(turn, only):
            shots, truth = turned(*scene, recording, bool(back))
            out.append(_row(recording, turn, run_shots(recording, shots, truth), clean))
    return out


def _is_wanted(fault: Fault, only: list[str]) -> bool:
    return not only or any(word in fault.name or word == fault.group for word in only)


def _row(recording: Recording, fault: Fault, outcome: Outcome, clean: float) -> tuple[Fault, Outcome]:
    cells = (
        recording.name,
        fault.name,
        f"{outcome.error:.3f}",
        f"{outcome.error - clean:+.3f}",
        f"{outcome.shape:.3f}",
        str(outcome.lost),
        str(outcome.segments),
        str(outcome.code),
        verdict(fault, outcome),
        outcome.said,
    )
    print(f"| {' | '.join(cells)} |", flush=True)
    return fault, outcome


def main() -> int:
    """Print the table; exit code 1 if a row misses what is expected of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument(
        "--only", nargs="*", default=[], help="rows whose name contains, or whose group is, a word"
    )
    parser.add_argument("--quick", action="store_true", help="one scene, one seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--scenes", nargs="*", default=SCENES)
    parser.add_argument("--start", type=int, default=0, help="first frame of the given recordings")
    parser.add_argument("--frames", type=int, help="frames taken of the given recordings")
    parser.add_argument("--keep", type=Path, help="folder for the simulated recordings")
    args = parser.parse_args()
    print(HEADER)
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        keep = args.keep or Path(temporary)
        if not args.folders:
            scenes, seeds = (args.scenes[:1], 1) if args.quick else (args.scenes, args.seeds)
            for scene in scenes:
                for seed in range(seeds):
                    found += rows_of(simulated(scene, seed, keep), args.only, (scene, seed))
        end = None if args.frames is None else args.start + args.frames
        for folder in args.folders:
            found += rows_of(read_recording(folder, None, slice(args.start, end)), args.only, None)
    missed = sum(verdict(fault, outcome) != "yes" for fault, outcome in found)
    print(f"\n{len(found) - missed} of {len(found)} rows as expected.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
