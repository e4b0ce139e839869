# SPDX-License-Identifier: Apache-2.0
"""What a judge makes of pixels that fit: something in the way, or a false pose."""

from types import SimpleNamespace

import numpy as np
import pytest

from prism_vo.optics.pinhole import Pinhole
from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.judge import LEAST_FITTING, USUAL_SHIFT, DepthAgreement, Judge, Predicted, _looseness
from prism_vo.tracking.motion import LEAST_SHIFTS, Motion
from prism_vo.tracking.track import Expected, Track

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


def test_zones_may_shift_more_where_they_always_did() -> None:
    """A camera file that is wrong shifts the zones of every frame; no frame is lost for that."""
    guessed = Motion(shifts=(2.0 * USUAL_SHIFT,) * LEAST_SHIFTS)
    assert _looseness(guessed) == pytest.approx(2.0)
    assert _looseness(Motion(shifts=(0.5,) * LEAST_SHIFTS)) == 1.0
    assert _looseness(Motion(shifts=(9.0,) * (LEAST_SHIFTS - 1))) == 1.0


@pytest.mark.parametrize(("match", "surprise", "rms", "believed"), [
    (0.98, 9.0, 8.0, True),  # a jump that looks like the map
    (0.7, 9.0, 8.0, False),  # in the dark every pixel fits anywhere, and so does measured depth
    (0.7, 1.0, 8.0, True),  # a reflection or a veil: the motion goes on
    (0.7, 9.0, 4.0, True),  # fits as well as ever
])  # fmt: skip
def test_a_pose_beside_the_foreseen_one_must_look_like_the_map(
    match: float, surprise: float, rms: float, believed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Judge(lambda frame, points: None, 30.0)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(judge, "_shift", lambda *_: 0.0)
    monkeypatch.setattr(judge, "_predicted", lambda *_: pixels(lambda x, y: np.ones(len(x), bool)))
    monkeypatch.setattr(judge, "_surprise", lambda *_: surprise)
    monkeypatch.setattr(judge, "_agreement", lambda *_: DepthAgreement(1.0, 0.98))
    light = Brightness(0.1, 0.0, match, zones=0.7)
    track = Track(True, np.eye(4), light, rms * light.contrast, 1.0, 1.0, 0.9, 3.0, 3.0, 1)
    motion = Motion(expected=Expected((4.0, 4.0, 4.0), 1.0))
    reference = SimpleNamespace(planes=[PLANE])
    verdict = judge(None, None, reference, track, motion)  # type: ignore[arg-type]
    assert verdict.believed == believed
    found = judge.recovered(None, None, reference, track, motion)  # type: ignore[arg-type]
    assert found.believed == (match > 0.9 or rms < 6.0)
