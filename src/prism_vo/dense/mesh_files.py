# SPDX-License-Identifier: Apache-2.0
"""A mesh as binary PLY, and as glTF 2.0 in one file (``.glb``): what Blender, MeshLab and Open3D open."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.atomic import write_bytes_atomically
from prism_vo.dense.records import Mesh

# numbers of the glTF 2.0 specification
FLOAT, UNSIGNED_SHORT, UNSIGNED_INT = 5126, 5123, 5125
VERTICES, INDICES = 34962, 34963
GLTF_MAGIC, JSON_CHUNK, BINARY_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
UNLIT = "KHR_materials_unlit"  # the colours are those of photographs: light is in them already

PLY_VERTEX = np.dtype(
    [(name, "<f4") for name in ("x", "y", "z", "nx", "ny", "nz")]
    + [(name, "u1") for name in ("red", "green", "blue")]
    + [("sigma", "<f4")]
)
PLY_FACE = np.dtype([("count", "u1"), ("vertices", "<i4", 3)])


def write_mesh_ply(mesh: Mesh, path: Path | str) -> None:
    """Vertices with normal, colour and σ, then triangles; written in one step."""
    vertices = np.empty(len(mesh.vertices), PLY_VERTEX)
    for columns, values in (("xyz", mesh.vertices), (("nx", "ny", "nz"), mesh.normals)):
        for k, name in enumerate(columns):
            vertices[name] = values[:, k]
    for k, name in enumerate(("red", "green", "blue")):
        vertices[name] = mesh.colors[:, k]
    vertices["sigma"] = mesh.sigma
    faces = np.empty(len(mesh.triangles), PLY_FACE)
    faces["count"], faces["vertices"] = 3, mesh.triangles
    floats = [f"property float {name}" for name in ("x", "y", "z", "nx", "ny", "nz")]
    header = [
        "ply",
        "format binary_little_endian 1.0",
        "comment prism-vo: world coordinates in metres; sigma: standard deviation of the depth in metres",
        f"element vertex {len(vertices)}",
        *floats,
        *(f"property uchar {name}" for name in ("red", "green", "blue")),
        "property float sigma",
        f"element face {len(faces)}",
        "property list uchar int vertex_indices",
        "end_header",
    ]
    text = "\n".join(header).encode() + b"\n"
    write_bytes_atomically(Path(path), text + vertices.tobytes() + faces.tobytes())


def write_mesh_glb(mesh: Mesh, path: Path | str) -> None:
    """The same for glTF, whose y axis points up: a node turns the world of the run (y down, z forward) about x."""
    parts: list[NDArray[Any]] = [
        mesh.vertices.astype("<f4"),
        mesh.normals.astype("<f4"),
        _linear_colors(mesh.colors),
        mesh.triangles.astype("<u4").ravel(),
    ]
    low, high = (
        (mesh.vertices.min(0).tolist(), mesh.vertices.max(0).tolist())
        if len(mesh.vertices)
        else ([0.0] * 3,) * 2
    )
    kinds: list[tuple[int, str, dict[str, Any]]] = [
        (FLOAT, "VEC3", {"min": low, "max": high}),
        (FLOAT, "VEC3", {}),
        (UNSIGNED_SHORT, "VEC4", {"normalized": True}),
        (UNSIGNED_INT, "SCALAR", {}),
    ]
    buffer, views, accessors = b"", [], []
    for n, (part, (component, shape, more)) in enumerate(zip(parts, kinds)):
        views.append(
            {
                "buffer": 0,
                "byteOffset": len(buffer),
                "byteLength": part.nbytes,
                "target": INDICES if n == 3 else VERTICES,
            }
        )
        accessors.append(
            {"bufferView": n, "componentType": component, "count": len(part), "type": shape, **more}
        )
        buffer += part.tobytes()  # all element sizes are multiples of four
    write_bytes_atomically(Path(path), _glb(_scene(views, accessors, len(buffer)), buffer))


def _scene(views: list[dict[str, Any]], accessors: list[dict[str, Any]], size: int) -> dict[str, Any]:
    attributes = {"POSITION": 0, "NORMAL": 1, "COLOR_0": 2}
    look = {"baseColorFactor": [1, 1, 1, 1], "metallicFactor": 0, "roughnessFactor": 1}
    return {
        "asset": {"version": "2.0", "generator": "prism-vo"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": "map", "rotation": [1, 0, 0, 0]}],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": 3, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": look, "doubleSided": True, "extensions": {UNLIT: {}}}],
        "extensionsUsed": [UNLIT],
        "buffers": [{"byteLength": size}],
        "bufferViews": views,
        "accessors": accessors,
    }


def _linear_colors(colors: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """sRGB bytes as linear light with alpha, as glTF wants vertex colours."""
    s = np.arange(256) / 255.0
    linear = np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)
    table = np.rint(linear * 65535).astype("<u2")
    out = np.full((len(colors), 4), 65535, "<u2")
    out[:, :3] = table[colors]
    return out


def _glb(scene: dict[str, Any], buffer: bytes) -> bytes:
    text = json.dumps(scene, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    buffer += b"\0" * (-len(buffer) % 4)
    chunks = (
        struct.pack("<II", len(text), JSON_CHUNK)
        + text
        + struct.pack("<II", len(buffer), BINARY_CHUNK)
        + buffer
    )
    return struct.pack("<III", GLTF_MAGIC, 2, 12 + len(chunks)) + chunks
