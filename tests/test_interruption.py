# SPDX-License-Identifier: Apache-2.0
"""Signals wait for the end of a block, a second one does not."""

from __future__ import annotations

import os
import signal

import pytest

from prism_vo.interruption import Terminated, ending_like_ctrl_c, exit_code, uninterrupted


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_waits_for_the_end_of_the_block(number: int, code: int) -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt) as caught, ending_like_ctrl_c():
        with uninterrupted():
            os.kill(os.getpid(), number)
            steps.append("done")
        steps.append("never")
    assert steps == ["done"] and exit_code(caught.value) == code


def test_a_second_signal_does_not_wait() -> None:
    steps = []
    with pytest.raises(Terminated), ending_like_ctrl_c(), uninterrupted():
        os.kill(os.getpid(), signal.SIGTERM)
        steps.append("first")
        os.kill(os.getpid(), signal.SIGTERM)
        steps.append("never")
    assert steps == ["first"]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
