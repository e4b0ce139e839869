# SPDX-License-Identifier: Apache-2.0
"""What a run came to: its path, what is known of it, and what speaks against it."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prism_vo.calibrate.check import CameraCheck
from prism_vo.doubtful_scale import doubtful_scale
from prism_vo.evaluate.metrics import TrajectoryMetrics
from prism_vo.frame_rate import FrameRate
from prism_vo.frame_report import FrameReport
from prism_vo.notebook.html import card, path_drawing
from prism_vo.notices import doubts, focus_notices, lamp_notices, lens_notices, no_pose_notices
from prism_vo.odometry import Odometry
from prism_vo.optics.nominal import is_metric, metric_notice
from prism_vo.recognition import Recognition
from prism_vo.trajectory import Trajectory


@dataclass(frozen=True)
class RunResult:
    """What a run came to; ``out`` is None when nothing was written."""

    name: str
    out: Path | None
    trajectory: Trajectory
    reports: Many[FrameReport]
    truth: Trajectory | None
    metrics: TrajectoryMetrics | None
    metrics_refusal: str | None
    seconds: float
    odometry: Odometry
    rate: FrameRate
    check: CameraCheck | None  # of the camera file against the images; None: nobody looked
    remarks: tuple[str, ...] = ()  # of the source, after its last frame
    recognition: Recognition | None = None  # of places seen before; None: nobody looked for them

    def __repr__(self) -> str:
        sigma = self.stated_scale_sigma
        known = f" ± {100 * sigma:.2f} %" if np.isfinite(sigma) else ""
        lost = f", {self.lost} without a pose" if self.lost else ""
        return f"RunResult({self.name!r}, {len(self.reports)} frames{lost}, {self.trajectory.length:.3f} m{known})"

    def _repr_html_(self) -> str:
        return run_html(self)

    @property
    def lost(self) -> int:
        """Frames without a pose."""
        return sum(r.status == "lost" for r in self.reports)

    @property
    def unreadable(self) -> list[FrameReport]:
        """Those of the lost frames that could not be read; ``problem`` says why."""
        return [r for r in self.reports if r.problem is not None]

    @property
    def notices(self) -> list[str]:
        """What does not fit, one sentence each."""
        camera = self.odometry.camera
        metric = metric_notice(camera.calibration)
        problems = self.check.problems() if self.check is not None else []
        optics = [] if metric is None else [metric]
        optics += [*focus_notices(self.reports, camera), *lens_notices(self.reports, camera)]
        return [
            *self._astray,
            *no_pose_notices(self.reports),
            *problems,
            *self.odometry.sensor.remarks(),
            *doubts(self.reports),
            *lamp_notices(self.odometry.lamp.frames, len(self.reports)),
            *optics,
            *self.remarks,
        ]

    @property
    def _astray(self) -> list[str]:
        return [] if self.recognition is None else self.recognition.notices

    @property
    def scale_sigma(self) -> float:
        """Relative standard deviation of the scale at the end of the run; NaN: not determined."""
        known = (r.mapping.scale_sigma for r in reversed(self.reports) if r.mapping is not None)
        return next(known, float("nan"))

    @property
    def stated_scale_sigma(self) -> float:
        """The same, to be said beside a length; NaN, too, where lengths are no metres yet or are doubted: a small
        number there would say that they are known."""
        metric = is_metric(self.odometry.camera.calibration) and not doubtful_scale(self.reports)
        return self.scale_sigma if metric else float("nan")

    @property
    def segments(self) -> int:
        """1 when tracking never had to start again, or a recognised place joined what was apart."""
        return len({self.world_of(r) for r in self.reports if r.segment >= 0})

    def world_of(self, report: FrameReport) -> int:
        """The segment in whose world a frame is at the end; −1: none was begun."""
        return self.odometry.map.corrections.joined.get(report.segment, report.segment)

    @property
    def exit_code(self) -> int:
        """0: every frame has a pose in one world; 3: some have none, worlds are separate or another one than that of
        the map, or something may have drawn poses aside: see ``notices.doubts``."""
        return 3 if self.lost or self.segments > 1 or self._astray or doubts(self.reports) else 0


def run_html(result: RunResult) -> str:
    """A run for notebooks: the numbers one looks at first, and the path."""
    path, m = result.trajectory, result.metrics
    sigma = result.stated_scale_sigma
    known = f" ± {100 * sigma:.2f} % (scale)" if np.isfinite(sigma) else ""
    rows = [
        ("frames", f"{len(result.reports)}, {result.lost} of them without a pose"),
        ("path", f"{path.length:.3f} m{known}"),
        ("map", f"{len(result.odometry.cloud())} points"),
    ]
    if m is not None:
        se3 = m.se3
        rows.append(
            (
                "error",
                f"{1e3 * se3.rmse_t:.2f} mm = {se3.rmse_t_percent:.3f} % of the path, {se3.rmse_r_deg:.3f}°",
            )
        )
    if result.recognition is not None:
        rows.append(("places", result.recognition.sentence))
    rows += [("note", notice) for notice in result.notices]
    if result.out is not None:
        rows.append(("results", str(result.out)))
    return card(result.name, rows, path_drawing(path.paths, path.poses) if len(path) else "")
