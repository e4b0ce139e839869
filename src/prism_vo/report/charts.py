# SPDX-License-Identifier: Apache-2.0
"""Where the parts of a chart lie, in pixels; ``templates/charts.html`` draws them as SVG.

Such charts need no script, follow the page's colours and print sharply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Array

LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 36
MOST_VERTICES = 1500


@dataclass(frozen=True)
class Series:
    """One line of a chart, in the units of its axes."""

    name: str
    x: Array
    y: Array


@dataclass(frozen=True)
class Mark:
    """A labelled dot, in the units of the axes or in pixels."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Tick:
    """A number on an axis, at a pixel."""

    at: float
    text: str


@dataclass(frozen=True)
class Polyline:
    """A drawn line: its vertices as SVG writes them."""

    name: str
    points: str


@dataclass(frozen=True)
class LineChart:
    """Lines over common axes; without lines there is nothing to draw."""

    width: int
    height: int
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()
    lines: tuple[Polyline, ...] = ()
    marks: tuple[Mark, ...] = ()
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP
    bottom: int = BOTTOM


@dataclass(frozen=True)
class Span:
    """Neighbouring frames in the same state, as one rectangle."""

    state: str
    x: float
    width: float
    first: int
    last: int


@dataclass(frozen=True)
class Timeline:
    """A strip with one cell a frame."""

    width: int
    height: int
    spans: tuple[Span, ...]
    ticks: tuple[Tick, ...]


def series(name: str, x: ArrayLike, y: ArrayLike) -> Series:
    """A line without its undefined values, thinned to what a screen can show."""
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    known = np.isfinite(xs) & np.isfinite(ys)
    xs, ys = xs[known], ys[known]
    keep = slice(None, None, max(1, -(-len(xs) // MOST_VERTICES)))
    return Series(name, xs[keep], ys[keep])


def line_chart(
    lines: Sequence[Series],
    x_label: str,
    y_label: str,
    marks: Sequence[Mark] = (),
    from_zero: bool = True,
    size: tuple[int, int] = (640, 230),
) -> LineChart:
    """Lines over common axes that end at round numbers."""
    drawn = [line for line in lines if len(line.x)]
    if not drawn:
        return LineChart(*size, x_label, y_label)
    x_ticks = ticks(min(s.x.min() for s in drawn), max(s.x.max() for s in drawn))
    low, high = min(s.y.min() for s in drawn), max(s.y.max() for s in drawn)
    y_ticks = ticks(min(0.0, low) if from_zero else low, high)
    axes = _Axes(size, (x_ticks[0], x_ticks[-1]), (y_ticks[0], y_ticks[-1]))
    return LineChart(
        *size,
        x_label,
        y_label,
        tuple(Tick(axes.px(x), f"{x:g}") for x in x_ticks),
        tuple(Tick(axes.py(y), f"{y:g}") for y in y_ticks),
        tuple(Polyline(s.name, axes.points(s)) for s in drawn),
        tuple(Mark(axes.px(m.x), axes.py(m.y), m.text) for m in marks),
    )


def timeline(frames: Sequence[int], states: Sequence[str], size: tuple[int, int] = (1120, 62)) -> Timeline:
    """A strip with one cell a frame; neighbours in the same state are one rectangle."""
    step = (size[0] - 2 * RIGHT) / max(len(frames), 1)
    spans, start = [], 0
    for k in range(1, len(states) + 1):
        if k == len(states) or states[k] != states[start]:
            width = max((k - start) * step, 0.8)
            x = round(RIGHT + start * step, 2)
            spans.append(Span(states[start], x, round(width, 2), frames[start], frames[k - 1]))
            start = k
    numbers = (
        Tick(round(RIGHT + (tick - frames[0] + 0.5) * step, 1), f"{tick:g}")
        for tick in ticks(frames[0], frames[-1], inside=True)
    )
    return Timeline(*size, tuple(spans), tuple(numbers))


def ticks(low: float, high: float, wanted: int = 5, inside: bool = False) -> list[float]:
    """Round numbers that cover [low, high] (or lie inside it)."""
    if not np.isfinite([low, high]).all() or high <= low:
        low, high = low - 0.5, low + 0.5
    raw = (high - low) / wanted
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first, last = (np.ceil, np.floor) if inside else (np.floor, np.ceil)
    slack = -1e-9 if inside else 1e-9  # rounding must not add or lose a tick
    start, stop = int(first(low / step + slack)), int(last(high / step - slack))
    return [round(k * step, 12) for k in range(start, stop + 1)]


@dataclass(frozen=True)
class _Axes:
    size: tuple[int, int]
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def px(self, x: float) -> float:
        low, high = self.x_range
        return round(float(LEFT + (x - low) / (high - low) * (self.size[0] - LEFT - RIGHT)), 1)

    def py(self, y: float) -> float:
        low, high = self.y_range
        inner = self.size[1] - TOP - BOTTOM
        return round(float(self.size[1] - BOTTOM - (y - low) / (high - low) * inner), 1)

    def points(self, line: Series) -> str:
        return " ".join(f"{self.px(x)},{self.py(y)}" for x, y in zip(line.x, line.y))
