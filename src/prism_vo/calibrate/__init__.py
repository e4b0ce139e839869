# SPDX-License-Identifier: Apache-2.0
"""Calibration from images: the micro-lens grid, kinds of lenses, vignetting."""

from prism_vo.calibrate.find import find_grid
from prism_vo.calibrate.fit import GridFit, fit_grid
from prism_vo.calibrate.grid import Grid, GridUncertainError
from prism_vo.calibrate.lens_classes import LensClassSharpness, lens_type_sharpness
from prism_vo.calibrate.micro_image import MicroImageProfile, micro_image_profile

__all__ = [
    "Grid",
    "GridFit",
    "GridUncertainError",
    "LensClassSharpness",
    "MicroImageProfile",
    "find_grid",
    "fit_grid",
    "lens_type_sharpness",
    "micro_image_profile",
]
