# SPDX-License-Identifier: Apache-2.0
"""What stands in a results folder, and the recording it was made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from prism_vo.arrays import Array, Integers
from prism_vo.bounded.files import read_text
from prism_vo.cloud import PointCloud, read_ply
from prism_vo.datasets import Sequence, open_sequence
from prism_vo.errors import InputError
from prism_vo.optics.calibration import load_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.results import (
    COVARIANCES,
    KEYFRAMES,
    MAP,
    POINTS,
    REFINED_CAMERA,
    SETTINGS,
    TRAJECTORY,
    is_without_poses,
)
from prism_vo.trajectory import Trajectory, read_trajectory
from prism_vo.types import InputFrame
from prism_vo.yaml_files import read_yaml

SAME_TIME = 1e-6  # s
RECORDINGS = ("raw", "focused", "sequence.yaml", "rosbag.yaml")  # a folder with one of them is a recording


def is_results(path: Path) -> bool:
    """Whether a folder is what `prism-vo run` or `refine` writes."""
    return (path / TRAJECTORY).is_file() and not any((path / name).exists() for name in RECORDINGS)


@dataclass(frozen=True)
class FinishedRun:
    """Poses and points of a results folder; its recording is opened when images are asked for."""

    folder: Path
    trajectory: Trajectory
    keyframes: Trajectory
    cloud: PointCloud
    recording: Path | None = None  # where it lies now; None: where the run found it
    camera: Path | None = None  # instead of the one the run ended with

    @classmethod
    def read(cls, folder: Path, recording: Path | None = None, camera: Path | None = None) -> FinishedRun:
        """The files of a folder that a run came to an end in."""
        if not is_results(folder):
            raise InputError(f"{folder}: holds no results; name a folder that `prism-vo run` wrote.")
        for name in (KEYFRAMES, POINTS):
            if not (folder / name).is_file():
                if is_without_poses(folder):
                    raise InputError(
                        f"{folder}: no frame of this run has a pose; there is nothing to export (its report says why)."
                    )
                raise InputError(
                    f"{folder}: has no {name}; the run is not finished (prism-vo run --resume {folder})."
                )
        trajectory, keyframes = read_trajectory(folder / TRAJECTORY), read_trajectory(folder / KEYFRAMES)
        cloud = read_ply(folder / POINTS)
        if cloud.keyframe is not None and len(cloud) and not _inside(cloud.keyframe, len(keyframes)):
            raise InputError(f"{folder / POINTS}: names keyframes that {KEYFRAMES} does not have.")
        return cls(folder, trajectory, keyframes, cloud, recording, camera)

    @property
    def name(self) -> str:
        """Of the recording, or of the folder."""
        name = self._settings.get("sequence")
        return name if isinstance(name, str) and name and "/" not in name else self.folder.resolve().name

    @cached_property
    def sequence(self) -> Any:
        """The recording (a ``Sequence``), with the camera as the run knew it at its end."""
        path = self.recording or self._recorded_path()
        own = (self.folder / REFINED_CAMERA, self.folder / "camera.yaml")
        camera = self.camera or next((file for file in own if file.is_file()), None)
        if camera is None:
            return open_sequence(path)
        model = PlenopticCamera.from_calibration(load_calibration(camera))
        try:
            return open_sequence(path, camera=camera)
        except InputError:  # a description that names its camera itself, or something really wrong
            return OtherCamera(open_sequence(path), model)

    def frames_of(self, poses: Trajectory) -> list[int]:
        """Index in the recording of every pose."""
        times = np.asarray(self.sequence.times)
        after = np.clip(np.searchsorted(times, poses.times), 1, max(len(times) - 1, 1))
        nearest = np.where(
            np.abs(times[after - 1] - poses.times) <= np.abs(times[after % len(times)] - poses.times),
            after - 1,
            after % len(times),
        )
        if (np.abs(times[nearest] - poses.times) > SAME_TIME).any():
            raise InputError(
                f"{self.folder}: its poses are not of the images in {self.sequence.name}; name the recording with"
                " --sequence."
            )
        return [int(index) for index in nearest]

    def covariances(self) -> Array | None:
        """Of every pose of the trajectory (N, 6, 6), NaN where unknown; None: the folder has none."""
        path = self.folder / COVARIANCES
        if not path.is_file():
            return None
        lines = [line for line in read_text(path).splitlines() if line and not line.startswith("#")]
        try:
            rows = np.array([[float(word) for word in line.split()] for line in lines], dtype=np.float64)
        except ValueError as error:
            raise InputError(f"{path}: has a line that is not numbers.") from error
        if rows.shape != (len(self.trajectory), 37):
            raise InputError(f"{path}: does not have 37 numbers for every pose of {TRAJECTORY}.")
        return rows[:, 1:].reshape(-1, 6, 6)

    def densest(self) -> PointCloud:
        """The dense map, if the run has one; else its points."""
        dense = self.folder / MAP
        return read_ply(dense) if dense.is_file() else self.cloud

    def worlds(self) -> list[FinishedRun]:
        """One run a segment, the longest first: nothing is known between the worlds of two segments."""
        found = np.unique(_segments(self.trajectory))
        parts = [self._in_world(int(segment)) for segment in found]
        return sorted(parts, key=lambda part: -len(part.trajectory))

    def _in_world(self, segment: int) -> FinishedRun:
        kept = _segments(self.keyframes) == segment
        cloud = self.cloud
        if cloud.keyframe is not None:
            cloud = cloud.select(kept[cloud.keyframe])
            assert cloud.keyframe is not None
            cloud = replace(cloud, keyframe=(np.cumsum(kept) - 1)[cloud.keyframe].astype(np.int32))
        elif not kept.all():
            raise InputError(f"{self.folder / POINTS}: does not say which segment its points belong to.")
        mine = _segments(self.trajectory) == segment
        return replace(
            self, trajectory=self.trajectory.select(mine), keyframes=self.keyframes.select(kept), cloud=cloud
        )

    @cached_property
    def _settings(self) -> dict[str, Any]:
        for folder in (self.folder, self.folder.resolve().parent):  # refined poses lie in a folder inside
            if (folder / SETTINGS).is_file():
                data = read_yaml(folder / SETTINGS)
                return data if isinstance(data, dict) else {}
        return {}

    def _recorded_path(self) -> Path:
        path = self._settings.get("path")
        if not isinstance(path, str) or not Path(path).exists():
            raise InputError(
                f"{self.folder}: does not say where its recording is now; give it with --sequence."
            )
        return Path(path)


@dataclass(frozen=True)
class OtherCamera:
    """Satisfies ``Sequence``: a recording with another camera than its description names."""

    whole: Sequence
    camera: PlenopticCamera

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)

    def __len__(self) -> int:
        return len(self.whole)

    def __getitem__(self, index: int) -> InputFrame:
        return self.whole[index]

    def __iter__(self) -> Iterator[InputFrame]:
        return iter(self.whole)


def _segments(poses: Trajectory) -> Integers:
    return np.zeros(len(poses), np.int32) if poses.segments is None else poses.segments


def _inside(rows: Integers, count: int) -> bool:
    return bool(rows.min() >= 0 and rows.max() < count)
