# SPDX-License-Identifier: Apache-2.0
"""Curves over a run: η with pictures at its extremes, timings, errors, point counts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from prism_vo.report.charts import Mark, Series, line_chart, series
from prism_vo.report.pictures import jpeg_uri
from prism_vo.report.stages import STAGES, busy_seconds

if TYPE_CHECKING:
    from prism_vo.pipeline import RunResult
    from prism_vo.report.extremes import EtaExtremes, Extreme

WARM_UP = 10  # frames


def eta_section(result: RunResult, extremes: EtaExtremes) -> str:
    """η over the keyframes, with thumbnails where it was smallest and largest."""
    mapped = [r for r in result.reports if r.mapping is not None]
    if extremes.least is None or extremes.most is None or result.odometry.config.variant != "full":
        return '<h2>Weight η of the depth terms</h2><p class="quiet">This run has no depth terms.</p>'
    curve = series("η", [r.index for r in mapped], [r.mapping.eta for r in mapped if r.mapping])
    marks = [Mark(e.frame, e.eta, text) for e, text in ((extremes.least, "least"), (extremes.most, "most"))]
    chart = line_chart([curve], "frame", "η (grey² per σ²)", marks, from_zero=False)
    return (
        f'<h2>Weight η of the depth terms</h2><div class="panel eta"><div>{chart}</div>'
        f"{_thumbnail(extremes.least, 'least')}{_thumbnail(extremes.most, 'most')}</div>"
    )


def _thumbnail(extreme: Extreme, word: str) -> str:
    return (
        f'<figure><img src="{jpeg_uri(extreme.picture)}" alt="frame {extreme.frame}"><figcaption><b>{word}</b>: '
        f"η {extreme.eta:.1f} at frame {extreme.frame}</figcaption></figure>"
    )


def timing_section(result: RunResult) -> str:
    """Mean time of each stage, and the time of every frame."""
    stages = [s for s in STAGES if any(s in r.seconds for r in result.reports)]
    totals = {s: sum(r.seconds.get(s, 0.0) for r in result.reports) for s in stages}
    calls = {s: sum(s in r.seconds for r in result.reports) for s in stages}
    largest = max(totals.values(), default=1.0) or 1.0
    rows = "".join(
        f"<tr><td>{s} <span class='quiet'>{escape(STAGES[s])}</span></td>"
        f"<td>{1e3 * totals[s] / len(result.reports):.1f}</td><td>{1e3 * totals[s] / calls[s]:.1f}</td>"
        f'<td>{calls[s]}</td><td class="track"><div style="width:{100 * totals[s] / largest:.1f}%"></div></td></tr>'
        for s in stages
    )
    frames = [r.index for r in result.reports]
    lines = [
        series("tracking and mapping", frames, [1e3 * busy_seconds(r.seconds) for r in result.reports]),
        series("reading and focusing", frames, [1e3 * r.seconds.get("decode", 0.0) for r in result.reports]),
    ]
    chart = line_chart(_clipped(lines), "frame", "ms", size=(1120, 220))
    head = "".join(f"<th>{name}</th>" for name in ("stage", "ms a frame", "ms a call", "calls", ""))
    return (
        f'<h2>Timings</h2><div class="panel"><table><tr>{head}</tr>{rows}</table></div>'
        f'<div class="panel" style="margin-top:14px">{chart}</div>'
    )


def _clipped(lines: list[Series]) -> list[Series]:
    """Cut off at what later frames need: the first ones may have to compile and would flatten the rest."""
    later = np.concatenate([line.y[min(WARM_UP, len(line.y) // 2) :] for line in lines])
    top = 1.2 * float(later.max(initial=1.0))
    return [series(line.name, line.x, np.minimum(line.y, top)) for line in lines]


def curves(result: RunResult) -> str:
    """Errors over time, residual, points, and the estimated uncertainty of scale."""
    frames = [r.index for r in result.reports]
    mapped = [(r.index, r.mapping) for r in result.reports if r.mapping is not None]
    keys = [k for k, _ in mapped]
    panels = []
    if result.metrics is not None:
        m = result.metrics
        lines = [series(c.alignment, m.times - m.times[0], 1e3 * c.errors_t) for c in (m.se3, m.sim3)]
        panels.append(("Position error", line_chart(lines, "s", "mm")))
    rms = [r.track.rms if r.track is not None else np.nan for r in result.reports]
    panels.append(
        ("Photometric residual of tracking", line_chart([series("rms", frames, rms)], "frame", "grey (RMS)"))
    )
    points = [
        series("active points", keys, [m.active for _, m in mapped]),
        series("of them with a depth term", keys, [m.depth_residuals for _, m in mapped]),
    ]
    panels.append(("Points of the window", line_chart(points, "frame", "points")))
    scale = series("σ", keys, [100 * m.scale_sigma for _, m in mapped])
    panels.append(("Estimated σ of the window's scale", line_chart([scale], "frame", "%")))
    cells = "".join(f'<div class="panel"><b>{escape(t)}</b>{chart}</div>' for t, chart in panels)
    return f'<h2>Curves</h2><div class="two">{cells}</div>'
