# SPDX-License-Identifier: Apache-2.0
"""ROS 1 and ROS 2 bags (extra ``ros``): raw images of one topic, described by a ``rosbag.yaml``."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.bounded.files import MB, read_text, shown
from prism_vo.bounded.folder import inside
from prism_vo.bounded.image_header import claimed
from prism_vo.bounded.yaml_text import YamlFault, parse_yaml
from prism_vo.datasets.bag_unpacking import limit_unpacking
from prism_vo.datasets.bit_depth import SAMPLES, BitDepth
from prism_vo.datasets.images import check_size, decoded, read_image
from prism_vo.datasets.selection import SequencePart, part_of
from prism_vo.datasets.showing import sequence_html, sequence_words
from prism_vo.errors import InputError, MissingExtraError
from prism_vo.optics.calibration import load_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.trajectory import Trajectory, read_trajectory
from prism_vo.types import RawFrame
from prism_vo.yaml_files import StrictModel, parse_strict, read_yaml

DESCRIPTION = "rosbag.yaml"
LARGEST_METADATA = MB // 4
LONGEST_PROFILES = 65536  # characters of the quality-of-service profiles of a topic
MOST_FILES = 1000
IMAGE, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
_GREY = {"mono8": np.uint8, "8UC1": np.uint8, "mono16": np.uint16, "16UC1": np.uint16}
_COLOR = {"rgb8": (0, 1, 2), "bgr8": (2, 1, 0)}


class BagDescription(StrictModel):
    """The whole ``rosbag.yaml``; paths are relative to its folder."""

    format: Literal["prism-vo/rosbag/1"]
    bag: str  # a ROS 1 .bag file, a ROS 2 bag folder or its .db3 / .mcap folder
    camera: str
    topic: str | None = None  # may be left out when the bag has one image topic
    white: str | None = None
    groundtruth: str | None = None


class RosbagLoader:
    """Recognises a ``rosbag.yaml`` or a folder holding one."""

    name = "rosbag"

    def recognises(self, path: Path) -> bool:
        """A description itself, or its folder."""
        return (path / DESCRIPTION).is_file() or (path.is_file() and path.name == DESCRIPTION)

    def open(self, path: Path) -> RosbagSequence:
        """Index the topic; images are read later, one at a time."""
        source = path if path.is_file() else path / DESCRIPTION
        return RosbagSequence(source, parse_strict(BagDescription, read_yaml(source), source))


class RosbagSequence:
    """Satisfies ``Sequence``. Times are those of the message headers (of the recording where a header has none)."""

    is_decoded = False
    exposures = None

    def __init__(self, source: Path, description: BagDescription) -> None:
        self.bag = inside(source, "bag", description.bag)
        if not self.bag.exists():
            raise InputError(f"{source}: key 'bag': {self.bag} does not exist.")
        self.name = self.bag.stem
        self.camera = PlenopticCamera.from_calibration(
            load_calibration(inside(source, "camera", description.camera))
        )
        self._white = None if description.white is None else inside(source, "white", description.white)
        truth = description.groundtruth
        self.groundtruth: Trajectory | None = (
            None if truth is None else read_trajectory(inside(source, "groundtruth", truth))
        )
        self._local = threading.local()
        self.topic = self._choose_topic(source, description.topic)
        self._recorded, self.times = self._index(source)
        self._bit_depth = BitDepth(self.camera.calibration.sensor.bits, self._samples)

    @property
    def white_path(self) -> Path | None:
        """The file of the white image."""
        return self._white

    @property
    def white(self) -> NDArray[Any] | None:
        """The white image, read at each call."""
        return None if self._white is None else read_image(self._white)

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        return sequence_words(self)

    def _repr_html_(self) -> str:
        return sequence_html(self)

    def __iter__(self) -> Iterator[RawFrame]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int) -> RawFrame:
        if not -len(self) <= index < len(self):
            raise IndexError(f"frame {index} of {len(self)}")
        index %= len(self)
        image = self._bit_depth.scaled(f"{self.bag}, frame {index}", self._stored(index))
        return RawFrame(index, float(self.times[index]), image)

    def part(self, start: int = 0, frames: int | None = None, stride: int = 1) -> SequencePart:
        """``frames`` frames (all if None), every ``stride``-th, from ``start`` on; each keeps its index and time."""
        return part_of(self, start, frames, stride)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences to read before relying on the recording."""
        note = self._bit_depth.note()
        return (note,) if note else ()

    def _samples(self) -> Iterator[NDArray[Any]]:
        """The first few images; those that cannot be read are reported when it is their turn."""
        for index in range(min(len(self), SAMPLES)):
            with suppress(InputError):
                yield self._stored(index)

    def _stored(self, index: int) -> NDArray[Any]:
        """The image in the numbers of its message."""
        message = self._message(self._recorded[index])
        image = decode_message(message, f"{self.bag}, {self.topic}")
        sensor = self.camera.calibration.sensor
        check_size(
            self.bag,
            image,
            (sensor.width, sensor.height),
            "sensor.width and sensor.height must be the image's",
        )
        return image

    def _message(self, stamp: int) -> Any:
        reader, connections = self._open()
        with damage_named(self.bag):
            connection, _, data = next(iter(reader.messages(connections, start=stamp, stop=stamp + 1)))
            return reader.deserialize(data, connection.msgtype)

    def _open(self) -> tuple[Any, list[Any]]:
        """A reader of this thread's own: databases may not be shared between threads."""
        if not hasattr(self._local, "reader"):
            self._local.reader = _reader(self.bag)
        reader = self._local.reader
        return reader, [c for c in reader.connections if c.topic == self.topic]

    def _choose_topic(self, source: Path, wanted: str | None) -> str:
        reader = _reader(self.bag)
        topics = sorted({c.topic for c in reader.connections if c.msgtype in (IMAGE, COMPRESSED)})
        with damage_named(self.bag):
            reader.close()
        if wanted is not None and wanted in topics:
            return wanted
        listed = ", ".join(topics) or "none"
        if wanted is not None:
            raise InputError(
                f"{source}: key 'topic': {self.bag} has no images on {wanted}; image topics: {listed}."
            )
        if len(topics) != 1:
            raise InputError(
                f"{source}: name one topic with the key 'topic'; image topics of {self.bag}: {listed}."
            )
        return topics[0]

    def _index(self, source: Path) -> tuple[list[int], Array]:
        reader, connections = self._open()
        recorded, times = [], []
        with damage_named(self.bag):
            for _, stamp, data in reader.messages(connections):
                # both serialisations begin with 4 bytes (sequence number, encapsulation), then comes the stamp
                seconds, nanoseconds = struct.unpack_from("<II", data, 4)
                recorded.append(int(stamp))
                times.append(seconds + 1e-9 * nanoseconds if seconds or nanoseconds else 1e-9 * stamp)
        seconds_of = np.array(times, np.float64)
        if len(times) == 0 or (np.diff(seconds_of) <= 0).any() or len(set(recorded)) < len(recorded):
            raise InputError(f"{source}: the images on {self.topic} have no increasing time stamps.")
        return recorded, seconds_of


def _reader(bag: Path) -> Any:
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise MissingExtraError("ROS bags need the package rosbags: pip install 'prism-vo[ros]'.") from error
    limit_unpacking()
    _check_metadata(bag / "metadata.yaml")
    with damage_named(bag):
        reader = AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_HUMBLE))
        reader.open()
    if not all(isinstance(c.topic, str) and isinstance(c.msgtype, str) for c in reader.connections):
        raise InputError(f"{bag}: not a readable ROS bag (a topic or its type has no name).")
    return reader


def _check_metadata(path: Path) -> None:
    """The description of a ROS 2 bag: of possible size, and naming no file twice (each is opened)."""
    if not path.is_file():
        return
    try:
        tree = parse_yaml(read_text(path, LARGEST_METADATA), LONGEST_PROFILES)
        files = tree["rosbag2_bagfile_information"]["relative_file_paths"]
        once = isinstance(files, list) and len(set(map(str, files))) == len(files) <= MOST_FILES
    except (YamlFault, KeyError, TypeError) as error:
        raise InputError(f"{path}: is no description of a ROS bag.") from error
    if not once:
        raise InputError(f"{path}: lists a file twice, or more than {MOST_FILES}.")


@contextmanager
def damage_named(bag: Path) -> Iterator[None]:
    """The parsers of bags raise whatever they stumble over: here it becomes one sentence."""
    try:
        yield
    except Exception as error:
        why = error if isinstance(error, InputError) else type(error).__name__
        raise InputError(f"{bag}: not a readable ROS bag ({why}).") from error


def decode_message(message: Any, source: str) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """sensor_msgs Image or CompressedImage → (H, W) grey or Bayer mosaic, or (H, W, 3) RGB."""
    if not hasattr(message, "encoding"):
        return _decompress(message, source)
    encoding = str(message.encoding)
    kind = (
        np.uint16
        if encoding.startswith("bayer_") and encoding.endswith("16")
        else _GREY.get(encoding, np.uint8)
    )
    channels = 3 if encoding in _COLOR else 1
    if encoding not in _GREY and encoding not in _COLOR and not encoding.startswith("bayer_"):
        raise InputError(
            f"{source}: the image encoding {shown(encoding)} is not supported; use mono, bayer, rgb8 or bgr8."
        )
    values = np.frombuffer(message.data, np.dtype(kind).newbyteorder(">" if message.is_bigendian else "<"))
    step = int(message.step) // np.dtype(kind).itemsize
    if values.size < step * message.height or step < message.width * channels:
        raise InputError(f"{source}: an image message is shorter than its size says; the bag is damaged.")
    rows = values[: step * message.height].reshape(message.height, step)[:, : message.width * channels]
    image = rows.astype(kind)
    if channels == 1:
        return np.ascontiguousarray(image)
    return np.ascontiguousarray(image.reshape(message.height, message.width, 3)[..., list(_COLOR[encoding])])


def _decompress(message: Any, source: str) -> NDArray[np.uint8] | NDArray[np.uint16]:
    data = bytes(message.data)
    claims = claimed(data)
    if claims is None or claims.problem(len(data)) is not None:
        raise InputError(f"{source}: a compressed image cannot be decoded.")
    image = decoded(data, source)
    if image.dtype not in (np.uint8, np.uint16):
        raise InputError(f"{source}: a compressed image cannot be decoded.")
    return np.ascontiguousarray(image if image.ndim == 2 else image[..., 2::-1])
