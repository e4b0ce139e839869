# SPDX-License-Identifier: Apache-2.0
"""Images that become poor at once are said; a scene that becomes rougher, and a few bad frames, are not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from decoded_frames import CAMERA, VIEW, wall

from prism_vo import following
from prism_vo.notices import misfit_notices, poor_notices
from prism_vo.odometry import Odometry
from prism_vo.poor_frames import poor_frames
from prism_vo.sensor import DecodedSensor
from prism_vo.tracking.judge import Judge, Verdict
from prism_vo.tracking.recovery import Recovery


def frame(
    n: int,
    rms: float,
    measured: float = np.nan,
    status: str = "ok",
    segment: int = 0,
    flow: float = 6.0,
    covered: float = 0.0,
    inliers: float = 0.98,
) -> SimpleNamespace:
    """What is looked at of a report."""
    track = SimpleNamespace(relative_rms=rms, is_still=False, flow=flow, inliers=inliers)
    return SimpleNamespace(
        index=n, status=status, segment=segment, track=track, measured=measured, covered=covered
    )


def residuals(*values: float) -> list[SimpleNamespace]:
    return [frame(n, value) for n, value in enumerate(values)]


def test_a_residual_that_jumps_and_stays_is_said() -> None:
    seen = residuals(*[4.0] * 10, *[9.0] * 12, *[4.2] * 5)
    assert poor_frames(seen) == list(range(10, 22))  # type: ignore[arg-type]
    (sentence,) = poor_notices(seen)  # type: ignore[arg-type]
    assert "12 of 27 frames (10 to 21)" in sentence


def test_a_scene_that_becomes_rougher_is_not() -> None:
    assert poor_frames(residuals(*np.geomspace(4.0, 12.0, 20))) == []  # type: ignore[arg-type]


def test_a_few_frames_are_nothing_to_speak_of() -> None:
    seen = residuals(*[4.0] * 10, *[9.0] * 5, *[4.0] * 10)
    assert len(poor_frames(seen)) == 5 and poor_notices(seen) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("inliers", "covered", "status", "is_said"),
    [
        (
            0.59,
            0.0,
            "ok",
            True,
        ),  # noise of 40 grey levels from the first frame on: 4.8 % of the path in silence
        (0.71, 0.0, "ok", False),  # real images, guessed optics, steps of 40 px
        (0.59, 0.4, "ok", False),  # said of what covers them
        (0.59, 0.0, "lost", False),
    ],
)
def test_images_that_hardly_fit_from_the_beginning_are_said(
    inliers: float, covered: float, status: str, is_said: bool
) -> None:
    seen: list[Any] = [frame(n, 12.0, status=status, covered=covered, inliers=inliers) for n in range(20)]
    found = misfit_notices(seen)
    assert len(found) == is_said and all("20 of 20 frames (0 to 19) 41 %" in text for text in found)
    assert misfit_notices(seen[:7]) == []


def test_another_segment_is_compared_with_itself() -> None:
    seen = [*residuals(*[4.0] * 10), *[frame(10 + n, 9.0, segment=1) for n in range(12)]]
    assert poor_frames(seen) == []  # type: ignore[arg-type]


def test_keyframes_whose_depth_cannot_be_measured_any_more_are_said() -> None:
    """Blurred images fit each other: residuals are as before, and only depth is missing."""
    sharp = [frame(n, 4.0, 0.9 if n % 3 == 0 else np.nan) for n in range(9)]
    blurred = [frame(n, 4.0, 0.1 if n % 3 == 0 else np.nan) for n in range(9, 21)]
    again = [frame(n, 4.0, 0.8 if n % 3 == 0 else np.nan) for n in range(21, 27)]
    assert poor_frames([*sharp, *blurred, *again]) == list(range(9, 21))  # type: ignore[list-item]
    without = [frame(n, 4.0, 0.0 if n % 3 == 0 else np.nan) for n in range(27)]
    assert poor_frames(without) == []  # type: ignore[arg-type]  # a variant without depth


def test_frames_hang_on_a_keyframe_that_did_not_fit() -> None:
    """A double exposure: one keyframe that does not fit, and then smooth images that fit it well."""
    values = [*[4.0] * 8, 8.0, *[3.0] * 30]
    seen = [frame(n, rms, status="ok" if n % 2 else "keyframe") for n, rms in enumerate(values)]
    assert poor_frames(seen) == list(range(8, 22))  # type: ignore[arg-type]
    between = [frame(n, rms, status="keyframe" if n % 2 else "ok") for n, rms in enumerate(values)]
    assert poor_frames(between) == [8]  # type: ignore[arg-type]


def test_after_a_jump_frames_may_fit_worse() -> None:
    seen = [*residuals(*[4.0] * 8), frame(8, 8.0, status="keyframe", flow=25.0), *residuals(*[4.0] * 20)]
    assert poor_frames(seen) == []  # type: ignore[arg-type]
    found = frame(8, 8.0, status="recovered")
    after = residuals(*[4.0] * 20)
    away = [*residuals(*[4.0] * 7), frame(7, 4.0, status="lost"), found, *after]
    assert poor_frames(away) == []  # type: ignore[arg-type]
    at_once = [*residuals(*[4.0] * 8), found, *after]  # nothing was missed before it
    assert 8 in poor_frames(at_once)  # type: ignore[arg-type]


def test_frames_hang_on_a_keyframe_that_is_mostly_covered() -> None:
    seen = [
        frame(n, 4.0, status="ok" if n % 2 else "keyframe", covered=0.6 if n == 8 else 0.0) for n in range(30)
    ]
    assert poor_frames(seen) == list(range(8, 22))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "before, status, is_said", [(4, "recovered", True), (4, "keyframe", False), (16, "recovered", False)]
)
def test_what_covers_the_scene_is_another_matter(before: int, status: str, is_said: bool) -> None:
    """But for a young map that only an older keyframe agrees with: it may be made of torn images, and that part be the
    scene."""
    first = [frame(n, 4.0, status="keyframe" if n % 2 == 0 else "ok") for n in range(before)]
    odd = frame(before, 9.0, status=status, covered=0.4)
    after = [frame(before + 1 + n, 4.0, status="ok" if n % 2 else "keyframe") for n in range(20)]
    poor = poor_frames([*first, odd, *after])  # type: ignore[list-item]
    assert (before in poor) == is_said
    assert (len(poor) > 7) == is_said  # all that hang on it, too


@pytest.mark.parametrize("is_example", [True, False])
def test_an_image_that_fits_badly_and_has_no_depth_is_not_found_again(
    is_example: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found again becomes a keyframe, and the map would go on with it."""
    real = following.relocate

    def poorly(*args: Any) -> Recovery | None:
        found = real(*args)
        return found and replace(found, verdict=replace(found.verdict, is_example=is_example))

    monkeypatch.setattr(following, "relocate", poorly)
    odometry = Odometry(CAMERA, sensor=DecodedSensor(VIEW))
    *before, last = wall(16)[0][:12]
    for shown in before:
        odometry(shown)
    monkeypatch.setattr(Judge, "__call__", lambda *_: Verdict(0.5, "The newest keyframe is of no use."))
    assert odometry(last).status == ("recovered" if is_example else "lost")
