# SPDX-License-Identifier: Apache-2.0
"""Pose graph on SE(3): keyframes joined by what odometry and recognised places say about their relative poses.

A node is T_view_world. An edge (i, j) measures ``Z = T_j T_i⁻¹``; its residual is ``r = log(T_j T_i⁻¹ Z⁻¹)``. With left
increments ``dr/dξ_j = J_l⁻¹(r)`` and ``dr/dξ_i = −J_r⁻¹(r) Ad_Z``. Edges of recognised places are switchable (in the
closed form of dynamic covariance scaling): one that contradicts all others fades out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import bsr_matrix, csc_matrix
from scipy.sparse.linalg import splu

from prism_vo.arrays import Array, Integers, Mask
from prism_vo.places.tangents import adjoints, exps, inverses, left_jacobians, logs

SWITCH = 16.8  # χ² of six numbers that one true edge in a hundred exceeds: beyond it an edge begins to fade
ITERATIONS = 30
SMALL_STEP = 1e-7  # m and rad
START_DAMPING, MOST_DAMPING = 1e-6, 1e6


@dataclass(frozen=True)
class Edge:
    """What is known about two keyframes: ``T_b_a`` with information (6, 6) of its left tangent."""

    a: int
    b: int
    T_b_a: Array
    information: Array
    switchable: bool


@dataclass(frozen=True)
class Solution:
    """The graph at its minimum."""

    poses: dict[int, Array]
    trust: Array  # (E,) of the edges, in order: 1 counts fully, 0 has faded out
    chi2: float
    iterations: int


@dataclass(frozen=True)
class _Stack:
    """All edges as arrays."""

    a: Integers
    b: Integers
    measured_inverse: Array  # (E, 4, 4)
    adjoint: Array  # (E, 6, 6) of the measurement
    information: Array  # (E, 6, 6)
    switchable: Mask

    @classmethod
    def of(cls, edges: list[Edge], rows: Mapping[int, int]) -> _Stack:
        measured = np.array([e.T_b_a for e in edges]).reshape(-1, 4, 4)
        return cls(
            np.array([rows[e.a] for e in edges], np.int32),
            np.array([rows[e.b] for e in edges], np.int32),
            inverses(measured),
            adjoints(measured),
            np.array([e.information for e in edges]).reshape(-1, 6, 6),
            np.array([e.switchable for e in edges], np.bool_),
        )

    def residuals(self, poses: Array) -> Array:
        """(E, 6)."""
        return logs(poses[self.b] @ inverses(poses[self.a]) @ self.measured_inverse)

    def energy(self, residuals: Array) -> tuple[Array, Array]:
        """χ² after switching (E,), and the switches (E,) in [0, 1]."""
        chi2 = np.einsum("ni,nij,nj->n", residuals, self.information, residuals)
        switch = np.where(self.switchable, np.minimum(1.0, 2.0 * SWITCH / (SWITCH + chi2)), 1.0)
        return switch**2 * chi2 + SWITCH * (1.0 - switch) ** 2, switch

    def jacobians(self, residuals: Array) -> tuple[Array, Array]:
        """By the increments of a and of b, (E, 6, 6) each."""
        by_b = np.linalg.inv(left_jacobians(residuals))
        by_a = -np.linalg.inv(left_jacobians(-residuals)) @ self.adjoint
        return np.asarray(by_a, np.float64), np.asarray(by_b, np.float64)


@dataclass
class PoseGraph:
    """Nodes and edges; :meth:`solve` changes nothing."""

    poses: dict[int, Array] = field(default_factory=dict)  # start values, T_view_world
    edges: list[Edge] = field(default_factory=list)
    fixed: set[int] = field(default_factory=set)  # besides the first node of every connected part

    def solve(self) -> Solution:
        """Levenberg–Marquardt over all nodes that are not fixed."""
        ids = sorted(self.poses)
        rows = {node: k for k, node in enumerate(ids)}
        poses = np.array([self.poses[node] for node in ids]).reshape(-1, 4, 4)
        held = {part[0] for part in components(ids, self.edges)} | self.fixed
        free = np.array([node not in held for node in ids], np.bool_)
        if not self.edges or not free.any():
            return Solution(dict(self.poses), np.ones(len(self.edges)), 0.0, 0)
        stack = _Stack.of(self.edges, rows)
        # all places are believed at first, then those that contradict the rest fade out
        believed = replace(stack, switchable=np.zeros(len(self.edges), np.bool_))
        poses, _, _, first = _descended(believed, poses, free)
        poses, energy, switch, second = _descended(stack, poses, free)
        return Solution(dict(zip(ids, poses)), switch, float(energy.sum()), first + second)


def _descended(stack: _Stack, poses: Array, free: Mask) -> tuple[Array, Array, Array, int]:
    """Levenberg–Marquardt; poses, energies and switches of the edges, iterations."""
    energy, switch = stack.energy(stack.residuals(poses))
    damping, taken = START_DAMPING, 0
    while taken < ITERATIONS and damping < MOST_DAMPING:
        taken += 1
        step = _step(stack, poses, free, damping)
        moved = np.where(free[:, None, None], _renormalised(exps(step) @ poses), poses)
        new_energy, new_switch = stack.energy(stack.residuals(moved))
        if not new_energy.sum() <= energy.sum():
            damping *= 10.0
            continue
        poses, energy, switch = moved, new_energy, new_switch
        damping = max(damping * 0.1, 1e-12)
        if np.abs(step).max() < SMALL_STEP:
            break
    return poses, energy, switch, taken


def _step(stack: _Stack, poses: Array, free: Mask, damping: float) -> Array:
    """Increments (N, 6); zero where a node is held."""
    r = stack.residuals(poses)
    _, switch = stack.energy(r)
    by_a, by_b = stack.jacobians(r)
    weight = stack.information * (switch**2)[:, None, None]
    wa, wb = weight @ by_a, weight @ by_b
    a, b = stack.a, stack.b
    blocks = np.concatenate([_t(by_a) @ wa, _t(by_b) @ wb, _t(by_a) @ wb, _t(by_b) @ wa])
    h = _assembled(np.concatenate([a, b, a, b]), np.concatenate([a, b, b, a]), blocks, len(poses))
    gradient = np.zeros((len(poses), 6))
    np.add.at(gradient, a, np.einsum("nki,nk->ni", wa, r))
    np.add.at(gradient, b, np.einsum("nki,nk->ni", wb, r))
    chosen = np.flatnonzero(np.repeat(free, 6))
    inner = h[chosen][:, chosen].tocsc()
    diagonal = inner.diagonal()
    scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-12))
    scaling = csc_matrix((scale, (range(len(scale)), range(len(scale)))))
    system = scaling @ inner @ scaling
    system.setdiag(system.diagonal() + damping)
    step = np.zeros(6 * len(poses))
    step[chosen] = -scale * splu(system.tocsc()).solve(scale * gradient.ravel()[chosen])
    return step.reshape(-1, 6)


def _t(m: Array) -> Array:
    return m.transpose(0, 2, 1)


def _assembled(rows: Integers, columns: Integers, blocks: Array, count: int) -> csc_matrix:
    """Sum of 6 × 6 blocks as a sparse matrix."""
    order = np.lexsort((columns, rows))
    pointers = np.searchsorted(rows[order], np.arange(count + 1))
    whole = bsr_matrix((blocks[order], columns[order], pointers), shape=(6 * count, 6 * count))
    return whole.tocsc()


def _renormalised(t: Array) -> Array:
    out = t.copy()
    r = t[:, :3, :3]
    out[:, :3, :3] = r @ (1.5 * np.eye(3) - 0.5 * (_t(r) @ r))
    return out


def components(nodes: Iterable[int], edges: Iterable[Edge]) -> list[list[int]]:
    """Connected parts, each sorted, in the order of their first node."""
    parent = {node: node for node in nodes}

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for edge in edges:
        one, other = sorted((root(edge.a), root(edge.b)))
        parent[other] = one
    parts: dict[int, list[int]] = {}
    for node in sorted(parent):
        parts.setdefault(root(node), []).append(node)
    return [parts[first] for first in sorted(parts)]
