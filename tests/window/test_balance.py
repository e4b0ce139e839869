# SPDX-License-Identifier: Apache-2.0
"""η: smoothing in the log domain, clamp, and when it is left alone."""

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import exact_window

from prism_vo.config import WindowConfig
from prism_vo.points.pattern import IN, NONE
from prism_vo.window.balance import EtaBalance


def balance(**settings: object) -> EtaBalance:
    return EtaBalance(replace(WindowConfig(), **settings))


def update(eta: EtaBalance, photometric: float, depth: float, count: int = 80) -> None:
    """With curvatures of so many points that add up to the given sums, and no residual to learn the noise from."""
    exact = exact_window(count=2, each=60)
    residuals = exact.photometric_alone(exact.state).photometric
    of_photometric, of_depth = np.zeros(len(exact.points)), np.zeros(len(exact.points))
    of_photometric[:count], of_depth[:count] = photometric / count, depth / count
    none = np.full_like(residuals.status, NONE)
    eta.update(replace(residuals, status=none, curvature=of_photometric), exact.points, of_depth)


def test_eta_starts_at_the_photometric_variance() -> None:
    assert balance().eta == balance().noise2
    assert balance(eta_factor=0.25).eta == pytest.approx(0.25 * balance().noise2)


def test_one_step_is_a_weighted_geometric_mean() -> None:
    eta = balance(eta_smoothing=0.1, eta_balance=0.5)
    wanted = 0.5 * 3200.0 / 40.0
    update(eta, 3200.0, 40.0)
    assert eta.eta == pytest.approx(16.0**0.9 * wanted**0.1, rel=1e-12)


def test_many_steps_end_at_the_balance_or_at_the_clamp() -> None:
    eta = balance(eta_balance=0.5)
    for _ in range(200):
        update(eta, 4000.0, 50.0)
    assert eta.eta == pytest.approx(0.5 * 80.0, rel=1e-6)
    for _ in range(200):
        update(eta, 4e6, 50.0)
    assert eta.eta == pytest.approx(4.0 * 16.0)
    low = balance(eta_balance=1e-4)
    for _ in range(200):
        update(low, 4000.0, 50.0)
    assert low.eta == pytest.approx(16.0 / 4.0)


def test_it_is_left_alone_with_few_depths_or_no_parallax() -> None:
    few = balance()
    update(few, 3200.0, 40.0, count=49)
    assert few.eta == 16.0
    still = balance()
    update(still, 15.9 * 40.0, 40.0)  # photometric information below the depth's at η0
    assert still.eta == 16.0
    update(still, 0.0, 40.0)
    assert still.eta == 16.0


def test_fixed_eta_follows_the_noise_alone() -> None:
    eta = balance(eta="fixed", eta_factor=4.0)
    update(eta, 1e7, 1.0)
    assert eta.eta == pytest.approx(64.0)


def test_noise_is_estimated_from_the_residuals() -> None:
    """σ_I² of Gaussian residuals of known size, whatever the weights of the pattern."""
    exact = exact_window(count=2, each=60)
    residuals = exact.photometric_alone(exact.state).photometric
    rng = np.random.default_rng(0)
    sigma = 3.0
    weight = exact.points.weight
    draws = (weight[:, None, :] * rng.normal(0, sigma, (*residuals.status.shape, 8)) ** 2).sum(-1)
    eta = balance()
    drawn = replace(residuals, energy=draws.astype(np.float32), status=np.full_like(residuals.status, IN))
    assert exact.depth is not None
    for _ in range(60):
        eta.update(drawn, exact.points, exact.depth.residuals(exact.state.inv_depth).h)
    assert np.sqrt(eta.noise2) == pytest.approx(sigma, rel=0.1)
