# SPDX-License-Identifier: Apache-2.0
"""Bands of a lamp are looked for while they are expected, and not for ever after."""

from types import SimpleNamespace
from typing import Any

from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.evened import REMEMBERED, Lamp, first_without_bands, track_without_bands
from prism_vo.tracking.judge import Judge
from prism_vo.tracking.motion import Motion


def test_bands_are_expected_for_some_frames_after_the_last_ones() -> None:
    lamp = Lamp()
    assert not lamp.is_expected and lamp.frames == 0
    lamp = lamp.after(True)
    assert lamp.is_expected and lamp.frames == 1
    for _ in range(REMEMBERED - 1):
        lamp = lamp.after(False)
        assert lamp.is_expected
    lamp = lamp.after(False)
    assert not lamp.is_expected and lamp.frames == 1  # a single mistake is forgotten
    assert lamp.after(True).is_expected


class _CountsLooks:
    """A sensor whose raw images have no bands."""

    looks = 0

    def without_bands(self, frame: Any, focused: Any) -> tuple[Any, Any]:
        self.looks += 1
        return frame, focused


def test_frames_of_a_new_map_are_looked_at_only_if_the_first_one_was_not_even() -> None:
    fits = SimpleNamespace(ok=True, relative_rms=3.0, brightness=Brightness())
    tracker: Any = SimpleNamespace(track=lambda *_: fits)
    frame: Any = SimpleNamespace(source=object(), focused=object())
    sensor, knows_nothing = _CountsLooks(), Motion()
    _, lamp = first_without_bands(tracker, sensor, frame, Lamp())
    assert sensor.looks == 1 and lamp.is_even
    how: Any = (tracker, Judge, sensor, frame, None, knows_nothing)
    assert track_without_bands(*how, lamp).lamp.is_even
    assert sensor.looks == 1
    track_without_bands(*how, lamp.in_another_map())
    assert sensor.looks == 2
    fits.ok = False  # a frame that does not fit is looked at whatever the first one was
    track_without_bands(*how, lamp)
    assert sensor.looks == 3
