# SPDX-License-Identifier: Apache-2.0
"""What no map should begin with: images without depth."""

from prism_vo.tracking.depth_shares import REMEMBERED, DepthShares


def test_noise_begins_no_map_however_long_it_lasts() -> None:
    assert DepthShares().is_too_poor(0.04, waited=False) and DepthShares().is_too_poor(0.04, waited=True)
    assert not DepthShares().is_too_poor(0.2, waited=False)


def test_a_better_image_is_waited_for_but_not_for_ever() -> None:
    known = DepthShares((0.9, 1.0, 0.9))
    assert known.is_too_poor(0.3, waited=False) and not known.is_too_poor(0.3, waited=True)
    assert not known.is_too_poor(0.6, waited=False)


def test_what_is_usual_is_that_of_the_last_keyframes() -> None:
    shares = DepthShares()
    assert not shares.are_usual
    for _ in range(REMEMBERED):
        shares = shares.after(0.9)
    assert shares.are_usual and shares.after(0.0).are_usual, "one without depth changes nothing"
    for _ in range(REMEMBERED):
        shares = shares.after(0.1)
    assert shares.last == 0.1 and not shares.are_usual
