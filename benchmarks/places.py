# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.places``: recognised places. Size and look-up time, pairs of different places, a lens cap, two
recordings of one room, and (``--loops FOLDER``, as ``prism-vo bench`` leaves its sequences) loops with and without.

Without arguments everything is simulated with the camera ``small``; it takes some minutes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from prism_vo import pipeline, se3
from prism_vo.arrays import Array
from prism_vo.config import Config, SelectConfig, TrackConfig
from prism_vo.datasets import open_sequence
from prism_vo.datasets.source import Stream
from prism_vo.evaluate.loop_end import end_error
from prism_vo.evaluate.metrics import evaluate_trajectory
from prism_vo.lightfield import Decoder
from prism_vo.linear.one_thread import one_thread
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.places.alignment import Aligner
from prism_vo.places.finder import Finder
from prism_vo.places.index import PlaceIndex
from prism_vo.places.keyframe import CompactKeyframe
from prism_vo.places.snapshot import snapshot
from prism_vo.places.verification import verify
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.render import Renderer
from prism_vo.simulate.write import Simulation
from prism_vo.tracking.tracker import Tracker
from prism_vo.trajectory import Trajectory
from prism_vo.types import Frame, RawFrame

CAMERA = "small"
SCENES = {"seq_003": 36, "seq_007": 36, "seq_008": 30, "seq_010": 30, "seq_005": 30, "seq_004": 20}
ALIKE = 6  # pairs a keyframe, those that look most alike of all that show another place
NEAR, TURNED = 12.0, 60.0  # m and degrees: keyframes of one scene closer than both may share something
KNOWN = 2000  # keyframes in the index that is timed
ROOM = "seq_001"
INTERVAL = 0.04  # s
CAP = 75  # frames: three seconds


@dataclass(frozen=True)
class Place:
    """A keyframe and where it was taken."""

    scene: str
    T_world_cam: Array
    frame: Frame
    keyframe: CompactKeyframe


class Film:
    """Raw frames of a scene at any pose, each with noise of its own."""

    def __init__(self, scene: str) -> None:
        self.simulation = Simulation.prepare(scene, SimulateOptions(camera=CAMERA))
        self.renderer: Renderer = self.simulation.renderer()
        self.camera = PlenopticCamera.from_calibration(self.simulation.calibration)
        self.white = self.renderer.white()
        self._taken = 0

    def take(self, pose: Array, number: int) -> RawFrame:
        """One frame."""
        self._taken += 1
        image = self.renderer.raw(pose, frame=self._taken, time=0.0, exposure=1.0)
        return RawFrame(number, number * INTERVAL, image)


def places_of(scene: str, count: int) -> Iterator[Place]:
    """Keyframes spread over the whole path of a scene."""
    film = Film(scene)
    decoder = Decoder(film.camera)
    tracker = Tracker(decoder.view, TrackConfig())
    poses = film.simulation.track.poses
    for number in np.linspace(0, len(poses) - 1, count + 1)[:-1].astype(int).tolist():
        raw = film.take(poses[number], number)
        focused = decoder.focus(raw)
        frame = Frame.of(raw, focused, tracker.pyramid(focused.image))
        yield Place(
            scene, poses[number], frame, snapshot(decoder.view, frame, decoder.measure, SelectConfig())
        )


def different_places(places: list[Place]) -> None:
    """Of all keyframes that show another place, those that look most alike: is any taken for the same?"""
    aligner = Aligner(places[0].frame.focused.view, TrackConfig())
    index = PlaceIndex()
    for k, place in enumerate(places):
        index.add(k, place.keyframe.features.descriptors)
    pairs, taken, reasons = 0, 0, dict[str, int]()
    for place in places:
        other = np.array([not _may_overlap(place, p) for p in places], np.bool_)
        for k in index.find(place.keyframe.features.descriptors, ALIKE, other):
            found = verify(aligner, places[k].keyframe, place.keyframe)
            pairs, taken = pairs + 1, taken + found.ok
            reasons[found.refusal or "taken"] = reasons.get(found.refusal or "taken", 0) + 1
    print(f"pairs of different places: {pairs}, taken for one place: {taken} (bar 0 of 1,000)")
    for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
        print(f"  {count:5d}  {reason}")


def _may_overlap(a: Place, b: Place) -> bool:
    apart = se3.inverse(a.T_world_cam) @ b.T_world_cam
    near = np.linalg.norm(apart[:3, 3]) < NEAR and np.degrees(se3.rotation_angle(apart[:3, :3])) < TURNED
    return a.scene == b.scene and bool(near)


def sizes_and_times(places: list[Place]) -> None:
    """Memory, look-up and relocalisation."""
    largest = max(p.keyframe.nbytes for p in places)
    print(f"memory: {largest / 1000:.0f} kB a keyframe at the most (bar 150)")
    index, rng = PlaceIndex(), np.random.default_rng(0)
    for k in range(KNOWN):
        descriptors = places[k % len(places)].keyframe.features.descriptors
        noise = np.packbits(rng.random((len(descriptors), 256)) < (0.25 if k >= len(places) else 0.0), axis=1)
        index.add(k, descriptors ^ noise)
    start = time.process_time()
    for place in places:
        index.find(place.keyframe.features.descriptors, 8)
    each = 1e3 * (time.process_time() - start) / len(places)
    print(f"look-up among {KNOWN} keyframes: {each:.1f} ms of processor (bar 5)")


@one_thread  # as in a run
def relocalisation_time(places: list[Place]) -> None:
    """A frame from nothing to its pose: depth, features, look-up, verification."""
    view = places[0].frame.focused.view
    finder = Finder(view, TrackConfig())
    for k, place in enumerate(places):
        finder.add(replace(place.keyframe, id=k))
    film, seconds, found = Film(ROOM), [], 0
    decoder = Decoder(film.camera)
    tracker = Tracker(view, TrackConfig())
    poses = film.simulation.track.poses
    for k in range(0, 40, 8):
        finder.add(replace(_snapshot(film, decoder, tracker, poses[k], k)[1], id=10_000 + k))
    for k in range(4, 40, 8):
        frame, _ = _snapshot(film, decoder, tracker, poses[k], k)
        start = time.process_time()
        seen = snapshot(view, frame, decoder.measure, SelectConfig())
        found += finder.find(seen, frame.pyramid[: seen.level], set(), lambda _: None, 4) is not None
        seconds.append(time.process_time() - start)
    print(
        f"relocalisation: {1e3 * np.median(seconds):.0f} ms of processor (bar 100),"
        f" {found} of {len(seconds)} frames found"
    )


def _snapshot(
    film: Film, decoder: Decoder, tracker: Tracker, pose: Array, k: int
) -> tuple[Frame, CompactKeyframe]:
    raw = film.take(pose, k)
    focused = decoder.focus(raw)
    frame = Frame.of(raw, focused, tracker.pyramid(focused.image))
    return frame, snapshot(decoder.view, frame, decoder.measure, SelectConfig())


def moved(pose: Array, shift: float) -> Array:
    """A pose beside another, metres to the right."""
    out = pose.copy()
    out[:3, 3] += shift * pose[:3, 0]
    return out


def lens_cap(film: Film) -> None:
    """Cap for three seconds while the camera is carried back along its path and a little aside."""
    path = film.simulation.track.poses
    poses = [*path[:100], *[path[99]] * CAP, *(moved(path[k], 0.04) for k in range(70, 30, -1))]
    frames = [film.take(pose, k) for k, pose in enumerate(poses)]
    black = np.zeros_like(frames[0].image)
    frames = [replace(f, image=black) if 100 <= f.index < 100 + CAP else f for f in frames]
    for loops in (False, True):
        result = pipeline.run(Stream(frames, film.camera, white=film.white), replace(Config(), loops=loops))
        truth = Trajectory(np.array([f.time for f in frames]), np.array(poses))
        after = [r for r in result.reports if r.index >= 100 + CAP]
        waited = next((k for k, r in enumerate(after) if r.status != "lost"), len(after))
        error = evaluate_trajectory(result.trajectory, truth, max_difference=1e-6).se3.rmse_t_percent
        print(
            f"lens cap, loops {_word(loops)}: found again after {waited} frames (bar 10),"
            f" error {error:.3f} % (bar 0.3),"
            f" {result.segments} segment{'s' if result.segments != 1 else ''}"
        )


def two_recordings(film: Film) -> None:
    """One recording makes a map, another one, the other way round and a little aside, starts in it."""
    path = film.simulation.track.poses
    first, second = list(path[:100]), [moved(path[k], 0.04) for k in range(130, 40, -1)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "room.map"
        runs = []
        for poses, known, saved in ((first, None, file), (second, file, None)):
            frames = [film.take(pose, k) for k, pose in enumerate(poses)]
            source = Stream(frames, film.camera, white=film.white)
            runs.append(pipeline.run(source, replace(Config(), loops=True), known=known, save_map=saved))
        kilobytes = file.stat().st_size / 1000
    # one trajectory out of both: the second one's times follow the first one's
    shift = 1000.0
    both = [
        Trajectory(
            np.concatenate([runs[0].trajectory.times, runs[1].trajectory.times + shift]),
            np.concatenate([runs[0].trajectory.poses, runs[1].trajectory.poses]),
        ),
        Trajectory(
            np.concatenate([np.arange(len(first)), np.arange(len(second)) + shift / INTERVAL]) * INTERVAL,
            np.array([*first, *second]),
        ),
    ]
    error = evaluate_trajectory(both[0], both[1], max_difference=1e-6).se3
    print(
        f"two recordings of one room: joined error {error.rmse_t_percent:.3f} % of both paths (bar 0.3),"
        f" {1e3 * error.rmse_t:.1f} mm; map of {kilobytes:.0f} kB; lost {runs[0].lost} and {runs[1].lost}"
    )


def loops(folder: Path) -> None:
    """Every recording of a folder with odometry alone and with places."""
    print(
        "| recording | path m | loops | RMSE_t % | RMSE_r ° | end mm | end ° | places |\n" + "|---" * 8 + "|"
    )
    for path in sorted(p for p in folder.iterdir() if (p / "times.txt").is_file()):
        sequence = open_sequence(path)
        for switched in (False, True):
            result = pipeline.run(sequence, replace(Config(), loops=switched))
            truth, m = result.truth, result.metrics
            assert truth is not None and m is not None
            end = end_error(result.trajectory, truth)
            places = result.odometry.places
            seen = "" if places is None else str(len(places.joints.places))
            print(
                f"| {path.name} | {m.path_length:.1f} | {_word(switched)} | {m.se3.rmse_t_percent:.4f} |"
                f" {m.se3.rmse_r_deg:.3f} | {1e3 * end.translation:.2f} | {end.rotation_deg:.3f} | {seen} |",
                flush=True,
            )


def _word(loops_on: bool) -> str:
    return "on" if loops_on else "off"


def main() -> None:
    """Print every figure with its bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=Path, help="folder of recordings to run with and without loops")
    parser.add_argument("--only", choices=("pairs", "cap", "two", "loops"))
    chosen = parser.parse_args()
    if chosen.only in (None, "pairs"):
        places = [place for scene, count in SCENES.items() for place in places_of(scene, count)]
        sizes_and_times(places)
        different_places(places)
        relocalisation_time(places)
    if chosen.only in (None, "cap"):
        lens_cap(Film(ROOM))
    if chosen.only in (None, "two"):
        two_recordings(Film(ROOM))
    if chosen.loops is not None:
        loops(chosen.loops)


if __name__ == "__main__":
    main()
