# SPDX-License-Identifier: Apache-2.0
"""The micro-lens array: which lenses there are, where they sit, and which are neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Integers
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.distortion import undistort


@dataclass(frozen=True)
class MicroLensArray:
    """All micro-lenses whose images lie (at least partly) on the sensor.

    ``image_centres`` are measured (distorted) c_I; ``lens_centres`` are c_ML of the distortion-free model.
    ``index[j - j_min, i - i_min]`` is the row of lens (i, j) in all arrays, or −1.
    """

    axes: Array  # (2, 2): rows a1, a2 in raw pixels
    origin: Array  # (2,)
    grid: Integers  # (N, 2): i, j
    image_centres: Array  # (N, 2)
    lens_centres: Array  # (N, 2)
    lens_type: Integers  # (N,)
    index: Integers
    i_min: int
    j_min: int
    diameter: float  # of a micro-image, raw pixels
    usable_radius: float  # without the border

    @classmethod
    def of(cls, camera: PlenopticCamera) -> MicroLensArray:
        """Lay the grid of the calibration over the sensor."""
        mla, sensor = camera.calibration.mla, camera.calibration.sensor
        axes = grid_axes(mla.layout == "hexagonal", mla.pitch_px, mla.rotation_rad)
        origin = np.array(mla.origin_px)
        width, height = sensor.width, sensor.height
        corners = np.array([[0, 0], [width, 0], [0, height], [width, height]], dtype=np.float64)
        reach = (corners - origin) @ np.linalg.inv(axes)
        i_min, j_min = (np.floor(reach.min(0)) - 1).astype(int)
        i_max, j_max = (np.ceil(reach.max(0)) + 1).astype(int)
        jj, ii = np.mgrid[j_min : j_max + 1, i_min : i_max + 1]
        centres = origin + ii[..., None] * axes[0] + jj[..., None] * axes[1]
        radius = mla.pitch_px / 2
        x, y = centres[..., 0], centres[..., 1]
        on = (x > -radius) & (y > -radius) & (x < width - 1 + radius) & (y < height - 1 + radius)
        index = np.full(ii.shape, -1, np.int32)
        index[on] = np.arange(on.sum(), dtype=np.int32)
        grid = np.stack([ii[on], jj[on]], -1).astype(np.int32)
        kinds = np.mod(grid[:, 0] - grid[:, 1], len(mla.lens_types)).astype(np.int32)
        lens_centres = camera.lens_centres(undistort(camera.calibration, centres[on]))
        return cls(
            axes=axes,
            origin=origin,
            grid=grid,
            image_centres=centres[on],
            lens_centres=lens_centres,
            lens_type=kinds,
            index=index,
            i_min=int(i_min),
            j_min=int(j_min),
            diameter=mla.pitch_px,
            usable_radius=radius - mla.border_px,
        )

    def __len__(self) -> int:
        return len(self.grid)

    def rows(self, i: NDArray[np.int_], j: NDArray[np.int_]) -> Integers:
        """Rows of the lenses (i, j); −1 where there is none."""
        jj, ii = j - self.j_min, i - self.i_min
        h, w = self.index.shape
        inside = (ii >= 0) & (jj >= 0) & (ii < w) & (jj < h)
        return np.where(inside, self.index[np.clip(jj, 0, h - 1), np.clip(ii, 0, w - 1)], -1).astype(np.int32)


def grid_axes(hexagonal: bool, pitch: float, rotation: float) -> Array:
    """Row direction a1 and second axis a2 (a1 turned by +60° or +90° in image axes), as rows."""
    angles = np.array([rotation, rotation + np.deg2rad(60.0 if hexagonal else 90.0)])
    return pitch * np.stack([np.cos(angles), np.sin(angles)], -1)
