# SPDX-License-Identifier: Apache-2.0
"""The micro-lens array: which lenses there are, where they sit, which one owns a raw pixel, which see a point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.distortion import undistort

Array = NDArray[np.float64]
IntArray = NDArray[np.int32]


@dataclass(frozen=True)
class MicroLensArray:
    """All micro-lenses whose images lie (at least partly) on the sensor.

    ``image_centres`` are measured (distorted) c_I; ``lens_centres`` are c_ML of the distortion-free model.
    ``index[j - j_min, i - i_min]`` is the row of lens (i, j) in all arrays, or −1.
    """

    axes: Array  # (2, 2): rows a1, a2 in raw pixels
    origin: Array  # (2,)
    grid: IntArray  # (N, 2): i, j
    image_centres: Array  # (N, 2)
    lens_centres: Array  # (N, 2)
    lens_type: IntArray  # (N,)
    index: IntArray
    i_min: int
    j_min: int
    diameter: float
    usable_radius: float

    @classmethod
    def of(cls, camera: PlenopticCamera) -> MicroLensArray:
        """Lay the grid of the calibration over the sensor."""
        mla, sensor = camera.calibration.mla, camera.calibration.sensor
        axes = grid_axes(mla.layout == "hexagonal", mla.pitch_px, mla.rotation_rad)
        origin = np.array(mla.origin_px)
        corners = np.array([[0, 0], [sensor.width, 0], [0, sensor.height], [sensor.width, sensor.height]], float)
        reach = (corners - origin) @ np.linalg.inv(axes)
        i_min, j_min = (np.floor(reach.min(0)) - 1).astype(int)
        i_max, j_max = (np.ceil(reach.max(0)) + 1).astype(int)
        jj, ii = np.mgrid[j_min : j_max + 1, i_min : i_max + 1]
        centres = origin + ii[..., None] * axes[0] + jj[..., None] * axes[1]
        radius = mla.pitch_px / 2
        x, y = centres[..., 0], centres[..., 1]
        on = (x > -radius) & (y > -radius) & (x < sensor.width - 1 + radius) & (y < sensor.height - 1 + radius)
        index = np.full(ii.shape, -1, np.int32)
        index[on] = np.arange(on.sum(), dtype=np.int32)
        grid = np.stack([ii[on], jj[on]], -1).astype(np.int32)
        kinds = np.mod(grid[:, 0] - grid[:, 1], len(mla.lens_types)).astype(np.int32)
        lens_centres = camera.lens_centres(undistort(camera.calibration, centres[on]))
        return cls(
            axes, origin, grid, centres[on], lens_centres, kinds, index, int(i_min), int(j_min),
            mla.pitch_px, radius - mla.border_px,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.grid)

    def nearest(self, pixels: ArrayLike) -> IntArray:
        """Row of the lens whose micro-image centre is nearest to each raw pixel (…, 2); −1 off the grid."""
        px = np.asarray(pixels, dtype=np.float64)
        g = (px - self.origin) @ np.linalg.inv(self.axes)
        base = np.floor(g).astype(int)
        best = np.full(px.shape[:-1], np.inf)
        out = np.full(px.shape[:-1], -1, np.int32)
        for dj in (0, 1):
            for di in (0, 1):
                i, j = base[..., 0] + di, base[..., 1] + dj
                centre = self.origin + i[..., None] * self.axes[0] + j[..., None] * self.axes[1]
                d2 = ((px - centre) ** 2).sum(-1)
                closer = d2 < best
                best = np.where(closer, d2, best)
                out = np.where(closer, self._row(i, j), out)
        return out

    def _row(self, i: NDArray[np.int_], j: NDArray[np.int_]) -> IntArray:
        jj, ii = j - self.j_min, i - self.i_min
        h, w = self.index.shape
        inside = (ii >= 0) & (jj >= 0) & (ii < w) & (jj < h)
        return np.where(inside, self.index[np.clip(jj, 0, h - 1), np.clip(ii, 0, w - 1)], -1).astype(np.int32)

    def baselines(self, longest_px: float) -> tuple[IntArray, Array]:
        """Neighbour steps (di, dj), each pair of lenses once, sorted by length: (K, 2) and lengths (K,) in raw px."""
        n = int(np.ceil(longest_px / self.diameter)) + 1
        steps = [
            (di, dj)
            for dj in range(-2 * n, 2 * n + 1)
            for di in range(-2 * n, 2 * n + 1)
            if dj > 0 or (dj == 0 and di > 0)
        ]
        array = np.array(steps, dtype=np.int32)
        length = np.linalg.norm(array @ self.axes, axis=1)
        keep = length <= longest_px * (1 + 1e-9)
        array, length = array[keep], length[keep]
        order = np.lexsort((array[:, 0], array[:, 1], np.round(length, 9)))
        return array[order], length[order]


def grid_axes(hexagonal: bool, pitch: float, rotation: float) -> Array:
    """Row direction a1 and second axis a2 (a1 turned by +60° or +90° in image axes), as rows."""
    angles = np.array([rotation, rotation + np.deg2rad(60.0 if hexagonal else 90.0)])
    return pitch * np.stack([np.cos(angles), np.sin(angles)], -1)


def lenses_seeing(
    camera: PlenopticCamera, array: MicroLensArray, x_virtual: ArrayLike, virtual_depth: float
) -> IntArray:
    """Rows of the lenses that image the virtual point x_V (2,) (raw px) at virtual depth v, inside their border.

    They crowd around ``x_V · b_L0/b_L`` — the central projection onto the array — not around x_V.
    """
    x = np.asarray(x_virtual, dtype=np.float64)
    image = array.lens_centres + (x - array.lens_centres) / virtual_depth
    undistorted_centres = camera.principal_point + (array.lens_centres - camera.principal_point) / camera.lam
    inside = np.linalg.norm(image - undistorted_centres, axis=1) < array.usable_radius
    return np.flatnonzero(inside).astype(np.int32)
