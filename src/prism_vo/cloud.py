# SPDX-License-Identifier: Apache-2.0
"""Point clouds with colour and depth uncertainty, as binary PLY."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats, Integers, Mask
from prism_vo.atomic import write_bytes_atomically
from prism_vo.bounded.files import MB, read_bytes, shown
from prism_vo.errors import ArgumentError, InputError, expect

_PLY_NAMES = {
    "<f4": ("float", "float32"),
    "<f8": ("double", "float64"),
    "i1": ("char", "int8"),
    "<i2": ("short", "int16"),
    "<i4": ("int", "int32"),
    "u1": ("uchar", "uint8"),
    "<u2": ("ushort", "uint16"),
    "<u4": ("uint", "uint32"),
}
_TYPES = {name: dtype for dtype, names in _PLY_NAMES.items() for name in names}
_COLORS = ("red", "green", "blue")
_NORMALS = ("nx", "ny", "nz")
_MAX_HEADER = 65536
_MOST_FIELDS = 64
_LARGEST_FILE = 512 * MB


@dataclass(frozen=True)
class PointCloud:
    """N points in world coordinates."""

    points: Floats  # (N, 3), m
    colors: NDArray[np.uint8] | None = None  # (N, 3) RGB
    sigma: Floats | None = None  # (N,), m: standard deviation of the depth
    keyframe: Integers | None = None  # (N,): which pose of the keyframes' trajectory saw the point first
    normals: Floats | None = None  # (N, 3), unit length, outwards

    def __post_init__(self) -> None:
        expect(self.points, np.ndarray, "points of a PointCloud", "use numpy.array")
        if self.points.ndim != 2 or self.points.shape[1] != 3:
            raise ArgumentError(f"A PointCloud has (N, 3) points, not {self.points.shape}.")
        for name in ("colors", "sigma", "keyframe", "normals"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.points):
                raise ArgumentError(f"A PointCloud of {len(self)} points has {len(values)} {name}.")

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        parts = ("colors", "sigma", "keyframe", "normals")
        known = ", ".join(["points", *(name for name in parts if getattr(self, name) is not None)])
        return f"PointCloud({len(self)} points: {known})"

    def _repr_html_(self) -> str:
        from prism_vo.notebook.html import card, points_drawing

        rows = [("points", str(len(self)))]
        if len(self):
            low, high = np.nanquantile(self.points, [0.05, 0.95], axis=0)
            rows.append(("nine tenths within", " × ".join(f"{s:.2f}" for s in high - low) + " m"))
        if self.sigma is not None and len(self):
            rows.append(("σ of depth", f"{1e3 * float(np.nanmedian(self.sigma)):.1f} mm (median)"))
        return card("PointCloud", rows, points_drawing(self.points, self.colors))

    def select(self, which: Mask | NDArray[np.int_] | slice) -> PointCloud:
        """The points a mask, index array or slice picks."""
        others = (self.colors, self.sigma, self.keyframe, self.normals)
        return PointCloud(self.points[which], *(None if o is None else o[which] for o in others))  # type: ignore[arg-type]


def write_ply(cloud: PointCloud, path: Path | str) -> None:
    """Write binary little-endian PLY in one step."""
    expect(cloud, PointCloud, "cloud")
    expect(path, (str, Path), "path")
    columns: list[tuple[str, str, NDArray[Any]]] = [
        (axis, "float", cloud.points[:, i]) for i, axis in enumerate("xyz")
    ]
    if cloud.normals is not None:
        columns += [(name, "float", cloud.normals[:, i]) for i, name in enumerate(_NORMALS)]
    if cloud.colors is not None:
        columns += [(name, "uchar", cloud.colors[:, i]) for i, name in enumerate(_COLORS)]
    if cloud.sigma is not None:
        columns.append(("sigma", "float", cloud.sigma))
    if cloud.keyframe is not None:
        columns.append(("keyframe", "int", cloud.keyframe))
    table = np.empty(len(cloud), dtype=[(name, _TYPES[kind]) for name, kind, _ in columns])
    for name, _, values in columns:
        table[name] = values
    header = [
        "ply",
        "format binary_little_endian 1.0",
        "comment prism-vo: world coordinates in metres; sigma: standard deviation of the depth in metres",
        f"element vertex {len(cloud)}",
        *(f"property {kind} {name}" for name, kind, _ in columns),
        "end_header",
    ]
    write_bytes_atomically(Path(path), "\n".join(header).encode() + b"\n" + table.tobytes())


def read_ply(path: Path | str) -> PointCloud:
    """Read a binary little-endian PLY whose vertices have x, y, z (colour and sigma optional)."""
    expect(path, (str, Path), "path")
    path = Path(path)
    table = _vertices(read_bytes(path, _LARGEST_FILE), path)
    names = table.dtype.names or ()
    colors = (
        np.stack([table[c] for c in _COLORS], -1).astype(np.uint8) if set(_COLORS) <= set(names) else None
    )
    sigma = table["sigma"].astype(np.float32) if "sigma" in names else None
    keyframe = table["keyframe"].astype(np.int32) if "keyframe" in names else None
    normals = (
        np.stack([table[n] for n in _NORMALS], -1).astype(np.float32) if set(_NORMALS) <= set(names) else None
    )
    points = np.stack([table[axis] for axis in "xyz"], -1).astype(np.float32)
    return PointCloud(points, colors, sigma, keyframe, normals)


def check_ply(content: bytes, path: Path) -> None:
    """Refuse what is no such file, or not the whole of it."""
    _vertices(content, path)


def _vertices(data: bytes, path: Path) -> NDArray[Any]:
    end = data.find(b"end_header\n", 0, _MAX_HEADER)
    if not data.startswith(b"ply") or end < 0:
        raise InputError(f"{path}: not a PLY file.")
    count, fields = _header(data[:end].decode("ascii", "replace").splitlines(), path)
    if not {"x", "y", "z"} <= {name for name, _ in fields}:
        raise InputError(f"{path}: the vertices have no x, y and z.")
    dtype, start = np.dtype(fields), end + len(b"end_header\n")
    if len(data) - start < count * dtype.itemsize:
        raise InputError(f"{path}: the file is cut off; it should hold {count} points.")
    return np.frombuffer(data, dtype, count, start)


def _header(lines: list[str], path: Path) -> tuple[int, list[tuple[str, str]]]:
    """Vertex count and the vertex fields; the vertices must come first in the file."""
    if "format binary_little_endian 1.0" not in lines:
        raise InputError(f"{path}: only binary little-endian PLY is read.")
    count, element = -1, ""
    fields: list[tuple[str, str]] = []
    for words in (line.split() for line in lines):
        if words[:1] == ["element"] and len(words) == 3:
            element = words[1]
            if count < 0 and element == "vertex" and _is_count(words[2]):
                count = int(words[2])
            elif count < 0:
                raise InputError(f"{path}: the first element is not 'vertex'.")
        elif words[:1] == ["property"] and element == "vertex":
            if len(words) != 3 or words[1] not in _TYPES:
                raise InputError(f"{path}: vertex property {shown(' '.join(words[1:]))} is not understood.")
            if words[2] in dict(fields):
                raise InputError(f"{path}: vertex property {shown(words[2])} is given twice.")
            fields.append((words[2], _TYPES[words[1]]))
            if len(fields) > _MOST_FIELDS:
                raise InputError(f"{path}: the vertices have more than {_MOST_FIELDS} properties.")
    if count < 0:
        raise InputError(f"{path}: the header names no vertices.")
    return count, fields


def _is_count(word: str) -> bool:
    """A number that a file can have of anything."""
    return word.isascii() and word.isdigit() and len(word) <= 12
