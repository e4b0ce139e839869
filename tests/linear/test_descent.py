# SPDX-License-Identifier: Apache-2.0
"""Damped descent on small problems: what it accepts, how the damping moves, and what ends it."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from prism_vo.linear.descent import Damping, Descent, descend
from prism_vo.linear.scaling import damped_step

SCHEDULE = Damping(start=1e-2, fall=0.1, least=1e-6, least_after_refusal=1e-3)


@dataclass(frozen=True)
class At:
    """Normal equations of Σ r²."""

    x: np.ndarray
    energy: float
    h: np.ndarray
    b: np.ndarray


@dataclass
class Rosenbrock:
    """r = (1 − x, 10 (y − x²)): a bent valley with its minimum at (1, 1)."""

    small_step: float = 0.0  # is_over below it
    dampings: list[float] = field(default_factory=list)  # that steps were asked for with
    accepted_energies: list[float] = field(default_factory=list)
    asked: list[bool] = field(default_factory=list)  # whether each step was taken

    def linearize(self, state: np.ndarray) -> At:
        x, y = state
        r = np.array([1.0 - x, 10.0 * (y - x * x)])
        jac = np.array([[-1.0, 0.0], [-20.0 * x, 10.0]])
        return At(state, float(r @ r), jac.T @ jac, jac.T @ r)

    def step(self, at: At, state: np.ndarray, damping: float) -> np.ndarray | None:
        np.testing.assert_array_equal(at.x, state)
        self.dampings.append(damping)
        return damped_step(at.h, at.b, damping)

    def moved(self, state: np.ndarray, step: np.ndarray) -> np.ndarray:
        return state + step

    def accepted(self, at: At) -> None:
        self.accepted_energies.append(at.energy)

    def is_negligible(self, step: np.ndarray, state: np.ndarray) -> bool:
        return False

    def is_over(self, step: np.ndarray, state: np.ndarray, taken: bool) -> bool:
        self.asked.append(taken)
        return bool(np.abs(step).max() < self.small_step)


def descent(
    problem: Rosenbrock, start: tuple[float, float], damping: Damping, iterations: int
) -> Descent[np.ndarray, At]:
    state = np.array(start)
    return descend(problem, state, problem.linearize(state), damping, iterations)


@pytest.mark.parametrize("start", [(-1.2, 1.0), (3.0, -2.0), (-2.0, 4.0), (0.0, 0.0)])
def test_a_bent_valley_is_followed_to_its_end(start: tuple[float, float]) -> None:
    problem = Rosenbrock(small_step=1e-10)
    found = descent(problem, start, SCHEDULE, 200)
    np.testing.assert_allclose(found.state, [1.0, 1.0], atol=1e-8)
    assert found.is_over and not found.failed
    assert (np.diff(found.energies) < 0).all() and len(found.energies) > 3
    assert found.energies[1:] == problem.accepted_energies
    assert found.at.energy == found.energies[-1]
    np.testing.assert_array_equal(found.at.x, found.state)


def test_damping_follows_success_and_failure_as_the_schedule_says() -> None:
    problem = Rosenbrock()
    descent(problem, (-1.2, 1.0), replace(SCHEDULE, start=1e-5), 25)
    assert problem.dampings[0] == 1e-5
    assert True in problem.asked and False in problem.asked
    for before, taken, after in zip(problem.dampings, problem.asked, problem.dampings[1:]):
        expected = max(0.1 * before, 1e-6) if taken else max(10.0 * before, 1e-3)
        assert after == pytest.approx(expected)


@dataclass
class Scripted:
    """Answers with prepared energies, whatever the step; the state counts what was accepted or tried."""

    trials: list[float]
    steps: list[float | None] = field(default_factory=list)  # by iteration; beyond the end: 1
    over: tuple[int, ...] = ()  # iterations whose step is said to be small
    negligible: float = 0.0
    dampings: list[float] = field(default_factory=list)
    taken: list[bool] = field(default_factory=list)

    def linearize(self, state: float) -> At:
        return At(np.array([state]), self.trials.pop(0), np.eye(1), np.zeros(1))

    def step(self, at: At, state: float, damping: float) -> float | None:
        self.dampings.append(damping)
        return self.steps.pop(0) if self.steps else 1.0

    def moved(self, state: float, step: float) -> float:
        return state + step

    def accepted(self, at: At) -> None:
        pass

    def is_negligible(self, step: float, state: float) -> bool:
        return abs(step) < self.negligible

    def is_over(self, step: float, state: float, taken: bool) -> bool:
        self.taken.append(taken)
        return len(self.taken) - 1 in self.over


def scripted(problem: Scripted, damping: Damping, iterations: int) -> Descent[float, At]:
    return descend(problem, 0.0, problem.linearize(0.0), damping, iterations)


@pytest.mark.parametrize("worse", [10.0, 11.0, np.nan, np.inf])
def test_an_energy_that_is_not_lower_is_never_accepted(worse: float) -> None:
    problem = Scripted([10.0, worse, 8.0, worse])
    found = scripted(problem, SCHEDULE, 3)
    assert found.energies == [10.0, 8.0] and found.state == 1.0 and found.at.energy == 8.0
    assert problem.taken == [False, True, False]
    assert problem.dampings == pytest.approx([1e-2, 1e-1, 1e-2])
    assert not found.is_over and not found.failed  # the iterations were used up


def test_a_start_without_an_energy_accepts_nothing() -> None:
    found = scripted(Scripted([np.nan, 5.0, 4.0]), SCHEDULE, 2)
    assert found.state == 0.0 and len(found.energies) == 1


def test_damping_falls_to_its_floor_and_no_further() -> None:
    problem = Scripted([10.0, 9.0, 8.0, 7.0, 6.0])
    scripted(problem, replace(SCHEDULE, start=1e-4), 4)
    assert problem.dampings == pytest.approx([1e-4, 1e-5, 1e-6, 1e-6])


def test_a_refusal_asks_for_at_least_so_much_damping() -> None:
    problem = Scripted([10.0, 11.0, 11.0, 11.0])
    scripted(problem, replace(SCHEDULE, start=1e-8), 3)
    assert problem.dampings == pytest.approx([1e-8, 1e-3, 1e-2])


def test_a_small_gain_ends_the_descent_with_the_step_taken() -> None:
    damping = replace(SCHEDULE, small_gain=1e-2)
    found = scripted(Scripted([10.0, 5.0, 4.97, 1.0]), damping, 10)
    assert found.energies == [10.0, 5.0, 4.97] and found.state == 2.0 and found.is_over
    enough = scripted(Scripted([10.0, 5.0, 4.9, 1.0]), damping, 3)
    assert enough.energies == [10.0, 5.0, 4.9, 1.0] and not enough.is_over


@pytest.mark.parametrize("energy, taken", [(9.0, True), (11.0, False)])
def test_a_step_so_small_that_it_is_over_ends_the_descent(energy: float, taken: bool) -> None:
    problem = Scripted([10.0, energy, 1.0], over=(0,))
    found = scripted(problem, SCHEDULE, 10)
    assert found.is_over and problem.taken == [taken]
    assert found.state == (1.0 if taken else 0.0)


def test_too_much_damping_ends_the_descent() -> None:
    problem = Scripted([10.0, 11.0, 11.0, 11.0, 11.0, 11.0])
    found = scripted(problem, replace(SCHEDULE, most=1.0), 10)
    assert found.is_over and not found.failed and found.energies == [10.0]
    assert problem.dampings == pytest.approx([1e-2, 1e-1, 1.0])


def test_a_step_that_cannot_be_tried_ends_the_descent_where_it_is() -> None:
    found = scripted(Scripted([10.0, 8.0], steps=[1.0, None]), SCHEDULE, 10)
    assert found.failed and not found.is_over
    assert found.state == 1.0 and found.energies == [10.0, 8.0]


def test_or_asks_for_more_damping_where_the_schedule_says_so() -> None:
    damping = replace(SCHEDULE, start=1e-8, after_failure=100.0, least_after_failure=1e-3)
    problem = Scripted([10.0, 8.0], steps=[None, None, 1.0])
    found = scripted(problem, damping, 3)
    assert problem.dampings == pytest.approx([1e-8, 1e-3, 1e-1])
    assert not found.failed and found.energies == [10.0, 8.0]
    never = scripted(Scripted([10.0], steps=[None] * 5), damping, 5)
    assert not never.failed and not never.is_over and never.energies == [10.0]


def test_no_iterations_change_nothing() -> None:
    found = scripted(Scripted([10.0]), SCHEDULE, 0)
    assert found.state == 0.0 and found.energies == [10.0] and not found.is_over and not found.failed


def test_a_refusal_ends_a_descent_that_is_nearly_there_and_no_other() -> None:
    nearly = replace(SCHEDULE, nearly_there=0.01)
    found = scripted(Scripted([10.0, 9.95, 9.96, 9.0]), nearly, 3)  # 0.5 %, then a refusal
    assert found.energies == [10.0, 9.95] and found.is_over
    found = scripted(Scripted([10.0, 9.5, 9.6, 9.0]), nearly, 3)  # 5 %, then a refusal, then a better step
    assert found.energies == [10.0, 9.5, 9.0]
    found = scripted(Scripted([10.0, 10.1, 9.0]), nearly, 2)  # refused before anything was gained
    assert found.energies == [10.0, 9.0]


def test_a_negligible_step_is_taken_as_it_is_and_ends_the_descent() -> None:
    problem = Scripted([10.0, 5.0], steps=[1.0, 1e-3, 1.0], negligible=1e-2)
    found = scripted(problem, SCHEDULE, 10)
    assert found.state == 1.0 + 1e-3 and found.is_over and not found.failed
    assert found.energies == [10.0, 5.0] and found.at.energy == 5.0 and problem.steps == [1.0]


def test_a_step_that_is_small_for_its_damping_is_looked_at() -> None:
    problem = Scripted([10.0, 11.0, 12.0, 9.0], steps=[1.0, 1e-3, 1e-3], negligible=1e-2)
    found = scripted(problem, SCHEDULE, 3)
    assert found.energies == [10.0, 9.0] and found.state == 1e-3
