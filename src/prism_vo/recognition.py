# SPDX-License-Identifier: Apache-2.0
"""What a run recognised: places that it had seen before, and the map that it was to start in.

A run that never recognised its map looks like any other: every frame has a pose, but in a world of its own. So it is
said in words, in ``stats.jsonl`` and by the exit code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from prism_vo.frame_report import FrameReport
from prism_vo.odometry import Odometry
from prism_vo.places.graph import Edge
from prism_vo.places.places import Places
from prism_vo.shelf import Shelf

MAP_WORLD = 0  # the segment of a known map
UNMOVED = 1e-9  # m and rad: rounding alone


@dataclass(frozen=True)
class RecognisedPlace:
    """A frame that shows what a known keyframe shows."""

    frame: int  # its index
    keyframe: int  # the known one
    in_map: bool  # of the map that the run was to start in
    is_refused: bool  # it contradicts all others
    corrects: bool  # poses lie elsewhere for it


@dataclass(frozen=True)
class Recognition:
    """All of them."""

    places: tuple[RecognisedPlace, ...]
    map_name: str | None = None  # None: the run was to start in none
    elsewhere: int = 0  # frames whose poses are not in the world of that map

    @property
    def map_frame(self) -> int | None:
        """Index of the first frame that was recognised in the map; None: none was."""
        found = (p.frame for p in self.places if p.in_map and not p.is_refused)
        return min(found, default=None)

    @property
    def is_astray(self) -> bool:
        """Whether poses are in another world than the one that was asked for."""
        return self.map_name is not None and self.map_frame is None

    @property
    def map_words(self) -> str | None:
        """Whether, and where, the map was recognised; None: there is none."""
        if self.map_name is None:
            return None
        if self.map_frame is None:
            return f"the map {self.map_name} was never recognised: the poses are in a world of their own"
        others = f"; {self.elsewhere} frames are in other worlds" if self.elsewhere else ""
        return f"map {self.map_name}: recognised at frame {self.map_frame}{others}"

    @property
    def place_words(self) -> str:
        """How many places were recognised, and what came of it."""
        if not self.places:
            return "none recognised"
        corrected = sum(place.corrects for place in self.places)
        return f"{len(self.places)} recognised, {corrected or 'none'} of them corrected the map"

    @property
    def sentence(self) -> str:
        """Both, for people."""
        words = f"places: {self.place_words}"
        if self.map_words is not None and not self.is_astray:
            words = f"{self.map_words}; {words}"
        return f"{words[0].upper()}{words[1:]}."

    @property
    def notices(self) -> list[str]:
        """A sentence if the poses are not where they were asked for."""
        if not self.is_astray or self.map_words is None:
            return []
        why = "another scene, or seen from where the map knows nothing?"
        return [f"{self.map_words[0].upper()}{self.map_words[1:]} ({why})."]


def recognition_of(
    odometry: Odometry, reports: Iterable[FrameReport], map_name: str | None
) -> Recognition | None:
    """What a finished run recognised; None: it looked for nothing. ``map_name``: of the one it was to start in."""
    places = odometry.places
    if places is None:
        return None
    edges = _by_time(places)
    joined, found, elsewhere = odometry.map.corrections.joined, [], 0
    for report in reports:
        found += [_place(report.index, edge, places) for edge in edges.get(report.time, [])]
        if report.status != "lost":
            elsewhere += joined.get(report.segment, report.segment) != MAP_WORLD
    return Recognition(tuple(found), map_name, 0 if map_name is None else elsewhere)


def mark_recognised(odometry: Odometry, reports: Shelf[FrameReport]) -> None:
    """Frames that show a known place say so. While a run goes it is found beside tracking, after their reports."""
    edges = {} if odometry.places is None else _by_time(odometry.places)
    if edges:
        reports.change(lambda r: replace(r, recognised=edges[r.time][0].a) if r.time in edges else None)


def _by_time(places: Places) -> dict[float, list[Edge]]:
    """Places by the time of the frame that shows them: numbers of keyframes begin again when a run does."""
    found: dict[float, list[Edge]] = {}
    for edge in places.joints.places:
        found.setdefault(places.finder.keyframes[edge.b].time, []).append(edge)
    return found


def _place(frame: int, edge: Edge, places: Places) -> RecognisedPlace:
    refused = (edge.a, edge.b) in {(other.a, other.b) for other in places.refused}
    moved = places.corrections.T_odometry_map.get(edge.b, np.eye(4))
    corrects = not refused and bool(np.abs(moved - np.eye(4)).max() > UNMOVED)
    return RecognisedPlace(frame, edge.a, edge.a in places.loaded, refused, corrects)
