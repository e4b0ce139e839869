# SPDX-License-Identifier: Apache-2.0
"""The line through measured depth and parallax shows the focus that the images were taken with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import exact_window
from filled_windows import fill

from prism_vo.config import WindowConfig
from prism_vo.window.agreement import depth_agreement, lengths_would_agree, observations
from prism_vo.window.contents import WindowModel
from prism_vo.window.window import Window

SIGMA = 1e-3  # of ρ_v, as in the exact windows


def window_with(shift: float, depth_terms: bool, noise: float = 0.0) -> Window:
    """A minimised window whose depths were measured with w_∞ larger by ``shift`` than its view says."""
    exact = exact_window(count=5, each=80)
    window = Window(exact.view, WindowConfig(), WindowModel(depth_terms, not depth_terms))
    fill(window, 5)
    window.balance.noise2 = window.balance.eta = 0.25  # the images have no noise; interpolation errs a little
    view, q = exact.view, window.points.inv_depth
    slope = 1.0 / (view.w_infinity + shift + view.kappa * q)
    rho = (slope - view.alpha) / view.beta + noise * np.random.default_rng(2).normal(size=len(q))
    window.points = replace(window.points, measured=rho)
    window._minimise(window.depth(window.points))
    return window


@pytest.mark.parametrize("depth_terms", [True, False])
@pytest.mark.parametrize("shift", [0.0, 0.1, -0.1])
def test_a_wrong_focus_is_seen_whether_or_not_depth_terms_pull(shift: float, depth_terms: bool) -> None:
    found = depth_agreement(window_with(shift, depth_terms))
    assert found is not None and found.points > 150
    assert found.expected_intercept == exact_window(count=5, each=80).view.w_infinity
    assert found.excess == pytest.approx(shift, abs=max(3.0 * found.intercept_sigma, 0.2 * abs(shift)))
    if shift:
        assert abs(found.excess) > 5.0 * found.intercept_sigma


@pytest.mark.parametrize("times", [1.0, 2.0, 8.0, 0.1])
def test_a_focus_that_lengths_belie_does_not_agree(times: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths by parallax and by depth agree now; with another focus depth would give others."""
    window = window_with(0.0, False)
    seen, other = observations(window, 0), replace(window.view, kappa=times * window.view.kappa)
    monkeypatch.setattr("prism_vo.window.agreement.observations", lambda *_: seen)
    assert lengths_would_agree(window, other) == (times == 1.0)


def test_noise_is_as_large_as_it_says() -> None:
    found = depth_agreement(window_with(0.0, False, noise=SIGMA))
    assert found is not None
    assert 0.7 < found.spread < 1.3
    assert abs(found.excess) < 3.0 * found.intercept_sigma


def test_too_few_points_or_keyframes_say_nothing() -> None:
    window = window_with(0.0, True)
    window.points = window.points.take(np.arange(50))
    assert depth_agreement(window) is None
    short = Window(window.view, WindowConfig(), WindowModel())
    fill(short, 2)
    assert depth_agreement(short) is None
