# SPDX-License-Identifier: Apache-2.0
"""How well a surface element explains several images: correlation of its patch with its warp into each of them.

The patch of the host is compared by a weighted, zero-mean, normalised correlation, which knows no gain and no offset.
Its pixels are weighted by how near and how alike they are to the centre, so that a patch at an edge belongs to one side
of it. The warp of a plane (:class:`~prism_vo.dense.records.Planes`) is the homography

    (u, v, 1) ~ A (x, y, 1) + a q(x, y),        A = K R K⁻¹,  a = K t

taken to first order in the patch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.compiled import njit

REACH, SPACING = 2, 2  # samples to each side of the patch's centre, and px between them
SAMPLES = 13  # every other one of the 5 × 5, the centre among them
ALIKE = np.float32(1 / 25.0)  # per grey level: weight of a pixel falls to 1/e where it differs by so many
NEAR = np.float32(1 / 24.0)  # per px²: the same with its distance
NOISE = np.float32(4.0)  # grey²: contrast below it is no evidence
UNSEEN = np.float32(1.0)  # cost of a view that does not see the patch
MOST_VIEWS = 8
FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}
ONE = np.uint32(1)


class Views(NamedTuple):
    """Other images of the same scene."""

    pixels: Floats  # (V·h·w,): one after the other
    height: int
    width: int
    turn: Floats  # (V, 3, 3): A
    shift: Floats  # (V, 3): a


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def load_patch(image, x, y, patch, weight):  # type: ignore[no-untyped-def]
    """Values and weights of the samples about a pixel; returns mean and variance.

    Beyond the border the pixels at it are repeated, without weight.
    """
    height, width = image.shape
    centre = image[y, x]
    n = 0
    total = np.float32(0.0)
    first = np.float32(0.0)
    second = np.float32(0.0)
    for j in range(-REACH, REACH + 1):
        for i in range(-REACH + abs(j) % 2, REACH + 1, 2):
            px, py = x + i * SPACING, y + j * SPACING
            inside = 0 <= px < width and 0 <= py < height
            px, py = min(max(px, 0), width - 1), min(max(py, 0), height - 1)
            value = image[py, px]
            far = np.float32(SPACING * SPACING * (i * i + j * j))
            w = np.exp(-abs(value - centre) * ALIKE - far * NEAR) if inside else np.float32(0.0)
            patch[n] = value - centre
            weight[n] = w
            total += w
            first += w * patch[n]
            second += w * patch[n] * patch[n]
            n += 1
    for n in range(SAMPLES):
        weight[n] /= total
    mean = first / total
    for n in range(SAMPLES):
        patch[n] -= mean
    return second / total - mean * mean


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def view_cost(views, k, x, y, q, dx, dy, patch, weight, variance):  # type: ignore[no-untyped-def]
    """1 − correlation of a host patch with one view, 0–2 (:data:`UNSEEN` when it is out of sight)."""
    pixels, height, width, turn, shift = views  # no slices of arrays: they would be counted as references
    ax, ay, az = shift[k, 0], shift[k, 1], shift[k, 2]
    px = turn[k, 0, 0] * x + turn[k, 0, 1] * y + turn[k, 0, 2] + ax * q
    py = turn[k, 1, 0] * x + turn[k, 1, 1] * y + turn[k, 1, 2] + ay * q
    pz = turn[k, 2, 0] * x + turn[k, 2, 1] * y + turn[k, 2, 2] + az * q
    if pz <= np.float32(1e-3):
        return UNSEEN
    inv = np.float32(1.0) / pz
    u, v = px * inv, py * inv
    zx, zy = turn[k, 2, 0] + az * dx, turn[k, 2, 1] + az * dy
    inv *= np.float32(SPACING)
    ux = (turn[k, 0, 0] + ax * dx - u * zx) * inv
    uy = (turn[k, 0, 1] + ax * dy - u * zy) * inv
    vx = (turn[k, 1, 0] + ay * dx - v * zx) * inv
    vy = (turn[k, 1, 1] + ay * dy - v * zy) * inv
    reach_u = np.float32(REACH) * (abs(ux) + abs(uy))
    reach_v = np.float32(REACH) * (abs(vx) + abs(vy))
    if u - reach_u < 0 or v - reach_v < 0 or u + reach_u >= width - 1 or v + reach_v >= height - 1:
        return UNSEEN
    first = np.float32(0.0)
    second = np.float32(0.0)
    mixed = np.float32(0.0)
    first_pixel = np.uint32(k * height * width)
    n = 0
    for j in range(-REACH, REACH + 1):
        for i in range(-REACH + abs(j) % 2, REACH + 1, 2):
            fi, fj = np.float32(i), np.float32(j)
            su, sv = u + fi * ux + fj * uy, v + fi * vx + fj * vy
            iu, iv = np.int32(su), np.int32(sv)
            fu, fv = su - np.float32(iu), sv - np.float32(iv)
            at = first_pixel + np.uint32(
                iv * width + iu
            )  # unsigned: an index that is never counted from the end
            top = pixels[at] + fu * (pixels[at + ONE] - pixels[at])
            below = at + np.uint32(width)
            bottom = pixels[below] + fu * (pixels[below + ONE] - pixels[below])
            value = top + fv * (bottom - top)
            weighted = weight[n] * value
            first += weighted
            second += weighted * value
            mixed += weighted * patch[n]
            n += 1
    other = max(second - first * first, np.float32(0.0))
    return np.float32(1.0) - mixed / np.sqrt((variance + NOISE) * (other + NOISE))


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def surface_cost(views, count, best, x, y, q, dx, dy, patch, weight, variance, costs, limit):  # type: ignore[no-untyped-def]
    """Mean over the ``best`` of the first ``count`` views: the others may be covered there.

    Infinite as soon as it is known to be above ``limit``.
    """
    enough = limit * np.float32(best)
    for k in range(count):
        cost = view_cost(views, k, x, y, q, dx, dy, patch, weight, variance)
        place = k
        while place > 0 and costs[place - 1] > cost:
            costs[place] = costs[place - 1]
            place -= 1
        costs[place] = min(cost, UNSEEN)
        total = np.float32(0.0)
        for n in range(best - (count - 1 - k)):  # at least so many of those seen so far will count
            total += costs[n]
        if total > enough:
            return np.float32(np.inf)
    return total / np.float32(best)
