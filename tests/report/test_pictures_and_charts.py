# SPDX-License-Identifier: Apache-2.0
"""Pictures put the right colour at the right pixel; charts cover their values; the album stays small."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from prism_vo import pipeline
from prism_vo.points.records import DEPTH_NONE, DEPTH_UNCERTAIN, DEPTH_USED
from prism_vo.report import charts, pictures
from prism_vo.report.snapshots import (
    SelectedPoints,
    Snapshot,
    SnapshotAlbum,
    point_residuals,
    selected_points,
)
from prism_vo.report.stages import STAGES, busy_seconds


def points_at(xs: list[float], ys: list[float], kinds: list[int]) -> SelectedPoints:
    nothing = np.full(len(xs), np.nan)
    return SelectedPoints(
        np.array(xs, np.float32), np.array(ys, np.float32), np.array(kinds, np.int8), nothing, nothing
    )


def test_classes_are_green_cyan_magenta_where_the_points_are() -> None:
    canvas = pictures.Canvas.of(np.zeros((120, 160), np.uint8))
    points = points_at([20, 80, 140], [30, 60, 90], [DEPTH_USED, DEPTH_UNCERTAIN, DEPTH_NONE])
    picture = pictures.classes_picture(canvas, points)
    k = canvas.factor
    for x, y, kind in zip(points.x, points.y, points.kind):
        seen = picture[round((y + 0.5) * k - 0.5), round((x + 0.5) * k - 0.5)]
        assert np.abs(seen.astype(int) - pictures.CLASS_COLORS[kind]).max() < 8
    assert picture[5, 5].max() == 0


def test_near_is_red_and_far_is_blue() -> None:
    rho = np.linspace(0.2, 0.4, 101)  # near → far
    colors = pictures.depth_scale(rho).colors(rho)
    assert colors[3, 0] > 1.5 * colors[3, 2]
    assert colors[-10, 2] > 1.2 * colors[-10, 0]


def test_residual_colours_show_the_sign() -> None:
    blue, white, red = pictures.residual_scale(3.0).colors(np.array([-3.0, 0.0, 3.0])).astype(int)
    assert blue[2] > 2 * blue[0] and red[0] > 2 * red[2] and white.min() > 230


def test_invalid_pixels_of_a_map_show_the_dimmed_image() -> None:
    canvas = pictures.Canvas.of(np.full((480, 480), 200, np.uint8))
    values = np.full((480, 480), np.nan, np.float32)
    values[100:200, 100:200] = 0.3
    picture = pictures.dense_picture(canvas, values, pictures.sigma_scale())
    assert picture[300, 300].tolist() == [60, 60, 60]
    assert picture[150, 150].tolist() != [60, 60, 60]


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (-3.2, 17.0), (1250.0, 2800.0), (0.0, 1e-4), (5.0, 5.0)]
)
def test_ticks_cover_the_range_with_few_round_numbers(low: float, high: float) -> None:
    found = charts.ticks(low, high)
    assert found[0] <= low and found[-1] >= high
    assert 2 <= len(found) <= 9


def test_line_chart_keeps_its_points_inside_the_frame() -> None:
    line = charts.series("η", [0, 10, 20, 30], [1250, np.nan, 2800, 1470])
    chart = charts.line_chart([line], "frame", "η", [charts.Mark(20, 2800, "most")], from_zero=False)
    vertices = np.array([pair.split(",") for pair in chart.lines[0].points.split()], float)
    assert len(vertices) == 3  # the undefined value is left out
    assert (vertices[:, 0] >= charts.LEFT).all() and (vertices[:, 0] <= 640 - charts.RIGHT).all()
    assert (vertices[:, 1] >= charts.TOP).all() and (vertices[:, 1] <= 230 - charts.BOTTOM).all()
    assert vertices[1, 1] < vertices[2, 1] < vertices[0, 1]  # larger is higher
    assert (chart.marks[0].x, chart.marks[0].y) == tuple(vertices[1])
    assert not charts.line_chart([charts.series("η", [0], [np.nan])], "frame", "η").lines


def test_timeline_joins_frames_in_the_same_state() -> None:
    strip = charts.timeline(range(7), ["keyframe", "ok", "ok", "ok", "lost", "lost", "recovered"])
    assert [s.state for s in strip.spans] == ["keyframe", "ok", "lost", "recovered"]
    assert (strip.spans[1].first, strip.spans[1].last) == (1, 3)
    assert strip.spans[1].x + strip.spans[1].width == pytest.approx(strip.spans[2].x, abs=0.02)


def test_every_stage_that_is_timed_is_explained_and_counted_once(reported: pipeline.RunResult) -> None:
    timed = {stage for report in reported.reports for stage in report.seconds}
    assert timed <= set(STAGES)
    assert {"track", "optimise", "measure"} <= timed
    beside = {"decode": 9.0, "track": 1.0, "optimise": 4.0, "select": 3.0, "measure": 2.0, "wait": 0.5}
    assert busy_seconds(beside) == 5.5
    assert (
        busy_seconds({"select": 3.0, "measure": 2.0, "pyramid": 1.0}) == 4.0
    )  # the first keyframe selects alone


def test_album_is_bounded_and_evenly_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "prism_vo.report.snapshots.take_snapshot", lambda report, frame, source, window: report
    )
    album = SnapshotAlbum(most=12)

    class Odometry:
        window = None
        frame = SimpleNamespace(source=None)

    for k in range(1000):
        album.offer(k, None, Odometry())  # type: ignore[arg-type]
    kept: list[Snapshot] = album.kept
    steps = set(np.diff(kept).tolist())  # type: ignore[arg-type]
    assert 6 <= len(kept) <= 12 and len(steps) == 1 and kept[0] == 0  # type: ignore[comparison-overlap]


def test_snapshot_residuals_agree_with_the_window(reported: pipeline.RunResult) -> None:
    window = reported.odometry.window
    residuals = point_residuals(window)
    inside = np.isfinite(residuals.grey)
    assert inside.sum() > 100
    # after optimisation the residuals are of the size of the noise the window estimates
    assert 0.2 < np.median(np.abs(residuals.grey[inside])) / np.sqrt(window.balance.noise2) < 3.0
    assert np.nanmedian(np.abs(residuals.sigmas)) < 2.0
    chosen = selected_points(window)
    known = np.isfinite(chosen.sigma) & (chosen.kind == DEPTH_USED)
    assert known.any()
    assert (chosen.sigma[known] > 0).all()
    assert (chosen.sigma[known] < reported.odometry.config.select.largest_sigma * 1.01).all()
