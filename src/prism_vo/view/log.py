# SPDX-License-Identifier: Apache-2.0
"""Lines about a run while it goes: JSON for programs, one short line a keyframe for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from prism_vo.report.stages import busy_seconds
from prism_vo.results import frame_statistics

if TYPE_CHECKING:
    from prism_vo.odometry import FrameReport, Odometry
    from prism_vo.pipeline import RunResult
    from prism_vo.types import DecodedFrame


class JsonLog:
    """One JSON object a frame, with the fields of ``stats.jsonl`` and the pose; one more at the end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def on_frame(self, report: FrameReport, frame: DecodedFrame, odometry: Odometry) -> None:
        """Print at once: a program may be waiting for it."""
        self._report(report)

    def on_unreadable(self, report: FrameReport) -> None:
        """A lost frame, with the problem."""
        self._report(report)

    def _report(self, report: FrameReport) -> None:
        pose = None if report.status == "lost" else report.T_world_cam.tolist()
        frames = {"T_world_cam": pose, "T_map_odometry": report.T_map_odometry.tolist()}
        self._print({"event": "frame", **frame_statistics(report), **frames})

    def on_end(self, result: RunResult) -> None:
        """Print what the run came to."""
        m, out, seen = result.metrics, result.out, result.recognition
        errors = (
            None
            if m is None
            else {"rmse_t_se3_m": m.se3.rmse_t, "rmse_t_sim3_m": m.sim3.rmse_t, "scale": m.scale}
        )
        self._print(
            {
                "event": "end",
                "frames": len(result.reports),
                "lost": result.lost,
                "segments": result.segments,
                "seconds": round(result.seconds, 3),
                "frames_per_second": result.rate.per_second,
                "out": None if out is None else str(out),
                "errors": errors,
                "places": None if seen is None else len(seen.places),
                **({} if seen is None or seen.map_name is None else {"map_recognised_at": seen.map_frame}),
            }
        )

    def _print(self, values: dict[str, object]) -> None:
        print(json.dumps(values), file=self._stream, flush=True)


class KeyframeLog:
    """One line a keyframe, and one for every frame that is lost or found again."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def on_frame(self, report: FrameReport, frame: DecodedFrame, odometry: Odometry) -> None:
        """Print what mapping did."""
        if report.status == "ok":
            return
        words = [f"frame {report.index}: {report.status}"]
        if report.track is not None:
            words.append(f"residual {report.track.rms:.2f} grey, {100 * report.track.visible:.0f} % in view")
        if report.mapping is not None:
            m = report.mapping
            words.append(f"{m.active} points, {m.depth_residuals} with depth, η {m.eta:.1f}")
        words.append(f"{1e3 * busy_seconds(report.seconds):.0f} ms")
        print("; ".join(words), file=self._stream, flush=True)

    def on_unreadable(self, report: FrameReport) -> None:
        """Print why."""
        print(f"frame {report.index}: lost; {report.problem}", file=self._stream, flush=True)

    def on_end(self, result: RunResult) -> None:
        """Nothing: the summary follows."""
