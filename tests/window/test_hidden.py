# SPDX-License-Identifier: Apache-2.0
"""Points behind something that covers the scene."""

from dataclasses import replace

import numpy as np
from exact_windows import exact_window, keyframes_along
from filled_windows import fill

from prism_vo.config import WindowConfig
from prism_vo.points.activation import choose_candidates
from prism_vo.points.pattern import IN, NONE, OUTLIER, OUTSIDE
from prism_vo.points.records import DEPTH_USED, Candidates
from prism_vo.tracking.brightness import ZONES, ZoneAgreement
from prism_vo.window.contents import WindowModel
from prism_vo.window.hidden import in_covered_zones, without_hidden, zones_that_do_not_fit
from prism_vo.window.leaving import choose_leaving
from prism_vo.window.marginalisation import choose_points
from prism_vo.window.window import Window

LEFT = np.arange(ZONES**2) % ZONES < 2  # the left half of the image


def filled(count: int = 4) -> Window:
    window = Window(exact_window(count=count, each=40).view, WindowConfig(), WindowModel())
    fill(window, count)
    return window


def covered_in(window: Window, position: int) -> Window:
    """The left half of a keyframe is covered."""
    keyframe = replace(window.keyframes[position], covered=ZoneAgreement(0.5, LEFT))
    window.keyframes[position] = keyframe
    window.points = without_hidden(window.plane, window.hosts, window.keyframes, window.points)
    return window


def test_points_have_no_residual_where_they_are_covered() -> None:
    before, window = filled().points, covered_in(filled(), 2)
    hidden = in_covered_zones(
        window.plane, window.hosts, before, window.keyframes[2].pose, ZoneAgreement(0.5, LEFT)
    )
    assert 20 < hidden.sum() < len(hidden) - 20
    assert (window.points.residual_status[hidden, 2] == NONE).all()
    np.testing.assert_array_equal(window.points.residual_status[~hidden], before.residual_status[~hidden])
    others = [0, 1, 3]
    np.testing.assert_array_equal(window.points.residual_status[:, others], before.residual_status[:, others])


def test_nothing_changes_where_nothing_is_covered() -> None:
    window = filled()
    assert without_hidden(window.plane, window.hosts, window.keyframes, window.points) is window.points


def test_a_hidden_point_waits_one_that_is_out_of_view_goes() -> None:
    points = filled().points
    status = points.residual_status.copy()
    old = np.flatnonzero(points.host == 0)
    hidden, outside = old[::2], old[1::2]
    status[np.ix_(hidden, [2, 3])] = NONE
    status[np.ix_(outside, [2, 3])] = OUTSIDE
    gone = choose_points(replace(points, residual_status=status), [], 0.0).gone
    assert gone[outside].all() and not gone[hidden].any()


def test_a_keyframe_whose_points_are_hidden_does_not_leave_for_that() -> None:
    points = filled(5).points
    frames = keyframes_along([0, 1, 2, 3, 4])
    status = points.residual_status.copy()
    own = points.host == 1
    status[own, -1] = NONE
    assert 1 not in choose_leaving(frames, replace(points, residual_status=status), 7)
    status[own, -1] = OUTSIDE
    assert 1 in choose_leaving(frames, replace(points, residual_status=status), 7)


def test_zones_in_which_most_points_fail_are_covered() -> None:
    window = filled()
    newest = window.keyframes[-1]
    poses = (window.plane, window.hosts, window.points)
    hidden = in_covered_zones(*poses, newest.pose, ZoneAgreement(0.5, LEFT))
    status = np.where(hidden, OUTLIER, IN).astype(np.int8)
    exact = np.zeros(len(window.points))
    found = zones_that_do_not_fit(*poses, newest.pose, status, lambda: exact)
    assert found is not None and not found.covered[~LEFT].any() and found.covered[LEFT].sum() >= 4
    assert zones_that_do_not_fit(*poses, newest.pose, np.full_like(status, IN), lambda: exact) is None


def test_zones_of_points_that_may_lie_elsewhere_are_not_covered() -> None:
    """Coarse depths do not fit either, with nothing before them."""
    window = filled()
    newest = window.keyframes[-1]
    poses = (window.plane, window.hosts, window.points)
    hidden = in_covered_zones(*poses, newest.pose, ZoneAgreement(0.5, LEFT))
    status = np.where(hidden, OUTLIER, IN).astype(np.int8)
    coarse = np.where(hidden, 0.5 * window.points.inv_depth, 0.0)
    assert zones_that_do_not_fit(*poses, newest.pose, status, lambda: coarse) is None


def test_a_keyframe_covered_like_its_reference_is_seen_through_by_older_points() -> None:
    """Its track knows of nothing covered; the points of the window show it, and no candidate is taken there."""
    window = filled()
    newest = window.keyframes[-1]
    poses = (window.plane, window.hosts, window.points)
    hidden = in_covered_zones(*poses, newest.pose, ZoneAgreement(0.5, LEFT))
    status = window.points.residual_status.copy()
    status[hidden & (status[:, -1] == IN), -1] = OUTLIER
    window.points = replace(window.points, residual_status=status)
    assert window._finds_more_covered()
    found = window.keyframes[-1].covered
    assert found is not None and found.covered[LEFT].any() and not found.covered[~LEFT].any()
    behind = in_covered_zones(window.plane, window.hosts, window.points, newest.pose, found)
    assert behind.sum() >= 10 and (window.points.residual_status[behind, -1] == NONE).all()
    new, window.candidates = candidates_of(window), Candidates.empty()
    window.adopt(new, window.view)
    assert 0 < len(window.candidates) < len(new)
    assert found.uncovered(window.candidates.u, window.candidates.v, window.plane).all()


def test_candidates_that_are_covered_wait() -> None:
    window = filled()
    candidates = candidates_of(window)
    arguments = (window.plane, window.hosts, candidates, window.points.take(np.zeros(0, np.intp)), 1, 3.0)
    picked, stay = choose_candidates(*arguments)
    hidden = np.zeros(len(candidates), np.bool_)
    hidden[picked[::2]] = True
    fewer, waiting = choose_candidates(*arguments, hidden)
    assert len(picked) and not hidden[fewer].any() and waiting[hidden].all() and not stay[picked].any()


def candidates_of(window: Window) -> Candidates:
    """The points once more, as candidates of their keyframes with measured depth."""
    p = window.points
    n = len(p)
    return Candidates(
        host=p.host,
        u=p.u,
        v=p.v,
        inv_depth=p.inv_depth,
        measured=p.measured,
        information=np.ones(n),
        kind=np.full(n, DEPTH_USED, np.int8),
        color=p.color,
        weight=p.weight,
        low=p.inv_depth * 0.99,
        high=p.inv_depth * 1.01,
        quality=np.full(n, 9.0, np.float32),
        failures=np.zeros(n, np.int8),
    )


def test_a_window_knows_that_something_covers_one_of_its_keyframes() -> None:
    assert not filled().is_covered
    assert covered_in(filled(), 1).is_covered


def test_single_zones_keep_nobody_from_looking_at_the_focus() -> None:
    """A focus that is wrong makes zones disagree, too, and must be found."""
    window, one = filled(), np.zeros_like(LEFT)
    one[3] = True
    window.keyframes[3] = replace(window.keyframes[3], covered=ZoneAgreement(0.9, one))
    assert not window.is_covered
