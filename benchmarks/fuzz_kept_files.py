# SPDX-License-Identifier: Apache-2.0
"""Bags, maps, and what an unfinished run leaves behind: valid ones, and how they are changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks import fuzz_mutations as change
from prism_vo.checkpoint.file import CHECKPOINT, FIRST_LINE, program, read_checkpoint, write_checkpoint
from prism_vo.checkpoint.pickling import from_bytes, to_bytes
from prism_vo.checkpoint.records import RECORDS, RecordFile
from prism_vo.datasets import open_sequence
from prism_vo.map_file import StoredMap, read_map, write_map
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.output_folder import MARKER, check_folder, read_marker
from prism_vo.places.features import Features
from prism_vo.places.keyframe import CompactKeyframe
from prism_vo.shelf import RECENT, Shelf
from prism_vo.types import RawFrame

POINTS, CORNERS = 20, 30


def write_bags(folder: Path, images: list[Any]) -> dict[str, Path]:
    """The same images as a ROS 1 bag, and as ROS 2 bags in two kinds of files; each in its own folder."""
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import StoragePlugin
    from rosbags.rosbag2 import Writer as Writer2
    from rosbags.typesys import Stores, get_typestore

    old, new = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_HUMBLE)
    found = {}
    for kind in ("bag", "db3", "mcap"):
        place = folder / f"ros_{kind}"
        place.mkdir()
        store, name = (old, "walk.bag") if kind == "bag" else (new, "walk")
        plugin = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
        writer: Any = (
            Writer1(place / name)
            if kind == "bag"
            else Writer2(place / name, version=9, storage_plugin=plugin)
        )
        with writer:
            connection = writer.add_connection("/camera", "sensor_msgs/msg/Image", typestore=store)
            for k, image in enumerate(images):
                sent = _message(store, image, k, old=store is old)
                serialize = store.serialize_ros1 if store is old else store.serialize_cdr
                writer.write(connection, (k + 1) * 100_000_000, serialize(sent, sent.__msgtype__))
        (place / "rosbag.yaml").write_text(
            f"format: prism-vo/rosbag/1\nbag: {name}\ncamera: camera.yaml\ntopic: /camera\n"
        )
        found[kind] = place / name if kind == "bag" else next((place / name).glob(f"*.{kind}"))
    return found


def _message(store: Any, image: Any, number: int, old: bool) -> Any:
    stamp = store.types["builtin_interfaces/msg/Time"](sec=1 + number, nanosec=5)
    header = store.types["std_msgs/msg/Header"](stamp=stamp, frame_id="c", **({"seq": 0} if old else {}))
    return store.types["sensor_msgs/msg/Image"](
        header=header,
        height=image.shape[0],
        width=image.shape[1],
        encoding="mono8",
        is_bigendian=0,
        step=image.shape[1],
        data=image.reshape(-1),
    )


def read_bag(file: Path) -> None:
    """Every frame of the bag that a file belongs to."""
    folder = next(parent for parent in file.parents if (parent / "rosbag.yaml").exists())
    for frame in open_sequence(folder):
        del frame


def write_small_map(path: Path, camera: PlenopticCamera) -> None:
    """Two keyframes of a camera's central view."""
    view, rng = camera.view("central"), np.random.default_rng(5)
    size = np.array([view.width, view.height])

    def keyframe(number: int) -> CompactKeyframe:
        features = Features(
            (rng.random((CORNERS, 2)) * (size - 1)).astype(np.float32),
            rng.integers(0, 256, (CORNERS, 32), np.uint8),
            np.full(CORNERS, 0.8, np.float32),
            np.full(CORNERS, 0.05, np.float32),
        )
        return CompactKeyframe(
            number,
            0,
            0.1 * number,
            0,
            rng.integers(0, 256, (view.height, view.width), np.uint8),
            (rng.random((POINTS, 2)) * (size - 1)).astype(np.uint16),
            np.full(POINTS, 0.8, np.float32),
            np.full(POINTS, 0.05, np.float16),
            np.zeros((0, POINTS, 8), np.uint8),
            features,
        )

    write_map(StoredMap(view, [keyframe(0), keyframe(1)], {0: np.eye(4), 1: np.eye(4)}), path)


def read_whole_map(path: Path) -> None:
    """As ``view`` does."""
    stored = read_map(path)
    stored.cloud()
    stored.trajectory()


def header_changed(data: bytes, rng: Random) -> bytes:
    """The line of JSON after the first line, what follows as it was."""
    first, header, rest = data.split(b"\n", 2)
    changed = change.json_changed(header, rng).replace(b"\n", b" ")
    return b"\n".join((first, changed, rest))


def write_unfinished(folder: Path, state: object) -> None:
    """A checkpoint and its records, in their own folder with a marker."""
    folder.mkdir()
    store = RecordFile(folder)
    numbers: Shelf[Any] = Shelf(store=store)
    for number in range(RECENT + 8):
        numbers.append([number, np.arange(3.0)])
    write_checkpoint(folder, {"records": store.facts()}, to_bytes([state, numbers], {"records": store}))
    marker = {"format": "prism-vo/run/1", "state": "running"}
    (folder / MARKER).write_text(json.dumps(marker))


def reader_of_unfinished(image: Any) -> Callable[[Path], None]:
    """What ``--resume`` reads, with everything that was put away; records may have been forged."""

    def read(path: Path) -> None:
        folder = path.parent
        found = read_checkpoint(folder)
        if found is None:
            return
        header, state = found
        facts = header.get("records", {})
        if path.name == RECORDS:
            data = path.read_bytes()
            facts = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        shared: dict[str, object] = {"records": RecordFile(folder, facts)}
        content = from_bytes(state, shared, lambda index: RawFrame(index, 0.0, image), lambda focused: [])
        if isinstance(content, list) and len(content) == 2 and isinstance(content[1], Shelf):
            for item in content[1]:
                del item

    return read


def state_changed(data: bytes, rng: Random) -> bytes:
    """The pickled state, with the right check sum: what somebody could make who wants to do harm."""
    facts, state = data.split(b"\n", 2)[1:]
    state = change.bytes_changed(state, rng)
    told = json.loads(facts) | {"program": program(), "bytes": len(state)}
    told["sha256"] = hashlib.sha256(state).hexdigest()
    return FIRST_LINE + json.dumps(told).encode() + b"\n" + state


def read_folder_marker(path: Path) -> None:
    """As every command does that writes a folder."""
    read_marker(path.parent)
    check_folder(path.parent, "run", force=False, resume=True)


KEPT_FILES = (CHECKPOINT, RECORDS, MARKER)
