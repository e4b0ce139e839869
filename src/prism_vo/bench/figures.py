# SPDX-License-Identifier: Apache-2.0
"""The benchmark's figures that need only its records: cumulative curves, errors per scene, η, paths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_vo.arrays import Array
from prism_vo.bench import published
from prism_vo.bench.results import DRIFT, RMSE_R, RMSE_T, RMSE_T_PERCENT, Quantity, Results, middle
from prism_vo.notebook.directions import plane_of
from prism_vo.report.plots import COLOURS, TRUTH_COLOUR, draw_path, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# upper end of each axis: the paper's widest bound, so that curves of different runs of the benchmark compare
AXIS_END = {"d_s": 1.3, "e_s": 1.3, "e_align": 4.0, "e_r": 4.0, "rmse_t_percent": 4.0}
AXIS_START = {"d_s": 1.0, "e_s": 1.0}
LARGEST = 1e30  # no figure of a run is larger


def method_colours(results: Results) -> dict[str, str]:
    """One colour a method, the same in all figures."""
    return {method: COLOURS[k % len(COLOURS)] for k, method in enumerate(results.methods)}


def cumulative_figure(
    results: Results, methods: Sequence[str], quantities: Sequence[Quantity] = DRIFT
) -> Figure:
    """Percentage of runs under a bound, one curve a method."""
    columns = min(2, len(quantities))
    rows = -(-len(quantities) // columns)
    figure, axes = new_figure(9.0, 3.4 * rows, columns, rows)
    colours = method_colours(results)
    for axis, quantity in zip(axes.ravel(), quantities):
        for method in methods:
            if results.defined(quantity, method):
                _cumulative(axis, results.values(quantity, method), quantity, colours[method], method)
        tidy(axis, f"bound on {quantity.label}", "runs under the bound [%]")
        axis.set_ylim(0, 102)
    for unused in axes.ravel()[len(quantities) :]:
        unused.set_axis_off()
    axes.ravel()[min(1, len(quantities) - 1)].legend(fontsize=8, frameon=False, loc="lower right")
    return figure


def _cumulative(axis: Axes, values: Sequence[float], quantity: Quantity, colour: str, label: str) -> None:
    start, end = AXIS_START.get(quantity.key, 0.0), AXIS_END[quantity.key]
    ordered = sorted(v for v in values if math.isfinite(v))
    share = 100.0 * np.arange(1, len(ordered) + 1) / max(len(values), 1)
    x = np.concatenate([[start], ordered, [end]])
    y = np.concatenate([[0.0], share, [share[-1] if len(share) else 0.0]])
    axis.step(x, y, where="post", color=colour, label=label, linewidth=1.6)
    axis.set_xlim(start, end)


def scene_figure(results: Results) -> Figure:
    """RMSE_t and RMSE_r of each scene, a bar a method, all runs as dots."""
    figure, axes = new_figure(11.0, 6.0, 1, 2)
    colours = method_colours(results)
    methods = [m for m in results.methods if results.installed(m)]
    width = 0.8 / max(len(methods), 1)
    for axis, quantity, factor, unit in (
        (axes[0, 0], RMSE_T, 1000.0, "RMSE_t [mm]"),
        (axes[1, 0], RMSE_R, 1.0, "RMSE_r [°]"),
    ):
        for k, method in enumerate(methods):
            for s, sequence in enumerate(results.sequences):
                values = [factor * v for v in results.values(quantity, method, sequence) if math.isfinite(v)]
                x = s + (k - (len(methods) - 1) / 2) * width
                if values:
                    axis.bar(
                        x,
                        middle(values),
                        0.9 * width,
                        color=colours[method],
                        label=method if s == 0 else None,
                    )
                    axis.plot([x] * len(values), values, ".", color="#222222", markersize=3)
                else:
                    axis.text(x, axis.get_ylim()[0] or 1e-2, "×", ha="center", color=colours[method])
        axis.set_yscale("log")
        axis.set_xticks(range(len(results.sequences)), results.sequences)
        tidy(axis, "", unit)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    unique = dict(zip(labels, handles))
    axes[0, 0].legend(unique.values(), unique.keys(), fontsize=8, frameon=False, ncols=len(unique))
    return figure


def eta_figure(curves: Mapping[str, Array]) -> Figure:
    """The balance η over the frames of each sequence: (N, 2) frame and η."""
    figure, axes = new_figure(9.0, 3.6)
    axis = axes[0, 0]
    for colour, (name, eta) in zip(COLOURS * 4, curves.items()):
        axis.plot(eta[:, 0], eta[:, 1], color=colour, linewidth=1.3, label=name)
    low, high = published.ETA_RANGE
    tidy(axis, "frame", "η", f"The {published.LABEL}: {low:g} to {high:g} in units of its own weights")
    axis.legend(fontsize=8, frameon=False, ncols=2)
    return figure


def paths_figure(paths: Mapping[str, Array], truth: Array, colours: Mapping[str, str], title: str) -> Figure:
    """Aligned paths in the plane they fill most, and what they do across it."""
    figure, axes = new_figure(10.0, 4.2, 2)
    seen = plane_of(truth, np.zeros((0, 4, 4)))
    first, second, third = seen.across, seen.upwards, seen.along
    for axis, plane, down in (
        (axes[0, 0], (first, second), seen.flip_upwards),
        (axes[0, 1], (first, third), seen.flip_along),
    ):
        draw_path(axis, truth, plane, TRUTH_COLOUR, "ground truth", linewidth=2.2)
        for method, positions in paths.items():
            draw_path(axis, positions, plane, colours[method], method)
        axis.set_aspect("equal", adjustable="datalim")
        axis.xaxis.set_inverted(seen.flip_across)
        axis.yaxis.set_inverted(down)
        tidy(axis, f"{'xyz'[plane[0]]} [m]", f"{'xyz'[plane[1]]} [m]", title if plane[1] == second else "")
    axes[0, 0].legend(fontsize=8, frameon=False)
    return figure


def ablation_methods(results: Results) -> list[str]:
    """Our variants among the methods, simplest first."""
    return [m for m in ("prism-pinhole", "prism-plenoptic", "prism") if m in results.methods]


ABLATION_QUANTITIES: tuple[Quantity, ...] = (*DRIFT, RMSE_T_PERCENT)


def eta_of(stats: Sequence[Mapping[str, Any]]) -> Array:
    """(N, 2): number and η of each frame that reports one (keyframes)."""
    pairs = ((row.get("frame"), row.get("eta")) for row in stats)
    rows = [
        pair
        for pair in pairs
        if all(isinstance(value, int | float) and abs(value) < LARGEST for value in pair)
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)
