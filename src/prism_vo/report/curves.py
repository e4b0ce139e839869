# SPDX-License-Identifier: Apache-2.0
"""Curves over a run: η with pictures at its extremes, timings, errors, point counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prism_vo.report.charts import LineChart, Mark, Series, line_chart, series
from prism_vo.report.pictures import jpeg_uri
from prism_vo.report.stages import STAGES, busy_seconds

if TYPE_CHECKING:
    from prism_vo.pipeline import RunResult
    from prism_vo.report.extremes import EtaExtremes, Extreme

WARM_UP = 10  # frames


class Thumbnail(NamedTuple):
    """A frame at an extreme of η."""

    word: str
    frame: int
    eta: str
    uri: str


class EtaOverTime(NamedTuple):
    """η over the keyframes, with pictures where it was smallest and largest."""

    chart: LineChart
    pictures: tuple[Thumbnail, Thumbnail]


def eta_over_time(result: RunResult, extremes: EtaExtremes) -> EtaOverTime | None:
    """The weight of the depth terms; None for a run without them."""
    least, most = extremes.least, extremes.most
    if least is None or most is None or not result.odometry.variant.depth_terms:
        return None
    mapped = [(r.index, r.mapping.eta) for r in result.reports if r.mapping is not None]
    curve = series("η", [frame for frame, _ in mapped], [eta for _, eta in mapped])
    marks = [Mark(least.frame, least.eta, "least"), Mark(most.frame, most.eta, "most")]
    chart = line_chart([curve], "frame", "η (grey² per σ²)", marks, from_zero=False)
    return EtaOverTime(chart, (_thumbnail(least, "least"), _thumbnail(most, "most")))


def _thumbnail(extreme: Extreme, word: str) -> Thumbnail:
    return Thumbnail(word, extreme.frame, f"{extreme.eta:.1f}", jpeg_uri(extreme.picture))


class StageTime(NamedTuple):
    """Mean time of one stage."""

    name: str
    meaning: str
    ms_a_frame: str
    ms_a_call: str
    calls: int
    percent: str  # of the longest stage


class Timings(NamedTuple):
    """Mean time of each stage, and the time of every frame."""

    stages: list[StageTime]
    chart: LineChart


def timings(result: RunResult) -> Timings:
    """Where the time of a run went."""
    stages = [s for s in STAGES if any(s in r.seconds for r in result.reports)]
    totals = {s: 1e3 * sum(r.seconds.get(s, 0.0) for r in result.reports) for s in stages}
    largest = max(totals.values(), default=1.0) or 1.0
    rows = []
    for stage, total in totals.items():
        calls = sum(stage in r.seconds for r in result.reports)
        a_frame, a_call = total / len(result.reports), total / calls
        percent = f"{100 * total / largest:.1f}"
        rows.append(StageTime(stage, STAGES[stage], f"{a_frame:.1f}", f"{a_call:.1f}", calls, percent))
    frames = [r.index for r in result.reports]
    lines = [
        series("tracking and mapping", frames, [1e3 * busy_seconds(r.seconds) for r in result.reports]),
        series("reading and focusing", frames, [1e3 * r.seconds.get("decode", 0.0) for r in result.reports]),
    ]
    return Timings(rows, line_chart(_clipped(lines), "frame", "ms", size=(1120, 220)))


def _clipped(lines: list[Series]) -> list[Series]:
    """Cut off at what later frames need: the first ones may have to compile and would flatten the rest."""
    later = np.concatenate([line.y[min(WARM_UP, len(line.y) // 2) :] for line in lines])
    top = 1.2 * float(later.max(initial=1.0))
    return [series(line.name, line.x, np.minimum(line.y, top)) for line in lines]


class Curve(NamedTuple):
    """A chart with its title."""

    title: str
    chart: LineChart


def curves(result: RunResult) -> list[Curve]:
    """Errors over time, residual, points, and the estimated uncertainty of scale."""
    found = []
    if result.metrics is not None:
        m = result.metrics
        lines = [series(c.alignment, m.times - m.times[0], 1e3 * c.errors_t) for c in (m.se3, m.sim3)]
        found.append(Curve("Position error", line_chart(lines, "s", "mm")))
    rms = [r.track.rms if r.track is not None else np.nan for r in result.reports]
    tracking = series("rms", [r.index for r in result.reports], rms)
    mapped = [(r.index, r.mapping) for r in result.reports if r.mapping is not None]
    keys = [k for k, _ in mapped]
    points = [
        series("active points", keys, [m.active for _, m in mapped]),
        series("of them with a depth term", keys, [m.depth_residuals for _, m in mapped]),
    ]
    scale = series("σ", keys, [100 * m.scale_sigma for _, m in mapped])
    focus = [(k, m.focus) for k, m in mapped if m.focus is not None]
    if focus:
        at = [k for k, _ in focus]
        shift, spread = (
            np.array([1e3 * v for v in each]) for each in zip(*((f.shift, f.sigma) for _, f in focus))
        )
        lines = [
            series("focus", at, shift),
            series("+ 2σ", at, shift + 2 * spread),
            series("− 2σ", at, shift - 2 * spread),
        ]
        found.append(Curve("Focus against the camera file", line_chart(lines, "frame", "µm")))
    lens = [(k, m.lens) for k, m in mapped if m.lens is not None]
    if lens:
        at = [k for k, _ in lens]
        focal, spread = (
            np.array([100 * v for v in each]) for each in zip(*((x.numbers[0], x.sigma[0]) for _, x in lens))
        )
        lines = [
            series("focal length", at, focal),
            series("+ 2σ", at, focal + 2 * spread),
            series("− 2σ", at, focal - 2 * spread),
        ]
        found.append(Curve("Focal length against the camera file", line_chart(lines, "frame", "%")))
    return [
        *found,
        Curve("Photometric residual of tracking", line_chart([tracking], "frame", "grey (RMS)")),
        Curve("Points of the window", line_chart(points, "frame", "points")),
        Curve("Estimated σ of the window's scale", line_chart([scale], "frame", "%")),
    ]
