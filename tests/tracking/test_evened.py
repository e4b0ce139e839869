# SPDX-License-Identifier: Apache-2.0
"""Bands of a lamp are looked for while they are expected, and not for ever after."""

from prism_vo.tracking.evened import REMEMBERED, Lamp


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
