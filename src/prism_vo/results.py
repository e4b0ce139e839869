# SPDX-License-Identifier: Apache-2.0
"""The results folder of a run: every tracked frame is on disk at once, final files replace drafts in one step."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import yaml

from prism_vo import __version__
from prism_vo.atomic import output_named, write_text_atomically
from prism_vo.cloud import write_ply
from prism_vo.config import Config
from prism_vo.config_file import config_to_dict
from prism_vo.lightfield.grid_watch import is_shaded_otherwise
from prism_vo.optics.calibration import save_calibration
from prism_vo.output_folder import OutputFolder, check_folder, read_marker
from prism_vo.trajectory import HEADERS, Trajectory, segment_line, tum_line, write_trajectory
from prism_vo.withdrawal import is_withdrawn
from prism_vo.yaml_files import read_yaml

if TYPE_CHECKING:
    from prism_vo.odometry import FrameReport, Odometry

TRAJECTORY = "trajectory.txt"
KEYFRAMES = "keyframes.txt"
POINTS = "points.ply"
QUALITY = "poses.csv"
STATS = "stats.jsonl"
QUALITY_HEADER = "time,frame,segment,keyframe,state,quality"
COVARIANCES = "covariances.txt"
REFINED_CAMERA = "camera_refined.yaml"
COVARIANCES_HEADER = (
    "# time[s], then 36 numbers, row by row: covariance of x y z [m] and of the rotations about x y z [rad] "
    "of the pose in trajectory.txt, along and about the world's axes (as in ROS geometry_msgs/PoseWithCovariance)"
)
SETTINGS = "config.yaml"
REPORT = "report.html"
MAP, MESH, MESH_GLB = "map.ply", "mesh.ply", "mesh.glb"  # of a dense map
DENSE = (MAP, MESH, MESH_GLB)
DENSE_LOG = "dense.log"  # of one that was made beside others
WRITTEN = (
    TRAJECTORY,
    QUALITY,
    KEYFRAMES,
    POINTS,
    STATS,
    COVARIANCES,
    REFINED_CAMERA,
    SETTINGS,
    REPORT,
    *DENSE,
    DENSE_LOG,
)


class ResultsFolder:
    """Appends as frames are tracked; :meth:`close` writes the refined trajectory, keyframes and cloud."""

    def __init__(
        self,
        path: Path,
        name: str,
        frames: int | None,
        config: Config,
        force: bool,
        part: range | None = None,
        done: Iterable[FrameReport] | None = None,
        source: Path | None = None,
    ) -> None:
        """``frames``: how many are to come, if that is known; ``part``: which of the recording's they are.

        ``done``: go on with an unfinished run, these frames of which are done; ``source``: where the recording lies.
        """
        self._folder = OutputFolder(path, "run", force, resume=done is not None)
        self.path, self._count = path, 0
        self._segment = 0  # of the last pose
        if done is None:
            self._begin(name, frames, config, part, source)
        elif source is not None:
            self._find_again(name, source)
        self._folder.mark("running")
        self._trajectory, self._stats = self._open(TRAJECTORY), self._open(STATS)
        self._write(self._trajectory, HEADERS["tum"] + "\n")
        for report in done or ():
            self.add(report)

    def _begin(
        self, name: str, frames: int | None, config: Config, part: range | None, source: Path | None
    ) -> None:
        with output_named(self.path, "nothing was written"):
            for own in WRITTEN:  # those of another run must not pass for this one's
                (self.path / own).unlink(missing_ok=True)
        settings = {
            "version": __version__,
            "revision": source_revision(),
            "sequence": name,
            **({} if source is None else {"path": str(source.absolute())}),
            "frames": frames,
            **({} if part is None else {"start": part.start, "stride": part.step}),
            "settings": config_to_dict(config),
        }
        write_text_atomically(self.path / SETTINGS, yaml.safe_dump(settings, sort_keys=False))

    def _find_again(self, name: str, source: Path) -> None:
        """A recording that was moved lies elsewhere now, which exports want to know."""
        file = self.path / SETTINGS
        settings = read_yaml(file) if file.is_file() else None
        if not isinstance(settings, dict):
            return
        before = settings.get("path")
        if not isinstance(before, str) or not Path(before).exists() or not Path(before).samefile(source):
            moved = {**settings, "sequence": name, "path": str(source.absolute())}
            write_text_atomically(file, yaml.safe_dump(moved, sort_keys=False))

    def _open(self, name: str) -> TextIO:
        path = self.path / name
        with output_named(path, "nothing was written"):
            path.unlink(missing_ok=True)  # a link is not followed
            return path.open("x", encoding="utf-8", errors="backslashreplace")

    def _write(self, file: TextIO, text: str) -> None:
        with output_named(Path(file.name), "what was written before is safe"):
            file.write(text)
            file.flush()

    def add(self, report: FrameReport) -> None:
        """One frame: a pose line unless it is lost, and a line of statistics."""
        if report.status != "lost":
            if report.segment != self._segment:
                self._write(self._trajectory, segment_line(report.segment) + "\n")
                self._segment = report.segment
            self._write(self._trajectory, tum_line(report.time, report.T_world_cam) + "\n")
        self._write(self._stats, json.dumps(frame_statistics(report)) + "\n")
        self._count += 1

    def close(self, odometry: Odometry, reports: Sequence[FrameReport]) -> None:
        """Final files, whatever ended the run; ``reports``: of all its frames."""
        for file in (self._trajectory, self._stats):
            with suppress(OSError):  # what a full disk did not take was said before
                file.close()
        if any(is_withdrawn(report) or report.recognised is not None for report in reports):
            # what was written of them as they came holds no more, or not all that is known now
            text = "".join(json.dumps(frame_statistics(report)) + "\n" for report in reports)
            write_text_atomically(self.path / STATS, text)
        if odometry.map.frames:
            trajectory = odometry.trajectory()
            write_trajectory(trajectory, self.path / TRAJECTORY)
            write_text_atomically(self.path / QUALITY, quality_table(reports, trajectory))
            write_trajectory(odometry.keyframe_trajectory(), self.path / KEYFRAMES)
            write_ply(odometry.cloud(), self.path / POINTS)
            write_text_atomically(self.path / COVARIANCES, covariance_lines(odometry))
            refined = odometry.refined_camera()
            if refined is not None:
                save_calibration(refined, self.path / REFINED_CAMERA)

    def finish(self, lost: int, segments: int, exit_code: int) -> None:
        """Everything is written, the report too."""
        self._folder.mark("finished", frames=self._count, lost=lost, segments=segments, exit_code=exit_code)

    def release(self) -> None:
        """Others may write here again."""
        self._folder.close()


def covariance_lines(odometry: Odometry) -> str:
    """The text of covariances.txt."""
    rows = zip(odometry.trajectory().times.tolist(), odometry.pose_covariances().reshape(-1, 36).tolist())
    lines = (" ".join([repr(time), *(f"{value:.6e}" for value in row)]) for time, row in rows)
    return "\n".join([COVARIANCES_HEADER, *lines]) + "\n"


def check_free(path: Path, force: bool, resume: bool = False) -> None:
    """Refuse a folder that holds anything, unless it may be overwritten or is to be continued."""
    check_folder(path, "run", force, resume)


def is_without_poses(folder: Path) -> bool:
    """Whether it is of a run that came to its end without a single pose: it has no keyframes and no points."""
    marker = read_marker(folder)
    if marker is None or marker.get("state") != "finished":
        return False
    return bool(marker.get("frames")) and marker.get("lost") == marker.get("frames")


def quality_table(reports: Iterable[FrameReport], trajectory: Trajectory) -> str:
    """The trajectory's companion: segment and quality of every pose, one line each, in the same order."""
    segments = trajectory.segments if trajectory.segments is not None else np.zeros(len(trajectory), np.int32)
    lines = [
        f"{r.time:.17g},{r.index},{segment},{r.keyframe},{r.status},{r.quality:.4f}"
        for r, segment in zip((r for r in reports if r.status != "lost"), segments.tolist())
    ]
    return "\n".join([QUALITY_HEADER, *lines]) + "\n"


def frame_statistics(report: FrameReport) -> dict[str, Any]:
    """One line of stats.jsonl."""
    out: dict[str, Any] = {
        "frame": report.index,
        "time": report.time,
        "state": report.status,
        "segment": report.segment,
        "keyframe": report.keyframe,
    }
    out["quality"] = round(report.quality, 4)
    if report.problem is not None:
        out["problem"] = report.problem
    if report.copy:
        out["copy"] = True
    if report.recognised is not None:
        out["recognised"] = report.recognised
    if is_shaded_otherwise(report.shading):
        out["shading"] = round(report.shading, 3)
    if report.verdict is not None and report.verdict.contradiction is not None:
        out["contradiction"] = report.verdict.contradiction
    if report.track is not None:
        t = report.track
        out |= {
            "rms": t.rms,
            "visible": t.visible,
            "inliers": t.inliers,
            "flow": t.flow,
            "gain": t.brightness.gain,
            "offset": t.brightness.offset,
            "zones": t.brightness.zones,
            "covered": round(report.covered, 4),
        }
    if report.mapping is not None:
        m = report.mapping
        out |= {
            "eta": m.eta,
            "noise": m.noise,
            "energy_before": m.energies[0],
            "energy_after": m.energies[-1],
            "photometric_residuals": m.photometric_residuals,
            "depth_residuals": m.depth_residuals,
            "active_points": m.active,
            "candidates": m.candidates,
            "activated": m.activated,
            "marginalised_points": m.marginalised_points,
            "left": m.left,
            "healthy": m.healthy,
            "scale_sigma": None if np.isnan(m.scale_sigma) else m.scale_sigma,
            "w_infinity": None if m.agreement is None else m.agreement.intercept,
            "w_infinity_sigma": None if m.agreement is None else m.agreement.intercept_sigma,
            "lens": None if m.lens is None else [*m.lens.numbers.tolist(), *m.lens.sigma.tolist()],
        }
    out["seconds"] = {stage: round(value, 6) for stage, value in report.seconds.items()}
    return {k: (None if isinstance(v, float) and not np.isfinite(v) else v) for k, v in out.items()}


def source_revision() -> str | None:
    """Git revision of the source tree the package runs from, if it is one."""
    here = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
