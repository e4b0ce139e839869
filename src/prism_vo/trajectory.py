# SPDX-License-Identifier: Apache-2.0
"""A timed sequence of camera poses, and the TUM, KITTI and EuRoC files that hold one (full precision)."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Integers, Mask
from prism_vo.atomic import write_text_atomically
from prism_vo.bounded.files import read_text
from prism_vo.errors import ArgumentError, InputError, MissingExtraError, expect
from prism_vo.se3 import quaternion_to_rotation, rotation_to_quaternion

TrajectoryFormat = Literal["tum", "kitti", "euroc"]

_POSE = "T_world_cam (camera to world), metres; camera frame: x right, y down, z forward"
HEADERS: dict[TrajectoryFormat, str] = {
    "tum": f"# time[s] tx ty tz qx qy qz qw: {_POSE}",
    "kitti": f"# rows of the 3x4 matrix {_POSE}; times in the file <name>_times.txt",
    "euroc": f"#timestamp [ns],p_x [m],p_y [m],p_z [m],q_w [],q_x [],q_y [],q_z []: {_POSE}",
}
SEGMENT = re.compile(r"# segment ([0-9]{1,9})\b")  # poses below it have a world frame of their own


@dataclass(frozen=True)
class Trajectory:
    """N poses ``T_world_cam`` (N, 4, 4) at increasing ``times`` (N,) in seconds.

    ``segments`` (N,): poses of different segments have different worlds, between which nothing is known; None: one
    world for all.
    """

    times: Array
    poses: Array
    segments: Integers | None = None

    def __post_init__(self) -> None:
        for name in ("times", "poses"):
            expect(getattr(self, name), np.ndarray, f"{name} of a Trajectory", "use numpy.array")
        if self.times.ndim != 1 or self.poses.shape != (len(self.times), 4, 4):
            raise ArgumentError(
                "A Trajectory has (N,) times and (N, 4, 4) poses, "
                f"not {self.times.shape} and {self.poses.shape}."
            )
        if self.segments is not None and self.segments.shape != self.times.shape:
            raise ArgumentError(
                f"A Trajectory has as many segments as times, not {self.segments.shape} "
                f"and {self.times.shape}."
            )

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        if not len(self):
            return "Trajectory(empty)"
        worlds = f", {self.segment_count} segments" if self.segment_count > 1 else ""
        return (
            f"Trajectory({len(self)} poses, {self.length:.3f} m, "
            f"{self.times[0]:g} to {self.times[-1]:g} s{worlds})"
        )

    @overload
    def __getitem__(self, which: int) -> tuple[float, Array]: ...

    @overload
    def __getitem__(self, which: slice | Mask | NDArray[np.int_]) -> Trajectory: ...

    def __getitem__(self, which: int | slice | Mask | NDArray[np.int_]) -> tuple[float, Array] | Trajectory:
        """``path[3]``: time and pose; ``path[10:20]``, ``path[mask]``: a part of it."""
        if isinstance(which, slice | np.ndarray):
            return self.select(which)
        at = operator.index(which)
        if not -len(self) <= at < len(self):
            raise IndexError(f"pose {at} of {len(self)}")
        return float(self.times[at]), self.poses[at]

    def __iter__(self) -> Iterator[tuple[float, Array]]:
        return iter(zip(self.times.tolist(), self.poses))

    @property
    def positions(self) -> Array:
        """Camera centres in the world, (N, 3)."""
        return self.poses[:, :3, 3]

    @property
    def length(self) -> float:
        """Length of the path in metres; what lies between two segments is not known and not counted."""
        steps = np.linalg.norm(np.diff(self.positions, axis=0), axis=1)
        return float(steps.sum() if self.segments is None else steps[np.diff(self.segments) == 0].sum())

    @property
    def segment_count(self) -> int:
        """Number of separate worlds."""
        return min(len(self), 1) if self.segments is None else len(np.unique(self.segments))

    @property
    def largest_segment(self) -> int | None:
        """The world with most poses; None: there is only one."""
        if self.segments is None or self.segment_count < 2:
            return None
        names, counts = np.unique(self.segments, return_counts=True)
        return int(names[np.argmax(counts)])

    def in_segment(self, segment: int | None) -> Trajectory:
        """The poses in one world; None: all."""
        return self if segment is None or self.segments is None else self.select(self.segments == segment)

    @property
    def paths(self) -> list[Array]:
        """Camera centres (N, 3) of each segment."""
        if self.segments is None:
            return [self.positions]
        return [self.positions[self.segments == segment] for segment in np.unique(self.segments)]

    def to_pandas(self) -> Any:
        """A pandas DataFrame: time [s], x y z [m], quaternion qx qy qz qw, segment."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("to_pandas() needs pandas: pip install pandas.") from error
        turns = [rotation_to_quaternion(pose[:3, :3]) for pose in self.poses]
        columns = np.hstack([self.times[:, None], self.positions, np.reshape(turns, (-1, 4))])
        table = pandas.DataFrame(columns, columns=["time", "x", "y", "z", "qx", "qy", "qz", "qw"])
        table["segment"] = np.zeros(len(self), np.int32) if self.segments is None else self.segments
        return table

    def plot(self, axes: Any = None, label: str = "") -> Any:
        """Draw the path with matplotlib in the plane it fills most, up is up; the axes drawn into."""
        from prism_vo.notebook.figures import plot_path

        return plot_path(self.paths, self.poses, axes, label)

    def _repr_html_(self) -> str:
        from prism_vo.notebook.html import card, path_drawing

        if not len(self):
            return card("Trajectory", [("poses", "0")])
        rows = [
            ("poses", str(len(self))),
            ("path", f"{self.length:.3f} m"),
            ("time", f"{self.times[0]:g} to {self.times[-1]:g} s"),
            ("extent", " × ".join(f"{side:.3f}" for side in np.ptp(self.positions, axis=0)) + " m"),
        ]
        if self.segment_count > 1:
            rows.append(("segments", f"{self.segment_count}, each with a world of its own"))
        return card("Trajectory", rows, path_drawing(self.paths, self.poses))

    def select(self, which: Mask | NDArray[np.int_] | slice) -> Trajectory:
        """The poses a mask, index array or slice picks."""
        segments = None if self.segments is None else self.segments[which]
        return Trajectory(self.times[which], self.poses[which], segments)


def read_trajectory(path: Path | str, form: TrajectoryFormat | None = None) -> Trajectory:
    """Read a trajectory; without ``form`` columns tell TUM (8) from KITTI (12), commas EuRoC."""
    expect(path, (str, Path), "path")
    path = Path(path)
    rows, lines, commas, segments = _read_numbers(path)
    form = form or ("euroc" if commas else {8: "tum", 12: "kitti"}.get(rows.shape[1]))  # type: ignore[assignment]
    columns = {"tum": 8, "kitti": 12, "euroc": 8}
    if form is None or (rows.shape[1] != columns[form] and not (form == "euroc" and rows.shape[1] > 8)):
        raise InputError(
            f"{path}: {rows.shape[1]} numbers a line; a trajectory has 8 (TUM: t tx ty tz qx qy qz qw), "
            "12 (KITTI) or at least 8 with commas (EuRoC)."
        )
    if form == "kitti":
        times, poses = _kitti_times(path, len(rows)), _kitti_poses(rows, path, lines)
    elif form == "euroc":
        times, poses = rows[:, 0] / 1e9, _quaternion_poses(rows[:, 1:4], rows[:, [5, 6, 7, 4]], path, lines)
    else:
        times, poses = rows[:, 0], _quaternion_poses(rows[:, 1:4], rows[:, 4:8], path, lines)
    if (backwards := np.flatnonzero(np.diff(times) <= 0)).size:
        raise InputError(f"{path}, line {lines[backwards[0] + 1]}: the time does not increase.")
    return Trajectory(times, poses, segments)


def write_trajectory(trajectory: Trajectory, path: Path | str, form: TrajectoryFormat = "tum") -> None:
    """Write a trajectory in one step; KITTI's times go to ``<name>_times.txt`` beside it."""
    expect(trajectory, Trajectory, "trajectory")
    expect(path, (str, Path), "path")
    if form not in HEADERS:
        raise ArgumentError(f"form must be one of {', '.join(HEADERS)}, not {form!r}.")
    path = Path(path)
    if form == "kitti":
        lines = [_numbers(pose[:3].ravel()) for pose in trajectory.poses]
        write_text_atomically(_times_path(path), "".join(f"{t:.17g}\n" for t in trajectory.times))
    elif form == "euroc":
        lines = [_euroc_line(time, pose) for time, pose in trajectory]
    else:
        lines = [tum_line(time, pose) for time, pose in trajectory]
    if trajectory.segments is not None and trajectory.segment_count > 1:
        starts = np.flatnonzero(np.diff(trajectory.segments, prepend=-1))
        for start in reversed(starts.tolist()):
            lines.insert(start, segment_line(int(trajectory.segments[start])))
    write_text_atomically(path, "\n".join([HEADERS[form], *lines]) + "\n")


def segment_line(segment: int) -> str:
    """The comment before the poses of a segment (no newline)."""
    return (
        f"# segment {segment}: a world frame of its own; how it lies to those of other segments is not known"
    )


def tum_line(time: float, pose: Array) -> str:
    """One TUM line (no newline) at full precision; for files that grow as frames are tracked."""
    return _numbers(np.concatenate([[time], pose[:3, 3], rotation_to_quaternion(pose[:3, :3])]))


def _euroc_line(time: float, pose: Array) -> str:
    q = rotation_to_quaternion(pose[:3, :3])
    return f"{round(time * 1e9)},{_numbers(np.concatenate([pose[:3, 3], q[[3, 0, 1, 2]]]), ',')}"


def _numbers(values: Array, separator: str = " ") -> str:
    return separator.join(f"{value:.17g}" for value in values)


def _read_numbers(path: Path) -> tuple[Array, list[int], bool, Integers | None]:
    """All rows of numbers, the line each stands on, whether commas separate them, and the segments of the rows."""
    text = read_text(path)
    segment, segments = 0, []
    rows: list[list[float]] = []
    lines: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split("#")[0].strip()
        if (named := SEGMENT.match(line)) is not None:
            segment = int(named.group(1))
        if not content:
            continue
        try:
            row = [float(word) for word in content.replace(",", " ").split()]
        except ValueError as error:
            raise InputError(f"{path}, line {number}: expected numbers alone.") from error
        if not np.isfinite(row).all():
            raise InputError(f"{path}, line {number}: a number is not finite.")
        if rows and len(row) != len(rows[0]):
            raise InputError(
                f"{path}, line {number}: {len(row)} numbers where the lines before have {len(rows[0])}."
            )
        rows.append(row)
        lines.append(number)
        segments.append(segment)
    if not rows:
        raise InputError(f"{path}: holds no poses.")
    apart = np.array(segments, np.int32) if len(set(segments)) > 1 else None
    return np.array(rows), lines, "," in text.splitlines()[lines[0] - 1], apart


def _quaternion_poses(positions: Array, quaternions: Array, path: Path, lines: list[int]) -> Array:
    norms = np.linalg.norm(quaternions, axis=1)
    if (wrong := np.flatnonzero(np.abs(norms - 1.0) > 0.01)).size:
        raise InputError(
            f"{path}, line {lines[wrong[0]]}: the quaternion has length {norms[wrong[0]]:.3g}, not 1."
        )
    poses = np.tile(np.eye(4), (len(positions), 1, 1))
    poses[:, :3, 3] = positions
    poses[:, :3, :3] = [quaternion_to_rotation(q) for q in quaternions]
    return poses


def _kitti_poses(rows: Array, path: Path, lines: list[int]) -> Array:
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3] = rows.reshape(-1, 3, 4)
    for pose, line in zip(poses, lines):
        r = pose[:3, :3]
        fault = float(np.abs(r @ r.T - np.eye(3)).max())
        if fault > 0.01 or np.linalg.det(r) < 0:
            raise InputError(f"{path}, line {line}: the 3x3 part is not a rotation.")
        if fault > 1e-12:  # few digits in the file: take the nearest rotation
            u, _, vt = np.linalg.svd(r)
            pose[:3, :3] = u @ vt
    return poses


def _times_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}_times.txt")


def _kitti_times(path: Path, count: int) -> Array:
    beside = _times_path(path)
    if not beside.is_file():
        return np.arange(count, dtype=np.float64)
    rows, *_ = _read_numbers(beside)
    if rows.shape != (count, 1):
        raise InputError(f"{beside}: expected {count} lines with one time each, as {path.name} has poses.")
    return rows[:, 0]
