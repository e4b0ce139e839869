# SPDX-License-Identifier: Apache-2.0
"""A ROS 2 node: raw plenoptic images in, pose with covariance and transform out. Needs rclpy and the usual messages.

    python examples/ros2_node.py --ros-args -p camera:=camera.yaml -r image:=/camera/image_raw

This node was NOT run under ROS: where it was written there is none. Its test runs it with stand-ins for rclpy and the
messages, which says that it computes and fills in what it should, and nothing about middleware or timing.

Publishes ``prism_vo/pose`` (PoseWithCovarianceStamped) and ``/tf``: map → prism_world (x forward, y left, z up → the
first camera frame) → prism_camera (x right, y down, z forward). A frame that is lost publishes nothing.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
from rclpy.node import Node
from sensor_msgs.msg import Image
from tf2_msgs.msg import TFMessage

from prism_vo import Odometry, PlenopticCamera, PrismError, RawFrame, load_calibration
from prism_vo.se3 import rotation_to_quaternion

COLOURS = {"rgb8": (0, 1, 2), "bgr8": (2, 1, 0)}
QUEUE = 2  # images that may wait; older ones are dropped, and counted
T_MAP_WORLD = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1]])


class PrismNode(Node):  # type: ignore[misc]
    """Feeds the odometry with what arrives."""

    def __init__(self) -> None:
        super().__init__("prism_vo")
        path = self.declare_parameter("camera", "camera.yaml").value
        self.vo = Odometry(PlenopticCamera.from_calibration(load_calibration(path)))
        self.count, self.covariance = 0, np.zeros((6, 6))
        self.poses = self.create_publisher(PoseWithCovarianceStamped, "prism_vo/pose", 10)
        self.transforms = self.create_publisher(TFMessage, "/tf", 10)
        self.create_subscription(Image, "image", self.on_image, QUEUE)

    def on_image(self, message: Any) -> None:
        """One raw image."""
        stamp = message.header.stamp
        try:
            frame = RawFrame(self.count, stamp.sec + 1e-9 * stamp.nanosec, pixels(message))
            report = self.vo(frame)
        except PrismError as error:
            self.get_logger().warning(str(error))
            return
        self.count += 1
        if report.status == "lost":
            self.get_logger().warning(f"frame {report.index} is lost")
            return
        if report.status == "keyframe":  # frames between have that of their keyframe, and a little more
            newest = self.vo.pose_covariances()[-1]
            self.covariance = newest if np.isfinite(newest).all() else self.covariance
        self.publish(message.header.stamp, report.T_world_cam)

    def publish(self, stamp: Any, T: Any) -> None:
        """The pose of a tracked frame."""
        pose = PoseWithCovarianceStamped()
        pose.header.stamp, pose.header.frame_id = stamp, "prism_world"
        fill(pose.pose.pose.position, pose.pose.pose.orientation, T)
        pose.pose.covariance = self.covariance.ravel().tolist()
        self.poses.publish(pose)
        both = [
            transform(stamp, "map", "prism_world", T_MAP_WORLD),
            transform(stamp, "prism_world", "prism_camera", T),
        ]
        self.transforms.publish(TFMessage(transforms=both))


def transform(stamp: Any, parent: str, child: str, T: Any) -> Any:
    """T as a stamped transform."""
    found = TransformStamped()
    found.header.stamp, found.header.frame_id, found.child_frame_id = stamp, parent, child
    fill(found.transform.translation, found.transform.rotation, T)
    return found


def fill(place: Any, turn: Any, T: Any) -> None:
    """Position and quaternion of a pose into a message."""
    place.x, place.y, place.z = (float(value) for value in T[:3, 3])
    turn.x, turn.y, turn.z, turn.w = (float(value) for value in rotation_to_quaternion(T[:3, :3]))


def pixels(message: Any) -> Any:
    """The image of a message, its lines cut to their pixels."""
    data = np.frombuffer(bytes(message.data), np.uint8).reshape(message.height, message.step)
    if message.encoding in COLOURS:
        image = data[:, : 3 * message.width].reshape(message.height, message.width, 3)
        return np.ascontiguousarray(image[..., COLOURS[message.encoding]])
    if message.encoding.endswith("16"):  # mono16, bayer_rggb16 …
        order = ">u2" if message.is_bigendian else "<u2"
        return np.ascontiguousarray(data[:, : 2 * message.width]).view(order).astype(np.uint16)
    if message.encoding.endswith("8"):  # mono8, bayer_rggb8 …: the pattern is that of camera.yaml
        return np.ascontiguousarray(data[:, : message.width])
    raise PrismError(f"Images with the encoding {message.encoding!r} are not understood.")


def main(arguments: list[str] | None = None) -> None:
    """Until Ctrl-C."""
    rclpy.init(args=sys.argv if arguments is None else arguments)
    node = PrismNode()
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        pass
    finally:
        node.destroy_node()


if __name__ == "__main__":
    main()
