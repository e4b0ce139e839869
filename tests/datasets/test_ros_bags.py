# SPDX-License-Identifier: Apache-2.0
"""ROS 1 and ROS 2 bags written here, read by the loader: pixels, times, topics, and what can be wrong."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from prism_vo.datasets import bag_unpacking, open_sequence
from prism_vo.datasets.rosbag import decode_message
from prism_vo.errors import InputError
from prism_vo.optics.calibration import save_calibration
from prism_vo.simulate import preset_camera

pytest.importorskip("rosbags")

from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

CAMERA = preset_camera("mini")
SIZE = (CAMERA.sensor.height, CAMERA.sensor.width)
TOPIC = "/plenoptic/image_raw"


def images(count: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(7)
    return [rng.integers(0, 256, SIZE, dtype=np.uint8) for _ in range(count)]


def message(store: Any, image: np.ndarray[Any, Any], encoding: str, time: float, padding: int = 0) -> Any:
    stamp = store.types["builtin_interfaces/msg/Time"](sec=int(time), nanosec=round((time % 1) * 1e9))
    extra = {"seq": 0} if store is STORE1 else {}
    header = store.types["std_msgs/msg/Header"](stamp=stamp, frame_id="camera", **extra)
    rows = np.pad(image.reshape(image.shape[0], -1).view(np.uint8), ((0, 0), (0, padding)))
    return store.types["sensor_msgs/msg/Image"](
        header=header,
        height=image.shape[0],
        width=image.shape[1],
        encoding=encoding,
        is_bigendian=0,
        step=rows.shape[1],
        data=rows.reshape(-1),
    )


STORE1, STORE2 = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_HUMBLE)


def write_bag(
    folder: Path,
    ros: int,
    pictures: list[np.ndarray[Any, Any]],
    topics: tuple[str, ...] = (TOPIC,),
    compressed: str | None = None,
) -> str:
    store, name = (STORE1, "walk.bag") if ros == 1 else (STORE2, "walk")
    kind = StoragePlugin.MCAP if compressed == "chunks" else StoragePlugin.SQLITE3
    writer: Any = (
        Writer1(folder / name) if ros == 1 else Writer2(folder / name, version=9, storage_plugin=kind)
    )
    if ros == 1 and compressed is not None:
        writer.set_compression(Writer1.CompressionFormat[compressed.upper()])
    elif compressed is not None:
        mode = CompressionMode[{"chunks": "STORAGE"}.get(compressed, compressed.upper())]
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        for topic in topics:
            connection = writer.add_connection(topic, "sensor_msgs/msg/Image", typestore=store)
            for k, picture in enumerate(pictures):
                sent = message(store, picture, "mono8", 100.0 + 0.125 * k)
                data = (
                    store.serialize_ros1(sent, sent.__msgtype__)
                    if ros == 1
                    else store.serialize_cdr(sent, sent.__msgtype__)
                )
                writer.write(connection, 5_000_000_000 + 125_000_000 * k, data)
    return name


def describe(folder: Path, bag: str, more: str = "") -> Path:
    save_calibration(CAMERA, folder / "camera.yaml")
    (folder / "rosbag.yaml").write_text(f"format: prism-vo/rosbag/1\nbag: {bag}\ncamera: camera.yaml\n{more}")
    return folder


@pytest.mark.parametrize("ros", [1, 2])
def test_images_and_header_times_come_back(tmp_path: Path, ros: int) -> None:
    pictures = images(3)
    sequence = open_sequence(describe(tmp_path, write_bag(tmp_path, ros, pictures)))
    assert len(sequence) == 3
    assert np.allclose(sequence.times, [100.0, 100.125, 100.25], atol=1e-7)
    for frame, picture in zip(sequence, pictures):
        assert np.array_equal(frame.image, picture)


def test_frames_can_be_read_from_another_thread(tmp_path: Path) -> None:
    pictures = images(2)
    sequence = open_sequence(describe(tmp_path, write_bag(tmp_path, 2, pictures)))
    found: list[Any] = [sequence[0].image]
    reader = threading.Thread(target=lambda: found.append(sequence[1].image))
    reader.start()
    reader.join()
    assert np.array_equal(found[1], pictures[1])


def test_several_topics_need_a_choice(tmp_path: Path) -> None:
    bag = write_bag(tmp_path, 2, images(1), (TOPIC, "/other"))
    with pytest.raises(InputError, match="/other, /plenoptic/image_raw"):
        open_sequence(describe(tmp_path, bag))
    assert len(open_sequence(describe(tmp_path, bag, f"topic: {TOPIC}\n"))) == 1
    with pytest.raises(InputError, match="no images on /wrong"):
        open_sequence(describe(tmp_path, bag, "topic: /wrong\n"))


def test_what_is_no_bag_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "walk.bag").write_bytes(b"not a bag")
    with pytest.raises(InputError, match="not a readable ROS bag"):
        open_sequence(describe(tmp_path, "walk.bag"))
    with pytest.raises(InputError, match="does not exist"):
        open_sequence(describe(tmp_path, "gone.bag"))


@pytest.mark.parametrize("ros", [1, 2])
def test_damaged_bags_are_one_sentence(tmp_path: Path, ros: int) -> None:
    bag = write_bag(tmp_path, ros, images(2))
    folder = describe(tmp_path, bag)
    file = tmp_path / bag if ros == 1 else next((tmp_path / bag).glob("*.db3"))
    whole, rng = file.read_bytes(), np.random.default_rng(5)
    refused = 0
    for turn in range(12):
        data = bytearray(whole)
        if turn % 3 == 0:
            del data[rng.integers(1, len(data)) :]
        else:
            start = int(rng.integers(0, len(data) - 4096)) if turn % 3 == 1 else 0
            data[start : start + 4096] = rng.bytes(4096)
        file.write_bytes(bytes(data))
        try:
            for frame in open_sequence(folder):
                assert frame.image.shape == SIZE
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused >= 6


@pytest.mark.parametrize(
    ("encoding", "dtype", "channels"),
    [
        ("mono8", np.uint8, 1),
        ("16UC1", np.uint16, 1),
        ("bayer_rggb8", np.uint8, 1),
        ("bayer_grbg16", np.uint16, 1),
        ("rgb8", np.uint8, 3),
        ("bgr8", np.uint8, 3),
    ],
)
def test_encodings_with_padded_rows(encoding: str, dtype: type, channels: int) -> None:
    rng = np.random.default_rng(3)
    shape = (6, 8) if channels == 1 else (6, 8, 3)
    image = rng.integers(0, np.iinfo(dtype).max, shape, dtype=dtype)
    wanted = image[..., ::-1] if encoding == "bgr8" else image
    found = decode_message(message(STORE2, image, encoding, 1.0, padding=4), "test")
    assert found.dtype == dtype
    assert np.array_equal(found, wanted)


def test_unknown_encoding_short_data_and_compressed_images() -> None:
    grey = images(1)[0]
    with pytest.raises(InputError, match="yuv422"):
        decode_message(message(STORE2, grey, "yuv422", 1.0), "test")
    short = message(STORE2, grey, "mono8", 1.0)
    short.data = short.data[:-100]
    with pytest.raises(InputError, match="shorter"):
        decode_message(short, "test")
    stamp = STORE2.types["builtin_interfaces/msg/Time"](sec=1, nanosec=0)
    header = STORE2.types["std_msgs/msg/Header"](stamp=stamp, frame_id="")
    packed = STORE2.types["sensor_msgs/msg/CompressedImage"](
        header=header, format="png", data=cv2.imencode(".png", grey)[1].reshape(-1)
    )
    assert np.array_equal(decode_message(packed, "test"), grey)
    packed.data = packed.data[:20]
    with pytest.raises(InputError, match="cannot be decoded"):
        decode_message(packed, "test")


def test_a_description_without_end_is_refused_at_once(tmp_path: Path) -> None:
    folder = describe(tmp_path, write_bag(tmp_path, 2, images(2)))
    with (tmp_path / "walk" / "metadata.yaml").open("a") as file:
        file.write("#" * (5 << 20))
    with pytest.raises(InputError, match="larger than the"):
        open_sequence(folder)


@pytest.mark.parametrize(("key", "value"), [("name", "7.5"), ("type", "[a, b]")])
def test_topics_without_a_name_are_refused(tmp_path: Path, key: str, value: str) -> None:
    folder = describe(tmp_path, write_bag(tmp_path, 2, images(2)))
    metadata = tmp_path / "walk" / "metadata.yaml"
    words = re.sub(rf"(\s{key}: ).*", rf"\g<1>{value}", metadata.read_text())
    assert words != metadata.read_text()
    metadata.write_text(words)
    with pytest.raises(InputError, match="not a readable ROS bag"):
        open_sequence(folder)


COMPRESSIONS = [(1, "bz2"), (1, "lz4"), (2, "message"), (2, "chunks")]


@pytest.mark.parametrize(("ros", "compressed"), COMPRESSIONS)
def test_compressed_pieces_are_unpacked(tmp_path: Path, ros: int, compressed: str) -> None:
    pictures = images(2)
    sequence = open_sequence(describe(tmp_path, write_bag(tmp_path, ros, pictures, compressed=compressed)))
    assert all((sequence[k].image == picture).all() for k, picture in enumerate(pictures))


@pytest.mark.parametrize(("ros", "compressed"), COMPRESSIONS)
def test_a_piece_without_end_is_refused(
    tmp_path: Path, ros: int, compressed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = describe(tmp_path, write_bag(tmp_path, ros, images(2), compressed=compressed))
    monkeypatch.setattr(bag_unpacking, "LARGEST_PIECE", SIZE[0] * SIZE[1] // 2)
    with pytest.raises(InputError, match=r"not a readable ROS bag \(a compressed piece is damaged or larger"):
        open_sequence(folder)[0]


def test_bags_compressed_as_a_whole_are_refused(tmp_path: Path) -> None:
    folder = describe(tmp_path, write_bag(tmp_path, 2, images(2), compressed="file"))
    with pytest.raises(InputError, match="compressed as a whole; unpack them first"):
        open_sequence(folder)


def test_a_word_where_files_are_listed_is_one_sentence(tmp_path: Path) -> None:
    bag = tmp_path / write_bag(tmp_path, 2, images(2))
    text = (bag / "metadata.yaml").read_text()
    (bag / "metadata.yaml").write_text(re.sub(r"  files:.*?(?=\n  \w)", "  files: word", text, flags=re.S))
    assert "files: word" in (bag / "metadata.yaml").read_text()
    with pytest.raises(InputError, match="not a readable ROS bag"):
        open_sequence(describe(tmp_path, "walk"))


@pytest.mark.parametrize("times", [2, 20_000])
def test_a_file_listed_many_times_is_refused_at_once(tmp_path: Path, times: int) -> None:
    folder = describe(tmp_path, write_bag(tmp_path, 2, images(2)))
    metadata = tmp_path / "walk" / "metadata.yaml"
    words = re.sub(
        r"(relative_file_paths:\n)(\s*- .*\n)", lambda m: m[1] + times * m[2], metadata.read_text()
    )
    metadata.write_text(words)
    with pytest.raises(InputError, match=r"metadata.yaml: (lists a file twice|is larger than)"):
        open_sequence(folder)
