# SPDX-License-Identifier: Apache-2.0
"""The dense map of a run: at its end while it is still open, or later from its results folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_vo.cloud import write_ply
from prism_vo.config import Config
from prism_vo.config_file import config_from_dict
from prism_vo.datasets.reading import frame_finder
from prism_vo.dense.densify import DenseMap, Say
from prism_vo.dense.frames import dense_map
from prism_vo.dense.mesh_files import write_mesh_glb, write_mesh_ply
from prism_vo.errors import DegenerateError, InputError
from prism_vo.optics.calibration import Calibration, load_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.focus import FocusModel
from prism_vo.pipeline import sensor_for
from prism_vo.results import KEYFRAMES, MAP, MESH, MESH_GLB, REFINED_CAMERA, SETTINGS, is_without_poses
from prism_vo.trajectory import read_trajectory
from prism_vo.variants import VARIANTS
from prism_vo.yaml_files import read_yaml

if TYPE_CHECKING:
    from prism_vo.datasets.source import FrameSource, Sequence
    from prism_vo.odometry import FrameReport, Odometry
    from prism_vo.optics.view import FocusedView
    from prism_vo.pipeline import RunResult
    from prism_vo.sensor import Sensor
    from prism_vo.types import DecodedFrame


class DenseSink:
    """Makes the dense map when a run has ended, and writes it into the results folder."""

    def __init__(self, folder: Path, source: FrameSource, say: Say | None = None) -> None:
        find = frame_finder(source)
        if find is None:
            raise InputError(
                f"{source.name}: its frames can be read only once; a dense map needs a recording on disk."
            )
        self.folder, self.source, self.find, self.say = folder, source, find, say
        self.map: DenseMap | None = None
        self.problem: str | None = None  # why there is none, one sentence

    def on_frame(self, report: FrameReport, frame: DecodedFrame, odometry: Odometry) -> None:
        """Keyframes are read again at the end, when their poses are known."""

    def on_end(self, result: RunResult) -> None:
        """Make and write it; a recording that allows for none does not spoil the run."""
        number = {r.time: r.index for r in result.reports}
        keyframes = result.odometry.keyframe_trajectory()
        try:
            check_variant(result.odometry.config)
            if not len(keyframes):
                raise DegenerateError("No frame has a pose.")
            sensor = self.sensor(result.odometry.config, number[float(keyframes.times[0])])
            self.map = dense_map(
                self.find,
                number.__getitem__,
                keyframes,
                sensor,
                self._view(result.odometry, sensor.view),
                result.odometry.config.decode.threads,
                self.say,
            )
        except (DegenerateError, InputError) as error:
            self.problem = str(error)
            return
        write_dense(self.map, self.folder)

    def _view(self, odometry: Odometry, view: FocusedView) -> FocusedView:
        """As whoever reads the results folder sees it, to the last digit."""
        refined = odometry.refined_camera()
        return odometry.window.view if refined is None else refined_view(view, self.source.camera, refined)

    def sensor(self, config: Config, index: int) -> Sensor:
        """One of its own, for frames like that of an index: what another has seen before must not change the map."""
        return sensor_for(self.source.camera, config, self.source.white, self.find(index))


def check_variant(config: Config) -> None:
    """Refuse poses without a metric scale: plenoptic depth is metric."""
    if not VARIANTS[config.variant].measures_depth:
        raise InputError(
            f"The variant {config.variant} has no metric scale, so it has no dense map; use another."
        )


def refined_view(view: FocusedView, camera: PlenopticCamera, refined: Calibration) -> FocusedView:
    """A view with what a run found of its camera: the focus, or focal length and principal point, too."""
    own, lens = camera.calibration.main_lens, refined.main_lens
    same = lens.focal_length_mm == own.focal_length_mm
    if same and tuple(lens.principal_point_px) == tuple(own.principal_point_px):
        return FocusModel.of(view, camera).at(lens.mla_distance_mm - own.mla_distance_mm)
    return PlenopticCamera.from_calibration(refined).view(view.name)


def write_dense(found: DenseMap, folder: Path) -> None:
    """``map.ply``, ``mesh.ply`` and ``mesh.glb``, each in one step."""
    write_ply(found.cloud, folder / MAP)
    write_mesh_ply(found.mesh, folder / MESH)
    write_mesh_glb(found.mesh, folder / MESH_GLB)


@dataclass(frozen=True)
class FinishedRun:
    """What a results folder says about its run."""

    folder: Path
    config: Config

    @classmethod
    def read(cls, folder: Path) -> FinishedRun:
        """Refuse a folder that holds no finished run."""
        for name in (KEYFRAMES, SETTINGS):
            if not (folder / name).is_file():
                if is_without_poses(folder):
                    raise InputError(
                        f"{folder}: no frame of this run has a pose, so there is nothing to make a map of."
                    )
                raise InputError(
                    f"{folder}: has no {name}; give the results folder of a finished prism-vo run."
                )
        data: Any = read_yaml(folder / SETTINGS)
        settings = data.get("settings") if isinstance(data, dict) else None
        config = config_from_dict(settings if isinstance(settings, dict) else {}, folder / SETTINGS)
        check_variant(config)
        return cls(folder, config)

    def recording_path(self) -> Path:
        """Where the recording was then, if it is still there."""
        data: Any = read_yaml(self.folder / SETTINGS)
        path = data.get("path") if isinstance(data, dict) else None
        if not isinstance(path, str) or not Path(path).exists():
            raise InputError(
                f"{self.folder}: does not say where its recording is now; give it with --sequence."
            )
        return Path(path)

    def view(self, sequence: Sequence, view: FocusedView) -> FocusedView:
        """The focused view with what the run found of its camera."""
        if not (self.folder / REFINED_CAMERA).is_file():
            return view
        return refined_view(view, sequence.camera, load_calibration(self.folder / REFINED_CAMERA))

    def dense(self, sequence: Sequence, say: Say | None = None) -> DenseMap:
        """The dense map, from the recording."""
        keyframes = read_trajectory(self.folder / KEYFRAMES)
        times = np.asarray(sequence.times)
        if not len(keyframes) or not len(times):
            raise InputError(f"{self.folder}: has no keyframes, so there is nothing to make a map of.")
        if keyframes.times[-1] > times[-1] + 1e-3 or keyframes.times[0] < times[0] - 1e-3:
            raise InputError(
                f"{self.folder}: its times are not those of {sequence.name}; give its own recording."
            )

        def number(time: float) -> int:
            return int(np.argmin(np.abs(times - time)))

        sensor = sensor_for(
            sequence.camera, self.config, sequence.white, sequence[number(float(keyframes.times[0]))]
        )
        view = self.view(sequence, sensor.view)
        return dense_map(
            sequence.__getitem__, number, keyframes, sensor, view, self.config.decode.threads, say
        )
