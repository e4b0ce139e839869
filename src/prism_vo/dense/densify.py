# SPDX-License-Identifier: Apache-2.0
"""Keyframes with poses → dense map: refine each by its neighbours, keep what others confirm, fuse, make the surface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.cloud import PointCloud
from prism_vo.dense.components import without_crumbs
from prism_vo.dense.consistency import confirmed
from prism_vo.dense.facing import facing
from prism_vo.dense.integrate import integrate, usual_sigma
from prism_vo.dense.neighbours import Neighbour, neighbours, views_of
from prism_vo.dense.records import DenseFrame, DepthMap, Grid, Mesh
from prism_vo.dense.refine import Stage, refine
from prism_vo.dense.surface import surface
from prism_vo.dense.volume import Volume
from prism_vo.optics.view import FocusedView

CHUNK, MARGIN = (
    48,
    8,
)  # keyframes whose depths are kept at the same time, and how many before and after help them
EVERY_PIXEL = 120_000  # px: larger images are matched at every other pixel, both ways
FEWEST_VIEWS = 2
Say = Callable[[str, int, int], None]


@dataclass(frozen=True)
class DenseMap:
    """The surface of the scene in the world of the run."""

    mesh: Mesh

    @property
    def cloud(self) -> PointCloud:
        """The vertices."""
        m = self.mesh
        return PointCloud(m.vertices, m.colors, m.sigma, normals=m.normals)

    @property
    def spacing(self) -> Floats:
        """(N,): metres from each vertex to its neighbours, in the mean."""
        m, sides = self.mesh, ((0, 1), (1, 2), (2, 0))
        total, count = np.zeros(len(m.vertices)), np.zeros(len(m.vertices))
        for a, b in ((m.triangles[:, i], m.triangles[:, j]) for i, j in sides):
            length = np.linalg.norm(m.vertices[a] - m.vertices[b], axis=1)
            for end in (a, b):
                total += np.bincount(end, length, len(total))
                count += np.bincount(end, minlength=len(count))
        return (total / np.maximum(count, 1)).astype(np.float32)


def grid_of(view: FocusedView) -> Grid:
    """At every pixel of a small image, at every other one of a large one."""
    return Grid(view, 1 if view.width * view.height <= EVERY_PIXEL else 2)


def densify(
    load: Callable[[int], DenseFrame], count: int, view: FocusedView, threads: int = 2, say: Say | None = None
) -> DenseMap:
    """The map of ``count`` keyframes, each loaded when it is needed; the result does not depend on ``threads``."""
    volume, grid = Volume.empty(), grid_of(view)
    done, poses = 0, []
    pool = ThreadPoolExecutor(max(1, threads), "dense")
    try:
        for first in range(0, count, CHUNK):
            begin, end = max(0, first - MARGIN), min(count, first + CHUNK + MARGIN)
            frames = []
            for k in range(begin, end):
                frames.append(load(k))
                if say is not None:
                    say("decoding keyframes", k + 1, count)
            poses += [frame.T_view_world for frame in frames]
            maps = []
            for found in pool.map(partial(depth_map, frames=frames, grid=grid), range(len(frames))):
                maps.append(found)
                done += begin + len(maps) - 1 in range(first, first + CHUNK)
                if say is not None:
                    say("refining depth", done, count)
            believed = _believed(maps, range(first - begin, min(first + CHUNK, count) - begin))
            tell = None if say is None else partial(_tell, say, first, count)
            integrate(volume, believed, usual_sigma(believed), tell)
    finally:
        pool.shutdown(cancel_futures=True)  # whatever ends this early does not wait for all the rest
    return DenseMap(without_crumbs(facing(surface(volume), poses, view)))


def _tell(say: Say, first: int, count: int, done: int) -> None:
    say("fusing depth", first + done, count)


def _believed(maps: Sequence[tuple[DepthMap, list[Neighbour]] | None], wanted: range) -> list[DepthMap]:
    out = []
    for k in wanted:
        found = maps[k]
        if found is None:
            continue
        depth, beside = found
        others = [other[0] for n in beside if (other := maps[n.place]) is not None]
        out.append(confirmed(depth, others))
    return out


def depth_map(host: int, frames: Sequence[DenseFrame], grid: Grid) -> tuple[DepthMap, list[Neighbour]] | None:
    """Depth of one keyframe refined by its neighbours; None where nothing overlaps with it."""
    frame = frames[host]
    beside = neighbours(host, frames, grid)
    if len(beside) < FEWEST_VIEWS:
        return None
    views = views_of(frame, [frames[n.place] for n in beside], grid.view)
    matched = refine(frame.image, views, frame.prior, grid.step, grid.view.focal_px, stages(len(beside)))
    return DepthMap(frame, grid, matched.planes, matched.sigma, matched.cost), beside


def stages(views: int) -> list[Stage]:
    """First with the nearest views, in which the plenoptic depth is right to a pixel or so, then with all of them."""
    near = max(FEWEST_VIEWS, views // 2)
    return [
        Stage(near, max(1, (2 * near + 1) // 3), 1.0, 2),
        Stage(views, max(FEWEST_VIEWS, 2 * views // 3), 0.3, 2),
    ]
