# SPDX-License-Identifier: Apache-2.0
"""What the kernels of the simulator read and write."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers


class Bundle(NamedTuple):
    """Rays with the pixel each belongs to. ``kind`` picks the footprint, ``channel`` the colour (3: grey)."""

    origin: Floats  # (N, 3)
    direction: Floats  # (N, 3), not normalised: its length is one unit of depth
    target: Integers
    kind: NDArray[np.int8]
    channel: NDArray[np.int8]
    weight: Floats
    travelled: Floats

    @classmethod
    def empty(cls, size: int) -> Bundle:
        """Room for ``size`` rays of weight 1."""
        return cls(
            origin=np.empty((size, 3), np.float32),
            direction=np.empty((size, 3), np.float32),
            target=np.empty(size, np.int32),
            kind=np.zeros(size, np.int8),
            channel=np.full(size, 3, np.int8),
            weight=np.ones(size, np.float32),
            travelled=np.zeros(size, np.float32),
        )


class Hits(NamedTuple):
    """The nearest surface along each ray."""

    face: Integers  # −1: none
    u: Floats  # barycentric
    v: Floats
    depth: Floats  # in lengths of the direction vector


class Surfaces(NamedTuple):
    """Everything that hits are shaded with."""

    triangles: Floats  # (F, 18), columns: UV, UV_BY_B, UV_BY_X, NORMAL, SHADE
    materials: Integers  # (F,): row of the next two
    numbers: Floats  # (M, 8), columns: LAYER …
    tints: Floats  # (M, 2, 4): dark and bright, by channel
    sky: Floats  # (3, 4): layer, bright, haze, by channel
    texels: NDArray[np.uint8]
    starts: NDArray[np.int64]  # (layers, levels): where a mip level begins


# columns of Surfaces.triangles: uv, ∂uv/∂(b1, b2), ∂uv/∂X (2×3), unit normal, shading at the three corners
UV, UV_BY_B, UV_BY_X, NORMAL, SHADE = 0, 2, 6, 12, 15
# columns of Surfaces.numbers
LAYER, MACRO_LAYER, MACRO_SCALE, MACRO_GAIN, OWN_LIGHT, REFLECT, TRANSMIT, CONTRAST = range(8)


class ThinLens(NamedTuple):
    """The camera's lengths, mm."""

    f_L: float
    b_L0: float
    B: float
    pixel: float
    micro_radius: float  # aperture of a micro-lens


class SensorTables(NamedTuple):
    """What each raw pixel looks through. Lengths in mm about the optical axis."""

    lens: Integers  # (H, W): micro-lens of a pixel
    weight: Floats  # (H, W): vignetting, 0 between micro-images
    pixel: Array  # (H, W, 2) undistorted pixel centres when distorted, else (1, 1, 2): the first one
    lens_centre: Array  # (N, 2): c_ML
    main_focal: Array  # (N,): focal length of the main lens for what each micro-lens sees
    lens_kind: Integers  # (N,)
    inv_micro_focal: Array  # (kinds,): 1/f_μ
    optics: ThinLens
    cfa: NDArray[np.int8]  # (2, 2): channel of a pixel


class Sample(NamedTuple):
    """Which of the ``side²`` samples of each pixel a bundle takes, and the seed of its random numbers."""

    cell: int
    side: int
    key: int


class ViewNumbers(NamedTuple):
    """A totally focused view as a pinhole."""

    focal: float  # px
    cx: float
    cy: float
    z0: float  # m
    width: int
    height: int
