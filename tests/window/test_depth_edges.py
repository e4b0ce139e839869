# SPDX-License-Identifier: Apache-2.0
"""Which measured depths lie beside a depth edge, and what they still weigh."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from exact_windows import exact_window
from filled_windows import fill

from prism_vo import se3
from prism_vo.config import WindowConfig
from prism_vo.optics.pinhole import Intrinsics
from prism_vo.window.contents import WindowModel
from prism_vo.window.depth_edges import CELL, JUMP, REACH, SURE, Known, beside_edges, find_depth_edges
from prism_vo.window.terms.depth import BESIDE_EDGE
from prism_vo.window.window import Window

HEIGHT, WIDTH = 90, 120
INTRINSICS = Intrinsics(np.float32(140.0), np.float32(60.0), np.float32(45.0))
NEAR, FAR = 1.0, 0.7  # 1/m


def scattered(count: int, keyframes: int, seed: int = 0) -> Known:
    """Pixels left of the middle of each keyframe on a near surface, the others on a far one."""
    rng = np.random.default_rng(seed)
    u, v = rng.integers(0, WIDTH, count).astype(np.float32), rng.integers(0, HEIGHT, count).astype(np.float32)
    q = np.where(u < WIDTH / 2, NEAR, FAR) * np.exp(rng.normal(0, 0.005, count))
    return Known(rng.integers(0, keyframes, count).astype(np.int32), u, v, q, np.full(count, 0.004))


def at(*shifts: float) -> np.ndarray:
    """Keyframes beside each other: T_target_host of all pairs."""
    poses = [se3.exp(np.array([shift, 0.0, 0.0, 0.0, 0.02 * shift, 0.0])) for shift in shifts]
    return np.array([[target @ se3.inverse(host) for host in poses] for target in poses])


def slow_twin(T_target_host: np.ndarray, known: Known) -> np.ndarray:
    """Every pixel against everything that is known well, seen from its keyframe."""
    focal, cx, cy = (float(number) for number in INTRINSICS)
    found = np.zeros(len(known.host), bool)
    for n, (host, u, v, q, sigma) in enumerate(zip(*known)):
        for other_host, other_u, other_v, other_q, other_sigma in zip(*known):
            if not SURE * other_sigma < JUMP * other_q:
                continue
            ray = np.array([(other_u - cx) / focal, (other_v - cy) / focal, 1.0])
            T = T_target_host[host, other_host]
            x, y, z = T[:3, :3] @ ray + T[:3, 3] * other_q
            x, y = focal * x / z + cx, focal * y / z + cy
            if not (0 <= x <= WIDTH - 1 and 0 <= y <= HEIGHT - 1):
                continue
            spans = ((int(u), int(x)), (int(v), int(y)))
            near = all(max(a - REACH, 0) // CELL <= b // CELL <= (a + REACH) // CELL for a, b in spans)
            found[n] |= near and abs(other_q / z - q) > max(JUMP * q, SURE * sigma)
    return found


def test_it_is_what_comparing_all_with_all_finds() -> None:
    known = scattered(250, 3)
    vague = replace_sigma(known, np.random.default_rng(1).choice([0.004, 0.03, np.nan], 250))
    for given in known, vague:
        expected = slow_twin(at(0.0, 0.05, 0.11), given)
        assert 20 < expected.sum() < 230
        found = beside_edges(at(0.0, 0.05, 0.11), INTRINSICS, HEIGHT, WIDTH, given)
        np.testing.assert_array_equal(found, expected)


def replace_sigma(known: Known, sigma: np.ndarray) -> Known:
    return known._replace(sigma=sigma)


def test_what_lies_beside_the_edge_is_found_and_nothing_else() -> None:
    known = scattered(1500, 1)
    found = beside_edges(at(0.0), INTRINSICS, HEIGHT, WIDTH, known)
    away = np.abs(known.u - (WIDTH / 2 - 0.5))
    assert found[away < REACH - 3].mean() > 0.95
    assert not found[away > REACH + CELL].any()


def test_other_keyframes_show_edges_that_a_keyframe_has_no_points_at() -> None:
    """Those of a keyframe lie on the near surface alone; another one sees both."""
    known = scattered(800, 2)
    known = Known(*(column[(known.host == 1) | (known.u < WIDTH / 2)] for column in known))
    beside = (known.host == 0) & (known.u > WIDTH / 2 - 5)
    alone = Known(*(column[known.host == 0] for column in known))
    assert beside.sum() > 10
    assert not beside_edges(at(0.0), INTRINSICS, HEIGHT, WIDTH, alone).any()
    assert beside_edges(at(0.0, 0.0), INTRINSICS, HEIGHT, WIDTH, known)[beside].mean() > 0.95


def test_a_slanted_plane_has_no_edges() -> None:
    known = scattered(1500, 1)
    plane = known._replace(inv_depth=0.8 + 0.002 * known.u + 0.001 * known.v)
    assert not beside_edges(at(0.0), INTRINSICS, HEIGHT, WIDTH, plane).any()


def test_depths_of_one_image_show_no_edge() -> None:
    """Known to some per cent each, they differ by chance; and what is not known at all is no edge."""
    known = scattered(1500, 1)
    for sigma in 0.03, np.nan, np.inf:
        vague = known._replace(sigma=np.full(1500, sigma))
        assert not beside_edges(at(0.0), INTRINSICS, HEIGHT, WIDTH, vague).any()


def test_a_marked_depth_weighs_a_sixteenth_and_stays_marked() -> None:
    window = Window(exact_window(count=3, each=40).view, WindowConfig(), WindowModel(variance_power=4.0))
    fill(window, 3)
    before = window.depth_information(window.points)
    sure = np.full(len(window.points), 1e-8)
    left = window.points.u < window.plane.width / 2
    stepped = np.where(left, 1.0, 0.5) * window.points.inv_depth
    inv_depth = window.points.inv_depth
    window.points = replace(window.points, inv_depth=stepped)
    find_depth_edges(window, sure)
    marked = window.points.beside_edge
    window.points = replace(window.points, inv_depth=inv_depth)
    assert 0 < marked.sum() < len(marked)
    expected = np.where(marked, BESIDE_EDGE, 1.0) * before
    np.testing.assert_allclose(window.depth_information(window.points), expected)
    find_depth_edges(window, np.full(len(marked), 1.0))  # nothing is known well any more
    np.testing.assert_array_equal(window.points.beside_edge, marked)
