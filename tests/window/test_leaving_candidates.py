# SPDX-License-Identifier: Apache-2.0
"""Candidates that never became points: what they know goes into the prior with their keyframe, once and whole."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from decoded_frames import CAMERA
from exact_windows import exact_window
from filled_windows import dense_of, fill, scaled, schur

from prism_vo.config import WindowConfig
from prism_vo.optics.focus import FocusModel
from prism_vo.points.pattern import IN, NONE
from prism_vo.points.records import Candidates, Points, _PointColumns
from prism_vo.window.contents import WindowModel
from prism_vo.window.leaving_candidates import knowing_candidates
from prism_vo.window.uncertainty import focus_estimate
from prism_vo.window.window import Window

LEAVING = 1


def as_candidates(points: Points) -> Candidates:
    """Points as they were before anything but their search was done."""
    columns = {f.name: getattr(points, f.name) for f in fields(_PointColumns)}
    q, count = points.inv_depth, len(points)
    return Candidates(
        **columns,
        low=0.99 * q,
        high=1.01 * q,
        quality=np.full(count, 9.0, np.float32),
        failures=np.zeros(count, np.int8),
    )


def window_of_candidates(focus: FocusModel | None = None, depth_terms: bool = True) -> Window:
    """All its points are still candidates."""
    exact = exact_window(count=4, each=40)
    window = Window(
        exact.view, WindowConfig(), WindowModel(depth_terms, scale_is_gauge=not depth_terms, focus=focus)
    )
    fill(window, 4)
    window.candidates, window.points = as_candidates(window.points), window.points.take(np.zeros(0, np.intp))
    return window


def leave(window: Window) -> None:
    assert window._marginalise_points([LEAVING]) is None  # the map gets points alone


def focus_model() -> FocusModel:
    return FocusModel(exact_window(count=4, each=40).view, CAMERA)


@pytest.mark.parametrize("with_focus", [False, True])
def test_the_prior_is_the_dense_marginal_of_their_terms(with_focus: bool) -> None:
    window = window_of_candidates(focus_model() if with_focus else None)
    probe = window_of_candidates(window.model.focus)
    known = knowing_candidates(probe, [LEAVING])
    assert known is not None and len(known) > 20 and (known.host == LEAVING).all()
    probe.points = known
    h, b, k = dense_of(probe, np.ones(len(known), bool))
    expected = schur(h, b, np.arange(len(b)) >= k)
    leave(window)
    assert np.abs(scaled(window.prior.h - expected[0], h[:k, :k])).max() < 1e-8
    allowed = 1e-8 * max(np.abs(scaled(expected[1], h[:k, :k])).max(), 1.0)
    assert np.abs(scaled(window.prior.b - expected[1], h[:k, :k])).max() < allowed
    assert not (window.candidates.host == LEAVING).any() and len(window.candidates) > 60
    assert window.camera.in_prior == with_focus


def test_all_residuals_of_one_count_as_one() -> None:
    window = window_of_candidates()
    c = window.candidates
    known = knowing_candidates(window, [LEAVING])
    assert known is not None
    weight = {(u, v): w for h, u, v, w in zip(c.host, c.u, c.v, c.weight) if h == LEAVING}
    seen = (known.residual_status == IN).sum(1)
    assert seen.max() == 3
    for u, v, w, count in zip(known.u, known.v, known.weight, seen):
        np.testing.assert_allclose(w * count, weight[u, v], rtol=1e-6)


def focus_of_candidates(shift: float) -> float:
    """The focus (mm) that the equations of candidates alone show, measured with a lens that is moved by ``shift``."""
    focus = focus_model()
    window = window_of_candidates(focus)
    c, exact = window.candidates, exact_window(count=4, each=40).points
    true = {(h, u, v): q for h, u, v, q in zip(exact.host, exact.u, exact.v, exact.inv_depth)}
    q = np.array([true[key] for key in zip(c.host, c.u, c.v)])
    window.candidates = replace(c, measured=focus.at(shift).inv_virtual_depth(q))
    for position in (1, 2, 3):
        window._marginalise_points([position])
    found = focus_estimate(
        (window.prior.h, window.prior.b), window.free_variables(), 0.0, 0.0, window.balance.noise2
    )
    assert found is not None
    return found[0]


def test_they_know_the_focus_without_any_point() -> None:
    """Both windows have the same poses, a little off: the lens alone makes the difference."""
    shift = 5e-3  # mm
    assert abs(focus_of_candidates(shift) - focus_of_candidates(0.0) - shift) < 0.2 * shift


def test_what_was_not_found_says_nothing() -> None:
    for change in (
        {"inv_depth": np.nan},
        {"failures": np.int8(1)},
        {"information": 0.0},
    ):
        window = window_of_candidates()
        c = window.candidates
        for name, value in change.items():
            c = replace(c, **{name: np.full_like(getattr(c, name), value)})
        window.candidates = c
        assert knowing_candidates(window, [LEAVING]) is None
        leave(window)
        assert not window.prior.h.any()


def test_what_one_keyframe_alone_shows_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from prism_vo.window import leaving_candidates as room

    def one_left(plane: object, hosts: object, keyframes: object, points: Points) -> Points:
        status = points.residual_status.copy()
        status[:, 1:] = NONE
        return replace(points, residual_status=status)

    monkeypatch.setattr(room, "without_hidden", one_left)
    assert knowing_candidates(window_of_candidates(), [LEAVING]) is None


def test_without_depth_terms_nothing_is_asked() -> None:
    window = window_of_candidates(depth_terms=False)
    leave(window)
    assert not window.prior.h.any() and not (window.candidates.host == LEAVING).any()
