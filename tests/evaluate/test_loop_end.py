# SPDX-License-Identifier: Apache-2.0
"""The error at the end of a path, seen from its start."""

import numpy as np
import pytest

from prism_vo import se3
from prism_vo.errors import DegenerateError
from prism_vo.evaluate.loop_end import end_error
from prism_vo.trajectory import Trajectory


def circle(count: int = 40) -> Trajectory:
    angles = np.linspace(0, 2 * np.pi, count)
    poses = np.array([se3.exp(np.array([np.cos(a), np.sin(a), 0.0, 0.0, 0.0, a / 3])) for a in angles])
    return Trajectory(np.arange(count, dtype=float), poses)


def test_a_path_in_another_world_has_no_error() -> None:
    truth, moved = circle(), se3.exp(np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]))
    found = end_error(Trajectory(truth.times, moved @ truth.poses), truth)
    assert found.translation < 1e-9 and found.rotation_deg < 1e-6


def test_drift_at_the_end_is_what_is_measured() -> None:
    truth = circle()
    poses = truth.poses.copy()
    poses[20:] = poses[20:] @ se3.exp(np.array([0.03, 0.0, 0.04, 0.0, 0.0, np.radians(2.0)]))
    found = end_error(Trajectory(truth.times, poses), truth)
    assert found.translation == pytest.approx(0.05, abs=1e-3)
    assert found.rotation_deg == pytest.approx(2.0, abs=1e-6)


def test_separate_worlds_have_no_end() -> None:
    truth = circle()
    parted = Trajectory(truth.times, truth.poses, (np.arange(40) >= 20).astype(np.int32))
    with pytest.raises(DegenerateError, match="one world"):
        end_error(parted, truth)
