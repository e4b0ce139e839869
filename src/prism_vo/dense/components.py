# SPDX-License-Identifier: Apache-2.0
"""Small pieces that hang in the air are left out of a mesh."""

from __future__ import annotations

import numpy as np

from prism_vo.compiled import njit
from prism_vo.dense.facing import with_triangles
from prism_vo.dense.records import Mesh

LEAST_TRIANGLES = 100  # of a piece that is kept


def without_crumbs(mesh: Mesh, least: int = LEAST_TRIANGLES) -> Mesh:
    """Connected pieces of at least so many triangles."""
    if not len(mesh.triangles):
        return mesh
    piece = _pieces(len(mesh.vertices), mesh.triangles)
    sizes = np.bincount(piece[mesh.triangles[:, 0]], minlength=len(mesh.vertices))
    return with_triangles(mesh, (sizes[piece] >= least)[mesh.triangles[:, 0]])


@njit(nogil=True, cache=True)
def _pieces(vertices, triangles):  # type: ignore[no-untyped-def]
    """A vertex of its piece for every vertex (union-find)."""
    parent = np.arange(vertices)
    for n in range(len(triangles)):
        a = triangles[n, 0]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        for corner in range(1, 3):
            b = triangles[n, corner]
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            if a < b:
                parent[b] = a
            else:
                parent[a] = b
                a = b
    for n in range(vertices):
        parent[n] = parent[parent[n]]
    for n in range(vertices):
        a = n
        while parent[a] != a:
            a = parent[a]
        parent[n] = a
    return parent
