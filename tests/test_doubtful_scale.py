# SPDX-License-Identifier: Apache-2.0
"""Lengths by parallax and by measured depth that differ by a factor are said, unless a focus explains them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from prism_vo.doubtful_scale import doubtful_scale
from prism_vo.notices import scale_notices
from prism_vo.window.agreement import DepthAgreement

AS_IT_WAS, FOUND = "as it was", "wrong from the start"


def keyframe(
    index: int, ratio: float, verdict: str = AS_IT_WAS, segment: int = 0, sigma: float = 0.05
) -> SimpleNamespace:
    agreement = DepthAgreement(0.3, 1e-3, 0.3, ratio, sigma, 1.0, 500, 0.5)
    mapping = SimpleNamespace(agreement=agreement, focus=SimpleNamespace(verdict=verdict))
    return SimpleNamespace(index=index, segment=segment, status="keyframe", mapping=mapping)


def numbers(*reports: SimpleNamespace) -> list[int]:
    return [report.index for report in doubtful_scale(reports)]  # type: ignore[arg-type]


def test_a_factor_that_no_focus_explains_is_said() -> None:
    seen = [keyframe(3, 1.0), keyframe(5, 0.3), keyframe(8, 1.1, FOUND), keyframe(9, 2.6), keyframe(12, 2.7)]
    assert numbers(*seen) == [9, 12]
    assert "(9 to 12)" in scale_notices(seen)[0]  # type: ignore[arg-type]


def test_without_the_focus_being_looked_for_nothing_is_said_of_it() -> None:
    seen = [keyframe(3, 2.0), keyframe(5, 2.0)]
    for report in seen:
        report.mapping.focus = None
    (sentence,) = scale_notices(seen)  # type: ignore[arg-type]
    assert "--calibrate focus" in sentence and "no focus explains" not in sentence


def test_what_a_wrong_focus_explains_is_not() -> None:
    assert numbers(keyframe(3, 0.3), keyframe(5, 0.3), keyframe(8, 1.0, FOUND), keyframe(9, 1.1)) == []


def test_a_focus_that_must_be_found_twice_explained_nothing() -> None:
    seen = (
        keyframe(3, 1.0, FOUND),
        keyframe(5, 2.4),
        keyframe(8, 2.6),
        keyframe(9, 1.1, FOUND),
        keyframe(11, 1.1),
    )
    assert numbers(*seen) == [5, 8]


def test_what_is_known_later_decides_where_a_slope_was_hardly_known() -> None:
    begun = [keyframe(n, -0.6, sigma=0.3) for n in (4, 5, 6)]
    agree = [keyframe(n, 1.0, sigma=0.07) for n in (23, 24)]
    assert numbers(*begun) == [4, 5, 6] == numbers(*begun, agree[0]), "one may be chance"
    assert numbers(*begun, *agree) == []
    assert numbers(*begun, keyframe(8, 1.0, sigma=0.3), keyframe(9, 1.0, sigma=0.3)) == [4, 5, 6]
    sure = [keyframe(n, 0.3) for n in (10, 11)]
    assert numbers(*sure, *agree) == [10, 11], "images in the middle whose parts do not belong together"


@pytest.mark.parametrize("ratio", [0.9, 1.1, 1.2])
def test_nor_is_chance(ratio: float) -> None:
    assert numbers(*(keyframe(k, ratio) for k in range(9))) == []
    assert numbers(keyframe(1, 0.3), keyframe(2, 1.0), keyframe(3, 0.3, segment=1)) == [], "one in each"
