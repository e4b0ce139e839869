# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 example with stand-ins for rclpy and the messages: what it computes, not how ROS carries it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism_vo.datasets import open_sequence
from prism_vo.pipeline import RunResult

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "ros2_node.py"


class Message:
    """Fields appear when they are first touched, as deep as one likes."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__[name] = Message()
        return self.__dict__[name]


class Node:
    """Remembers what was published and said."""

    camera = ""

    def __init__(self, name: str) -> None:
        self.name, self.said = name, []  # type: ignore[var-annotated]
        self.published: dict[str, list[Any]] = {}

    def declare_parameter(self, name: str, default: str) -> Any:
        return SimpleNamespace(value=self.camera)

    def create_publisher(self, kind: Any, topic: str, depth: int) -> Any:
        return SimpleNamespace(publish=self.published.setdefault(topic, []).append)

    def create_subscription(self, kind: Any, topic: str, callback: Any, depth: int) -> None:
        self.topic = topic

    def get_logger(self) -> Any:
        return SimpleNamespace(warning=self.said.append)


@pytest.fixture
def node_module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    def module(name: str, **names: Any) -> None:
        made = ModuleType(name)
        made.__dict__.update(names)
        monkeypatch.setitem(sys.modules, name, made)

    module("rclpy")
    module("rclpy.node", Node=Node)
    module("geometry_msgs")
    module("geometry_msgs.msg", PoseWithCovarianceStamped=Message, TransformStamped=Message)
    module("sensor_msgs")
    module("sensor_msgs.msg", Image=Message)
    module("tf2_msgs")
    module("tf2_msgs.msg", TFMessage=Message)
    spec = importlib.util.spec_from_file_location("ros2_node", EXAMPLE)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def image_message(image: Any, index: int, encoding: str = "mono8") -> Any:
    height, width = image.shape[:2]
    padded = np.pad(image, ((0, 0), (0, 4)))  # lines of messages may be longer than their pixels
    stamp = SimpleNamespace(sec=3, nanosec=100_000_000 * index)
    return SimpleNamespace(
        header=SimpleNamespace(stamp=stamp),
        height=height,
        width=width,
        step=padded.strides[0],
        encoding=encoding,
        is_bigendian=0,
        data=padded.tobytes(),
    )


def test_poses_are_those_of_a_run(
    node_module: ModuleType, recording: Path, reported: RunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Node, "camera", str(recording / "camera.yaml"))
    node = node_module.PrismNode()
    sequence = open_sequence(recording)
    for index in range(5):
        node.on_image(image_message(sequence[index].image, index))
    poses = node.published["prism_vo/pose"]
    assert len(poses) == 5 and not node.said
    for message, (_, T) in zip(poses, reported.trajectory):
        place = message.pose.pose.position
        # the run has a white image, and poses refined afterwards
        np.testing.assert_allclose([place.x, place.y, place.z], T[:3, 3], atol=2e-3)
    assert len(poses[-1].pose.covariance) == 36
    both = node.published["/tf"][0].transforms
    assert [t.header.frame_id for t in both] == ["map", "prism_world"]


@pytest.mark.parametrize(
    ("encoding", "kind"), [("mono8", np.uint8), ("bayer_rggb8", np.uint8), ("mono16", np.uint16)]
)
def test_lines_are_cut_to_their_pixels(node_module: ModuleType, encoding: str, kind: Any) -> None:
    image = np.arange(12, dtype=kind).reshape(3, 4)
    np.testing.assert_array_equal(node_module.pixels(image_message(image, 0, encoding)), image)


def test_an_unknown_encoding_is_said_and_skipped(
    node_module: ModuleType, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Node, "camera", str(recording / "camera.yaml"))
    node = node_module.PrismNode()
    node.on_image(image_message(np.zeros((3, 4), np.uint8), 0, "yuv422"))
    assert len(node.said) == 1 and not node.published["prism_vo/pose"]
