# SPDX-License-Identifier: Apache-2.0
"""A map on disk: compact keyframes with their poses. ``docs/places.md`` describes the format.

One line says what it is, one line of JSON says what follows, then the arrays of each keyframe, one after the other.
Nothing is allocated before the sizes that the header claims were compared with limits and with the file.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.atomic import write_bytes_atomically
from prism_vo.bounded.files import MB, read_bytes, read_part
from prism_vo.bounded.json_text import parse_json
from prism_vo.cloud import PointCloud
from prism_vo.errors import InputError
from prism_vo.optics.camera import FocusedView, ViewName
from prism_vo.places.features import MOST as MOST_FEATURES
from prism_vo.places.features import Features
from prism_vo.places.keyframe import LARGEST_IMAGE, MOST_POINTS, CompactKeyframe
from prism_vo.se3 import inverse, transform
from prism_vo.trajectory import Trajectory

MAGIC = b"prism-vo/map/"
FIRST_LINE = MAGIC + b"1\n"
LARGEST_FILE = 2048 * MB
LARGEST_HEADER = 64 * MB
MOST_KEYFRAMES = 20_000
MOST_LEVELS = 8
SAME_VIEW = 1e-6  # relative difference of two descriptions of one camera


@dataclass(frozen=True)
class StoredMap:
    """Keyframes of one connected map; poses are T_view_world."""

    view: FocusedView
    keyframes: list[CompactKeyframe]
    poses: dict[int, Array]

    def cloud(self) -> PointCloud:
        """All points in the world, grey as their pixels."""
        points, colors = [np.zeros((0, 3))], [np.zeros((0, 3), np.uint8)]
        for k in self.keyframes:
            points.append(transform(inverse(self.poses[k.id]), k.points(self.view)))
            at = np.rint((k.pixels + 0.5) * 2.0**-k.level - 0.5).astype(np.intp)
            h, w = k.image.shape
            grey = k.image[np.clip(at[:, 1], 0, h - 1), np.clip(at[:, 0], 0, w - 1)]
            colors.append(np.repeat(grey[:, None], 3, 1))
        return PointCloud(np.concatenate(points).astype(np.float32), np.concatenate(colors))

    def trajectory(self) -> Trajectory:
        """T_world_cam of the keyframes, at their numbers: times of several recordings may overlap."""
        T_view_cam = np.eye(4)
        T_view_cam[2, 3] = -self.view.z0
        poses = [inverse(self.poses[k.id]) @ T_view_cam for k in self.keyframes]
        return Trajectory(np.arange(len(poses), dtype=np.float64), np.array(poses).reshape(-1, 4, 4))


def write_map(stored: StoredMap, path: Path) -> None:
    """Write in one step."""
    entries = [
        {
            "id": k.id,
            "time": k.time,
            "level": k.level,
            "image": list(k.image.shape),
            "points": len(k.pixels),
            "features": len(k.features),
            "T_view_world": stored.poses[k.id][:3].ravel().tolist(),
        }
        for k in stored.keyframes
    ]
    header = json.dumps({"view": asdict(stored.view), "keyframes": entries}).encode() + b"\n"
    bodies = [
        np.ascontiguousarray(array, dtype).tobytes()
        for k in stored.keyframes
        for array, (dtype, _) in zip(
            _arrays(k), _layout(k.level, k.image.shape, len(k.pixels), len(k.features))
        )
    ]
    write_bytes_atomically(path, b"".join([FIRST_LINE, header, *bodies]))


def is_map(path: Path) -> bool:
    """Whether a file begins as a map does, of whatever version."""
    return read_part(path, 0, len(MAGIC)) == MAGIC


def read_map(path: Path) -> StoredMap:
    """Read a map; every fault of the file is one sentence."""
    data = read_bytes(path, LARGEST_FILE)
    if not data.startswith(MAGIC):
        raise InputError(f"{path}: is no map; `prism-vo run --save-map` writes one.")
    if not data.startswith(FIRST_LINE):
        raise InputError(f"{path}: is a map of another version of the program; make it again.")
    end = data.find(b"\n", len(FIRST_LINE), len(FIRST_LINE) + LARGEST_HEADER)
    try:
        header = parse_json(data[len(FIRST_LINE) : end].decode("utf-8") if end > 0 else "")
        view = _view(header["view"])
        entries = [_Entry.of(entry) for entry in header["keyframes"]]
        if not 0 < len(entries) <= MOST_KEYFRAMES or len({e.id for e in entries}) != len(entries):
            raise ValueError("keyframes")
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(f"{path}: the header of the map is damaged.") from error
    if sum(e.nbytes for e in entries) != len(data) - end - 1:
        raise InputError(f"{path}: the map is cut off or damaged; its size is not what its header says.")
    keyframes, at = [], end + 1
    for entry in entries:
        keyframe = entry.read(data, at)
        if not _sound(keyframe, view):
            raise InputError(f"{path}: keyframe {entry.id} of the map is damaged.")
        keyframes.append(keyframe)
        at += entry.nbytes
    return StoredMap(view, keyframes, {e.id: e.pose for e in entries})


def check_view(stored: StoredMap, view: FocusedView, path: Path) -> None:
    """Refuse a map of another camera: its distances and pixels mean something else."""
    mine, other = asdict(view), asdict(stored.view)
    same = all(
        mine[k] == other[k]
        if isinstance(mine[k], str)
        else math.isclose(mine[k], other[k], rel_tol=SAME_VIEW)
        for k in mine
    )
    if not same:
        raise InputError(f"{path}: the map was made with another camera, camera file or view.")


def check_map_target(path: Path, force: bool, known: Path | None, resume: bool = False) -> None:
    """Before hours of work: whether the map can be written there, and destroys nothing.

    ``resume``: the name comes from a checkpoint, so what is there already may be replaced if it is a map.
    """
    force = force or (resume and path.is_file() and _is_map(path))
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{path}: cannot be written; --save-map names a file in a folder that exists.")
    if path.is_symlink():
        raise InputError(f"{path}: is a link; name the file itself.")
    same = known is not None and known.exists() and path.exists() and known.samefile(path)
    if path.exists() and not (force or same):
        raise InputError(f"{path}: is there already; choose another --save-map or say --force.")


def _is_map(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(FIRST_LINE)).startswith(b"prism-vo/map/")


Layout = list[tuple[str, tuple[int, ...]]]


def _layout(level: int, image: tuple[int, ...], points: int, features: int) -> Layout:
    """Types and shapes of a keyframe's arrays, in the order of the file."""
    return [
        ("u1", image),
        ("<u2", (points, 2)),
        ("<f4", (points,)),
        ("<f2", (points,)),
        ("u1", (level, points, 8)),
        ("<f4", (features, 2)),
        ("u1", (features, 32)),
        ("<f4", (features,)),
        ("<f4", (features,)),
    ]


def _arrays(k: CompactKeyframe) -> list[NDArray[Any]]:
    f = k.features
    return [k.image, k.pixels, k.inv_depth, k.sigma, k.patches, f.xy, f.descriptors, f.inv_depth, f.sigma]


@dataclass(frozen=True)
class _Entry:
    """What the header says about one keyframe."""

    id: int
    time: float
    level: int
    image: tuple[int, int]
    points: int
    features: int
    pose: Array

    @classmethod
    def of(cls, values: dict[str, Any]) -> _Entry:
        whole = {k: values[k] for k in ("id", "level", "points", "features")}
        height, width = values["image"]
        pose = np.eye(4)
        pose[:3] = np.array(values["T_view_world"], np.float64).reshape(3, 4)
        counts = (*whole.values(), height, width)
        if not all(type(n) is int and n >= 0 for n in counts) or whole["id"] >= 1 << 31:
            raise ValueError("a count")
        if whole["level"] > MOST_LEVELS or whole["points"] > MOST_POINTS or whole["features"] > MOST_FEATURES:
            raise ValueError("too many")
        if (
            not 0 < height * width <= LARGEST_IMAGE
            or np.abs(pose[:3, :3] @ pose[:3, :3].T - np.eye(3)).max() > 1e-6
        ):
            raise ValueError("an image or a pose")
        if not (np.isfinite(pose).all() and math.isfinite(float(values["time"]))):
            raise ValueError("a number")
        return cls(time=float(values["time"]), image=(height, width), pose=pose, **whole)

    @property
    def layout(self) -> Layout:
        return _layout(self.level, self.image, self.points, self.features)

    @property
    def nbytes(self) -> int:
        return sum(np.dtype(dtype).itemsize * math.prod(shape) for dtype, shape in self.layout)

    def read(self, data: bytes, at: int) -> CompactKeyframe:
        found = []
        for dtype, shape in self.layout:
            count = math.prod(shape)
            values = np.frombuffer(data, dtype, count, at).reshape(shape)
            found.append(values.astype(np.dtype(dtype).newbyteorder("=")))
            at += values.nbytes
        image, pixels, inv_depth, sigma, patches, *features = found
        return CompactKeyframe(
            self.id, 0, self.time, self.level, image, pixels, inv_depth, sigma, patches, Features(*features)
        )


def _sound(k: CompactKeyframe, view: FocusedView) -> bool:
    """Whether its numbers are what they should be."""
    limits = np.array([view.width, view.height])
    inside = bool((k.pixels < limits).all() and (k.features.xy >= 0).all() and (k.features.xy < limits).all())
    finite = bool(np.isfinite(k.inv_depth).all() and (k.inv_depth > 0).all() and np.isfinite(k.sigma).all())
    return inside and finite


def _view(values: Any) -> FocusedView:
    """Of a header: a name, and numbers."""
    view = FocusedView(**{k: v if k == "name" else _number(v) for k, v in values.items()})
    if view.name not in get_args(ViewName):
        raise ValueError("no such view")
    return view


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not finite")
    return value
