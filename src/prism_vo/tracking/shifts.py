# SPDX-License-Identifier: Apache-2.0
"""Does every part of an image lie where a pose puts it? What the pixels of each zone would still like to move.

An image whose parts belong to different poses (torn in time, partly covered by another view of the same scene) is
aligned with a pose between them, which fits all of it nearly as well as a true one does: residuals, correlations and
measured depth agree. But no zone lies where it should, each would move, and they do not agree where to.
"""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array
from prism_vo.bilinear import with_gradient
from prism_vo.compiled import njit
from prism_vo.tracking.align import Warp
from prism_vo.tracking.brightness import ZONES
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
NEAREST = 1e-3  # of the depth in the reference
COUNT, XX, XY, YY, X, Y, NOISE = range(
    7
)  # rows of sums: gradient products, with the residual, and its square


def shift_of_zones(frame: Frame, reference: Reference, track: Track, cutoff: float) -> float:
    """Median over the uncovered zones of the image motion that is left at a pose, in σ of each; 0: nobody knows.

    ``cutoff``: residual of a photometric inlier at a gain of 1, grey levels. Noise alone leaves 1.2.
    """
    level = min(LEVEL, len(reference.levels) - 1)
    plane, pixels = reference.planes[level], reference.levels[level]
    covered = np.zeros(ZONES**2, np.bool_) if track.covered is None else track.covered.covered
    every = max(len(pixels.ray_x) // PIXELS, 1)
    warp, limit = Warp.of(track.T_frame_ref, track.brightness), np.float32(cutoff * track.brightness.contrast)
    sums = np.zeros((7, ZONES**2))
    _sum_zones(frame.pyramid[level], plane.intrinsics, warp, pixels, every, covered, limit, sums)
    shift, sigma = _shifts(sums)
    known = sigma < LARGEST_SIGMA * plane.width / WIDTH
    return float(np.median(shift[known] / sigma[known])) if known.sum() >= FEWEST_ZONES else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def _sum_zones(image, intrinsics, warp, pixels, every, covered, limit, sums):  # type: ignore[no-untyped-def]
    """Normal equations of the shift of each zone: every so many of the reference pixels, where they fit."""
    height, width = image.shape
    flat, below = image.ravel(), np.uint64(width)
    r, t = warp.rotation, warp.translation
    for n in range(0, len(pixels.ray_x), every):
        ray_x, ray_y, q = pixels.ray_x[n], pixels.ray_y[n], pixels.inv_depth[n]
        z = r[2, 0] * ray_x + r[2, 1] * ray_y + r[2, 2] + t[2] * q
        if not z > NEAREST:
            continue
        x = (r[0, 0] * ray_x + r[0, 1] * ray_y + r[0, 2] + t[0] * q) / z * intrinsics.focal + intrinsics.cx
        y = (r[1, 0] * ray_x + r[1, 1] * ray_y + r[1, 2] + t[1] * q) / z * intrinsics.focal + intrinsics.cy
        if not (x >= BORDER and x < width - 1 - BORDER and y >= BORDER and y < height - 1 - BORDER):
            continue
        zone = int(y * ZONES / height) * ZONES + int(x * ZONES / width)
        if covered[zone]:
            continue
        column, row = int(x), int(y)
        at = np.uint64((row - 1) * width + column - 1)
        value, gx, gy = with_gradient(flat, at, below, x - np.float32(column), y - np.float32(row))
        residual = value - warp.gain * pixels.color[n] - warp.offset
        if not abs(residual) < limit:
            continue
        weight = min(1.0, ROBUST * limit / max(abs(residual), 1e-9))
        sums[COUNT, zone] += 1.0
        sums[XX, zone] += weight * gx * gx
        sums[XY, zone] += weight * gx * gy
        sums[YY, zone] += weight * gy * gy
        sums[X, zone] += weight * gx * residual
        sums[Y, zone] += weight * gy * residual
        sums[NOISE, zone] += weight * residual * residual


def _shifts(sums: Array) -> tuple[Array, Array]:
    """Length of the least-squares shift of each zone and its σ, px; σ is infinite where it is not known."""
    count, xx, xy, yy, x, y, squares = sums
    noise2 = squares / np.maximum(count, 1)
    weakest = 0.5 * (xx + yy) - np.hypot(0.5 * (xx - yy), xy)  # least eigenvalue of the normal matrix
    known = (count >= LEAST_OF_ZONE) & (weakest > 1e-6 * (xx + yy))
    det = np.where(known, xx * yy - xy**2, 1.0)
    shift = np.hypot(yy * x - xy * y, xx * y - xy * x) / det
    sigma = np.sqrt(np.maximum(noise2, 1e-12) / np.where(known, weakest, 1.0))
    return shift, np.where(known, sigma, np.inf)
