# SPDX-License-Identifier: Apache-2.0
"""All keyframes of a run and how they hang together. Works beside tracking; what it finds is handed over at the next
keyframe, so that results do not depend on how fast anything was."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.config import SelectConfig, TrackConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.places.corrections import Corrections
from prism_vo.places.features import Features, find_features
from prism_vo.places.finder import Finder, Found
from prism_vo.places.finished_depths import FinishedDepths
from prism_vo.places.graph import Edge
from prism_vo.places.joints import Correction, Joints, Step
from prism_vo.places.keyframe import CompactKeyframe
from prism_vo.places.snapshot import snapshot
from prism_vo.points.finished import FinishedPoints
from prism_vo.tracking.pyramid import image_pyramid
from prism_vo.tracking.reference import KeyframeDepth
from prism_vo.types import Frame, InputFrame, PointDepth

RECENT = 12  # newest keyframes in which a place does not count as seen again
DETOUR = 4.0  # times the distance to a keyframe that must have been travelled since, for a way back to it
PAUSE = 3  # keyframes after a place was seen again until the next one is looked for
TRIED_WHEN_LOST = 4  # keyframes that are verified for a frame nobody knows anything about

Measure = Callable[[InputFrame, Floats], PointDepth]
Poses = Callable[[], dict[int, Array]]


@dataclass(frozen=True)
class NewKeyframe:
    """What happened at a keyframe, for the places to take over."""

    frame: Frame
    view: FocusedView  # with the focus of the day, which depths are computed with
    depth: KeyframeDepth
    segment: int
    step: Step | None  # from the keyframe before it; None: the first of a segment
    departed: list[KeyframeDepth]  # keyframes that left the window
    finished: FinishedPoints | None  # points that left it
    in_window: set[int]
    poses: dict[int, Array]  # T_view_world of all keyframes by odometry, as they are now
    smoothed: Poses  # the same with what was learnt since


@dataclass(frozen=True)
class KnownPlaces:
    """Keyframes of a map that was made before."""

    keyframes: list[CompactKeyframe]
    poses: dict[int, Array]  # T_view_world


@dataclass(frozen=True)
class _Outcome:
    """What working beside came to."""

    keyframe: CompactKeyframe
    improved: list[CompactKeyframe]
    edge: Edge | None
    correction: Correction | None
    odometry: dict[int, Array]  # poses that the correction started from


@dataclass
class Places:
    """Keyframes that can be found again, places seen again, and the corrections they ask for."""

    view: FocusedView
    measure: Measure
    track: TrackConfig
    select: SelectConfig
    threads: bool
    corrections: Corrections
    joints: Joints = field(default_factory=Joints)
    refused: list[Edge] = field(default_factory=list)
    loaded: dict[int, Array] = field(default_factory=dict)  # T_view_world of a map's keyframes

    def __post_init__(self) -> None:
        self.finder = Finder(self.view, self.track)
        self._features: dict[int, Features] = {}  # of keyframes in the window, as measured
        self._finished = FinishedDepths()  # of the same
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="places") if self.threads else None
        self._running: Future[_Outcome] | _Outcome | None = None
        self._pause = 0
        self._unsolved = False

    # --- what happens ----------------------------------------------------------------------------------------

    def load(self, known: KnownPlaces) -> None:
        """Before the first frame: keyframes whose poses are not to be changed."""
        for keyframe in known.keyframes:
            self.finder.add(keyframe)
        self.loaded = dict(known.poses)
        self.joints.fixed = set(known.poses)

    def add(self, new: NewKeyframe) -> None:
        """A keyframe was made: take over what was found since the last one, and begin to look at this one."""
        self.collect()
        self.corrections.segment_of[new.depth.id] = new.segment
        if new.step is not None:
            self.joints.steps.append(new.step)
        self._pause = max(self._pause - 1, 0)
        if self._executor is not None:
            self._running = self._executor.submit(self._look, new, self._pause == 0)
        else:
            self._running = self._look(new, self._pause == 0)

    def rescale(self, first: int, factor: float) -> None:
        """The focus was another one: lengths of all keyframes from ``first`` on were wrong by a factor."""
        self.collect()
        for k, keyframe in self.finder.keyframes.items():
            if k >= first:
                self.finder.keyframes[k] = keyframe.scaled(factor)
        self._features = {k: f.scaled(factor) if k >= first else f for k, f in self._features.items()}
        self._finished.scale(first, factor)
        self.joints.rescale(first, factor)
        self.corrections.T_odometry_map = {
            k: T for k, T in self.corrections.T_odometry_map.items() if k < first
        }
        self._unsolved = bool(self.joints.places)

    def collect(self) -> None:
        """Wait for what is running, and take it over."""
        if self._running is None:
            return
        found = self._running if isinstance(self._running, _Outcome) else self._running.result()
        self._running = None
        self.finder.add(found.keyframe)
        for keyframe in found.improved:
            self.finder.improve(keyframe)
        if found.edge is not None:
            self.joints.places.append(found.edge)
            self._pause = PAUSE
        if found.correction is not None:
            self._correct(found.correction, found.odometry)

    def recognise(self, frame: Frame, view: FocusedView) -> Found | None:
        """Where a frame is that could not be tracked: any known keyframe may be its place.

        ``view``: with the focus of the day, which depths are computed with.
        """
        self.collect()
        if not self.finder.keyframes:
            return None
        seen = snapshot(view, frame, self.measure, self.select)
        return self.finder.find(seen, frame.pyramid[: seen.level], set(), _nothing_known, TRIED_WHEN_LOST)

    def joined(self, found: Found, keyframe: int) -> None:
        """A keyframe begins a window at a recognised place."""
        self.joints.places.append(
            Edge(found.keyframe, keyframe, found.T_frame_keyframe, found.information, True)
        )
        known = self.corrections.T_odometry_map
        known[keyframe] = known.get(found.keyframe, np.eye(4))
        self._unsolved = True

    def finish(self, poses: Poses, remaining: list[KeyframeDepth]) -> None:
        """After the last frame: ``remaining`` keyframes of the window are kept as they are now; all is solved again."""
        self.collect()
        for depth in remaining:
            improved = self._improved(depth)
            if improved is not None:
                self.finder.improve(improved)
        self._look_once_more(poses(), remaining)
        if self.joints.places:
            odometry = self._with_loaded(poses())
            if self.joints.say_something(odometry):
                self._correct(self.joints.solve(odometry), odometry)

    # --- what is read ----------------------------------------------------------------------------------------

    def pose_of(self, keyframe: int, odometry: Poses) -> Array:
        """T_view_world of a keyframe of this run by odometry, or of the loaded map."""
        return self.loaded[keyframe] if keyframe in self.loaded else odometry()[keyframe]

    def _with_loaded(self, odometry: dict[int, Array]) -> dict[int, Array]:
        return {**self.loaded, **odometry}

    # --- beside tracking -------------------------------------------------------------------------------------

    def _look(self, new: NewKeyframe, search: bool) -> _Outcome:
        """Keep the keyframe; look for its place among the others; solve the graph if it was seen before."""
        frame = new.frame
        if new.finished is not None:
            self._finished.add(new.finished)
        improved = [k for depth in new.departed if (k := self._improved(depth)) is not None]
        features = find_features(new.view, frame.pyramid, lambda points: self.measure(frame.source, points))
        self._features[new.depth.id] = features
        keyframe = CompactKeyframe.of(new.depth, frame.pyramid, features, new.segment, frame.time)
        edge = self._seen_before(keyframe, frame.pyramid, new.in_window, new.poses) if search else None
        if edge is None and not self._unsolved:
            return _Outcome(keyframe, improved, None, None, {})
        joints, odometry = self.joints.copy(), self._with_loaded(new.smoothed())
        if edge is not None:
            joints.places.append(edge)
        correction = joints.solve(odometry) if joints.say_something(odometry) else None
        return _Outcome(keyframe, improved, edge, correction, odometry)

    def _seen_before(
        self,
        keyframe: CompactKeyframe,
        pyramid: list[Floats],
        in_window: set[int],
        odometry: dict[int, Array],
    ) -> Edge | None:
        poses = self.corrections.applied(self._with_loaded(odometry))
        part = next((set(p) for p in self.joints.parts(sorted(poses)) if keyframe.id in p), set())
        newer = {k for k in self.finder.keyframes if k > keyframe.id}
        without = in_window | newer | self._on_the_way(keyframe.id, poses)
        if len(without) >= len(self.finder.keyframes):
            return None

        def prior(known: int) -> Array | None:
            return poses[keyframe.id] @ se3.inverse(poses[known]) if known in part else None

        found = self.finder.find(keyframe, pyramid[: keyframe.level], without, prior)
        if found is None:
            return None
        T, information = found.T_frame_keyframe, found.information
        if not self.joints.plausible(found.keyframe, keyframe.id, T, information, poses):
            return None
        return Edge(found.keyframe, keyframe.id, T, information, True)

    def _look_once_more(self, odometry: dict[int, Array], remaining: list[KeyframeDepth]) -> None:
        """The last keyframes again, without a pause between, where the run ends at places it knows: they now have all
        the depth they will ever have, and the end of a path hangs on nothing that comes later."""
        in_window = {depth.id for depth in remaining}
        if not any(edge.b >= min(in_window) - PAUSE for edge in self.joints.places):
            return
        before = [edge for edge in self.joints.places if edge.b not in in_window]
        for depth in remaining:
            keyframe = self.finder.keyframes[depth.id]
            pyramid = image_pyramid(depth.image, keyframe.level + 1)
            edge = self._seen_before(keyframe, pyramid, in_window, odometry)
            known = [old for old in self.joints.places if old.b == depth.id]
            before += known if edge is None else [edge]
        self.joints.places = before

    def _on_the_way(self, keyframe: int, poses: dict[int, Array]) -> set[int]:
        """Keyframes of the same segment that the camera only moved on from: nothing comes back to them yet."""
        segments = self.corrections.segment_of
        own = [k for k in sorted(poses) if segments.get(k) == segments[keyframe] and k <= keyframe]
        centres = np.array([se3.inverse(poses[k])[:3, 3] for k in own])
        steps = np.linalg.norm(np.diff(centres, axis=0), axis=1)
        travelled = np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])
        near = travelled < DETOUR * np.linalg.norm(centres - centres[-1], axis=1)
        near[-RECENT:] = True
        return {k for k, on_the_way in zip(own, near) if on_the_way}

    def _improved(self, depth: KeyframeDepth) -> CompactKeyframe | None:
        """A keyframe of the window with all that is known about its depth now."""
        old, features = self.finder.keyframes.get(depth.id), self._features.pop(depth.id, None)
        if old is None or features is None:
            return None
        pyramid = image_pyramid(depth.image, old.level + 1)
        whole = self._finished.taken_into(depth)
        return CompactKeyframe.of(whole, pyramid, features, old.segment, old.time)

    def _correct(self, correction: Correction, odometry: dict[int, Array]) -> None:
        self.refused, self._unsolved = correction.refused, False
        self.corrections.T_odometry_map = {
            k: se3.renormalised(se3.inverse(odometry[k]) @ pose) for k, pose in correction.poses.items()
        }
        self.corrections.joined = self._joined_segments()

    def _joined_segments(self) -> dict[int, int]:
        """Segment → the first of those it hangs together with; a loaded map counts as the first of all."""
        segments = self.corrections.segment_of
        parts = self.joints.parts(sorted({*segments, *self.loaded}))
        of_parts = [{segments.get(k, 0) for k in part} for part in parts]
        return {segment: min(own) for own in of_parts for segment in own}

    # --- kept and put back -----------------------------------------------------------------------------------

    def memory(self) -> dict[str, Any]:
        """All state, for a checkpoint. What is running is waited for, but taken over only when it would have been."""
        if isinstance(self._running, Future):
            self._running = self._running.result()
        return {
            "keyframes": [self.finder.keyframes[k] for k in self.finder.index.ids],
            "features": (self._features, self._finished),
            "joints": self.joints,
            "refused": self.refused,
            "loaded": self.loaded,
            "running": self._running,
            "pause": (self._pause, self._unsolved),
        }

    def remember(self, memory: dict[str, Any], corrections: Corrections) -> None:
        """The state again; ``corrections`` are those of the map that was put back."""
        self.corrections = corrections
        self.finder = Finder(self.view, self.track)
        for keyframe in memory["keyframes"]:
            self.finder.add(keyframe)
        (self._features, self._finished), self.joints = memory["features"], memory["joints"]
        self.refused, self.loaded = memory["refused"], memory["loaded"]
        self._running = memory["running"]
        self._pause, self._unsolved = memory["pause"]


def _nothing_known(_: int) -> None:
    """No guess about where a frame is."""
