# SPDX-License-Identifier: Apache-2.0
"""What passes between the steps of the dense map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.optics.view import FocusedView

Colors = NDArray[np.uint8]  # (…, 3) RGB


@dataclass(frozen=True)
class Grid:
    """Every ``step``-th pixel of a view, both ways."""

    view: FocusedView
    step: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return -(-self.view.height // self.step), -(-self.view.width // self.step)

    @property
    def rays(self) -> Array:
        """(rows, columns, 3): directions with z = 1 of the view."""
        rows, columns = self.shape
        x = (np.arange(columns) * self.step - self.view.cx) / self.view.focal_px
        y = (np.arange(rows) * self.step - self.view.cy) / self.view.focal_px
        return np.stack([*np.broadcast_arrays(x, y[:, None]), np.ones((rows, columns))], -1)


class Prior(NamedTuple):
    """The plenoptic depth of one image on the grid, with its gaps filled from around them."""

    inv_depth: Floats  # (rows, columns)
    sigma: Floats  # (rows, columns): larger where it was filled


@dataclass(frozen=True)
class DenseFrame:
    """A keyframe: its pose, its focused image, and on the grid the plenoptic depth of that image and its colours."""

    index: int  # of the frame in its recording
    T_view_world: Array
    image: Floats  # (h, w), grey 0–255
    prior: Prior
    colors: Colors  # (rows, columns, 3)


class Planes(NamedTuple):
    """A surface element at every grid pixel: ``q(x, y) = inv_depth + dx·(x − x0) + dy·(y − y0)``, x and y in pixels.

    A plane of the world is exactly this in a view's inverse depth.
    """

    inv_depth: Floats
    dx: Floats
    dy: Floats


@dataclass(frozen=True)
class DepthMap:
    """The surface as one keyframe and its neighbours see it, on the grid; NaN where it is not believed."""

    frame: DenseFrame
    grid: Grid
    planes: Planes
    sigma: Floats  # of q
    cost: Floats  # 1 − correlation of the best views, 0–1

    @property
    def valid(self) -> Mask:
        """Where there is a depth."""
        return np.isfinite(self.planes.inv_depth)

    @property
    def normals(self) -> Floats:
        """(rows, columns, 3) in the view's axes, towards the camera."""
        grid, (q, dx, dy) = self.grid, self.planes
        rays = grid.rays
        # n·X = 1 on the plane with X = m/q, so n·m = q: its gradient by x is n_x/F
        nx, ny = dx * grid.view.focal_px, dy * grid.view.focal_px
        nz = q - nx * rays[..., 0] - ny * rays[..., 1]
        normal = -np.stack([nx, ny, nz], -1)
        return (normal / np.linalg.norm(normal, axis=-1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Mesh:
    """Triangles in world coordinates, with what is known at their corners."""

    vertices: Floats  # (N, 3), m
    normals: Floats  # (N, 3), unit length, outwards
    colors: Colors  # (N, 3)
    sigma: Floats  # (N,), m, along the line of sight
    triangles: Integers  # (M, 3)
