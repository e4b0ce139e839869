# SPDX-License-Identifier: Apache-2.0
"""Figures of trajectories and their errors. Matplotlib is loaded when a figure is drawn, never before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_vo.arrays import Array
from prism_vo.errors import MissingExtraError
from prism_vo.evaluate.association import PoseSeries
from prism_vo.evaluate.metrics import Alignment, TrajectoryMetrics
from prism_vo.notebook.directions import NAMES, plane_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8f5ea8", "#c9782b", "#4d6a6d", "#b0478f", "#6b705c")
TRUTH_COLOUR = "#222222"


def check_matplotlib() -> None:
    """One sentence if the extra that draws is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "Figures need matplotlib; install it with: pip install 'prism-vo[plot]'."
        ) from error


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Figure, Any]:
    """A figure and its axes (always a 2-D array) without touching any display."""
    check_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a PNG whose bytes depend on the figure alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    figure.savefig(temporary, format="png", dpi=130, metadata={"Software": None})
    temporary.replace(path)


def tidy(axes: Axes, x_label: str, y_label: str, title: str = "") -> None:
    """Labels, light grid, no box."""
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(True, linewidth=0.4, alpha=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def trajectory_figure(
    estimates: Mapping[str, PoseSeries],
    truth: PoseSeries,
    results: Mapping[str, TrajectoryMetrics],
    alignment: Alignment,
) -> Figure:
    """Paths in the plane they fill most, the third axis over time, and the error over the path."""
    figure, axes = new_figure(11.0, 7.5, columns=2, rows=2)
    plane = plane_of(truth.positions, truth.poses)
    first, second, third = plane.across, plane.upwards, plane.along
    ax_map, ax_error, ax_height, ax_angle = axes.ravel()
    draw_path(ax_map, truth.positions, (first, second), TRUTH_COLOUR, "ground truth", linewidth=2.2)
    draw_over_time(ax_height, truth.times, truth.positions[:, third], TRUTH_COLOUR, 2.2)
    for colour, (name, series) in zip(_cycle(len(estimates)), estimates.items()):
        error = results[name].aligned(alignment)
        moved = error.transform.apply(series.positions)
        draw_path(ax_map, moved, (first, second), colour, name)
        draw_over_time(ax_height, series.times, moved[:, third], colour)
        ax_error.plot(results[name].times, 1000 * error.errors_t, color=colour, linewidth=1.2)
        ax_angle.plot(results[name].times, error.errors_r_deg, color=colour, linewidth=1.2)
    ax_map.set_aspect("equal", adjustable="datalim")
    ax_map.legend(fontsize=8, frameon=False)
    tidy(ax_map, *plane.labels(), f"paths, aligned with {alignment}, {plane.words()}")
    tidy(ax_height, "time [s]", f"{NAMES[third]} [m]", f"along the third axis, {NAMES[third]}")
    for axis, flipped in (
        (ax_map.xaxis, plane.flip_across),
        (ax_map.yaxis, plane.flip_upwards),
        (ax_height.yaxis, plane.flip_along),
    ):
        axis.set_inverted(flipped)
    tidy(ax_error, "time [s]", "position error [mm]", f"absolute error, {alignment}")
    tidy(ax_angle, "time [s]", "rotation error [°]", f"absolute rotation error, {alignment}")
    for axis in (ax_error, ax_angle):
        axis.set_ylim(bottom=0)
    return figure


def draw_path(
    axes: Axes, positions: Array, plane: tuple[int, int], colour: str, label: str, linewidth: float = 1.2
) -> None:
    """A path seen along the axis that is not in ``plane``, with its start marked."""
    a, b = positions[:, plane[0]], positions[:, plane[1]]
    axes.plot(a, b, color=colour, linewidth=linewidth, label=label)
    axes.plot(a[:1], b[:1], marker="o", markersize=5, color=colour)


def draw_over_time(axes: Axes, times: Array, values: Array, colour: str, linewidth: float = 1.2) -> None:
    """A curve that is broken where stamps are far apart (truth may cover only the ends of a loop)."""
    steps = np.diff(times)
    breaks = np.flatnonzero(steps > 5 * np.median(steps)) + 1 if len(steps) else np.empty(0, np.intp)
    for part in np.split(np.arange(len(times)), breaks):
        axes.plot(times[part], values[part], color=colour, linewidth=linewidth)


def _cycle(count: int) -> list[str]:
    return [COLOURS[k % len(COLOURS)] for k in range(count)]
