# SPDX-License-Identifier: Apache-2.0
"""Patches are found where they are, to hundredths of a pixel, also turned, stretched and in another light."""

from __future__ import annotations

import numpy as np
import pytest

from prism_vo.arrays import Array, Floats
from prism_vo.batch.patches import FINE_STEPS, align_affine, align_patch

SIZE = 96
WAVES = np.random.default_rng(0).uniform(-0.9, 0.9, (40, 2))  # rad a pixel
PHASES = np.random.default_rng(1).uniform(0, 2 * np.pi, 40)


def grey(x: Array, y: Array) -> Floats:
    """A texture that is known between pixels, too."""
    waves = np.cos(x[..., None] * WAVES[:, 0] + y[..., None] * WAVES[:, 1] + PHASES)
    return np.asarray(120 + 12 * waves.sum(-1), np.float32)


def texture() -> Floats:
    y, x = np.mgrid[:SIZE, :SIZE].astype(np.float64)
    return grey(x, y)


def warped(warp: Array, at: tuple[int, int], to: tuple[float, float]) -> Floats:
    """The texture as it looks when its neighbourhood of ``at`` is mapped by ``warp`` to ``to``."""
    y, x = np.mgrid[:SIZE, :SIZE].astype(np.float64)
    back = np.linalg.inv(warp)
    dx, dy = x - to[0], y - to[1]
    return grey(at[0] + back[0, 0] * dx + back[0, 1] * dy, at[1] + back[1, 0] * dx + back[1, 1] * dy)


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.3, -0.4), (1.6, 1.1)])
def test_shift_gain_and_offset(offset: tuple[float, float]) -> None:
    host = texture()
    to = (48 + offset[0], 47 + offset[1])
    target = warped(np.eye(2), (48, 47), to) * np.float32(0.8) + np.float32(12)
    out = np.zeros(5)
    assert align_patch(host, target, 48, 47, 48.0, 47.0, np.eye(2), FINE_STEPS, out)
    np.testing.assert_allclose(out[:2], to, atol=0.02)
    assert out[2] > 0
    assert out[2] * out[4] > out[3] ** 2


def test_a_slanted_surface_needs_the_affine_map() -> None:
    host = texture()
    slant = np.array([[1.12, 0.06], [-0.04, 0.94]])
    target = warped(slant, (48, 47), (49.3, 46.6))
    warp, out = np.eye(2), np.zeros(5)
    assert align_patch(host, target, 48, 47, 49.0, 46.5, warp, FINE_STEPS, out)
    before = np.hypot(*(out[:2] - [49.3, 46.6]))
    assert align_affine(host, target, 48, 47, warp, out)
    after = np.hypot(*(out[:2] - [49.3, 46.6]))
    assert after < 0.05
    assert after <= before + 0.01
    np.testing.assert_allclose(warp, slant, atol=0.03)


def test_something_else_is_not_taken_for_the_patch() -> None:
    host, other = texture(), texture()[::-1].copy()
    assert not align_patch(host, other, 48, 47, 30.0, 61.0, np.eye(2), FINE_STEPS, np.zeros(5))
