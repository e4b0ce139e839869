# SPDX-License-Identifier: Apache-2.0
"""What ``run`` and ``demo`` print at their end: a summary in mm and per cent."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from prism_vo.dense.densify import DenseMap
    from prism_vo.dense_run import DenseSink
    from prism_vo.pipeline import RunResult


WIDE = 1000
MOST_PROBLEMS = 3  # unreadable frames named; stats.jsonl names all


def print_summary(result: RunResult, dense: DenseSink | None = None) -> None:
    """Frames, speed, errors (with the alignment named) and where the results are."""
    console = Console()
    if not console.is_terminal:  # a file or a pipe has no width at which sentences must be broken
        console = Console(width=WIDE)
    keyframes = len(result.odometry.map.T_view_world)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("frames", f"{len(result.reports)} ({keyframes} keyframes)")
    table.add_row("speed", str(result.rate))
    table.add_row("tracking", _states(result))
    for name, words in _problems(result):
        table.add_row(name, Text(words))  # file names may hold what Rich would take for markup
    sigma = result.stated_scale_sigma
    scale = f" ± {100 * sigma:.2f} % (scale)" if np.isfinite(sigma) else ""
    table.add_row("path", f"{result.trajectory.length:.3f} m{scale}")
    table.add_row("map", f"{len(result.odometry.cloud())} points")
    if dense is not None:
        table.add_row("dense map", _dense(dense))
    for name, words in _recognised(result):
        table.add_row(name, Text(words))
    m = result.metrics
    if m is not None:
        se3, sim3 = m.se3, m.sim3
        metric = f"{1e3 * se3.rmse_t:.2f} mm = {se3.rmse_t_percent:.3f} % of the path, {se3.rmse_r_deg:.3f}°"
        apart = ", each segment by itself" if m.segments > 1 else ""
        table.add_row(f"error, SE(3) aligned, scale not fitted{apart}", metric)
        table.add_row(
            "error, Sim(3) aligned (shape alone)", f"{1e3 * sim3.rmse_t:.2f} mm = {sim3.rmse_t_percent:.3f} %"
        )
        table.add_row("scale error", f"{100 * m.scale_error:.2f} %")
    elif result.metrics_refusal:
        table.add_row("error", Text(f"not measured: {result.metrics_refusal}"))
    for notice in result.notices:
        table.add_row("note", Text(notice))
    if result.out is not None:
        page = result.out / "report.html"
        table.add_row("results", Text(str(page if page.exists() else result.out)))
    console.print(table)


def _states(result: RunResult) -> str:
    if result.lost == 0 and result.segments == 1:
        return "every frame has a pose"
    worlds = [result.world_of(r) for r in result.reports]
    pairs = zip(worlds, worlds[1:], islice(result.reports, 1, None))
    starts = [report.index for before, after, report in pairs if after > before >= 0]
    restarted = f"; started again in another world at frame {', '.join(map(str, starts))}" if starts else ""
    unread = len(result.unreadable)
    damaged = f", {unread} of them could not be read" if unread else ""
    return f"{counted(result.lost)} without a pose{damaged}{restarted}"


def _recognised(result: RunResult) -> list[tuple[str, str]]:
    """With --loops: places seen again, and whether the map of --map is the one the poses are in."""
    seen = result.recognition
    if seen is None:
        return []
    places = [("places", seen.place_words)]
    if seen.map_words is None or seen.is_astray:  # a run astray has a note
        return places
    return [("known map", seen.map_words.removeprefix("map ")), *places]


def _dense(dense: DenseSink) -> Text:
    return Text(f"none: {dense.problem}" if dense.map is None else dense_words(dense.map))


def dense_words(found: DenseMap) -> str:
    """How large it is and how certain, in words."""
    mesh = found.mesh
    sigma = 1e3 * float(np.median(mesh.sigma))
    return f"{len(mesh.vertices):,} points, {len(mesh.triangles):,} triangles, median σ {sigma:.2g} mm"


def counted(frames: int) -> str:
    """1 frame, 2 frames."""
    return f"{frames} frame{'' if frames == 1 else 's'}"


def _problems(result: RunResult) -> list[tuple[str, str]]:
    rows = [(f"  frame {r.index}", r.problem or "") for r in result.unreadable[:MOST_PROBLEMS]]
    more = len(result.unreadable) - len(rows)
    return [*rows, *([("  …", f"{counted(more)} more, see stats.jsonl")] if more else [])]
