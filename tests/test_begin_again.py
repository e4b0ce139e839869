# SPDX-License-Identifier: Apache-2.0
"""A run whose focus was wrong from the first frame begins again with the one it found, or stays as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from decoded_frames import CAMERA, FrameList, black_frame, wall
from moved_focus import SHIFT, recording, refocused, run_with, scale_error

from prism_vo import Config, Odometry, run
from prism_vo import beginning as beginning_room
from prism_vo.beginning import Beginning, Fit
from prism_vo.following import Following
from prism_vo.types import DecodedFrame, Frame
from prism_vo.window import camera_numbers as camera_room
from prism_vo.window.window import Window

# of scale: half of what is left where a run only rescales (0.5 %); beginning again leaves 0.15 to 0.19 %, the right
# file 0.12 %, and σ is 0.4 %
LITTLE = 0.0025


def wrong_frames() -> list[DecodedFrame]:
    return [refocused(frame, SHIFT) for frame in recording()[0]]


def mirrored(frame: DecodedFrame) -> DecodedFrame:
    maps = ("image", "inv_virtual_depth", "variance", "valid")
    return replace(frame, **{name: np.ascontiguousarray(getattr(frame, name)[:, ::-1]) for name in maps})


def frame(index: int) -> Frame:
    decoded = wall(3)[0][index]
    return Frame.of(decoded, decoded, [np.zeros((2, 2), np.float32)])


def test_frames_are_kept_without_their_pyramids_until_nobody_needs_them() -> None:
    kept = Beginning()
    kept.add(frame(0))
    kept.add(frame(1))
    assert [f.index for f in kept.frames] == [0, 1] and all(f.pyramid == [] for f in kept.frames)
    kept.close()
    kept.add(frame(2))
    assert kept.frames == [] and not kept.is_whole


def test_attempts_to_explain_what_fits_nowhere_are_few_and_apart() -> None:
    kept = Beginning()
    kept.add(frame(0))
    tried = [n for n in range(30) if kept.may_try(n) and kept.refuse() is None]
    assert tried == [5, 8, 11] and not kept.is_whole


def test_another_focus_must_lose_nothing_and_cover_nothing() -> None:
    first = Fit(poses=10, segments=1, is_covered=False, zones=1, residual=5.0, slope_excess=0.0)
    assert first.is_better_than(first)
    assert replace(first, residual=6.0).is_better_than(first)  # depth and parallax have spoken
    for worse in ({"poses": 9}, {"segments": 2}, {"is_covered": True}):
        assert not replace(first, **worse).is_better_than(first)  # type: ignore[arg-type]


def test_where_zones_fit_nowhere_the_image_must_fit_better() -> None:
    first = Fit(poses=10, segments=1, is_covered=True, zones=4, residual=5.0, slope_excess=0.0)
    assert replace(first, residual=4.0).is_better_than(first)
    assert not replace(first, residual=4.9, is_covered=False, zones=0).is_better_than(first)
    assert not replace(first, residual=4.0, zones=5).is_better_than(first)


def test_lengths_that_agree_with_another_focus_speak_for_it_and_against_it_if_they_do_not() -> None:
    first = Fit(poses=10, segments=1, is_covered=True, zones=4, residual=5.0, slope_excess=9.0)
    agrees = replace(first, residual=4.9, slope_excess=0.5)
    assert agrees.is_better_than(first)
    assert not replace(agrees, slope_excess=1.5).is_better_than(first)  # not yet
    assert not agrees.is_better_than(replace(first, slope_excess=3.0))  # they hardly differed before
    whole = replace(first, is_covered=False, slope_excess=0.9)
    assert not replace(whole, slope_excess=1.3).is_better_than(whole)
    assert replace(whole, slope_excess=0.8).is_better_than(whole)


def test_lengths_that_nobody_could_compare_speak_neither_for_nor_against_a_focus() -> None:
    first = Fit(poses=10, segments=1, is_covered=True, zones=4, residual=5.0, slope_excess=9.0)
    unknown = replace(first, residual=4.9, slope_excess=np.nan)
    assert not unknown.is_better_than(first) and replace(unknown, residual=4.0).is_better_than(first)
    assert not replace(first, residual=4.0, slope_excess=1.3).is_better_than(unknown)


def test_a_later_attempt_need_only_keep_what_the_one_before_it_has() -> None:
    """It began with nearly the same focus, so it fits hardly better; whether it is the focus was asked before."""
    first = Fit(poses=10, segments=1, is_covered=True, zones=5, residual=7.3, slope_excess=0.0)
    second = replace(first, zones=3, residual=6.4)
    third = replace(first, is_covered=False, zones=1, residual=6.3)
    assert second.is_better_than(first) and third.is_better_than(first) and third.keeps(second)
    for worse in ({"poses": 9}, {"segments": 2}, {"zones": 4, "residual": 6.5}):
        assert not replace(third, **worse).keeps(second)  # type: ignore[arg-type]
    assert not second.keeps(third)
    assert replace(third, zones=4).keeps(second)  # its images fit better: single zones come and go


def test_zones_that_no_longer_fit_must_be_made_up_for_by_the_whole_image() -> None:
    first = Fit(poses=10, segments=1, is_covered=False, zones=3, residual=7.7, slope_excess=0.0)
    covered = replace(first, is_covered=True, zones=6, residual=6.7)
    assert covered.is_better_than(first) and covered.keeps(first)
    assert not replace(covered, residual=7.5).is_better_than(first)


def test_a_run_that_began_again_is_asked_once_more_at_twice_the_keyframes() -> None:
    kept = Beginning()
    kept.add(frame(0))
    assert not kept.may_improve(100)  # it has not begun again
    kept.begun(0.01, [1.0])
    kept.keyframes = 6
    assert [n for n in range(14) if kept.may_improve(n)] == [12, 13]
    kept.close()
    assert not kept.may_improve(12)


def test_the_last_attempt_that_keeps_everything_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Fit(poses=10, segments=1, is_covered=True, zones=5, residual=7.3, slope_excess=0.0)
    fits = [first, replace(first, zones=3, residual=6.4), replace(first, zones=1, residual=6.3)]
    left, begun, begin = iter([*fits, replace(fits[-1], poses=9)]), [], Odometry._begin
    monkeypatch.setattr(Odometry, "_fit_of", lambda self, residuals, mapping: next(left))
    monkeypatch.setattr(camera_room, "NEAR", 0.0)  # none is near enough to be the last
    monkeypatch.setattr(beginning_room, "MORE", np.inf)
    monkeypatch.setattr(
        Odometry, "_begin", lambda self, *given: (begin(self, *given), begun.append(given[0][-1]))[0]
    )
    odometry = run_with(0).odometry
    assert len(begun) == 3 and odometry.following.numbers is not None
    assert odometry.following.numbers[-1] == begun[1]


@pytest.mark.parametrize("limit", ["MOST_FRAMES", "MOST_BYTES"])
def test_too_many_frames_are_not_kept(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        beginning_room, limit, 1 if limit == "MOST_FRAMES" else frame(0).focused.image.nbytes * 3
    )
    kept = Beginning()
    kept.add(frame(0))
    assert kept.is_whole
    kept.add(frame(1))
    assert kept.frames == [] and kept.size == 0 and not kept.is_whole


def test_the_map_is_as_if_the_file_had_been_right(monkeypatch: pytest.MonkeyPatch) -> None:
    result, right = run_with(0), run_with(len(recording()[0]))
    assert scale_error(result) < LITTLE
    assert result.metrics is not None and right.metrics is not None
    assert result.metrics.sim3.rmse_t < 1.3 * right.metrics.sim3.rmse_t
    said = [
        r.index
        for r in result.reports
        if r.mapping and r.mapping.focus and "wrong" in r.mapping.focus.verdict
    ]
    assert 1 <= len(said) <= 3  # and again at twice the keyframes, where the focus has become another one
    assert len(result.trajectory) == len(result.reports)
    monkeypatch.setattr(beginning_room, "MOST_FRAMES", 0)  # what a factor leaves
    assert scale_error(run_with(0)) > max(LITTLE, 2.0 * scale_error(result))


def test_nothing_is_kept_once_the_file_is_trusted() -> None:
    odometry = run_with(len(recording()[0])).odometry
    assert odometry.window.focus_watch.trusted and not odometry.beginning.is_whole
    assert odometry.beginning.frames == []


def test_a_second_attempt_that_loses_frames_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beginning_room, "MOST_FRAMES", 0)
    rescaled = run_with(0)
    monkeypatch.undo()
    follow, again = Following.__call__, []

    def losing(self: Following, frame: Frame, copy: bool) -> object:
        if self.numbers is not None and frame.index == 3:
            again.append(frame.index)
            return self.report(frame, "lost", None, None)
        return follow(self, frame, copy)

    monkeypatch.setattr(Following, "__call__", losing)
    result = run_with(0)
    assert again == [3]
    np.testing.assert_array_equal(result.trajectory.poses, rescaled.trajectory.poses)
    assert result.odometry.map.frames[3].time == result.trajectory.times[3]


def test_what_covers_the_scene_is_no_focus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zones that fit nowhere, and a focus that would be another one: begun again, they still fit nowhere."""
    monkeypatch.setattr(beginning_room, "MOST_FRAMES", 0)
    monkeypatch.setattr(Window, "is_covered", property(lambda self: True))
    before = run_with(0)
    monkeypatch.setattr(beginning_room, "MOST_FRAMES", 64)
    begun: list[float] = []
    begin = Odometry._begin
    monkeypatch.setattr(
        Odometry, "_begin", lambda self, *given: (begin(self, *given), begun.append(given[0][-1]))[0]
    )
    result = run_with(0)
    assert len(begun) == beginning_room.TRIES and abs(begun[0] - SHIFT) < 0.3 * abs(SHIFT)
    np.testing.assert_array_equal(result.trajectory.poses, before.trajectory.poses)
    assert result.odometry.window.focus_shift == 0.0


def test_a_focus_so_wrong_that_zones_fit_nowhere_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, but with the right focus everything fits, and better (which this table hardly shows)."""
    monkeypatch.setattr(beginning_room, "BETTER", 1.1)
    covered = property(lambda self: not self.focus_has_moved)
    monkeypatch.setattr(Window, "is_covered", covered)
    result = run_with(0)
    seen = result.odometry.window.focus_report()
    assert seen is not None and abs(seen.shift - SHIFT) < 3 * seen.sigma
    assert scale_error(result) < LITTLE


def test_a_new_segment_begins_with_the_focus_that_was_found() -> None:
    frames = wrong_frames()
    odometry = Odometry(CAMERA, replace(Config(), calibrate="focus"), sensor=run_with(0).odometry.sensor)
    for each in frames[:20]:
        odometry(each)
    found = odometry.window.focus_shift
    assert abs(found - SHIFT) < 0.1 * abs(SHIFT)
    for index in range(20, 27):
        odometry(black_frame(index))
    odometry(mirrored(frames[30]))  # another scene: of this one every frame is found again
    assert odometry.segment == 1 and len(odometry.window.keyframes) == 1
    assert odometry.window.focus_shift == found and not odometry.window.focus_is_free


def test_an_interrupted_run_begins_again_to_the_same_bytes(tmp_path: Path) -> None:
    """A checkpoint is written while nothing is settled yet."""
    frames = wrong_frames()[:15]
    source = FrameList(frames)
    run(source, None, tmp_path / "whole")

    def interrupt(done: int, total: int | None, report: object) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(source, None, tmp_path / "out", progress=interrupt)
    result = run(source, None, tmp_path / "out", resume=True)
    assert result.odometry.following.numbers is not None
    for name in ("trajectory.txt", "keyframes.txt", "points.ply", "camera_refined.yaml"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
