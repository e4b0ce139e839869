# SPDX-License-Identifier: Apache-2.0
"""Candidates are selected beside the optimisation from nothing but the frame."""

from __future__ import annotations

import inspect

import numpy as np
from decoded_frames import VIEW, wall

from prism_vo.config import SelectConfig
from prism_vo.points.selector import CandidateSelector
from prism_vo.sensor import DecodedSensor
from prism_vo.stopwatch import Stopwatch
from prism_vo.tracking.pyramid import image_pyramid
from prism_vo.types import Frame

CONFIG = SelectConfig(first_candidates=300, candidates=120)


def selector(threads: bool) -> CandidateSelector:
    return CandidateSelector(DecodedSensor(VIEW).measure, CONFIG, 50.0, 0, Stopwatch(), threads)


def frame() -> Frame:
    raw = wall(1)[0][0]
    return Frame.of(raw, raw, image_pyramid(raw.image, 3))


def test_how_many_are_wanted_depends_on_the_call_and_not_on_the_state_of_a_window() -> None:
    """The number used to be decided on the other thread by the length of an array that was being replaced."""
    chosen = selector(threads=True)
    first, later = len(chosen.first(frame(), VIEW)), len(chosen.begin(frame(), VIEW)())
    assert 0.7 * 300 < first <= 360 and 0.7 * 120 < later <= 144
    assert "window" not in inspect.signature(CandidateSelector.__init__).parameters


def test_threads_change_nothing() -> None:
    a, b = (selector(threads).begin(frame(), VIEW)() for threads in (True, False))
    np.testing.assert_array_equal(a.u, b.u)
    np.testing.assert_array_equal(a.measured, b.measured)
