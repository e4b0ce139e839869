# SPDX-License-Identifier: Apache-2.0
"""Tables and drawings as HTML for ``_repr_html_``: inline, in the colours of the page, quick with long recordings."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.notebook.directions import plane_of

SIDE = 260  # px of a drawing
MARGIN = 12
MOST_VERTICES, MOST_POINTS = 400, 2500
COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8f5ea8")
THUMBNAIL = 220  # px


def card(title: str, rows: Iterable[tuple[str, str]], picture: str = "") -> str:
    """A title, a table of names and values, and a drawing beside it."""
    lines = "".join(
        f'<tr><td style="text-align:left;opacity:.7">{escape(name)}</td>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">'
        f"<div><b>{escape(title)}</b><table>{lines}</table></div>{picture}</div>"
    )


def path_drawing(paths: list[Array], poses: Array) -> str:
    """Paths (N, 3) in the plane they fill, start marked, with a bar for the scale."""
    every = np.concatenate(paths) if paths else np.zeros((0, 3))
    if not len(every):
        return ""
    plane = plane_of(every, poses)
    fit = _Fit(plane.drawn(every))
    lines = "".join(
        _line(fit(plane.drawn(_thinned(path, MOST_VERTICES))), COLOURS[k % len(COLOURS)])
        for k, path in enumerate(paths)
    )
    x, y = fit(plane.drawn(every[:1]))[0]
    start = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[0]}"/>'
    across, upwards = plane.labels()
    words = f"{across} →, {upwards} ↑" if not plane.flip_upwards else f"{across} →, {upwards} ↓"
    return _svg(lines + start + fit.scale_bar(), words)


def points_drawing(points: Floats, colors: NDArray[np.uint8] | None) -> str:
    """A map from the front, as the first camera looks: x right, y down; the nearest tenths of a per cent cut off."""
    finite = np.isfinite(points).all(1)
    points, colors = points[finite], None if colors is None else colors[finite]
    if not len(points):
        return ""
    low, high = np.quantile(points, [0.01, 0.99], axis=0)
    inside = ((points >= low) & (points <= high)).all(1)
    points, colors = points[inside], None if colors is None else colors[inside]
    if not len(points):
        return ""
    step = max(1, -(-len(points) // MOST_POINTS))
    order = np.argsort(-points[::step, 2], kind="stable")  # near ones are drawn over far ones
    chosen = points[::step][order].astype(np.float64)
    fit = _Fit(chosen[:, :2] * [1.0, -1.0])
    shades = ["currentColor"] * len(chosen)
    if colors is not None:
        shades = [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in colors[::step][order].tolist()]
    dots = "".join(
        f'<rect x="{x:.0f}" y="{y:.0f}" width="2" height="2" fill="{shade}"/>'
        for (x, y), shade in zip(fit(chosen[:, :2] * [1.0, -1.0]).tolist(), shades)
    )
    return _svg(dots + fit.scale_bar(), "x [m] →, y [m] ↓, from the first camera")


def thumbnail(image: NDArray[np.generic]) -> str:
    """An image (H, W) or (H, W, 3) RGB, made small."""
    import cv2

    values = np.asarray(image, np.float32)
    factor = THUMBNAIL / max(values.shape[:2])
    small = cv2.resize(values, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    top = float(small.max())
    bytes_ = np.clip(small * (255.0 / top if top > 255 else 1.0), 0, 255).astype(np.uint8)
    _, encoded = cv2.imencode(".png", bytes_[..., ::-1] if bytes_.ndim == 3 else bytes_)
    return (
        f'<img alt="a raw image" src="data:image/png;base64,{base64.b64encode(encoded.tobytes()).decode()}"/>'
    )


class _Fit:
    """Metres on a page with one scale for both directions."""

    def __init__(self, drawn: Array) -> None:
        self._low, high = drawn.min(0), drawn.max(0)
        self._scale = (SIDE - 2 * MARGIN) / max(float((high - self._low).max()), 1e-9)
        self._blank = (SIDE - 2 * MARGIN - (high - self._low) * self._scale) / 2

    def __call__(self, drawn: Array) -> Array:
        on_page = (drawn - self._low) * self._scale + self._blank + MARGIN
        return np.stack([on_page[:, 0], SIDE - on_page[:, 1]], -1)

    def scale_bar(self) -> str:
        """A length of 1, 2 or 5 times a power of ten."""
        longest = (SIDE - 2 * MARGIN) / 3 / self._scale
        power = 10.0 ** np.floor(np.log10(longest))
        length = max(k * power for k in (1.0, 2.0, 5.0) if k * power <= longest)
        end = MARGIN + length * self._scale
        words = f"{length:g} m" if length >= 0.1 else f"{100 * length:g} cm"
        y = SIDE - 4
        return (
            f'<path d="M{MARGIN} {y}H{end:.1f}" stroke="currentColor" stroke-width="2"/>'
            f'<text x="{end + 4:.1f}" y="{y + 3}" font-size="10" fill="currentColor">{words}</text>'
        )


def _line(points: Array, colour: str) -> str:
    along = " ".join(f"{x:.1f},{y:.1f}" for x, y in points.tolist())
    return f'<polyline points="{along}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _thinned(path: Array, most: int) -> Array:
    return path[:: max(1, -(-len(path) // most))]


def _svg(content: str, words: str) -> str:
    label = f'<text x="{MARGIN}" y="10" font-size="10" fill="currentColor">{escape(words)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE}" height="{SIDE}" '
        f'viewBox="0 0 {SIDE} {SIDE}" role="img" aria-label="{escape(words)}">{content}{label}</svg>'
    )
