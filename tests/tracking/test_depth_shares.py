# SPDX-License-Identifier: Apache-2.0
"""What no map should begin with: images without depth."""

from prism_vo.tracking.depth_shares import LESS_DEPTH, NO_DEPTH, REMEMBERED, DepthShares

LEAST = 0.1


def test_noise_begins_no_map_however_long_it_lasts() -> None:
    for waited in (False, True):
        assert DepthShares().problem(0.04, LEAST, waited) == NO_DEPTH
    assert DepthShares().problem(0.2, LEAST, waited=False) is None
    assert DepthShares().problem(0.04, 0.0, waited=False) is None, "depth that somebody else stands for"


def test_a_better_image_is_waited_for_but_not_for_ever() -> None:
    known = DepthShares((0.9, 1.0, 0.9))
    assert known.problem(0.3, LEAST, waited=False) == LESS_DEPTH
    assert known.problem(0.3, LEAST, waited=True) is None
    assert known.problem(0.6, LEAST, waited=False) is None


def test_what_is_usual_is_that_of_the_last_keyframes() -> None:
    shares = DepthShares()
    assert not shares.are_usual
    for _ in range(REMEMBERED):
        shares = shares.after(0.9)
    assert shares.are_usual and shares.after(0.0).are_usual, "one without depth changes nothing"
    for _ in range(REMEMBERED):
        shares = shares.after(0.1)
    assert shares.last == 0.1 and not shares.are_usual
