# SPDX-License-Identifier: Apache-2.0
"""A ROS 2 bag (extra ``ros``): poses with covariances, transforms, map and focused images, at the recording's times.

Frames of reference: ``prism_camera`` is an optical frame (x right, y down, z forward), ``prism_world`` is the first
camera frame; ``map`` is the same turned as REP 103 wants it (x forward, y left, z up).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.cloud import PointCloud
from prism_vo.errors import MissingExtraError
from prism_vo.export.finished_run import FinishedRun
from prism_vo.export.pictures import Picture, view_of_run
from prism_vo.optics.view import FocusedView
from prism_vo.trajectory import Trajectory

MAP, WORLD, CAMERA = "map", "prism_world", "prism_camera"
T_MAP_WORLD = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
BAG_VERSION = 9  # what Humble and later read
FLOAT32, UINT32 = 7, 6  # of sensor_msgs/PointField
UNKNOWN = -1.0  # first number of a covariance that is not known, as in sensor_msgs/Imu


def load_rosbags() -> Any:
    """The modules, or one sentence where they come from."""
    try:
        from rosbags import rosbag2, typesys
    except ImportError as error:
        raise MissingExtraError(
            "Writing bags needs the package rosbags: pip install 'prism-vo[ros]'."
        ) from error
    return rosbag2, typesys


class BagWriter:
    """Messages of a run into one bag."""

    def __init__(self, path: Path, storage: Literal["mcap", "sqlite3"]) -> None:
        rosbag2, typesys = load_rosbags()
        plugin = rosbag2.StoragePlugin.MCAP if storage == "mcap" else rosbag2.StoragePlugin.SQLITE3
        self._store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
        self._types = self._store.types
        self._writer = rosbag2.Writer(path, version=BAG_VERSION, storage_plugin=plugin)
        self._topics: dict[str, Any] = {}
        self._writer.open()

    def close(self) -> None:
        """The index is written here."""
        self._writer.close()

    def make(self, kind: str, *values: Any) -> Any:
        """A message: ``make("geometry_msgs/Point", 1.0, 2.0, 3.0)``."""
        package, name = kind.split("/")
        return self._types[f"{package}/msg/{name}"](*values)

    def header(self, time: float, frame: str) -> Any:
        """With the recording's time."""
        seconds, nanoseconds = divmod(stamp(time), 1_000_000_000)
        return self.make("std_msgs/Header", self.make("builtin_interfaces/Time", seconds, nanoseconds), frame)

    def write(self, topic: str, kind: str, time: float, message: Any, latched: bool = False) -> None:
        """One message."""
        name = kind.replace("/", "/msg/")
        if topic not in self._topics:
            profiles = [_latched()] if latched else []
            self._topics[topic] = self._writer.add_connection(
                topic, name, typestore=self._store, offered_qos_profiles=profiles
            )
        self._writer.write(self._topics[topic], stamp(time), self._store.serialize_cdr(message, name))


def stamp(time: float) -> int:
    """Nanoseconds."""
    return round(time * 1e9)


def write_bag(run: FinishedRun, pictures: Iterable[Picture], out: Path, storage: Any) -> tuple[int, int]:
    """A whole run; how many poses and images were written."""
    bag = BagWriter(out, storage)
    try:
        first = float(run.trajectory.times[0])
        _write_static(bag, first)
        _write_map(bag, run.cloud, first)
        _write_poses(bag, run.trajectory, run.covariances())
        images = _write_images(bag, view_of_run(run), pictures)
        return len(run.trajectory), images
    finally:
        bag.close()


def _write_static(bag: BagWriter, time: float) -> None:
    turned = _transform(bag, time, MAP, WORLD, T_MAP_WORLD)
    bag.write("/tf_static", "tf2_msgs/TFMessage", time, bag.make("tf2_msgs/TFMessage", [turned]), True)


def _write_poses(bag: BagWriter, trajectory: Trajectory, covariances: Array | None) -> None:
    stamped = []
    for n, (time, T) in enumerate(trajectory):
        header, pose = bag.header(time, WORLD), _pose(bag, T)
        covariance = np.full((6, 6), np.nan) if covariances is None else covariances[n]
        if not np.isfinite(covariance).all():
            covariance = np.zeros((6, 6))
            covariance[0, 0] = UNKNOWN
        with_covariance = bag.make("geometry_msgs/PoseWithCovariance", pose, covariance.ravel())
        message = bag.make("geometry_msgs/PoseWithCovarianceStamped", header, with_covariance)
        bag.write("/prism_vo/pose", "geometry_msgs/PoseWithCovarianceStamped", time, message)
        moved = bag.make("tf2_msgs/TFMessage", [_transform(bag, time, WORLD, CAMERA, T)])
        bag.write("/tf", "tf2_msgs/TFMessage", time, moved)
        stamped.append(bag.make("geometry_msgs/PoseStamped", header, pose))
    path = bag.make("nav_msgs/Path", bag.header(trajectory.times[0], WORLD), stamped)
    bag.write("/prism_vo/path", "nav_msgs/Path", float(trajectory.times[0]), path, True)


def _write_map(bag: BagWriter, cloud: PointCloud, time: float) -> None:
    """x y z, colour as RViz reads it, σ of the depth."""
    fields = [("x", FLOAT32), ("y", FLOAT32), ("z", FLOAT32), ("rgb", UINT32), ("sigma", FLOAT32)]
    table = np.zeros(len(cloud), [(name, "<u4" if kind == UINT32 else "<f4") for name, kind in fields])
    for axis, name in enumerate("xyz"):
        table[name] = cloud.points[:, axis]
    if cloud.colors is not None:
        r, g, b = cloud.colors.astype(np.uint32).T
        table["rgb"] = r << 16 | g << 8 | b
    table["sigma"] = np.nan if cloud.sigma is None else cloud.sigma
    described = [
        bag.make("sensor_msgs/PointField", name, 4 * n, kind, 1) for n, (name, kind) in enumerate(fields)
    ]
    data = np.frombuffer(table.tobytes(), np.uint8)
    step = table.dtype.itemsize
    header = bag.header(time, WORLD)
    message = bag.make(
        "sensor_msgs/PointCloud2", header, 1, len(cloud), described, False, step, len(data), data, True
    )
    bag.write("/prism_vo/map", "sensor_msgs/PointCloud2", time, message, True)


def _write_images(bag: BagWriter, view: FocusedView, pictures: Iterable[Picture]) -> int:
    count = 0
    for picture in pictures:
        header = bag.header(picture.time, CAMERA)
        height, width = picture.rgb.shape[:2]
        image = bag.make(
            "sensor_msgs/Image", header, height, width, "rgb8", 0, 3 * width, picture.rgb.reshape(-1)
        )
        bag.write("/prism_vo/image", "sensor_msgs/Image", picture.time, image)
        bag.write(
            "/prism_vo/camera_info", "sensor_msgs/CameraInfo", picture.time, _camera_info(bag, header, view)
        )
        count += 1
    return count


def _camera_info(bag: BagWriter, header: Any, view: FocusedView) -> Any:
    K = view.pinhole
    P = np.hstack([K, np.zeros((3, 1))])
    whole = bag.make("sensor_msgs/RegionOfInterest", 0, 0, 0, 0, False)
    numbers = (np.zeros(5), K.ravel(), np.eye(3).ravel(), P.ravel())
    return bag.make(
        "sensor_msgs/CameraInfo", header, view.height, view.width, "plumb_bob", *numbers, 0, 0, whole
    )


def _pose(bag: BagWriter, T: Array) -> Any:
    place = bag.make("geometry_msgs/Point", *T[:3, 3].tolist())
    return bag.make("geometry_msgs/Pose", place, _quaternion(bag, T))


def _quaternion(bag: BagWriter, T: Array) -> Any:
    return bag.make("geometry_msgs/Quaternion", *se3.rotation_to_quaternion(T[:3, :3]).tolist())


def _transform(bag: BagWriter, time: float, parent: str, child: str, T: Array) -> Any:
    moved = bag.make("geometry_msgs/Vector3", *T[:3, 3].tolist())
    transform = bag.make("geometry_msgs/Transform", moved, _quaternion(bag, T))
    return bag.make("geometry_msgs/TransformStamped", bag.header(time, parent), child, transform)


def _latched() -> Any:
    """Kept for those who subscribe late."""
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

    forever = QosTime(2147483647, 4294967295)
    return Qos(
        QosHistory.KEEP_LAST,
        1,
        QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL,
        forever,
        forever,
        QosLiveliness.AUTOMATIC,
        forever,
        False,
    )
