# SPDX-License-Identifier: Apache-2.0
"""Depth that later keyframes measure beside known points is one more measurement of theirs."""

from dataclasses import replace

import numpy as np
import pytest
from smooth_scene import small_view

from prism_vo.points.pattern import IN, OUTLIER
from prism_vo.points.records import DEPTH_USED, Candidates, HostFrames, Points
from prism_vo.window.again import measured_again
from prism_vo.window.terms.depth import information_at_estimate

VIEW = small_view(256, 192, 320.0)
PLANE, POWER, SIGMA = VIEW.image_plane, 4.0, 2e-3
NEARER = 0.2  # m that the second keyframe is nearer


def wall(offset: float, depth: float, rng: np.random.Generator, factor: float = 1.0) -> Candidates:
    """Pixels on a wall; their measured depths are ``factor`` times too far, and noisy."""
    u, v = (a.ravel() + offset for a in np.meshgrid(np.arange(20.0, 236.0, 2.0), np.arange(20.0, 172.0, 2.0)))
    n = len(u)
    rho = VIEW.inv_virtual_depth(np.full(n, 1.0 / (factor * depth))) + rng.normal(0, SIGMA, n)
    blank = {name: np.zeros((n, 8), np.float32) for name in ("color", "weight")}
    return Candidates(
        host=np.zeros(n, np.int32), u=u.astype(np.float32), v=v.astype(np.float32), inv_depth=np.full(n, 1.0 / depth),
        measured=rho, information=np.full(n, SIGMA**-2), kind=np.full(n, DEPTH_USED, np.int8), **blank,
        low=np.zeros(n), high=np.ones(n), quality=np.zeros(n, np.float32), failures=np.zeros(n, np.int8),
    )  # fmt: skip


def setting(
    depth: float = 2.0, factor: float = 1.0, steps: float = 0.0
) -> tuple[Points, HostFrames, Candidates]:
    """Points of a first keyframe, seen by a second one, nearer; ``steps``: every second one is farther."""
    rng = np.random.default_rng(1)
    first = wall(0.0, depth, rng)
    q = first.inv_depth / (1.0 + steps * (np.arange(len(first)) % 2))
    points = Points.from_candidates(first, q, 2)
    points = replace(points, residual_status=np.full((len(first), 2), IN, np.int8))
    near = np.eye(4)
    near[2, 3] = -NEARER
    hosts = HostFrames(np.stack([np.eye(4), near]), np.zeros((2, 2)), np.ones(2))
    return points, hosts, wall(0.4, depth - NEARER, rng, factor)


def again(
    points: Points, hosts: HostFrames, new: Candidates, usable: bool = True, sigma: float = 0.01
) -> Points:
    variance = (sigma * points.inv_depth) ** 2
    which = np.full(len(points), usable)
    return measured_again(VIEW, PLANE, hosts, points, variance, which, new, POWER)


def scale(points: Points) -> float:
    """By which measured depths say that the points should be farther."""
    row = points.inv_depth * VIEW.inv_virtual_depth_slope(points.inv_depth)
    off = points.measured - VIEW.inv_virtual_depth(points.inv_depth)
    return -float((points.information * row * off).sum() / (points.information * row**2).sum())


def test_a_second_measurement_halves_the_variance() -> None:
    points, hosts, new = setting()
    found = again(points, hosts, new)
    touched = found.information > points.information
    assert touched.mean() > 0.6
    exact = VIEW.inv_virtual_depth(points.inv_depth)
    before, after = ((p.measured - exact)[touched].std() for p in (points, found))
    assert after < 0.8 * before
    assert after == pytest.approx(np.sqrt(np.mean(1.0 / found.information[touched])), rel=0.15)
    assert np.array_equal(found.inv_depth, points.inv_depth)


def test_what_is_measured_elsewhere_is_a_factor_of_the_distance() -> None:
    """One per cent too far from nearby is one per cent too far in the host."""
    points, hosts, new = setting(factor=1.01)
    little = replace(points, information=points.information * 1e-9)
    found = again(little, hosts, replace(new, information=new.information * 1e-3))
    touched = found.information > little.information
    assert scale(found.take(touched)) == pytest.approx(0.01, abs=0.002)


def test_those_that_err_towards_near_do_not_win() -> None:
    """σ ∝ h²: what is measured too near calls itself more certain."""
    points, hosts, new = setting()
    rho = VIEW.inv_virtual_depth(new.inv_depth)
    noisy = rho + 5.0 * (new.measured - rho)
    slope = (VIEW.alpha + VIEW.beta * noisy) / (VIEW.alpha + VIEW.beta * rho)
    new = replace(new, measured=noisy, information=new.information / 25.0 / slope**POWER)
    little = replace(points, information=points.information * 1e-9)
    found = again(little, hosts, new)
    found = found.take(found.information > little.information)
    weighed = replace(found, information=information_at_estimate(VIEW, found, POWER))
    # as stated they are more than a per cent too near
    assert scale(Points.from_candidates(new, new.inv_depth, 2)) < -0.01
    assert abs(scale(weighed)) < 0.002


@pytest.mark.parametrize("why", ["another focus", "unsure", "not seen", "all too far", "at a rim"])
def test_what_may_be_something_else_is_left_alone(why: str) -> None:
    points, hosts, new = setting(
        factor=1.1 if why == "all too far" else 1.0, steps=0.2 if why == "at a rim" else 0.0
    )
    if why == "not seen":
        points = replace(points, residual_status=np.full((len(points), 2), OUTLIER, np.int8))
    found = again(points, hosts, new, why != "another focus", 0.2 if why == "unsure" else 0.01)
    assert np.array_equal(found.measured, points.measured)
    assert np.array_equal(found.information, points.information)
