# SPDX-License-Identifier: Apache-2.0
"""Figures of the scene itself: the two ends of a loop reconstructed, depth beside other depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.baselines.depth_filter import DepthMap
from prism_vo.notebook.directions import plane_of
from prism_vo.optics.camera import FocusedView
from prism_vo.report.plots import TRUTH_COLOUR, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

START_COLOUR, END_COLOUR = "#1b6ca8", "#d97a1f"
MAX_RELATIVE_SIGMA = 0.015  # of a depth that is drawn
SHOWN_ERROR = 15.0  # % of the distance, end of the error picture's colours
POINTS_DRAWN = 20_000  # of each end in the overview


@dataclass(frozen=True)
class LoopEnds:
    """One method's map of the same place at the start and end of a loop, in ground-truth coordinates."""

    start: Array  # (N, 3)
    end: Array  # (M, 3)
    path: Array  # (K, 3) aligned on the start


def map_points(depth: DepthMap, view: FocusedView, T_world_cam: Array) -> Array:
    """Certain points (N, 3) of a depth map in the world."""
    y, x = np.nonzero(depth.valid & (np.sqrt(depth.variance) < MAX_RELATIVE_SIGMA * depth.inv_depth))
    return se3.transform(
        T_world_cam, view.unproject(np.stack([x, y], 1), view.depth_of(depth.inv_depth[y, x]))
    )


def reconstruction_figure(ends: Mapping[str, LoopEnds], truth: Array) -> Figure:
    """Start and end of the loop in two colours, and a zoom on where both saw the same place."""
    figure, axes = new_figure(11.0, 4.6 * len(ends), 2, len(ends))
    seen = plane_of(truth, np.zeros((0, 4, 4)))
    first, second = seen.across, seen.upwards
    for (whole, zoom), (method, both) in zip(axes, ends.items()):
        centre, reach = _shared_place(both, (first, second))
        for axis, size in ((whole, 0.3), (zoom, 2.0)):
            for points, colour in ((both.start, START_COLOUR), (both.end, END_COLOUR)):
                drawn = points[:: max(1, len(points) // POINTS_DRAWN)] if axis is whole else points
                axis.scatter(drawn[:, first], drawn[:, second], s=size, c=colour, linewidths=0, alpha=0.5)
            axis.set_aspect("equal", adjustable="box")
        whole.plot(truth[:, first], truth[:, second], color=TRUTH_COLOUR, linewidth=2, label="ground truth")
        whole.plot(
            both.path[:, first], both.path[:, second], color="#3a7d44", linewidth=1.2, label="estimate"
        )
        for colour, label in ((START_COLOUR, "start of the loop"), (END_COLOUR, "end of the loop")):
            whole.plot([], [], "o", color=colour, label=label)
        _frame(whole, both, truth, (first, second))
        zoom.set_xlim(centre[0] - reach, centre[0] + reach)
        zoom.set_ylim(centre[1] - reach, centre[1] + reach)
        for axis in (whole, zoom):
            axis.xaxis.set_inverted(seen.flip_across)
            axis.yaxis.set_inverted(seen.flip_upwards)
        tidy(whole, *seen.labels(), f"{method}: map {seen.words()}")
        zoom.locator_params(nbins=6)
        tidy(zoom, *seen.labels(), "the drift between start and end")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=9, frameon=False, loc="outside lower center", ncols=4)
    return figure


def _frame(axis: Axes, both: LoopEnds, truth: Array, plane: tuple[int, int]) -> None:
    """Limits that hold the paths and most points, and leave stray points out."""
    points = np.concatenate([both.start, both.end])[:, plane]
    paths = np.concatenate([both.path, truth])[:, plane]
    low = np.minimum(np.percentile(points, 2, axis=0), paths.min(0))
    high = np.maximum(np.percentile(points, 98, axis=0), paths.max(0))
    margin = 0.05 * (high - low)
    axis.set_xlim(low[0] - margin[0], high[0] + margin[0])
    axis.set_ylim(low[1] - margin[1], high[1] + margin[1])


def _shared_place(both: LoopEnds, plane: tuple[int, int]) -> tuple[Array, float]:
    """Centre and half width of the cell that both ends saw most."""
    points = np.concatenate([both.start, both.end])[:, plane]
    low, high = np.percentile(points, [2, 98], axis=0)
    cell = max(float((high - low).max()) / 9, 1e-6)
    counts: list[dict[tuple[int, int], int]] = []
    for cloud in (both.start, both.end):
        keys, number = np.unique(
            np.floor((cloud[:, plane] - low) / cell).astype(int), axis=0, return_counts=True
        )
        counts.append({(int(a), int(b)): int(n) for (a, b), n in zip(keys, number)})
    best = max(counts[0], key=lambda k: min(counts[0][k], counts[1].get(k, 0)))
    return low + (np.array(best) + 0.5) * cell, cell


@dataclass(frozen=True)
class DepthView:
    """One frame: focused image, plenoptic depth, what an RGB-D-like sensor gives, and the truth (metres)."""

    image: Floats
    plenoptic: Floats
    rgbd: Floats | None
    truth: Floats


def depth_figure(view: DepthView) -> Figure:
    """Depth pictures on one scale, and error against distance."""
    maps = [("plenoptic", view.plenoptic), ("ground truth", view.truth)]
    if view.rgbd is not None:
        maps.insert(1, ("RGB-D-like sensor", view.rgbd))
    finite = view.truth[np.isfinite(view.truth)]
    low, high = np.percentile(finite, [2, 98])
    figure, axes = new_figure(3.6 * (len(maps) + 1), 7.2, len(maps) + 1, 2)
    axes[0, 0].imshow(view.image, cmap="gray", vmin=0, vmax=255)
    axes[0, 0].set_title("focused image", fontsize=10, loc="left")
    for axis, (name, depth) in zip(axes[0, 1:], maps):
        drawn = axis.imshow(depth, cmap="turbo_r", vmin=low, vmax=high)
        axis.set_title(
            f"{name}: {100 * np.isfinite(depth).mean():.0f} % of the pixels", fontsize=10, loc="left"
        )
    figure.colorbar(drawn, ax=list(axes[0]), label="depth [m]", shrink=0.8)
    for axis in axes[0]:
        axis.set_axis_off()
    curves, *rest = axes[1]
    for name, depth in maps[:-1]:
        distance, error = error_by_distance(depth, view.truth)
        curves.plot(distance, 100 * error, marker="o", markersize=3, label=name)
    tidy(curves, "distance [m]", "median error [% of distance]", "error against distance")
    curves.set_ylim(bottom=0)
    curves.legend(fontsize=8, frameon=False)
    for axis, (name, depth) in zip(rest, maps[:-1]):
        with np.errstate(invalid="ignore"):
            relative = 100 * (depth - view.truth) / view.truth
        axis.imshow(relative, cmap="RdBu", vmin=-SHOWN_ERROR, vmax=SHOWN_ERROR)
        axis.set_title(f"{name} − truth, ±{SHOWN_ERROR:g} %", fontsize=10, loc="left")
    for axis in rest:
        axis.set_axis_off()
    return figure


def error_by_distance(depth: Floats, truth: Floats, bins: int = 8) -> tuple[Array, Array]:
    """Median |relative error| in bins of equal population of the true distance."""
    both = np.isfinite(depth) & np.isfinite(truth) & (truth > 0)
    true, error = truth[both].astype(np.float64), np.abs(depth[both] - truth[both]).astype(np.float64)
    order = np.argsort(true, kind="stable")
    parts = [p for p in np.array_split(order, bins) if len(p) >= 20]
    distance = np.array([np.median(true[p]) for p in parts])
    return distance, np.array([np.median(error[p] / true[p]) for p in parts])


def picture_strip(images: Sequence[Floats], titles: Sequence[str]) -> Figure:
    """Grey images side by side."""
    figure, axes = new_figure(3.4 * len(images), 3.6, len(images))
    for axis, image, title in zip(axes[0], images, titles):
        axis.imshow(image, cmap="gray", vmin=0, vmax=255)
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_axis_off()
    return figure
