# SPDX-License-Identifier: Apache-2.0
"""Damped descent (Levenberg–Marquardt): a step is taken only if the true energy falls, or if it is negligible.

Alignment of a frame, its second location and the window differ in what a state is and in how they are damped, not in
this loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

S = TypeVar("S")  # a state
L = TypeVar("L", bound="Linearized")  # the problem linearised at a state
D = TypeVar("D")  # a step


class Linearized(Protocol):
    """Normal equations, in whatever form the problem keeps them."""

    @property
    def energy(self) -> float: ...


class Problem(Protocol[S, L, D]):
    """What is minimised."""

    def linearize(self, state: S) -> L:
        """The problem at a state."""
        ...

    def step(self, at: L, state: S, damping: float) -> D | None:
        """A damped step; None: there is none that may be tried."""
        ...

    def moved(self, state: S, step: D) -> S:
        """The state after a step."""
        ...

    def accepted(self, at: L) -> None:
        """Called when a step was taken; the problem may adapt itself."""
        ...

    def is_negligible(self, step: D, state: S) -> bool:
        """Whether a step from ``state`` is so small that it is the last one and is taken as it is: to look at the
        energy once more takes as long as another step, and would tell nothing."""
        ...

    def is_over(self, step: D, state: S, taken: bool) -> bool:
        """Whether a step from ``state`` was so small that no better one is to be expected."""
        ...


@dataclass(frozen=True)
class Damping:
    """How the damping follows success and failure."""

    start: float
    fall: float  # factor after a step that was taken
    least: float
    least_after_refusal: float  # a refused step asks for at least so much
    rise: float = 10.0  # factor after a step that was refused
    most: float = np.inf  # beyond it there is nothing to be gained
    after_failure: float | None = None  # factor and …
    least_after_failure: float = 0.0  # … floor after a step that could not be tried; None: the descent ends
    small_gain: float = 0.0  # relative fall of the energy that ends the descent
    # after a step that brought less than this relative fall, one that is refused ends the descent: with little damping
    # the next trials would be nearly the same step
    nearly_there: float = 0.0


@dataclass(frozen=True)
class Descent(Generic[S, L]):
    """Where a descent ended."""

    state: S
    at: L  # the problem at that state, but for a last step that was negligible
    energies: list[float]  # of the accepted states, the start included
    is_over: bool  # False: the iterations were used up, or a step could not be tried
    failed: bool  # a step could not be tried and ended the descent


def descend(problem: Problem[S, L, D], start: S, at: L, damping: Damping, iterations: int) -> Descent[S, L]:
    """Minimise from ``start``, where the problem was linearised as ``at``."""
    state, energies, mu = start, [at.energy], damping.start
    last_gain = np.inf  # relative fall of the energy
    for _ in range(iterations):
        step = problem.step(at, state, mu)
        if step is None:
            if damping.after_failure is None:
                return Descent(state, at, energies, False, True)
            mu = max(mu * damping.after_failure, damping.least_after_failure)
            continue
        # after a refusal a step is small because it is damped
        if mu <= damping.start and problem.is_negligible(step, state):
            return Descent(problem.moved(state, step), at, energies, True, False)
        trial_state = problem.moved(state, step)
        trial = problem.linearize(trial_state)
        taken = bool(trial.energy < energies[-1])  # not so if it is NaN
        over = problem.is_over(step, state, taken)
        if taken:
            last_gain = (energies[-1] - trial.energy) / abs(trial.energy) if trial.energy else np.inf
            state, at = trial_state, trial
            problem.accepted(trial)
            energies.append(trial.energy)
            mu = max(mu * damping.fall, damping.least)
            over = over or last_gain < damping.small_gain
        else:
            mu = max(mu * damping.rise, damping.least_after_refusal)
            over = over or mu > damping.most or last_gain < damping.nearly_there
        if over:
            return Descent(state, at, energies, True, False)
    return Descent(state, at, energies, False, False)
