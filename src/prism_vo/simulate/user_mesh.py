# SPDX-License-Identifier: Apache-2.0
"""The user's own mesh (.glb, .gltf, .obj, .ply, .stl) as a scene."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from prism_vo.arrays import Array, Integers, Mask
from prism_vo.bounded.mesh_file import read_beside, read_mesh_file
from prism_vo.errors import InputError, MissingExtraError
from prism_vo.simulate.mesh import Material, MeshBuilder
from prism_vo.simulate.path import PathSpec
from prism_vo.simulate.scene import Scene
from prism_vo.simulate.textures import SIZE, Layer, atlas_for

FARTHEST = 1e6  # m
SUFFIXES = (".glb", ".gltf", ".obj", ".ply", ".stl")
FALLBACK = "clutter"  # for meshes without a texture: shapes alone would give a direct method nothing to see


def is_mesh_file(name: str) -> bool:
    """Whether a SCENE argument names a mesh file rather than a scene of the catalogue."""
    return Path(name).suffix.lower() in SUFFIXES


def load_mesh_scene(path: Path) -> Scene:
    """Read a mesh in metres. glTF is y up by definition; others are taken as x right, y down, z forward."""
    try:
        import trimesh
    except ImportError as error:
        raise MissingExtraError("Reading meshes needs trimesh: pip install 'prism-vo[sim]'.") from error
    data, kind = read_mesh_file(path), path.suffix.lower()
    builder, layers = MeshBuilder(), dict[str, Layer]()
    turn = np.diag([1.0, -1.0, -1.0]) if kind in (".glb", ".gltf") else np.eye(3)
    try:
        loaded = trimesh.load_scene(io.BytesIO(data), file_type=kind[1:], resolver=_Beside(path))
        parts: list[Any] = [part for part in loaded.dump() if len(getattr(part, "faces", ()))]
        for index, part in enumerate(parts):
            part.update_faces(_first_of_same(part.faces))
            _add_part(builder, layers, part, index, turn)
    except InputError:
        raise
    except Exception as error:  # trimesh raises whatever its parsers raise
        raise InputError(f"{path}: cannot be read as a mesh ({type(error).__name__}).") from error
    if not builder.corners:
        raise InputError(f"{path}: holds no triangles.")
    if not (np.abs(np.concatenate(builder.corners)) < FARTHEST).all():
        raise InputError(f"{path}: has vertices that are not finite numbers of metres.")
    return Scene(path.stem, builder, atlas_for({FALLBACK}, layers))


def _first_of_same(faces: Integers) -> Mask:
    """Which faces (N, 3) are no repetition: a ray meets all that lie in one place, and thousands take minutes."""
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return np.isin(np.arange(len(faces)), first)


class _Beside(Mapping[str, bytes]):
    """The files a mesh names, for trimesh: only those of its own folder, and their names are not listed."""

    def __init__(self, mesh: Path) -> None:
        self.mesh = mesh

    def __getitem__(self, name: str) -> bytes:
        return read_beside(self.mesh, name.strip())

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def orbit(scene: Scene) -> PathSpec:
    """A sweep in front of the mesh (on its −z side), far enough back to see it."""
    corners = np.concatenate(scene.still.corners).reshape(-1, 3)
    low, high = corners.min(0), corners.max(0)
    middle, size = (low + high) / 2, float(np.linalg.norm(high - low))
    x, y, z = (float(v) for v in middle)
    start = (float(middle[0]), float(middle[1]), float(low[2] - 0.9 * size))
    extent = (0.22 * size, 0.1 * size, 0.1 * size)
    return PathSpec("sweep", (start,), 0.01, target=(x, y, z), extent=extent, frames=240)


def _add_part(builder: MeshBuilder, layers: dict[str, Layer], part: Any, index: int, turn: Array) -> None:
    corners = np.asarray(part.triangles, float) @ turn.T
    uv, image = _own_texture(part)
    if uv is not None and image is not None:
        name = f"own{index}"
        layers[name] = image
        # v runs up in texture files and down in images
        builder.triangles(
            corners, np.stack([uv[..., 0], 1.0 - uv[..., 1]], -1), Material(name, macro=0.0, contrast=1.0)
        )
        return
    tint = _mean_color(part)
    extent = float(np.linalg.norm(np.ptp(corners.reshape(-1, 3), axis=0)))
    material = Material(FALLBACK, max(extent / 2.5, 1e-3), tint, tint)
    normal = np.abs(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    drop = normal.argmax(1)  # texture along the two axes the face is most square to
    for axis, (a, b) in enumerate(((2, 1), (0, 2), (0, 1))):
        faces = corners[drop == axis]
        if len(faces):
            builder.triangles(faces, faces[..., [a, b]] / material.tile, material)


def _own_texture(part: Any) -> tuple[Array | None, Layer | None]:
    visual = part.visual
    uv = getattr(visual, "uv", None)
    material = getattr(visual, "material", None)
    picture = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if uv is None or picture is None or len(uv) != len(part.vertices):
        return None, None
    grey = np.asarray(picture.convert("L"), np.float32) / 255.0
    layer = np.asarray(cv2.resize(grey, (SIZE, SIZE), interpolation=cv2.INTER_AREA), np.float32)
    return np.asarray(uv, float)[part.faces], layer


def _mean_color(part: Any) -> tuple[float, float, float]:
    try:
        rgb = np.asarray(part.visual.to_color().vertex_colors, float)[:, :3].mean(0) / 255.0
    except (AttributeError, ValueError, IndexError):
        return (1.0, 1.0, 1.0)
    r, g, b = np.clip(rgb, 0.1, 1.0)
    return float(r), float(g), float(b)
