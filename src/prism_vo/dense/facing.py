# SPDX-License-Identifier: Apache-2.0
"""Triangles that no camera can have seen from the front are left out: the back of a surface is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from prism_vo.arrays import Array, Mask
from prism_vo.compiled import njit
from prism_vo.dense.records import Mesh
from prism_vo.dense.surface import vertex_normals
from prism_vo.optics.view import FocusedView

LEAST_COSINE = 0.05  # of the angle between a triangle's normal and a line of sight


def facing(mesh: Mesh, T_view_world: Sequence[Array], view: FocusedView) -> Mesh:
    """Triangles that face at least one of the cameras that have them in their image, and their vertices."""
    if not len(mesh.triangles):
        return mesh
    camera = np.array([view.focal_px, view.cx, view.cy, view.width, view.height])
    seen = _seen(mesh.vertices, mesh.triangles, np.array(T_view_world), camera)
    kept = with_triangles(mesh, seen)
    return replace(
        kept, normals=vertex_normals(kept.vertices, kept.triangles)
    )  # what is gone does not bend them


def with_triangles(mesh: Mesh, keep: Mask) -> Mesh:
    """Some of the triangles and the vertices they need."""
    triangles = mesh.triangles[keep]
    used = np.zeros(len(mesh.vertices), np.bool_)
    used[triangles.ravel()] = True
    place = np.cumsum(used, dtype=np.int32) - 1
    return replace(
        mesh,
        vertices=mesh.vertices[used],
        normals=mesh.normals[used],
        colors=mesh.colors[used],
        sigma=mesh.sigma[used],
        triangles=place[triangles].astype(np.int32).reshape(-1, 3),
    )


@njit(nogil=True, cache=True, error_model="numpy")
def _seen(vertices, triangles, poses, camera):  # type: ignore[no-untyped-def]
    seen = np.zeros(len(triangles), np.bool_)
    last = 0  # the camera that saw the triangle before: its neighbour is seen by it as well, most often
    cameras = len(poses)
    for n in range(len(triangles)):
        a, b, c = vertices[triangles[n, 0]], vertices[triangles[n, 1]], vertices[triangles[n, 2]]
        ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
        nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        length = np.sqrt(nx * nx + ny * ny + nz * nz)
        for turn in range(cameras):
            k = (last + turn) % cameras
            T = poses[k]
            px = T[0, 0] * a[0] + T[0, 1] * a[1] + T[0, 2] * a[2] + T[0, 3]
            py = T[1, 0] * a[0] + T[1, 1] * a[1] + T[1, 2] * a[2] + T[1, 3]
            pz = T[2, 0] * a[0] + T[2, 1] * a[1] + T[2, 2] * a[2] + T[2, 3]
            if pz <= 0:
                continue
            u, v = camera[0] * px / pz + camera[1], camera[0] * py / pz + camera[2]
            if u < 0 or v < 0 or u >= camera[3] or v >= camera[4]:
                continue
            mx = T[0, 0] * nx + T[0, 1] * ny + T[0, 2] * nz
            my = T[1, 0] * nx + T[1, 1] * ny + T[1, 2] * nz
            mz = T[2, 0] * nx + T[2, 1] * ny + T[2, 2] * nz
            far = np.sqrt(px * px + py * py + pz * pz)
            if -(px * mx + py * my + pz * mz) > LEAST_COSINE * length * far:
                seen[n] = True
                last = k
                break
    return seen
