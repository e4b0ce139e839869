# SPDX-License-Identifier: Apache-2.0
"""What a judge makes of pixels that fit: something in the way, or a false pose."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from prism_vo import se3
from prism_vo.optics.pinhole import Pinhole
from prism_vo.tracking.brightness import Brightness, ZoneAgreement
from prism_vo.tracking.judge import (
    CONTRADICTED,
    LEAST_FITTING,
    NOWHERE,
    TORN,
    USUAL_SHIFT,
    Judge,
    Verdict,
    _looseness,
)
from prism_vo.tracking.motion import LEAST_SHIFTS, Motion
from prism_vo.tracking.predicted import DepthAgreement, Predicted
from prism_vo.tracking.track import RECENT, Expected, Track

PLANE = Pinhole(focal=100.0, cx=79.5, cy=59.5, width=160, height=120)


def pixels(fits) -> Predicted:  # type: ignore[no-untyped-def]
    """A dense grid of pixels; ``fits`` (x, y) → whether a pixel fits."""
    x, y = (a.ravel().astype(float) for a in np.meshgrid(np.arange(4, 156, 2), np.arange(4, 116, 2)))
    return Predicted(x, y, np.ones_like(x), np.ones_like(x), fits(x, y))


def test_what_covers_a_part_leaves_the_other_zones_whole() -> None:
    covered = pixels(lambda x, y: x > 0.4 * PLANE.width)
    assert covered.fitting_zones(PLANE) == pytest.approx(0.5)
    assert covered.fitting_zones(PLANE) >= LEAST_FITTING


def test_a_false_pose_fits_half_of_the_pixels_but_no_zone() -> None:
    rng = np.random.default_rng(1)
    assert pixels(lambda x, y: rng.random(len(x)) < 0.55).fitting_zones(PLANE) == 0.0


def test_noise_everywhere_is_no_false_pose() -> None:
    rng = np.random.default_rng(1)
    assert pixels(lambda x, y: rng.random(len(x)) < 0.88).fitting_zones(PLANE) > 0.9


def test_without_pixels_nothing_fits() -> None:
    empty = Predicted(*(np.zeros(0) for _ in range(4)), np.zeros(0, bool))
    assert empty.fitting_zones(PLANE) == 0.0


def test_depth_is_measured_at_pixels_that_fit() -> None:
    some = pixels(lambda x, y: x > 0.4 * PLANE.width).some_that_fit()
    assert some.fits.all()
    assert 250 <= len(some.x) < 520
    assert some.x.min() > 0.4 * PLANE.width


def test_zones_are_asked_where_they_lie_once_depths_are_known_by_parallax(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Depths of one image are coarse, however many frames were tracked against it."""
    monkeypatch.setattr("prism_vo.tracking.judge.shift_of_zones", lambda *_: 3.6)
    judge, nothing = Judge(lambda *_: None, 20.0), (None, None, None)  # type: ignore[arg-type, return-value]
    many = Expected((4.0,) * RECENT, 4.0)
    assert judge._shift(*nothing, Motion(expected=many, references=1)) == 0.0  # type: ignore[arg-type]
    assert judge._shift(*nothing, Motion(expected=many, references=2)) == 3.6  # type: ignore[arg-type]
    assert judge._shift(*nothing, Motion(expected=Expected((4.0,), 4.0), references=2)) == 0.0  # type: ignore[arg-type]


def test_zones_may_shift_more_where_they_always_did() -> None:
    """A camera file that is wrong shifts the zones of every frame; no frame is lost for that."""
    guessed = Motion(shifts=(2.0 * USUAL_SHIFT,) * LEAST_SHIFTS)
    assert _looseness(guessed) == pytest.approx(2.0)
    assert _looseness(Motion(shifts=(0.5,) * LEAST_SHIFTS)) == 1.0
    assert _looseness(Motion(shifts=(9.0,) * (LEAST_SHIFTS - 1))) == 1.0


def judged(
    monkeypatch: pytest.MonkeyPatch,
    light: Brightness,
    rms: float,
    surprise: float = 1.0,
    depth: DepthAgreement = DepthAgreement(1.0, 0.98),  # noqa: B008
    lost: int = 0,
    shift: float = 0.0,
    depth_is_usual: bool = False,
) -> tuple[Verdict, Verdict]:
    """What a judge says of a track that goes on, and of one out of nowhere; frames before it had residuals of 4."""
    judge = Judge(lambda frame, points: None, 30.0)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(judge, "_shift", lambda *_: shift)
    everywhere = pixels(lambda x, y: np.ones(len(x), bool))
    monkeypatch.setattr(Predicted, "by", classmethod(lambda cls, *_: everywhere))
    monkeypatch.setattr(judge, "_surprise", lambda *_: surprise)
    monkeypatch.setattr(DepthAgreement, "of", classmethod(lambda cls, *_: depth))
    track = Track(True, np.eye(4), light, rms * light.contrast, 1.0, 1.0, 0.9, 3.0, 3.0, 1)
    motion = Motion(expected=Expected((4.0, 4.0, 4.0), 1.0), lost=lost, depth_is_usual=depth_is_usual)
    reference = SimpleNamespace(planes=[PLANE])
    return (
        judge(None, None, reference, track, motion),  # type: ignore[arg-type]
        judge.recovered(None, None, reference, track, motion),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(("match", "surprise", "rms", "believed"), [
    (0.98, 9.0, 8.0, True),  # a jump that looks like the map
    (0.7, 9.0, 8.0, False),  # in the dark every pixel fits anywhere, and so does measured depth
    (0.7, 1.0, 8.0, True),  # a reflection or a veil: the motion goes on
    (0.7, 9.0, 4.0, True),  # fits as well as ever
])  # fmt: skip
def test_a_pose_beside_the_foreseen_one_must_look_like_the_map(
    match: float, surprise: float, rms: float, believed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    going_on, found = judged(monkeypatch, Brightness(0.1, 0.0, match, zones=0.95), rms, surprise)
    assert going_on.believed == believed
    covered = judged(monkeypatch, Brightness(0.1, 0.0, match, zones=0.7), rms, surprise)
    assert covered[0].believed and covered[1].believed  # what covers the scene need not look like it
    assert found.believed == (match > 0.9 or rms < 6.0)


def test_an_image_hardly_like_the_map_is_asked_though_its_residual_is_usual() -> None:
    """Where no zone fits, none is found to be covered; images that never correlate well are no reason to doubt."""
    light = Brightness(match=0.61, zones=1.0)
    track = Track(True, np.eye(4), light, 5.0, 1.0, 1.0, 0.39, 3.0, 3.0, 1)
    for matches, doubted in (((0.98, 0.97), True), ((0.7, 0.65), False), ((), False)):
        assert Judge.doubts(track, Motion(expected=Expected((4.0, 4.0), 1.0, matches))) == doubted
    covered = replace(track, brightness=replace(light, zones=0.85, match=0.9))
    assert not Judge.doubts(covered, Motion(expected=Expected((4.0, 4.0), 1.0, (0.98,))))


def test_a_pose_where_the_way_before_a_loss_leads_is_no_surprise(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge(lambda frame, points: None, 30.0)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(judge, "_apart", lambda _, one, other: float(np.abs(one - other).max()))
    way = se3.exp(np.array([0.1, 0.0, 0.0, 0.0, 0.02, 0.0]))
    track = Track(True, way @ way @ way, Brightness(), 4.0, 1.0, 1.0, 0.9, 3.0, 3.0, 1)
    reference, motion = SimpleNamespace(T_view_world=np.eye(4)), Motion(way=way).after_loss().after_loss()
    assert judge._surprise(reference, track, motion) < 1e-9  # type: ignore[arg-type]
    assert judge._surprise(reference, track, replace(motion, way=None)) > 0.1  # type: ignore[arg-type]


def test_what_continues_no_motion_is_always_asked_for_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """A residual as good as any other is no reason to believe a jump."""
    elsewhere = DepthAgreement(1.0, 0.2)
    assert judged(monkeypatch, Brightness(), 4.0, 1.0, elsewhere)[0].believed  # nobody asked
    assert not judged(monkeypatch, Brightness(), 4.0, 9.0, elsewhere)[0].believed
    assert judged(monkeypatch, Brightness(), 4.0, 9.0)[0].believed


def test_nobody_learns_from_a_frame_that_fits_badly_and_that_nothing_confirms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing = DepthAgreement(0.1, 0.9)
    for found_again in (False, True):
        blurred, confirmed, usual = (
            judged(monkeypatch, Brightness(), rms, depth=depth)[found_again]
            for rms, depth in ((8.0, nothing), (8.0, DepthAgreement(1.0, 0.98)), (4.0, nothing))
        )
        assert blurred.believed and not blurred.is_example
        assert confirmed.believed and confirmed.is_example
        assert usual.believed and usual.is_example


def test_after_a_loss_zones_may_shift_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every frame is one more trial, and of several one would pass by chance."""
    assert judged(monkeypatch, Brightness(), 4.0, shift=3.0)[0].believed
    assert not judged(monkeypatch, Brightness(), 4.0, shift=3.0, lost=2)[0].believed
    assert judged(monkeypatch, Brightness(), 4.0, shift=2.0, lost=2)[0].believed


@pytest.mark.parametrize(
    ("begun", "was_moving", "flow", "part", "believed"),
    [
        (True, True, 0.1, 7, False),
        (False, True, 0.1, 7, True),
        (True, False, 0.1, 7, True),
        (True, True, 3.0, 7, True),
        (True, True, 0.1, 4, True),
    ],
)
def test_a_camera_that_rests_at_once_before_a_moving_scene_may_carry_a_picture(
    begun: bool, was_moving: bool, flow: float, part: int, believed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Judge(lambda frame, points: None, 30.0)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(judge, "_shift", lambda *_: 0.0)
    monkeypatch.setattr(judge, "_of_whole_image", lambda *_: Verdict(1.0))
    monkeypatch.setattr(judge, "_surprise", lambda *_: 0.0)
    zones = ZoneAgreement(1.0 - part / 16, np.arange(16) < part)
    track = Track(True, np.eye(4), Brightness(), 4.0, 1.0, 1.0, 0.9, flow, flow, 1, zones)
    expected = Expected() if begun else Expected((4.0, 4.0, 4.0), 1.0)
    motion = Motion(expected=expected, was_moving=was_moving)
    assert judge(None, None, None, track, motion).believed == believed  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("zones", "beside", "lost", "known", "strays"),
    [
        (0.6, 4.7, 0, True, True),
        (0.6, 0.8, 0, True, False),  # the motion goes on
        (0.9, 4.7, 0, True, False),  # the whole image fits there
        (0.6, 4.7, 0, False, False),  # nobody knows how evenly the camera moves
        (0.6, 2.5, 1, True, False),  # a lost frame ago: it may have left its way by more
        (0.6, 4.7, 1, True, True),
    ],
)
def test_a_part_of_the_image_must_fit_where_the_motion_leads(
    zones: float, beside: float, lost: int, known: bool, strays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Judge(lambda frame, points: None, 30.0)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(judge, "_apart", lambda *_: beside)
    track = Track(True, np.eye(4), Brightness(zones=zones), 4.0, 1.0, 1.0, 0.9, 3.0, 3.0, 1)
    motion = Motion(way=np.eye(4) if known else None, surprises=(0.1, 0.2, 0.15), lost=lost)
    reference = SimpleNamespace(T_view_world=np.eye(4))
    assert judge._strays(reference, track, motion, lost + 1) == strays  # type: ignore[arg-type]
    jerky = Motion(way=np.eye(4), surprises=(1.0, 1.2, 1.1), lost=lost)
    assert not judge._strays(reference, track, jerky, lost + 1)  # type: ignore[arg-type]


def test_another_pose_is_looked_for_where_the_image_is_of_one_piece() -> None:
    assert Verdict(0.3, NOWHERE).may_be_elsewhere and Verdict(0.3, CONTRADICTED).may_be_elsewhere
    assert not Verdict(0.3, TORN).may_be_elsewhere and not Verdict(0.9).may_be_elsewhere


@pytest.mark.parametrize("depth_is_usual", [True, False])
def test_where_keyframes_have_depth_a_jump_without_it_is_not_believed(
    depth_is_usual: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A foggy image fits as well as ever, anywhere; nor does it become a keyframe because it was found again."""
    light, blind = Brightness(0.5, 0.0, 0.98, zones=1.0), DepthAgreement(0.05, 0.0)
    jumped, found = judged(monkeypatch, light, 4.0, 9.0, blind, depth_is_usual=depth_is_usual)
    assert jumped.believed == (not depth_is_usual)
    assert found.believed and found.is_example == (not depth_is_usual)
    going_on = judged(monkeypatch, light, 4.0, 1.0, blind, depth_is_usual=depth_is_usual)[0]
    assert going_on.believed, "it lies where the motion leads"
