# SPDX-License-Identifier: Apache-2.0
"""Bands of a lamp over the rows: found where they are, and nowhere else."""

import numpy as np
import pytest

from prism_vo.tracking.bands import row_gains
from prism_vo.tracking.brightness import Seen

HEIGHT, ROWS, COUNT = 96, 192, 3000


def seen(factor: np.ndarray | float, noise: float = 0.3, covered: float = 0.0, seed: int = 0) -> Seen:  # type: ignore[type-arg]
    """Reference pixels all over the image; ``factor`` of the frame's (COUNT,); a share of it shows something else."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0, 128, COUNT), _heights(seed)
    reference = rng.uniform(40, 200, COUNT)
    frame = reference * factor + rng.normal(0, noise, COUNT)
    other = x < covered * 128
    frame[other] = rng.uniform(40, 200, int(other.sum()))
    return Seen(x, y, reference, frame)


def _heights(seed: int) -> np.ndarray:  # type: ignore[type-arg]
    return np.random.default_rng(seed + 100).uniform(0, HEIGHT - 1, COUNT)


def lamp(at: np.ndarray, phase: float = 0.4) -> np.ndarray:  # type: ignore[type-arg]
    return np.asarray(1.0 + 0.15 * np.sin(2 * np.pi * (1.5 * at + phase)))


@pytest.mark.parametrize("covered", [0.0, 0.3])
def test_bands_are_found_to_a_per_cent(covered: float) -> None:
    found = row_gains(seen(0.7 * lamp((_heights(0) + 0.5) / HEIGHT), covered=covered), HEIGHT, ROWS)
    assert found is not None and found.shape == (ROWS,)
    true = lamp((np.arange(ROWS) + 0.5) / ROWS)
    np.testing.assert_allclose(found / found.mean(), true / true.mean(), atol=0.01)


@pytest.mark.parametrize("gain", [0.45, 1.0, 2.0])
def test_a_gain_alone_has_no_bands(gain: float) -> None:
    assert row_gains(seen(gain), HEIGHT, ROWS) is None
    assert row_gains(seen(gain, covered=0.4), HEIGHT, ROWS) is None


def test_half_a_frame_is_no_band() -> None:
    half = np.where(_heights(0) < HEIGHT / 2, 1.0, 0.0)
    assert row_gains(seen(half), HEIGHT, ROWS) is None


def test_weak_bands_count_where_strong_ones_were_seen() -> None:
    weak = 1.0 + 0.1 * (lamp((_heights(0) + 0.5) / HEIGHT) - 1.0)
    assert row_gains(seen(weak), HEIGHT, ROWS) is None
    assert row_gains(seen(weak), HEIGHT, ROWS, again=True) is not None
    assert row_gains(seen(1.0), HEIGHT, ROWS, again=True) is None


def test_too_little_in_view_says_nothing() -> None:
    few = seen(lamp((_heights(0) + 0.5) / HEIGHT))
    assert row_gains(few.where(np.arange(COUNT) < 20), HEIGHT, ROWS) is None
