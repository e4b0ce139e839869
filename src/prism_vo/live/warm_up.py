# SPDX-License-Identifier: Apache-2.0
"""Everything compiled or loaded before the first frame counts: a camera does not wait.

One image is tracked against itself, moved by whole micro-lenses, which is what a turned camera sees.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.config import Config
from prism_vo.errors import PrismError
from prism_vo.odometry import Odometry
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame

FRAMES = 14  # enough for keyframes to come and go
LENSES = 1  # micro-lenses from one to the next


def warm_up(camera: PlenopticCamera, config: Config, white: NDArray[Any] | None, image: NDArray[Any]) -> None:
    """Use all that a run uses once; what it finds is thrown away."""
    odometry = Odometry(camera, config, white=white)
    mla = camera.calibration.mla
    for n in range(FRAMES):
        # two micro-lenses along a row are a whole number of pixels nearly enough: nobody looks at the result
        shift = np.rint(
            n * LENSES * mla.pitch_px * np.array([np.cos(mla.rotation_rad), np.sin(mla.rotation_rad)])
        )
        moved = np.roll(image, (int(shift[1]), int(shift[0])), axis=(0, 1))
        try:
            odometry(RawFrame(n, n / 10, np.ascontiguousarray(moved)))
        except PrismError:  # an image without texture, for example: the run will say so
            return
    odometry.finish()
    odometry.trajectory()
    odometry.cloud()
