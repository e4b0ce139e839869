# SPDX-License-Identifier: Apache-2.0
"""Where a patch of one focused image lies in another, to a fraction of a pixel: position, gain and offset.

The host's patch is taken at whole pixels, so it is exact; the target is sampled where the host's neighbourhood would be
seen if it were parallel to the host's image. Two pyramid levels widen the reach of the descent.
"""

from __future__ import annotations

import numpy as np

from prism_vo.compiled import njit

HALF = 5  # px: the patch has 2·HALF + 1 a side
SIDE = 2 * HALF + 1
COARSE_STEPS, FINE_STEPS = 8, 10
SMALL_STEP = 0.003  # px
LARGEST_MOVE = 6.0  # px from the start of a level
LEAST_CORRELATION = 0.85  # between host and target patch
LEAST_VARIANCE = 4.0  # grey levels squared that noise leaves of a perfect match
LARGEST_STRETCH = 1.6  # of the patch between both images
UNKNOWNS = 8  # of an affine alignment: x, y, four of the map, gain, offset
AFFINE_STEPS = 8
AFFINE_PRIOR = 1e-3  # grey levels squared: what is not seen stays as predicted
MARGIN = HALF + 3  # px from the border of either image


@njit(nogil=True, cache=True, error_model="numpy")
def sample(image, x, y):  # type: ignore[no-untyped-def]
    """Value and gradient of a cubic (Catmull–Rom) interpolation; −1 where it would leave the image."""
    ix, iy = int(np.floor(x)), int(np.floor(y))
    if ix < 1 or iy < 1 or ix + 2 >= image.shape[1] or iy + 2 >= image.shape[0]:
        return -1.0, 0.0, 0.0
    fx, fy = x - ix, y - iy
    wx0 = ((-0.5 * fx + 1.0) * fx - 0.5) * fx
    wx1 = (1.5 * fx - 2.5) * fx * fx + 1.0
    wx2 = ((-1.5 * fx + 2.0) * fx + 0.5) * fx
    wx3 = (0.5 * fx - 0.5) * fx * fx
    dx0 = (-1.5 * fx + 2.0) * fx - 0.5
    dx1 = (4.5 * fx - 5.0) * fx
    dx2 = (-4.5 * fx + 4.0) * fx + 0.5
    dx3 = (1.5 * fx - 1.0) * fx
    wy0 = ((-0.5 * fy + 1.0) * fy - 0.5) * fy
    wy1 = (1.5 * fy - 2.5) * fy * fy + 1.0
    wy2 = ((-1.5 * fy + 2.0) * fy + 0.5) * fy
    wy3 = (0.5 * fy - 0.5) * fy * fy
    dy0 = (-1.5 * fy + 2.0) * fy - 0.5
    dy1 = (4.5 * fy - 5.0) * fy
    dy2 = (-4.5 * fy + 4.0) * fy + 0.5
    dy3 = (1.5 * fy - 1.0) * fy
    value, gx, gy = 0.0, 0.0, 0.0
    for r in range(4):
        row = image[iy - 1 + r]
        a, b, c, d = row[ix - 1], row[ix], row[ix + 1], row[ix + 2]
        along = wx0 * a + wx1 * b + wx2 * c + wx3 * d
        slope = dx0 * a + dx1 * b + dx2 * c + dx3 * d
        wy = wy0 if r == 0 else (wy1 if r == 1 else (wy2 if r == 2 else wy3))
        dy = dy0 if r == 0 else (dy1 if r == 1 else (dy2 if r == 2 else dy3))
        value += wy * along
        gx += wy * slope
        gy += dy * along
    return value, gx, gy


@njit(nogil=True, cache=True, error_model="numpy")
def align_patch(host, target, u, v, x, y, warp, steps, out):  # type: ignore[no-untyped-def]
    """Descend from (x, y) in ``target``; True with ``out`` = x, y, information xx, xy, yy of the position.

    ``host``, ``target`` (h, w); ``warp`` (2, 2): target pixels a pixel of the host.
    """
    x0, y0 = x, y
    ok = False
    for _ in range(steps):
        n, si, st, sii, stt, sit = 0, 0.0, 0.0, 0.0, 0.0, 0.0
        gxx, gxy, gyy, gx, gy, gix, giy, gtx, gty = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for dy in range(-HALF, HALF + 1):
            for dx in range(-HALF, HALF + 1):
                value, sx, sy = sample(
                    target, x + warp[0, 0] * dx + warp[0, 1] * dy, y + warp[1, 0] * dx + warp[1, 1] * dy
                )
                if value < 0.0 and sx == 0.0 and sy == 0.0:
                    return False
                h = host[v + dy, u + dx]
                n += 1
                si += h
                st += value
                sii += h * h
                stt += value * value
                sit += h * value
                gxx += sx * sx
                gxy += sx * sy
                gyy += sy * sy
                gx += sx
                gy += sy
                gix += sx * h
                giy += sy * h
                gtx += sx * value
                gty += sy * value
        var_i, var_t, cov = sii - si * si / n, stt - st * st / n, sit - si * st / n
        if var_i <= 0.0 or var_t <= 0.0 or cov <= 0.0:
            return False
        gain = cov / var_i
        offset = (st - gain * si) / n
        # residual t − gain·h − offset; gain and offset are eliminated from the derivatives by x and y
        ax, ay = (
            (gix - gx * si / n) / var_i,
            (giy - gy * si / n) / var_i,
        )  # part of the gradients along the host's values
        hxx = gxx - gx * gx / n - ax * ax * var_i
        hxy = gxy - gx * gy / n - ax * ay * var_i
        hyy = gyy - gy * gy / n - ay * ay * var_i
        bx = gtx - gain * gix - offset * gx
        by = gty - gain * giy - offset * gy
        det = hxx * hyy - hxy * hxy
        if det <= 1e-6 * (hxx + hyy) * (hxx + hyy):
            return False
        step_x, step_y = -(hyy * bx - hxy * by) / det, -(hxx * by - hxy * bx) / det
        length = np.sqrt(step_x * step_x + step_y * step_y)
        if length > 2.0:
            step_x, step_y = 2.0 * step_x / length, 2.0 * step_y / length
        left = max((var_t - cov * cov / var_i) / (n - 4), LEAST_VARIANCE)
        out[0], out[1], out[2], out[3], out[4] = x, y, hxx / left, hxy / left, hyy / left
        ok = cov * cov > LEAST_CORRELATION * LEAST_CORRELATION * var_i * var_t
        if length < SMALL_STEP:
            return ok
        x, y = x + step_x, y + step_y
        if (x - x0) * (x - x0) + (y - y0) * (y - y0) > LARGEST_MOVE * LARGEST_MOVE:
            return False
    out[0], out[1] = x, y
    return ok


@njit(nogil=True, cache=True, error_model="numpy")
def align_affine(host, target, u, v, warp, out):  # type: ignore[no-untyped-def]
    """Let the patch shear and stretch, too, as a slanted surface does; ``out`` and ``warp`` as :func:`align_patch` left
    them are improved. False: the patch does not hold so many numbers."""
    h = np.empty((UNKNOWNS, UNKNOWNS))
    b = np.empty(UNKNOWNS)
    j = np.empty(UNKNOWNS)
    x, y, x0, y0 = out[0], out[1], out[0], out[1]
    gain, offset = 1.0, 0.0
    for step in range(AFFINE_STEPS):
        h[:] = 0.0
        b[:] = 0.0
        energy, n = 0.0, 0
        for dy in range(-HALF, HALF + 1):
            for dx in range(-HALF, HALF + 1):
                value, sx, sy = sample(
                    target, x + warp[0, 0] * dx + warp[0, 1] * dy, y + warp[1, 0] * dx + warp[1, 1] * dy
                )
                if value < 0.0 and sx == 0.0 and sy == 0.0:
                    return False
                grey = host[v + dy, u + dx]
                left = value - gain * grey - offset
                j[0], j[1], j[2], j[3], j[4], j[5] = sx, sy, sx * dx, sx * dy, sy * dx, sy * dy
                j[6], j[7] = -grey, -1.0
                energy += left * left
                n += 1
                for a in range(UNKNOWNS):
                    b[a] += j[a] * left
                    for c in range(UNKNOWNS):
                        h[a, c] += j[a] * j[c]
        for a in range(2, 6):
            h[a, a] += AFFINE_PRIOR  # what is not seen stays as predicted
        change = np.linalg.solve(h, b)
        x, y = x - change[0], y - change[1]
        warp[0, 0] -= change[2]
        warp[0, 1] -= change[3]
        warp[1, 0] -= change[4]
        warp[1, 1] -= change[5]
        gain -= change[6]
        offset -= change[7]
        if (x - x0) * (x - x0) + (y - y0) * (y - y0) > 1.0 or gain <= 0.0:
            return False
        if step > 0 and change[0] * change[0] + change[1] * change[1] < SMALL_STEP * SMALL_STEP:
            covariance = np.linalg.inv(h) * max(energy / (n - UNKNOWNS), LEAST_VARIANCE)
            det = covariance[0, 0] * covariance[1, 1] - covariance[0, 1] * covariance[0, 1]
            if det <= 0.0:
                return False
            out[0], out[1] = x, y
            out[2], out[3], out[4] = covariance[1, 1] / det, -covariance[0, 1] / det, covariance[0, 0] / det
            return True
    return False
