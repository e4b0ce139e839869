# SPDX-License-Identifier: Apache-2.0
"""Binary glTF 2.0 of points and paths, for Blender, browsers and viewers of 3-D models.

glTF has x to the right, y up and z towards the viewer; metres are its unit, too.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.cloud import PointCloud
from prism_vo.errors import InputError

MAGIC, VERSION, JSON_CHUNK, BINARY_CHUNK = 0x46546C67, 2, 0x4E4F534A, 0x004E4942
FLOAT, UNSIGNED_BYTE = 5126, 5121
POINTS, LINE_STRIP = 0, 3
ARRAY_BUFFER = 34962
PATH_COLOR = (0.85, 0.2, 0.15, 1.0)
TO_GLTF = np.array([1.0, -1.0, -1.0])  # from x right, y down, z forward


class _Buffer:
    """Bytes, and what they mean."""

    def __init__(self) -> None:
        self.data, self.views, self.accessors = b"", [], []  # type: ignore[var-annotated]

    def add(self, values: NDArray[Any], kind: str, component: int, **more: Any) -> int:
        """One array (N, 3) or (N, 4); its number. Rows begin at multiples of four bytes."""
        rows = np.ascontiguousarray(values)
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": rows.nbytes, "target": ARRAY_BUFFER}
        self.views.append(view)
        self.data += rows.tobytes()
        accessor = {
            "bufferView": len(self.views) - 1,
            "componentType": component,
            "count": len(rows),
            "type": kind,
        }
        self.accessors.append({**accessor, **more})
        return len(self.accessors) - 1

    def positions(self, points: Array) -> int:
        """Points in the world of the run."""
        turned = (points * TO_GLTF).astype("<f4")
        limits = {"min": turned.min(0).tolist(), "max": turned.max(0).tolist()}
        return self.add(turned, "VEC3", FLOAT, **limits)


def glb_bytes(cloud: PointCloud, paths: list[Array]) -> bytes:
    """A scene with the points, and a line for every path (N, 3) of two and more positions."""
    buffer, meshes = _Buffer(), []
    if len(cloud):
        attributes = {"POSITION": buffer.positions(cloud.points.astype(np.float64))}
        if cloud.colors is not None:
            opaque = np.full((len(cloud), 1), 255, np.uint8)
            colors = np.concatenate([_linear(cloud.colors), opaque], axis=1)
            attributes["COLOR_0"] = buffer.add(colors, "VEC4", UNSIGNED_BYTE, normalized=True)
        meshes.append({"name": "map", "primitives": [{"attributes": attributes, "mode": POINTS}]})
    for number, path in enumerate(path for path in paths if len(path) > 1):
        line = {"attributes": {"POSITION": buffer.positions(path)}, "mode": LINE_STRIP, "material": 0}
        meshes.append({"name": f"path {number}", "primitives": [line]})
    return _file(buffer, meshes)


def check_glb(content: bytes, path: Path) -> None:
    """Refuse what is no such file, or not the whole of it."""
    magic, _, length = struct.unpack_from("<III", content) if len(content) >= 12 else (0, 0, 0)
    if magic != MAGIC:
        raise InputError(f"{path}: not a glTF file.")
    if length != len(content):
        raise InputError(f"{path}: the file is cut off or damaged; it should have {length} bytes.")


def _linear(colors: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colours of vertices are linear light in glTF; those of images are not (sRGB)."""
    s = np.arange(256) / 255.0
    light = np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)
    table: NDArray[np.uint8] = np.rint(255 * light).astype(np.uint8)
    return table[colors]


def _file(buffer: _Buffer, meshes: list[dict[str, Any]]) -> bytes:
    content = {
        "asset": {"version": "2.0", "generator": "prism-vo"},
        "scene": 0,
        "scenes": [{"nodes": list(range(len(meshes)))}],
        "nodes": [{"mesh": n, "name": mesh["name"]} for n, mesh in enumerate(meshes)],
        "meshes": meshes,
        "materials": [
            {
                "name": "path",
                "pbrMetallicRoughness": {"baseColorFactor": PATH_COLOR, "metallicFactor": 0.0},
                "extensions": {"KHR_materials_unlit": {}},
            }
        ],
        "extensionsUsed": ["KHR_materials_unlit"],
        "buffers": [{"byteLength": len(buffer.data)}],
        "bufferViews": buffer.views,
        "accessors": buffer.accessors,
    }
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    data = buffer.data + b"\0" * (-len(buffer.data) % 4)
    chunks = struct.pack("<II", len(text), JSON_CHUNK) + text
    chunks += struct.pack("<II", len(data), BINARY_CHUNK) + data
    return struct.pack("<III", MAGIC, VERSION, 12 + len(chunks)) + chunks
