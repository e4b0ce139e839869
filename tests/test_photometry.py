# SPDX-License-Identifier: Apache-2.0
"""Brightness between two frames: transfer and its inverse, and what exposure times explain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_vo.photometry import affine_of_target, gain_between, transfer

LOG_FACTOR, OFFSET = st.floats(-1.5, 1.5), st.floats(-60.0, 60.0)
AFFINE = st.tuples(LOG_FACTOR, OFFSET).map(np.array)
TIME = st.floats(1e-4, 10.0)


@given(AFFINE, TIME, AFFINE, TIME)
def test_affine_of_target_undoes_transfer(
    host: np.ndarray, host_time: float, target: np.ndarray, time: float
) -> None:
    gain, offset = transfer(host, host_time, target, time)
    found = affine_of_target(host, host_time, float(gain), float(offset), time)
    rounding = 1e-12 * (1.0 + abs(float(gain) * host[1]))  # the offset is a difference
    np.testing.assert_allclose(found[0], target[0], atol=1e-12)
    np.testing.assert_allclose(found[1], target[1], atol=rounding)


@given(AFFINE, TIME, st.floats(1 / 8, 8.0), OFFSET, TIME)
def test_transfer_undoes_affine_of_target(
    host: np.ndarray, host_time: float, gain: float, offset: float, time: float
) -> None:
    target = affine_of_target(host, host_time, gain, offset, time)
    again = transfer(host, host_time, target, time)
    assert float(again[0]) == pytest.approx(gain, rel=1e-12)
    assert float(again[1]) == pytest.approx(offset, abs=1e-12 * (1.0 + abs(gain * host[1])))


@given(AFFINE, TIME, AFFINE, TIME, st.floats(0.0, 255.0))
def test_transfer_is_equation_9(
    host: np.ndarray, host_time: float, target: np.ndarray, time: float, grey: float
) -> None:
    """I_j = (t_j/t_i) exp(a_j − a_i) (I_i − b_i) + b_j."""
    gain, offset = transfer(host, host_time, target, time)
    factor = time / host_time * np.exp(target[0] - host[0])
    assert float(gain * grey + offset) == pytest.approx(
        factor * (grey - host[1]) + target[1], rel=1e-9, abs=1e-9 * (1.0 + factor * 255.0)
    )
    assert float(gain_between(host, host_time, target, time)) == pytest.approx(factor)


@given(AFFINE, TIME, AFFINE, TIME, AFFINE, TIME)
def test_transfers_chain(
    a: np.ndarray, time_a: float, b: np.ndarray, time_b: float, c: np.ndarray, time_c: float
) -> None:
    first, second, both = (
        transfer(a, time_a, b, time_b),
        transfer(b, time_b, c, time_c),
        transfer(a, time_a, c, time_c),
    )
    assert float(second[0] * first[0]) == pytest.approx(float(both[0]), rel=1e-12)
    size = 1.0 + abs(float(second[0])) * (abs(float(first[1])) + abs(b[1])) + abs(float(both[0]) * a[1])
    assert float(second[0] * first[1] + second[1]) == pytest.approx(float(both[1]), abs=1e-9 * size)


@given(TIME, TIME)
def test_exposure_times_alone_explain_a_gain(host_time: float, time: float) -> None:
    nothing = np.zeros(2)
    gain, offset = transfer(nothing, host_time, nothing, time)
    assert float(gain) == pytest.approx(time / host_time) and float(offset) == 0.0
    found = affine_of_target(nothing, host_time, time / host_time, 0.0, time)
    np.testing.assert_allclose(found, 0.0, atol=1e-12)


def test_equal_frames_and_units_of_time_change_nothing() -> None:
    host, target = np.array([0.2, 5.0]), np.array([-0.1, 2.0])
    gain, offset = transfer(host, 0.01, host, 0.01)
    assert float(gain) == 1.0 and float(offset) == 0.0
    np.testing.assert_allclose(transfer(host, 0.01, target, 0.02), transfer(host, 10.0, target, 20.0))


def test_many_frames_at_once() -> None:
    """Hosts and targets of any broadcast shape, as one by one."""
    rng = np.random.default_rng(0)
    affine, times = rng.normal(0, [0.3, 5.0], (4, 2)), rng.uniform(0.5, 2.0, 4)
    gain, offset = transfer(affine[:, None], times[:, None], affine[None], times[None])
    assert gain.shape == offset.shape == (4, 4)
    for i in range(4):
        for j in range(4):
            one = transfer(affine[i], times[i], affine[j], times[j])
            assert (gain[i, j], offset[i, j]) == pytest.approx((float(one[0]), float(one[1])))
    np.testing.assert_allclose(np.diag(gain), 1.0)
