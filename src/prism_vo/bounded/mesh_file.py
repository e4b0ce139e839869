# SPDX-License-Identifier: Apache-2.0
"""Mesh files: what they claim (elements, accessors, textures) against what they hold, before a parser sees them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prism_vo.bounded.files import MB, read_bytes
from prism_vo.bounded.image_header import claimed
from prism_vo.bounded.json_text import parse_json
from prism_vo.errors import InputError

LARGEST = 256 * MB
MOST_ENTRIES = 20_000  # nodes, meshes … and pieces of all meshes in a glTF file: each takes 0.1 ms
_BINARY_GLTF = b"glTF"
_JSON_CHUNK = 0x4E4F534A
_PLY_ELEMENT = re.compile(rb"^element\s+\w+\s+(\d+)", re.MULTILINE)
_LARGEST_HEADER = 65536


def read_mesh_file(path: Path) -> bytes:
    """The bytes of a mesh file whose claims are possible."""
    data, kind = read_bytes(path, LARGEST), path.suffix.lower()
    try:
        if kind == ".ply":
            _check_ply(data)
        elif kind == ".glb":
            _check_glb(data)
        elif kind == ".gltf":
            _check_gltf(parse_json(data.decode("utf-8")), b"")
        elif kind == ".stl" and data.lstrip()[:5].lower() != b"solid":
            _require(len(data) >= 84 and struct.unpack_from("<I", data, 80)[0] * 50 <= len(data) - 84)
    except (
        ValueError,
        struct.error,
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
        OverflowError,
    ) as error:
        raise InputError(f"{path}: damaged; it claims more than it holds, or is no {kind} file.") from error
    return data


def read_beside(mesh: Path, name: str) -> bytes:
    """A file that a mesh file names (material, texture, buffer): in its own folder or below, a possible picture."""
    path = mesh.parent / name
    folder = mesh.parent.resolve()
    if "\0" in name or not path.resolve().is_relative_to(folder):
        raise InputError(f"{mesh}: names a file outside its folder, which is not opened.")
    data = read_bytes(path, LARGEST)
    _check_picture(data)
    return data


def _require(possible: bool) -> None:
    if not possible:
        raise ValueError("more is claimed than there is")


def _check_ply(data: bytes) -> None:
    end = data.find(b"end_header", 0, _LARGEST_HEADER)
    _require(end > 0)
    counts = [found[1] for found in _PLY_ELEMENT.finditer(data[:end])]
    _require(all(len(count) <= 12 for count in counts))
    _require(sum(map(int, counts)) <= len(data))  # every element takes at least a byte


def _check_glb(data: bytes) -> None:
    magic, _, length = struct.unpack_from("<4sII", data, 0)
    _require(magic == _BINARY_GLTF and length <= len(data))
    size, kind = struct.unpack_from("<II", data, 12)
    _require(kind == _JSON_CHUNK and size <= len(data) - 20)
    tree = parse_json(data[20 : 20 + size].decode("utf-8"))
    _check_gltf(tree, data[28 + size :])


def _check_gltf(tree: dict[str, Any], binary: bytes) -> None:
    for name in ("nodes", "meshes", "accessors", "bufferViews", "materials", "images", "textures", "scenes"):
        _require(isinstance(tree.get(name, []), list) and len(tree.get(name, [])) <= MOST_ENTRIES)
    _require(sum(len(mesh.get("primitives", [])) for mesh in tree.get("meshes", [])) <= MOST_ENTRIES)
    _require(sum(len(node.get("children", [])) for node in tree.get("nodes", [])) <= MOST_ENTRIES)
    _require(sum(len(scene.get("nodes", [])) for scene in tree.get("scenes", [])) <= MOST_ENTRIES)
    for accessor in tree.get("accessors", []):
        _require(0 <= int(accessor["count"]) <= LARGEST)
    if not binary:
        return
    for view in tree.get("bufferViews", []):
        _require(0 <= int(view.get("byteOffset", 0)) + int(view["byteLength"]) <= len(binary))
    for accessor in tree.get("accessors", []):
        _require(int(accessor["count"]) <= len(binary) or "bufferView" not in accessor)
    for picture in _pictures(tree, binary):
        _check_picture(picture)


def _pictures(tree: dict[str, Any], binary: bytes) -> Iterator[bytes]:
    views = tree.get("bufferViews", [])
    for image in tree.get("images", []):
        if "bufferView" in image:
            view = views[int(image["bufferView"])]
            start = int(view.get("byteOffset", 0))
            yield binary[start : start + int(view["byteLength"])]


def _check_picture(data: bytes) -> None:
    claims = claimed(data)
    _require(claims is None or claims.problem(len(data)) is None)
