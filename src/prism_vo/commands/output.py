# SPDX-License-Identifier: Apache-2.0
"""What ``run`` and ``demo`` print: a progress line that never falls silent, and a summary in mm and per cent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from prism_vo.optics.nominal import metric_notice

if TYPE_CHECKING:
    from prism_vo.odometry import FrameReport
    from prism_vo.pipeline import RunResult


class RunProgress:
    """A bar on a terminal, nothing in a pipe or when quiet."""

    def __init__(self, quiet: bool) -> None:
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=quiet or not Console(stderr=True).is_terminal,
        )
        self._task = self._bar.add_task("compiling kernels (first run only)", total=None, speed="", state="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, done: int, total: int | None, report: FrameReport) -> None:
        """One more frame."""
        speed = self._bar.tasks[self._task].speed
        self._bar.update(
            self._task,
            description="tracking",
            total=total,
            completed=done,
            state=report.status,
            speed=f"{speed:.1f} frames/s" if speed else "",
        )


def print_summary(result: RunResult) -> None:
    """Frames, speed, errors (with the alignment named) and where the results are."""
    console = Console()
    rate = len(result.reports) / max(result.seconds, 1e-9)
    keyframes = len(result.odometry.map.T_view_world)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("frames", f"{len(result.reports)} ({keyframes} keyframes), {rate:.1f} frames/s")
    table.add_row("tracking", _states(result))
    table.add_row("path", f"{result.trajectory.length:.3f} m")
    table.add_row("map", f"{len(result.odometry.cloud())} points")
    m = result.metrics
    if m is not None:
        se3, sim3 = m.se3, m.sim3
        metric = f"{1e3 * se3.rmse_t:.2f} mm = {se3.rmse_t_percent:.3f} % of the path, {se3.rmse_r_deg:.3f}°"
        table.add_row("error, SE(3) aligned, scale not fitted", metric)
        table.add_row(
            "error, Sim(3) aligned (shape alone)", f"{1e3 * sim3.rmse_t:.2f} mm = {sim3.rmse_t_percent:.3f} %"
        )
        table.add_row("scale error", f"{100 * m.scale_error:.2f} %")
    elif result.metrics_refusal:
        table.add_row("error", f"not measured: {result.metrics_refusal}")
    if result.out is not None:
        page = result.out / "report.html"
        table.add_row("results", str(page if page.exists() else result.out))
    console.print(table)
    notice = metric_notice(result.odometry.camera.calibration)
    if notice is not None:
        print(f"note: {notice}")


def _states(result: RunResult) -> str:
    if result.lost == 0 and result.segments == 1:
        return "every frame has a pose"
    starts = [r.index for a, r in zip(result.reports, result.reports[1:]) if r.segment > a.segment]
    restarted = f"; started again at frame {', '.join(map(str, starts))}" if starts else ""
    return f"{result.lost} frames without a pose{restarted}"
