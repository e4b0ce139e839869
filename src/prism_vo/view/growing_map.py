# SPDX-License-Identifier: Apache-2.0
"""The dense map while it grows: every keyframe's depth, refined by its neighbours, a few keyframes after it came.

For those who look on; what a run writes is made at its end, from final poses. A thread of its own does the work, so
that tracking does not wait for it, and what it cannot keep up with is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Mask
from prism_vo.dense.consistency import confirmed
from prism_vo.dense.densify import depth_map, grid_of
from prism_vo.dense.frames import dense_frame
from prism_vo.dense.records import DenseFrame, DepthMap
from prism_vo.errors import PrismError
from prism_vo.optics.view import FocusedView
from prism_vo.types import DecodedFrame

WAITING = 8  # keyframes at the most; one that comes while so many wait is left out
HISTORY = 10  # keyframes that help to refine others
LATER = 2  # keyframes that come before one is refined, and again before it is shown: views from both sides
COVERING = 4  # of the keyframes shown before: what they show already is not shown again
PART_POINTS = 15_000  # of a keyframe
MOST_POINTS = 300_000  # of all parts; beyond it the oldest are hidden
SAME_SURFACE = 0.05  # of the distance
SAME_SCALE = 0.03  # keyframes whose distances change by more than that have been rescaled


@dataclass(frozen=True)
class NewKeyframe:
    """A keyframe, and where those beside it are by now."""

    index: int  # of its frame in the recording
    time: float
    segment: int
    view: FocusedView
    T_view_world: dict[int, Array]  # by index: of all keyframes that may still have moved, its own too


@dataclass(frozen=True)
class MapPart:
    """What a keyframe adds to the map."""

    index: int
    time: float
    points: Floats  # (N, 3), m, world
    colors: NDArray[np.uint8]  # (N, 3)


@dataclass(frozen=True)
class _Refined:
    depth: DepthMap
    beside: list[int]  # indices of the keyframes it was refined by


@dataclass
class _World:
    """Keyframes of one world and one scale, the oldest first."""

    segment: int
    view: FocusedView
    frames: list[DenseFrame] = field(default_factory=list)
    times: dict[int, float] = field(default_factory=dict)
    refined: dict[int, _Refined | None] = field(default_factory=dict)
    covering: list[DepthMap] = field(default_factory=list)
    shown: dict[int, int] = field(default_factory=dict)  # points of each part that can be seen


class GrowingMap:
    """Feed keyframes as they come; ``show`` and ``hide`` are called from a thread of its own."""

    def __init__(
        self,
        decode: Callable[[int], DecodedFrame],
        show: Callable[[MapPart], None],
        hide: Callable[[int], None],
    ) -> None:
        """``decode``: the frame of an index with its depth everywhere; ``hide``: the part of an index."""
        self._decode, self._show, self._hide = decode, show, hide
        self._worker = ThreadPoolExecutor(1, "growing map")
        self._jobs: list[Future[None]] = []
        self._world: _World | None = None

    def add(self, keyframe: NewKeyframe) -> None:
        """Returns at once."""
        self._jobs = [job for job in self._jobs if not job.done() or job.exception() is not None]
        if len(self._jobs) < WAITING:
            self._jobs.append(self._worker.submit(self._grow, keyframe))

    def finish(self) -> None:
        """Wait for what is still to be shown; a mistake of the thread is raised here."""
        self._jobs.append(self._worker.submit(self._advance, 0))
        self._worker.shutdown()
        for job in self._jobs:
            job.result()

    def abandon(self) -> None:
        """The run ended early: nothing more is shown."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _grow(self, keyframe: NewKeyframe) -> None:
        world = self._world
        if world is None or world.segment != keyframe.segment or _rescaled(world, keyframe):
            for index in [] if world is None else world.shown:
                self._hide(index)
            world = self._world = _World(keyframe.segment, keyframe.view)
        try:
            decoded = self._decode(keyframe.index)
            new = dense_frame(decoded, keyframe.T_view_world[keyframe.index], keyframe.view)
        except PrismError:
            return  # the run itself says what is wrong with a frame
        moved = keyframe.T_view_world
        world.frames = [replace(f, T_view_world=moved.get(f.index, f.T_view_world)) for f in world.frames]
        world.frames = [*world.frames, new][-HISTORY:]
        world.times[keyframe.index], world.view = keyframe.time, keyframe.view
        self._advance(LATER)

    def _advance(self, later: int) -> None:
        """Refine what has ``later`` keyframes after it, show what has twice as many."""
        world = self._world
        if world is None:
            return
        ready = len(world.frames) - later
        for place, frame in enumerate(world.frames[: max(ready, 0)]):
            if frame.index not in world.refined:
                found = depth_map(place, world.frames, grid_of(world.view))
                beside = [] if found is None else [world.frames[n.place].index for n in found[1]]
                world.refined[frame.index] = None if found is None else _Refined(found[0], beside)
        for frame in world.frames[: max(ready - later, 0)]:
            if frame.index not in world.shown:
                self._reveal(world, frame)
        kept = {frame.index for frame in world.frames}
        world.refined = {k: found for k, found in world.refined.items() if k in kept}

    def _reveal(self, world: _World, frame: DenseFrame) -> None:
        world.shown[frame.index] = 0
        found = world.refined.get(frame.index)
        if found is None:
            return
        others = [other.depth for k in found.beside if (other := world.refined.get(k)) is not None]
        depth = confirmed(replace(found.depth, frame=frame), others)
        part = part_of(depth, world.covering, world.times[frame.index])
        world.covering = [*world.covering, depth][-COVERING:]
        world.shown[frame.index] = len(part.points)
        if len(part.points):
            self._show(part)
        while sum(world.shown.values()) > MOST_POINTS:
            oldest = next(index for index, count in world.shown.items() if count)
            world.shown[oldest] = 0
            self._hide(oldest)


def part_of(depth: DepthMap, covering: list[DepthMap], time: float) -> MapPart:
    """The points of a keyframe that none of ``covering`` shows, thinned evenly."""
    seen = depth.valid
    q = depth.planes.inv_depth[seen]
    local = depth.grid.rays[seen] / q[:, None].astype(np.float64)
    points, colors = se3.transform(se3.inverse(depth.frame.T_view_world), local), depth.frame.colors[seen]
    for other in covering:
        new = ~_covered(points, other)
        points, colors = points[new], colors[new]
    every = max(1, -(-len(points) // PART_POINTS))
    return MapPart(depth.frame.index, time, points[::every].astype(np.float32), colors[::every])


def _covered(points: Array, other: DepthMap) -> Mask:
    """Whether a keyframe shows something in the direction of each point, and it is not far behind or before it."""
    view, step = other.grid.view, other.grid.step
    local = se3.transform(other.frame.T_view_world, points)
    u, v = view.image_plane.project(local)
    rows, columns = other.grid.shape
    row, column = np.rint(v / step), np.rint(u / step)
    with np.errstate(invalid="ignore"):
        inside = (local[:, 2] > 0) & (row >= 0) & (column >= 0) & (row < rows) & (column < columns)
    row, column = (np.where(inside, at, 0).astype(int) for at in (row, column))
    q = other.planes.inv_depth[row, column]
    return np.asarray(inside & (np.abs(q * local[:, 2] - 1.0) < SAME_SURFACE))


def _rescaled(world: _World, keyframe: NewKeyframe) -> bool:
    """Whether the run has corrected its focus: what is shown has another scale than what comes now."""
    known = [f for f in world.frames if f.index in keyframe.T_view_world]
    if len(known) < 2 or not world.shown:
        return False
    a, b = known[0], known[-1]
    before = _distance(a.T_view_world, b.T_view_world)
    now = _distance(keyframe.T_view_world[a.index], keyframe.T_view_world[b.index])
    return abs(now - before) > SAME_SCALE * before


def _distance(a: Array, b: Array) -> float:
    return float(np.linalg.norm(se3.inverse(a)[:3, 3] - se3.inverse(b)[:3, 3]))
