# SPDX-License-Identifier: Apache-2.0
"""Live view and recording with Rerun (extra ``view``). The viewer listens on 127.0.0.1 only."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.errors import InputError, MissingExtraError
from prism_vo.report.pictures import CLASS_COLORS, depth_scale, sigma_scale
from prism_vo.report.snapshots import selected_points, to_bytes
from prism_vo.report.stages import STAGES
from prism_vo.report.truth import own_alignment, truth_in_estimate
from prism_vo.view.growing_map import GrowingMap, MapPart, NewKeyframe

if TYPE_CHECKING:
    from prism_vo.config import Config
    from prism_vo.dense_run import DenseSink
    from prism_vo.odometry import FrameReport, Odometry
    from prism_vo.optics.view import FocusedView
    from prism_vo.pipeline import RunResult
    from prism_vo.sensor import Sensor
    from prism_vo.types import DecodedFrame

LOCAL = "127.0.0.1"
PATH_COLOR, TRUTH_COLOR = (217, 72, 15), (25, 113, 194)
CLOUD_EVERY = 5  # keyframes between renewals of the whole cloud


def load_rerun() -> Any:
    """The module, or one sentence saying how to get it."""
    try:
        import rerun
    except ImportError as error:
        raise MissingExtraError(
            "Rerun is not installed; install it with: pip install 'prism-vo[view]' (report.html needs nothing)."
        ) from error
    return rerun


def layout(rr: Any) -> Any:
    """3-D on the left; images and curves on the right."""
    import rerun.blueprint as rrb

    images = rrb.Tabs(
        rrb.Spatial2DView(origin="world/camera/image", name="focused image and points"),
        rrb.Spatial2DView(origin="depth", name="inverse virtual depth"),
        rrb.Spatial2DView(origin="sigma", name="σ"),
    )
    curves = rrb.Vertical(
        rrb.TimeSeriesView(origin="eta", name="η"),
        # compiling, in the first frames, takes seconds; the axis is for all the others
        rrb.TimeSeriesView(origin="seconds", name="ms a stage", axis_y=rrb.ScalarAxis(range=(0.0, 200.0))),
        rrb.TimeSeriesView(origin="residual", name="tracking residual, grey"),
    )
    space = rrb.Spatial3DView(origin="world", name="path, window and map")
    return rrb.Blueprint(
        rrb.Horizontal(space, rrb.Vertical(images, curves), column_shares=[3, 2]), collapse_panels=True
    )


class RerunSink:
    """Logs what the window sees; to a viewer it starts, or into a file."""

    def __init__(self, record: Path | None = None, dense: DenseSink | None = None) -> None:
        """``dense``: who makes a dense map before this is told that the run has ended."""
        self.rr, self.recording = open_recording(record)
        self._dense = dense
        self._map: GrowingMap | None = None
        self._path: list[Array] = []
        self._keyframes = 0

    def on_frame(self, report: FrameReport, frame: DecodedFrame, odometry: Odometry) -> None:
        """Image, pose and curves of every frame; points and depth of keyframes."""
        rr, rec = self.rr, self.recording
        rec.set_time("frame", sequence=report.index)
        rec.set_time("time", duration=report.time)
        self._camera("world/camera", report.T_world_cam, odometry)
        image = frame.color if frame.color is not None else to_bytes(frame.image)
        rec.log("world/camera/image", rr.Image(image).compress(jpeg_quality=80))
        if report.status != "lost":
            self._path.append(report.T_world_cam[:3, 3])
            rec.log("world/path", rr.LineStrips3D([np.array(self._path)], colors=[PATH_COLOR]))
        for stage in STAGES:
            if stage in report.seconds:
                rec.log(f"seconds/{stage}", rr.Scalars(1e3 * report.seconds[stage]))
        if report.track is not None:
            rec.log("residual/rms", rr.Scalars(report.track.rms))
        if report.mapping is not None:
            rec.log("eta/eta", rr.Scalars(report.mapping.eta))
        if report.status in ("keyframe", "recovered"):
            self._keyframe(odometry)
            self._grow(report, odometry)

    def close(self) -> None:
        """The run ended, if early too: nothing more of it is drawn."""
        if self._map is not None:
            self._map.abandon()

    def on_end(self, result: RunResult) -> None:
        """Final path, truth in the same world, the whole cloud, and the dense map instead of its growing parts."""
        if self._map is not None:
            self._map.finish()
        final = result.trajectory.positions
        self.recording.log("world/path", self.rr.LineStrips3D([final], colors=[PATH_COLOR]))
        truth = truth_in_estimate(result.truth, own_alignment(result))
        if len(truth):
            self.recording.log("world/truth", self.rr.LineStrips3D([truth], colors=[TRUTH_COLOR]))
        self._cloud(result.odometry)
        if self._dense is not None and self._dense.map is not None:
            cloud, size = self._dense.map.cloud, self.rr.Radius.ui_points(2.0)
            self.recording.log("world/map", self.rr.Clear(recursive=True))
            self.recording.log("world/map", self.rr.Points3D(cloud.points, colors=cloud.colors, radii=size))
        self.recording.flush()
        self.recording.disconnect()

    def _camera(self, path: str, pose: Array, odometry: Odometry) -> None:
        rr, view = self.rr, odometry.view
        self.recording.log(path, rr.Transform3D(translation=pose[:3, 3], mat3x3=pose[:3, :3]))
        self.recording.log(f"{path}/image", pinhole(rr, view))

    def _keyframe(self, odometry: Odometry) -> None:
        rr, rec, points = self.rr, self.recording, selected_points(odometry.window)
        pixels = np.stack([points.x, points.y], -1)
        rec.log("world/camera/image/points", rr.Points2D(pixels, colors=CLASS_COLORS[points.kind], radii=1.5))
        known = np.isfinite(points.measured)
        colors = depth_scale(points.measured).colors(points.measured)
        rec.log("depth/points", rr.Points2D(pixels[known], colors=colors[known], radii=2.5))
        known = np.isfinite(points.sigma)
        rec.log(
            "sigma/points",
            rr.Points2D(pixels[known], colors=sigma_scale().colors(points.sigma[known]), radii=2.5),
        )
        behind = np.array([0.0, 0.0, -odometry.view.z0])  # the camera, seen from the centre of its view
        centres = [se3.transform(se3.inverse(k.pose), behind) for k in odometry.window.keyframes]
        rec.log("world/window", rr.Points3D(centres, colors=[PATH_COLOR], radii=rr.Radius.ui_points(5.0)))
        if self._keyframes % CLOUD_EVERY == 0:
            self._cloud(odometry)
        self._keyframes += 1

    def _grow(self, report: FrameReport, odometry: Odometry) -> None:
        """The dense map of a run that will have one, as far as it can be known."""
        if self._dense is None or not odometry.variant.measures_depth:
            return
        if self._map is None:
            self._map = GrowingMap(DepthReader(self._dense, odometry.config), self._show, self._hide)
        poses = {k.frame_index: k.pose for k in odometry.window.keyframes}
        self._map.add(NewKeyframe(report.index, report.time, report.segment, odometry.window.view, poses))

    def _show(self, part: MapPart) -> None:
        """At the time of its keyframe, which is set for the calling thread alone."""
        rr, rec = self.rr, self.recording
        rec.set_time("frame", sequence=part.index)
        rec.set_time("time", duration=part.time)
        points = rr.Points3D(part.points, colors=part.colors, radii=rr.Radius.ui_points(2.0))
        rec.log(f"world/map/{part.index:06d}", points)

    def _hide(self, index: int) -> None:
        self.recording.log(f"world/map/{index:06d}", self.rr.Clear(recursive=True))

    def _cloud(self, odometry: Odometry) -> None:
        cloud, size = odometry.cloud(), self.rr.Radius.ui_points(1.5)
        self.recording.log("world/cloud", self.rr.Points3D(cloud.points, colors=cloud.colors, radii=size))


class DepthReader:
    """Frames of the recording again, with depth everywhere, by a sensor of its own."""

    def __init__(self, dense: DenseSink, config: Config) -> None:
        self._dense, self._config = dense, config
        self._sensor: Sensor | None = None

    def __call__(self, index: int) -> DecodedFrame:
        """The sensor is made with the first frame."""
        self._sensor = self._sensor or self._dense.sensor(self._config, index)
        return self._sensor.dense(self._dense.find(index))


def open_recording(record: Path | None) -> tuple[Any, Any]:
    """The module and a stream into a file, or into a viewer that is started."""
    rr = load_rerun()
    recording = rr.RecordingStream("prism-vo")
    if record is None:
        port = start_viewer()
        recording.connect_grpc(f"rerun+http://{LOCAL}:{port}/proxy", default_blueprint=layout(rr))
    else:
        if not record.parent.is_dir():
            raise InputError(f"{record}: the folder {record.parent} does not exist.")
        recording.save(record, default_blueprint=layout(rr))
    recording.log("world", rr.ViewCoordinates.RDF, static=True)
    return rr, recording


def start_viewer() -> int:
    """Start the viewer on a free local port; returns the port when it listens."""
    with socket.socket() as probe:
        probe.bind((LOCAL, 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "rerun", "--bind", LOCAL, "--port", str(port), "--hide-welcome-screen"]
    viewer = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline and viewer.poll() is None:
        try:
            socket.create_connection((LOCAL, port), 0.5).close()
            return port
        except OSError:
            time.sleep(0.1)
    raise InputError(
        "The Rerun viewer did not start (no screen?); use --record FILE.rrd and open that file elsewhere."
    )


def pinhole(rr: Any, view: FocusedView) -> Any:
    """A view as Rerun draws it."""
    return rr.Pinhole(
        focal_length=view.focal_px,
        principal_point=(view.cx, view.cy),
        width=view.width,
        height=view.height,
        image_plane_distance=0.1,
    )
