# SPDX-License-Identifier: Apache-2.0
"""Photometric residuals: analytic Jacobians against differences, the fast kernel against its slow twin, FEJ."""

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import Exact, exact_window
from random_systems import as_dense
from smooth_scene import Waves
from twin import Dense, Pair, dense_system

from prism_vo import se3
from prism_vo.points.pattern import IN, NONE, OUTLIER, OUTSIDE, PATTERN
from prism_vo.window.state import State
from prism_vo.window.system import System

NAMES = [
    f"{who}_{what}" for who in ("host", "target") for what in ("tx", "ty", "tz", "rx", "ry", "rz", "a", "b")
]
NAMES.append("inv_depth")


def analytic_pair(seed: int) -> tuple[Pair, Waves]:
    rng = np.random.default_rng(seed)
    host = Waves.random(seed, 8.0, 25.0, 35.0)
    target = Waves.random(seed + 50, 8.0, 25.0, 35.0)
    u, v = rng.uniform(20, 100), rng.uniform(20, 80)
    color = host.value(u + PATTERN[:, 0].astype(float), v + PATTERN[:, 1].astype(float))
    pair = Pair(
        focal=160.0,
        cx=63.0,
        cy=48.0,
        host_pose=se3.exp(rng.normal(0, 0.1, 6)),
        target_pose=se3.exp(rng.normal(0, 0.1, 6)),
        host_light=rng.normal(0, [0.1, 3]),
        target_light=rng.normal(0, [0.1, 3]),
        exposure_ratio=rng.uniform(0.7, 1.4),
        u=u,
        v=v,
        q=rng.uniform(0.3, 1.2),
        color=color,
    )
    return pair, target


def sampler(waves: Waves):
    def sample(x: float, y: float) -> tuple[float, float, float]:
        gx, gy = waves.gradient(x, y)
        return float(waves.value(x, y)), float(gx), float(gy)

    return sample


@pytest.mark.parametrize("seed", range(4))
def test_analytic_jacobian_of_every_variable_equals_central_differences(seed: int) -> None:
    pair, image = analytic_pair(seed)
    sample = sampler(image)
    analytic = pair.jacobian(sample)
    for column, name in enumerate(NAMES):
        step = 1e-6
        delta = np.zeros(17)
        delta[column] = step
        numeric = (pair.moved(delta).residuals(sample) - pair.moved(-delta).residuals(sample)) / (2 * step)
        scale = np.abs(numeric).max()
        assert scale > 1e-3, f"{name}: a residual that does not depend on its variable proves nothing"
        np.testing.assert_allclose(analytic[:, column], numeric, atol=1e-6 * scale, err_msg=name)


def dense_of(system: System) -> Dense:
    """The kernel's system as one matrix."""
    return Dense(*as_dense(system), system.energy)


def photometric_window(seed: int) -> Exact:
    """Wrong by a few grey levels everywhere, so that residuals are not zero; exposures differ."""
    exact = exact_window(count=3, each=12, seed=seed, eta=0.0)
    rng = np.random.default_rng(seed)
    state = exact.state
    poses = np.array([se3.exp(rng.normal(0, 1e-3, 6)) @ p for p in state.base_pose])
    light = np.stack([rng.normal(0, 0.03, 3), rng.normal(0, 2.0, 3)], -1)
    q = state.inv_depth * np.exp(rng.normal(0, 0.01, len(state.inv_depth)))
    term = replace(
        exact.photometric,
        exposure=np.array([1.0, 1.05, 0.96]),
        outlier_energy=np.full(3, 1e6, np.float32),
    )
    exact = replace(exact, photometric=term)
    # only points that every keyframe sees: the twin knows no borders
    inside = (exact.photometric_alone(state).photometric.status != OUTSIDE).all(1)
    state = replace(state, base_pose=poses, base_affine=light, inv_depth=q[inside])
    return replace(exact, state=state).with_points(exact.points.take(inside))


def scaled_difference(a: Dense, b: Dense) -> tuple[float, float]:
    """Largest differences of H and b in Jacobi-scaled variables (each with unit curvature)."""
    root = np.sqrt(np.diag(a.h))
    r = np.sqrt(a.energy)
    return float(np.abs((a.h - b.h) / np.outer(root, root)).max()), float(
        np.abs((a.b - b.b) / root).max() / r
    )


@pytest.mark.parametrize("seed", range(3))
def test_kernel_and_assembly_equal_the_slow_twin(seed: int) -> None:
    exact = photometric_window(seed)
    fast = dense_of(exact.photometric_alone(exact.state))
    slow = dense_system(exact.photometric, exact.state, centre=True)
    assert len(exact.points) > 15
    assert slow.energy > 100.0
    h, b = scaled_difference(slow, fast)
    assert h < 1e-4 and b < 1e-4
    assert fast.energy == pytest.approx(slow.energy, rel=1e-4)


def test_one_geometry_for_the_whole_pattern_is_close_to_one_a_pixel() -> None:
    """Jacobians are taken at the pattern's centre, as the pattern spans 4 px: a documented approximation of the
    Hessian (not of the residuals), between 1e-4 and 4 % of a unit-curvature variable at a focal length of 160 px."""
    exact = photometric_window(0)
    centre = dense_system(exact.photometric, exact.state, centre=True)
    pixels = dense_system(exact.photometric, exact.state, centre=False)
    assert centre.energy == pixels.energy
    h, b = scaled_difference(pixels, centre)
    assert 1e-4 < h < 0.04
    assert b < 0.04


def state_in_prior(exact: Exact, delta: np.ndarray) -> State:
    return replace(exact.state, in_prior=np.array([False, True, True]), delta=delta)


def test_first_estimates_jacobians_stay_while_residuals_follow() -> None:
    exact = photometric_window(1)
    rng = np.random.default_rng(5)
    delta = np.zeros((3, 8))
    delta[1:] = rng.normal(0, 1.0, (2, 8)) * np.array([4e-3] * 3 + [4e-3] * 3 + [0.05, 3.0])
    moved = state_in_prior(exact, delta)
    fast = dense_of(exact.photometric_alone(moved))
    slow = dense_system(
        exact.photometric, moved, centre=True
    )  # geometry at the base, residuals at exp(δ)·base
    h, b = scaled_difference(slow, fast)
    assert h < 1e-4 and b < 1e-4
    assert fast.energy == pytest.approx(slow.energy, rel=1e-4)
    # the same place with its own geometry differs: the test above can tell
    own = replace(moved, base_pose=moved.poses, base_affine=moved.affine, delta=np.zeros((3, 8)))
    h, _ = scaled_difference(slow, dense_of(exact.photometric_alone(own)))
    assert h > 1e-3
    # and the residuals are those of the moved state, not of the base
    assert fast.energy == pytest.approx(exact.photometric_alone(own).energy, rel=1e-5)
    at_base = exact.photometric_alone(state_in_prior(exact, np.zeros((3, 8)))).energy
    assert abs(fast.energy - at_base) > 0.01 * at_base


def test_outliers_and_points_out_of_view_cost_the_outlier_energy_and_pull_nothing() -> None:
    exact = photometric_window(2)
    points = exact.points
    u = points.u.copy()
    u[0] = 2.0  # its warp leaves the image
    color = points.color.copy()
    color[1] += 120.0  # an occlusion
    term = replace(exact.photometric, outlier_energy=np.full(3, 2000.0, np.float32))
    exact = replace(exact, photometric=term).with_points(replace(points, u=u, color=color))
    system = exact.photometric_alone(exact.state)
    status = system.photometric.status
    targets = [j for j in range(3) if j != points.host[1]]
    assert (status[1, targets] == OUTLIER).all()
    assert (status[0] == OUTSIDE).any()
    refused = np.isin(status, [OUTLIER, OUTSIDE])
    without = np.where(refused, NONE, points.residual_status)
    rest = exact.with_points(replace(exact.points, residual_status=without)).photometric_alone(exact.state)
    np.testing.assert_array_equal(system.h, rest.h)
    np.testing.assert_array_equal(system.b_points, rest.b_points)
    assert system.energy == pytest.approx(rest.energy + 2000.0 * int(refused.sum()), rel=1e-6)
    assert (status == IN).sum() > 20


def test_exact_images_at_the_true_state_leave_only_interpolation_errors() -> None:
    exact = exact_window(count=3, each=30)
    found = exact.photometric_alone(exact.state).photometric
    inside = found.status == IN
    assert inside.sum() > 100
    rms = np.sqrt(found.energy[inside].mean() / 8)
    assert rms < 1.0
    assert exact.depth is not None
    assert exact.depth.residuals(exact.state.inv_depth).energy == pytest.approx(0.0, abs=1e-12)
