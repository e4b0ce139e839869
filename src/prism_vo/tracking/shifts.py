# SPDX-License-Identifier: Apache-2.0
"""Does every part of an image lie where a pose puts it? What the pixels of each zone would still like to move.

An image whose parts belong to different poses (torn in time, partly covered by another view of the same scene) is
aligned with a pose between them, which fits all of it nearly as well as a true one does: residuals, correlations and
measured depth agree. But no zone lies where it should, each would move, and they do not agree where to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.optics.pinhole import Pinhole
from prism_vo.tracking.align import ReferencePixels
from prism_vo.tracking.brightness import ZONES, zone_of
from prism_vo.tracking.look_up import look_up
from prism_vo.tracking.reference import Reference
from prism_vo.tracking.track import Track
from prism_vo.types import Frame

LEVEL = 1  # of the pyramid: a shift by less than a pixel of it is seen by its gradients
PIXELS = 3000  # as many are enough
BORDER = 3  # px
LEAST_OF_ZONE = 20  # pixels that fit, for a zone to be asked
LARGEST_SIGMA = 1.0  # px at 512 px width: a zone without texture does not know its shift
WIDTH = 512.0
FEWEST_ZONES = 4  # that know theirs
ROBUST = 0.3  # of the cutoff, beyond which a residual counts less


def shift_of_zones(frame: Frame, reference: Reference, track: Track, cutoff: float) -> float:
    """Median over the uncovered zones of the image motion that is left at a pose, in σ of each; 0: nobody knows.

    ``cutoff``: residual of a photometric inlier at a gain of 1, grey levels. Noise alone leaves 1.2.
    """
    level = min(LEVEL, len(reference.levels) - 1)
    plane, light = reference.planes[level], track.brightness
    pixels = _some(reference.levels[level])
    x, y = _places(pixels, plane, track.T_frame_ref)
    inside = plane.contains(x, y, BORDER)
    if track.covered is not None:
        inside &= track.covered.uncovered(x, y, plane)
    if not inside.any():
        return 0.0
    x, y = x[inside], y[inside]
    value, along, down = look_up(frame.pyramid[level], x, y)
    residual = value - light.gain * pixels.color[inside] - light.offset
    limit = cutoff * light.contrast
    fits = np.abs(residual) < limit
    weight = np.minimum(1.0, ROBUST * limit / np.maximum(np.abs(residual[fits]), 1e-9))
    zone = zone_of(x[fits], y[fits], plane)
    shift, sigma = _shifts(zone, along[fits], down[fits], residual[fits], weight)
    known = sigma < LARGEST_SIGMA * plane.width / WIDTH
    return float(np.median(shift[known] / sigma[known])) if known.sum() >= FEWEST_ZONES else 0.0


def _some(pixels: ReferencePixels) -> ReferencePixels:
    """Of many every few."""
    few = slice(None, None, max(len(pixels.ray_x) // PIXELS, 1))
    return ReferencePixels(*(column[few] for column in pixels))


def _places(pixels: ReferencePixels, plane: Pinhole, T_frame_ref: Array) -> tuple[Array, Array]:
    """Where reference pixels lie in the frame; those behind the camera outside."""
    rays = np.stack([pixels.ray_x, pixels.ray_y, np.ones_like(pixels.ray_x)], -1).astype(np.float64)
    p = rays @ T_frame_ref[:3, :3].T + T_frame_ref[:3, 3] * pixels.inv_depth[:, None].astype(np.float64)
    x, y = plane.project(np.column_stack([p[:, :2], np.maximum(p[:, 2], 1e-3)]))
    return np.where(p[:, 2] > 1e-3, x, -1.0), np.asarray(y)


def _shifts(
    zone: NDArray[np.intp], gx: Array, gy: Array, residual: Array, weight: Array
) -> tuple[Array, Array]:
    """Length of the least-squares shift of each zone and its σ, px; σ is infinite where it is not known."""

    def summed(values: Array) -> Array:
        return np.asarray(np.bincount(zone, weight * values, ZONES**2))

    xx, xy, yy = summed(gx * gx), summed(gx * gy), summed(gy * gy)
    x, y = summed(gx * residual), summed(gy * residual)
    count = np.bincount(zone, minlength=ZONES**2)
    noise2 = summed(residual**2) / np.maximum(count, 1)
    weakest = 0.5 * (xx + yy) - np.hypot(0.5 * (xx - yy), xy)  # least eigenvalue of the normal matrix
    known = (count >= LEAST_OF_ZONE) & (weakest > 1e-6 * (xx + yy))
    det = np.where(known, xx * yy - xy**2, 1.0)
    shift = np.hypot(yy * x - xy * y, xx * y - xy * x) / det
    sigma = np.sqrt(np.maximum(noise2, 1e-12) / np.where(known, weakest, 1.0))
    return shift, np.where(known, sigma, np.inf)
