# SPDX-License-Identifier: Apache-2.0
"""What holds the keyframes of a map together: odometry from one to the next, and places seen again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.linear.scaling import inverse
from prism_vo.places.graph import Edge, PoseGraph, components

# σ of odometry beyond what the window says about itself
STEP_SHARE = 0.002  # of the length of a step
STEP_TURN = np.deg2rad(0.002)
UNKNOWN_STEP = np.diag([0.01] * 3 + [0.01] * 3) ** 2  # m and rad, of a step nobody could estimate
# how far odometry may have drifted from where a place is seen again
DRIFT_SHARE = 0.03  # of the path between
DRIFT_TURN = np.deg2rad(2.0)
DRIFT_TURN_A_STEP = np.deg2rad(0.05)
SIGMAS = 4.0
# χ² of six numbers that one loop in twenty exceeds without any drift. Where odometry and a place seen again agree
# within what both know, there is no drift to correct, and correcting it would only add the error of the place …
SIGNIFICANT = 12.6
# … unless the place is known so many times better, in metres and in radians. Both are better than they say, by about
# as much (errors of 0.43 and 0.29 σ, median of 64 places in 13 recordings): up to 1.33 a place is no nearer to the
# truth than odometry (29 of 54), from there on all are (10 of 10, seven of them in a corridor, three in a room)
MUCH_BETTER = 2.0
LEAST_TRUST = 0.5  # of an edge that still counts


@dataclass(frozen=True)
class Step:
    """Odometry from one keyframe to the next of its segment."""

    a: int
    b: int
    covariance: Array | None  # (6, 6) of T_b_a, left tangent


@dataclass(frozen=True)
class Correction:
    """The map after all places seen again were taken into account."""

    poses: dict[int, Array]  # T_view_world
    refused: list[Edge]  # places that contradict all others


@dataclass
class Joints:
    """All of them. Poses are handed in, because they change."""

    steps: list[Step] = field(default_factory=list)
    places: list[Edge] = field(default_factory=list)
    fixed: set[int] = field(default_factory=set)  # keyframes of a map that was loaded

    def rescale(self, first: int, factor: float) -> None:
        """Lengths of all keyframes from ``first`` on were wrong by a factor."""
        stretch = np.array([factor] * 3 + [1.0] * 3)
        self.steps = [
            s
            if s.a < first or s.covariance is None
            else replace(s, covariance=s.covariance * np.outer(stretch, stretch))
            for s in self.steps
        ]
        self.places = [
            e if min(e.a, e.b) < first else replace(e, T_b_a=se3.scaled(e.T_b_a, np.zeros(3), factor))
            for e in self.places
        ]

    def copy(self) -> Joints:
        """For somebody who works beside."""
        return Joints(list(self.steps), list(self.places), set(self.fixed))

    def edges(self, poses: Mapping[int, Array]) -> list[Edge]:
        """Steps as the given poses have them, then places."""
        steps = [_edge_of(step, poses) for step in self.steps]
        return [*steps, *self.places]

    def parts(self, nodes: list[int]) -> list[list[int]]:
        """Keyframes that hang together."""
        bare = [Edge(s.a, s.b, np.eye(4), np.eye(6), False) for s in self.steps]
        held = sorted(self.fixed)
        chained = [Edge(a, b, np.eye(4), np.eye(6), False) for a, b in pairwise(held)]
        return components(nodes, [*bare, *self.places, *chained])

    def plausible(self, a: int, b: int, T_b_a: Array, information: Array, poses: Mapping[int, Array]) -> bool:
        """Whether odometry may have drifted so far; anything is possible between parts that nothing joins yet."""
        part = next((p for p in self.parts(sorted(poses)) if a in p), [])
        if b not in part:
            return True
        low, high = min(a, b), max(a, b)
        between = [s for s in self.steps if low <= s.a and s.b <= high and s.a in poses and s.b in poses]
        path = sum(float(np.linalg.norm(_relative(poses, s.a, s.b)[:3, 3])) for s in between)
        apart = se3.log(se3.renormalised(_relative(poses, a, b) @ se3.inverse(T_b_a)))
        covariance = inverse(information)
        own = np.zeros(6) if covariance is None else np.sqrt(np.diag(covariance))
        far = np.linalg.norm(apart[:3]) > DRIFT_SHARE * path + SIGMAS * np.linalg.norm(own[:3])
        turned = np.linalg.norm(apart[3:]) > (
            DRIFT_TURN + DRIFT_TURN_A_STEP * len(between) + SIGMAS * np.linalg.norm(own[3:])
        )
        return not (far or turned)

    def say_something(self, poses: Mapping[int, Array]) -> bool:
        """Whether places say anything new: they join what was apart, contradict odometry, or know much better."""
        steps = [_edge_of(step, poses) for step in self.steps]
        piece_of = {k: n for n, piece in enumerate(components(sorted(poses), steps)) for k in piece}
        for place in self.places:
            if piece_of[place.a] != piece_of[place.b] or {place.a, place.b} & self.fixed:
                return True
            low, high = min(place.a, place.b), max(place.a, place.b)
            between = [e for e in steps if low <= e.a and e.b <= high]
            travelled, own = _carried_covariance(between, place.b, poses), np.linalg.inv(place.information)
            apart = se3.log(_relative(poses, place.a, place.b) @ se3.inverse(place.T_b_a))
            if apart @ np.linalg.solve(travelled + own, apart) > SIGNIFICANT:
                return True
            if all(
                np.trace(travelled[part, part]) > MUCH_BETTER**2 * np.trace(own[part, part])
                for part in (slice(0, 3), slice(3, 6))
            ):
                return True
        return False

    def solve(self, poses: dict[int, Array]) -> Correction:
        """Poses that fit steps and places; segments that a place joins are moved to where they belong."""
        edges = self.edges(poses)
        start = _rough_places(poses, self.parts(sorted(poses)), self.places, edges)
        solution = PoseGraph(start, edges, set(self.fixed)).solve()
        trust = solution.trust[len(self.steps) :]
        refused = [edge for edge, share in zip(self.places, trust) if share < LEAST_TRUST]
        return Correction(solution.poses, refused)


def _edge_of(step: Step, poses: Mapping[int, Array]) -> Edge:
    T_b_a = _relative(poses, step.a, step.b)
    length = float(np.linalg.norm(T_b_a[:3, 3]))
    covariance = UNKNOWN_STEP if step.covariance is None else step.covariance
    extra = np.array([(STEP_SHARE * length) ** 2] * 3 + [STEP_TURN**2] * 3)
    information = inverse(covariance + np.diag(extra))
    return Edge(
        step.a, step.b, T_b_a, np.linalg.inv(UNKNOWN_STEP) if information is None else information, False
    )


def _carried_covariance(steps: list[Edge], to: int, poses: Mapping[int, Array]) -> Array:
    """(6, 6) of all steps together, left tangent at the keyframe ``to``."""
    covariance = np.zeros((6, 6))
    for step in steps:
        carried = se3.adjoint(_relative(poses, step.b, to))
        covariance += carried @ np.linalg.inv(step.information) @ carried.T
    return covariance


def _relative(poses: Mapping[int, Array], a: int, b: int) -> Array:
    return se3.renormalised(poses[b] @ se3.inverse(poses[a]))


def _rough_places(
    poses: dict[int, Array], parts: list[list[int]], places: list[Edge], edges: list[Edge]
) -> dict[int, Array]:
    """Segments that a place joins start where it says, so that the solver begins near its minimum."""
    out = dict(poses)
    whole = {node: k for k, part in enumerate(parts) for node in part}
    inner = [e for e in edges if not e.switchable]
    pieces = components(sorted(poses), inner)
    piece_of = {node: k for k, piece in enumerate(pieces) for node in piece}
    placed = {piece_of[part[0]] for part in parts}
    moving = True
    while moving:
        moving = False
        for edge in places:
            for a, b, T_b_a in ((edge.a, edge.b, edge.T_b_a), (edge.b, edge.a, se3.inverse(edge.T_b_a))):
                if whole[a] == whole[b] and piece_of[a] in placed and piece_of[b] not in placed:
                    shift = se3.inverse(out[b]) @ T_b_a @ out[a]  # T_view_world ← T_view_world · shift
                    for node in pieces[piece_of[b]]:
                        out[node] = se3.renormalised(out[node] @ shift)
                    placed.add(piece_of[b])
                    moving = True
    return out
