# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG text: they need no script, follow the page's colours and print sharply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Array

LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 36
MOST_VERTICES = 1500


@dataclass(frozen=True)
class Series:
    """One line of a chart."""

    name: str
    x: Array
    y: Array


@dataclass(frozen=True)
class Mark:
    """A labelled dot."""

    x: float
    y: float
    text: str


def series(name: str, x: ArrayLike, y: ArrayLike) -> Series:
    """A line without its undefined values, thinned to what a screen can show."""
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    known = np.isfinite(xs) & np.isfinite(ys)
    xs, ys = xs[known], ys[known]
    keep = slice(None, None, max(1, -(-len(xs) // MOST_VERTICES)))
    return Series(name, xs[keep], ys[keep])


def line_chart(
    lines: Sequence[Series], x_label: str, y_label: str, marks: Sequence[Mark] = (), from_zero: bool = True,
    size: tuple[int, int] = (640, 230),
) -> str:  # fmt: skip
    """Lines over common axes, with a legend when there are several."""
    drawn = [line for line in lines if len(line.x)]
    if not drawn:
        return '<p class="quiet">No values.</p>'
    x_ticks = ticks(min(s.x.min() for s in drawn), max(s.x.max() for s in drawn))
    low, high = min(s.y.min() for s in drawn), max(s.y.max() for s in drawn)
    y_ticks = ticks(min(0.0, low) if from_zero else low, high)
    axes = _Axes(size, (x_ticks[0], x_ticks[-1]), (y_ticks[0], y_ticks[-1]))
    parts = [axes.frame(x_ticks, y_ticks, x_label, y_label)]
    for index, line in enumerate(drawn):
        points = " ".join(f"{axes.px(x):.1f},{axes.py(y):.1f}" for x, y in zip(line.x, line.y))
        parts.append(f'<polyline class="line c{index % 4}" points="{points}"/>')
    for mark in marks:
        parts.append(
            f'<circle class="line c0" cx="{axes.px(mark.x):.1f}" cy="{axes.py(mark.y):.1f}" r="4.5"/>'
            f'<text class="tag" x="{axes.px(mark.x):.1f}" y="{max(axes.py(mark.y) - 9, 11):.1f}" text-anchor="middle">'
            f"{escape(mark.text)}</text>"
        )
    return _svg(size, "".join(parts), y_label) + (legend([s.name for s in drawn]) if len(drawn) > 1 else "")


def timeline(frames: Sequence[int], states: Sequence[str], size: tuple[int, int] = (1120, 62)) -> str:
    """A strip with one cell a frame; neighbours in the same state are one rectangle."""
    width, height = size
    span = max(len(frames), 1)
    step = (width - 2 * RIGHT) / span
    parts, start = [], 0
    for k in range(1, len(states) + 1):
        if k == len(states) or states[k] != states[start]:
            parts.append(
                f'<rect class="s-{states[start]}" x="{RIGHT + start * step:.2f}" y="4" '
                f'width="{max((k - start) * step, 0.8):.2f}" height="28"><title>{states[start]}: frames '
                f"{frames[start]}–{frames[k - 1]}</title></rect>"
            )
            start = k
    for tick in ticks(frames[0], frames[-1], inside=True):
        x = RIGHT + (tick - frames[0] + 0.5) * step
        parts.append(f'<text x="{x:.1f}" y="{height - 12}" text-anchor="middle">{tick:g}</text>')
    return _svg(size, "".join(parts), "state of every frame")


def legend(names: Sequence[str]) -> str:
    """Names with the colour of their line."""
    items = (
        f'<i class="key" style="border-color:var({_VARIABLES[k % 4]})"></i>{escape(n)}'
        for k, n in enumerate(names)
    )
    return f'<div class="legend">{"".join(items)}</div>'


_VARIABLES = ("--accent", "--truth", "--good", "--second")


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
        return LEFT + (x - low) / (high - low) * (self.size[0] - LEFT - RIGHT)

    def py(self, y: float) -> float:
        low, high = self.y_range
        return self.size[1] - BOTTOM - (y - low) / (high - low) * (self.size[1] - TOP - BOTTOM)

    def frame(self, x_ticks: list[float], y_ticks: list[float], x_label: str, y_label: str) -> str:
        width, height = self.size
        out = []
        for y in y_ticks:
            at = self.py(y)
            out.append(f'<line class="rule" x1="{LEFT}" x2="{width - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
            out.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{y:g}</text>')
        for x in x_ticks:
            out.append(
                f'<text x="{self.px(x):.1f}" y="{height - BOTTOM + 15}" text-anchor="middle">{x:g}</text>'
            )
        middle = (LEFT + width - RIGHT) / 2
        out.append(f'<text x="{middle}" y="{height - 5}" text-anchor="middle">{escape(x_label)}</text>')
        centre = (TOP + height - BOTTOM) / 2
        out.append(
            f'<text x="13" y="{centre}" text-anchor="middle" transform="rotate(-90 13 {centre})">'
            f"{escape(y_label)}</text>"
        )
        return "".join(out)


def _svg(size: tuple[int, int], content: str, label: str) -> str:
    return f'<svg viewBox="0 0 {size[0]} {size[1]}" role="img" aria-label="{escape(label)}">{content}</svg>'
