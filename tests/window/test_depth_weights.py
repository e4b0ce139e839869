# SPDX-License-Identifier: Apache-2.0
"""A depth measurement weighs the same wherever it is used, and a variance does not depend on η."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import exact_window
from filled_windows import fill

from prism_vo.config import WindowConfig
from prism_vo.points.pattern import IN
from prism_vo.points.records import Candidates, Points
from prism_vo.report.snapshots import point_residuals
from prism_vo.window.activation import Spacing, activate
from prism_vo.window.contents import WindowModel
from prism_vo.window.window import Window

MODEL = WindowModel(variance_power=4.0)


@pytest.fixture
def window() -> Window:
    """Points whose estimate differs from their measurement, so that weights at the two differ."""
    made = Window(exact_window(count=4, each=40).view, WindowConfig(), MODEL)
    fill(made, 4)
    far = made.points.measured * 1.02
    made.points = replace(made.points, measured=far)
    return made


def test_energy_tracking_and_pictures_use_one_weight(window: Window) -> None:
    p = window.points
    information = window.depth_information(p)
    assert np.abs(information / p.information - 1.0).min() > 0.02  # the correction is not nothing here
    term = window.depth(p)
    assert term is not None
    np.testing.assert_array_equal(term.information, information)
    # tracking: without residuals the variance is that of the measurement alone
    blind = replace(p, photometric_curvature=np.zeros(len(p)))
    slope = window.view.inv_virtual_depth_slope(p.inv_depth)
    np.testing.assert_allclose(window.depth_variance(blind), 1.0 / (information * slope**2))
    # pictures: residuals in units of the same σ
    newest = p.residual_status[:, -1]
    shown = point_residuals(window).sigmas
    expected = term.residuals(p.inv_depth).in_sigmas[np.isin(newest, (0, 1))]
    assert np.isin(np.round(shown, 9), np.round(expected, 9)).all() and len(shown) > 50


def test_activation_leaves_the_weight_as_it_was_measured(window: Window) -> None:
    """Corrected once, where it is used; a point that carried a corrected weight would be corrected twice."""
    p = window.points
    shared = {name: getattr(p, name) for name in ("u", "v", "inv_depth", "measured", "information", "kind")}
    window.candidates = Candidates(
        host=np.zeros(len(p), np.int32),
        **shared,
        color=p.color,
        weight=p.weight,
        low=0.99 * p.inv_depth,
        high=1.01 * p.inv_depth,
        quality=np.full(len(p), 9.0, np.float32),
        failures=np.zeros(len(p), np.int8),
    ).take(p.host == 0)
    window.points = p.take(p.host > 0)
    before = len(window.points)
    assert activate(window, Spacing(1)) > 5
    np.testing.assert_array_equal(np.unique(window.points.information[before:]), np.unique(p.information))


def test_variances_do_not_change_with_eta(window: Window) -> None:
    before = window.depth_variance(window.points)
    window.balance.eta *= 3.0
    np.testing.assert_array_equal(window.depth_variance(window.points), before)


def test_a_first_point_is_as_certain_as_it_was_said_to_be() -> None:
    """Until there are residuals, σ is the one that the depth came with, its own measurement included."""
    exact = exact_window(count=4, each=40)
    window = Window(exact.view, WindowConfig(), MODEL)
    fill(window, 1)
    p: Points = exact.points.take(exact.points.host == 0)
    q, sigma = p.inv_depth, 0.005 * p.inv_depth
    window.candidates = Candidates.empty().joined(
        Candidates(
            **{
                name: getattr(p, name)
                for name in (
                    "host",
                    "u",
                    "v",
                    "inv_depth",
                    "measured",
                    "information",
                    "kind",
                    "color",
                    "weight",
                )
            },
            low=q - 2 * sigma,
            high=q + 2 * sigma,
            quality=np.zeros(len(p), np.float32),
            failures=np.zeros(len(p), np.int8),
        )
    )
    known = window.depth_information(p) * window.view.inv_virtual_depth_slope(q) ** 2
    wanted = np.minimum(sigma, 1.0 / np.sqrt(known))
    window.start_with(np.ones(len(p), bool), q, sigma)
    np.testing.assert_allclose(np.sqrt(window.depth_variance(window.points)), wanted, rtol=1e-9)
    assert (window.points.residual_status != IN).any()
