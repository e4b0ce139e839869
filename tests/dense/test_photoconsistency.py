# SPDX-License-Identifier: Apache-2.0
"""The cost of a surface element, against a slow twin with the exact homography; and what it is blind to."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.dense.neighbours import views_of
from prism_vo.dense.photoconsistency import (
    ALIKE,
    MOST_VIEWS,
    NEAR,
    NOISE,
    REACH,
    SAMPLES,
    SPACING,
    load_patch,
    surface_cost,
    view_cost,
)
from prism_vo.dense.records import DenseFrame, Prior
from prism_vo.optics.view import FocusedView

VIEW = FocusedView("central", 120, 100, 150.0, 58.0, 51.0, 0.0, 2.0, 0.5, 0.02, 0.98)


def texture(seed: int) -> Floats:
    """Smooth noise that bilinear interpolation follows."""
    noise = np.random.default_rng(seed).normal(size=(VIEW.height, VIEW.width))
    return (120 + 60 * ndimage.gaussian_filter(noise, 2.5) / 0.11).astype(np.float32)


def frame(image: Floats, pose: Array) -> DenseFrame:
    unknown = np.full(image.shape, np.nan, np.float32)
    return DenseFrame(0, pose, image, Prior(unknown, unknown), np.zeros((*image.shape, 3), np.uint8))


def slow_cost(host: Floats, other: Floats, T: Array, x: int, y: int, q: float, dx: float, dy: float) -> float:
    """The same from the definition."""
    offsets = [(i, j) for j in range(-REACH, REACH + 1) for i in range(-REACH, REACH + 1) if (i + j) % 2 == 0]
    values, weights, seen = [], [], []
    for i, j in offsets:
        px, py = x + i * SPACING, y + j * SPACING
        values.append(host[py, px])
        far = SPACING**2 * (i * i + j * j)
        weights.append(np.exp(-abs(float(host[py, px]) - host[y, x]) * ALIKE - far * NEAR))
        inv_depth = q + dx * (px - x) + dy * (py - y)
        ray = np.array([(px - VIEW.cx) / VIEW.focal_px, (py - VIEW.cy) / VIEW.focal_px, 1.0])
        u, v = VIEW.project(se3.transform(T, ray / inv_depth))
        seen.append(ndimage.map_coordinates(other, [[v], [u]], order=1)[0])
    w = np.array(weights) / np.sum(weights)
    a, b = np.array(values, float), np.array(seen, float)
    a, b = a - w @ a, b - w @ b
    return float(1 - w @ (a * b) / np.sqrt((w @ (a * a) + NOISE) * (w @ (b * b) + NOISE)))


def test_cost_is_that_of_its_slow_twin() -> None:
    host, other = texture(0), texture(1)
    T = se3.exp(np.array([0.03, -0.01, 0.02, 0.01, -0.02, 0.015]))
    views = views_of(frame(host, np.eye(4)), [frame(other, T)], VIEW)
    patch, weight = np.empty(SAMPLES, np.float32), np.empty(SAMPLES, np.float32)
    for x, y, q, dx, dy in [(50, 40, 0.8, 0.0, 0.0), (70, 60, 1.3, 2e-3, -1e-3), (30, 55, 0.5, -1e-3, 2e-3)]:
        variance = load_patch(host, x, y, patch, weight)
        numbers = (np.float32(v) for v in (x, y, q, dx, dy))
        fast = view_cost(views, 0, *numbers, patch, weight, variance)
        # the homography is taken to first order in the patch
        assert abs(fast - slow_cost(host, other, T, x, y, q, dx, dy)) < 5e-3


def test_gain_and_offset_do_not_matter_and_hidden_views_are_left_out() -> None:
    host = texture(2)
    still = np.eye(4)
    others = [frame(host * np.float32(1.7) - 20, still), frame(host, still), frame(texture(3), still)]
    views = views_of(frame(host, still), others, VIEW)
    patch, weight = np.empty(SAMPLES, np.float32), np.empty(SAMPLES, np.float32)
    costs = np.empty(MOST_VIEWS, np.float32)
    variance = load_patch(host, 60, 50, patch, weight)
    at = (np.float32(60), np.float32(50), np.float32(1.0), np.float32(0.0), np.float32(0.0))
    endless = np.float32(np.inf)
    assert surface_cost(views, 3, 2, *at, patch, weight, variance, costs, endless) < 0.03
    everything = surface_cost(views, 3, 3, *at, patch, weight, variance, costs, endless)
    assert everything > 0.15
    assert np.isinf(surface_cost(views, 3, 3, *at, patch, weight, variance, costs, np.float32(0.1)))


def test_a_patch_at_the_border_does_not_read_beyond_it() -> None:
    patch, weight = np.empty(SAMPLES, np.float32), np.empty(SAMPLES, np.float32)
    load_patch(texture(4), 0, VIEW.height - 1, patch, weight)
    assert np.isfinite(patch).all()
    assert (weight == 0).sum() == 13 - 5  # five samples of the quincunx lie in the corner
    assert abs(weight.sum() - 1) < 1e-5
