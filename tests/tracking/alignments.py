# SPDX-License-Identifier: Apache-2.0
"""Two exact images of the smooth scene as one alignment problem."""

from __future__ import annotations

import numpy as np
from smooth_scene import SmoothScene, small_view

from prism_vo.optics.camera import FocusedView
from prism_vo.optics.pinhole import Pinhole
from prism_vo.tracking.align import ReferencePixels
from prism_vo.tracking.pyramid import image_pyramid, levels_of


def reference_of(
    view: FocusedView, image: np.ndarray, q: np.ndarray, variance: float, every: int = 3
) -> ReferencePixels:
    """A lattice of reference pixels on the finest level."""
    y, x = np.mgrid[8 : view.height - 8 : every, 8 : view.width - 8 : every].reshape(2, -1)
    return ReferencePixels(
        ray_x=((x - view.cx) / view.focal_px).astype(np.float32),
        ray_y=((y - view.cy) / view.focal_px).astype(np.float32),
        inv_depth=q[y, x].astype(np.float32),
        variance=np.full(len(x), variance, np.float32),
        color=image[y, x].astype(np.float32),
    )


def problem(
    motion: np.ndarray, seed: int = 0, variance: float = 1e-8
) -> tuple[np.ndarray, Pinhole, ReferencePixels]:
    """(frame with gradients, level, reference) for a true T_frame_ref; the reference looks from the origin."""
    view, scene = small_view(192, 144, 240.0), SmoothScene.build(seed)
    first, q = scene.image(view, np.eye(4))
    second, _ = scene.image(view, motion)
    return image_pyramid(second, 1)[0], levels_of(view, 1)[0], reference_of(view, first, q, variance)
