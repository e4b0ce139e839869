# SPDX-License-Identifier: Apache-2.0
"""The speed of a run counts the frames during which nothing was compiled, and all of their time."""

from __future__ import annotations

import numpy as np
import pytest
from decoded_frames import FrameList, wall
from numba import njit
from numba.core import event

from prism_vo import frame_rate
from prism_vo.frame_rate import COMPILING, FrameClock, FrameRate
from prism_vo.pipeline import run


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    stand_in = Clock()
    monkeypatch.setattr(frame_rate, "time", stand_in)
    return stand_in


def test_frames_with_compiling_are_left_out_with_their_time(clock: Clock) -> None:
    with FrameClock().listening() as frames:
        for k in range(10):
            if k in (0, 4):
                event.start_event(COMPILING)
                clock.now += 30.0
                event.end_event(COMPILING)
            clock.now += 0.1
            frames.tick()
    assert frames.rate().frames == 8
    assert frames.rate().per_second == pytest.approx(10.0)
    assert str(frames.rate()) == "10.0 frames/s, compiling not counted"


def test_compiling_over_several_frames_spoils_all_of_them(clock: Clock) -> None:
    with FrameClock().listening() as frames:
        for k in range(12):
            if k == 2:
                event.start_event(COMPILING)  # another thread, beside tracking
            if k == 5:
                event.end_event(COMPILING)
            clock.now += 1.0 if 2 <= k <= 5 else 0.1
            frames.tick()
    assert frames.rate() == FrameRate(8, pytest.approx(0.8))


def test_few_frames_tell_no_speed() -> None:
    assert FrameRate(4, 1.0).per_second is None and FrameRate(0, 0.0).per_second is None
    assert str(FrameRate(4, 1.0)) == "too few frames to tell"


def test_a_kernel_that_compiles_is_heard() -> None:
    @njit
    def kernel(x):  # type: ignore[no-untyped-def]
        return x + 1

    with FrameClock().listening() as frames:
        kernel(1)
        frames.tick()
        kernel(2)
        frames.tick()
        kernel(np.float32(2))
        frames.tick()
        kernel(3)
        frames.tick()
    assert frames.rate().frames == 2


def test_nobody_listens_after_the_run() -> None:
    before = len(event._registered[COMPILING])
    result = run(FrameList(list(wall(8)[0])))
    assert len(event._registered[COMPILING]) == before
    assert 0 <= result.rate.frames <= 8 and result.rate.seconds <= result.seconds
