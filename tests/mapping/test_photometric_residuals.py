# SPDX-License-Identifier: Apache-2.0
"""Photometric residuals: analytic Jacobians against differences, the fast kernel against its slow twin, FEJ."""

from dataclasses import replace

import numpy as np
import pytest
from smooth_scene import Waves
from twin import Dense, Pair, dense_system
from windows import Exact, exact_window

from prism_vo import se3
from prism_vo.mapping.energy import Linearization, State
from prism_vo.mapping.residuals import IN, OUTLIER, OUTSIDE, PATTERN
from prism_vo.tracking.pyramid import image_pyramid

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
        160.0, 63.0, 48.0, se3.exp(rng.normal(0, 0.1, 6)), se3.exp(rng.normal(0, 0.1, 6)), rng.normal(0, [0.1, 3]),
        rng.normal(0, [0.1, 3]), rng.uniform(0.7, 1.4), u, v, rng.uniform(0.3, 1.2), color,
    )  # fmt: skip
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


def as_dense(lin: Linearization, exact: Exact) -> Dense:
    """The kernel's photometric system as one matrix."""
    s, frames = lin.system, len(exact.energy.slots)
    h = np.zeros((8 * frames + len(s.h_points),) * 2)
    k = 8 * frames
    h[:k, :k], h[k:, :k], h[:k, k:] = s.h_frames, s.h_cross, s.h_cross.T
    h[np.arange(k, len(h)), np.arange(k, len(h))] = s.h_points
    return Dense(h, np.concatenate([s.b_frames, s.b_points]), lin.photometric)


def photometric_window(seed: int) -> Exact:
    """Wrong by a few grey levels everywhere, so that residuals are not zero; exposures differ; no other terms."""
    exact = exact_window(count=3, each=12, seed=seed, eta=0.0)
    rng = np.random.default_rng(seed)
    state = exact.state
    poses = np.array([se3.exp(rng.normal(0, 1e-3, 6)) @ p for p in state.base_pose])
    light = np.stack([rng.normal(0, 0.03, 3), rng.normal(0, 2.0, 3)], -1)
    q = state.inv_depth * np.exp(rng.normal(0, 0.01, len(state.inv_depth)))
    energy = replace(
        exact.energy, affine_information=np.zeros(2), exposure=np.array([1.0, 1.05, 0.96]),
        gates=np.full(3, 1e6, np.float32),
    )  # fmt: skip
    # only points that every keyframe sees: the twin knows no borders
    inside = (energy.linearize(state).state != OUTSIDE).all(1)
    points = energy.points.take(inside)
    return replace(
        exact, energy=replace(energy, points=points),
        state=replace(state, base_pose=poses, base_affine=light, inv_depth=q[inside]),
    )  # fmt: skip


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
    fast = as_dense(exact.energy.linearize(exact.state), exact)
    slow = dense_system(exact.energy, exact.state, centre=True)
    assert len(exact.energy.points) > 15
    assert slow.energy > 100.0
    h, b = scaled_difference(slow, fast)
    assert h < 1e-4 and b < 1e-4
    assert fast.energy == pytest.approx(slow.energy, rel=1e-4)


def test_one_geometry_for_the_whole_pattern_is_close_to_one_a_pixel() -> None:
    """Jacobians are taken at the pattern's centre, as the pattern spans 4 px: a documented approximation of the
    Hessian (not of the residuals), between 1e-4 and 4 % of a unit-curvature variable at a focal length of 160 px."""
    exact = photometric_window(0)
    centre = dense_system(exact.energy, exact.state, centre=True)
    pixels = dense_system(exact.energy, exact.state, centre=False)
    assert centre.energy == pixels.energy
    h, b = scaled_difference(pixels, centre)
    assert 1e-4 < h < 0.04
    assert b < 0.04


def tied_state(exact: Exact, x: np.ndarray) -> State:
    return replace(exact.state, tied=np.array([False, True, True]), x=x)


def test_first_estimates_jacobians_stay_while_residuals_follow() -> None:
    exact = photometric_window(1)
    rng = np.random.default_rng(5)
    x = np.zeros((3, 8))
    x[1:] = rng.normal(0, 1.0, (2, 8)) * np.array([4e-3] * 3 + [4e-3] * 3 + [0.05, 3.0])
    moved = tied_state(exact, x)
    fast = as_dense(exact.energy.linearize(moved), exact)
    slow = dense_system(exact.energy, moved, centre=True)  # geometry at the base, residuals at exp(x)·base
    h, b = scaled_difference(slow, fast)
    assert h < 1e-4 and b < 1e-4
    assert fast.energy == pytest.approx(slow.energy, rel=1e-4)
    # the same place with its own geometry differs: the test above can tell
    own = replace(moved, base_pose=moved.poses, base_affine=moved.affine, x=np.zeros((3, 8)))
    h, _ = scaled_difference(slow, as_dense(exact.energy.linearize(own), exact))
    assert h > 1e-3
    # and the residuals are those of the moved state, not of the base
    assert fast.energy == pytest.approx(exact.energy.linearize(own).photometric, rel=1e-5)
    at_base = exact.energy.linearize(tied_state(exact, np.zeros((3, 8)))).photometric
    assert abs(fast.energy - at_base) > 0.01 * at_base


def test_outliers_and_points_out_of_view_cost_the_gate_and_pull_nothing() -> None:
    exact = photometric_window(2)
    points = exact.energy.points
    u = points.u.copy()
    u[0] = 2.0  # its warp leaves the image
    color = points.color.copy()
    color[1] += 120.0  # an occlusion
    energy = replace(
        exact.energy, points=replace(points, u=u, color=color), gates=np.full(3, 2000.0, np.float32)
    )
    lin = energy.linearize(exact.state)
    targets = [j for j in range(3) if j != points.host[1]]
    assert (lin.state[1, targets] == OUTLIER).all()
    assert (lin.state[0] == OUTSIDE).any()
    without = np.where(np.isin(lin.state, [OUTLIER, OUTSIDE]), np.int8(-1), points.state)
    rest = replace(energy, points=replace(energy.points, state=without)).linearize(exact.state)
    np.testing.assert_array_equal(lin.system.h_frames, rest.system.h_frames)
    np.testing.assert_array_equal(lin.system.b_points, rest.system.b_points)
    gated = int(np.isin(lin.state, [OUTLIER, OUTSIDE]).sum())
    assert lin.photometric == pytest.approx(rest.photometric + 2000.0 * gated, rel=1e-6)
    assert (lin.state == IN).sum() > 20


def test_exact_images_at_the_true_state_leave_only_interpolation_errors() -> None:
    exact = exact_window(count=3, each=30)
    lin = exact.energy.linearize(exact.state)
    inside = lin.state == IN
    assert inside.sum() > 100
    rms = np.sqrt(lin.energies[inside].mean() / 8)
    assert rms < 1.0
    assert lin.depth_energy == pytest.approx(0.0, abs=1e-12)


def test_gradient_channels_are_central_differences() -> None:
    """What the kernel takes for ∇I: half the difference of the neighbours, in the image's own axes."""
    y, x = np.mgrid[:20, :30].astype(np.float32)
    level = image_pyramid(3.0 * x - 2.0 * y, 1)[0]
    np.testing.assert_allclose(level[1:-1, 1:-1, 1], 3.0)
    np.testing.assert_allclose(level[1:-1, 1:-1, 2], -2.0)
