# SPDX-License-Identifier: Apache-2.0
"""Where what is around a pixel lies in another image, to a tenth of a pixel.

Plain optical flow moves a patch and does not turn or enlarge it, and the farther two views are apart, the farther
beside the point it ends. Here the patch is first seen as the other camera would see it (of a surface that faces the
first camera), then moved; an offset and a factor of brightness are free.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Mask
from prism_vo.optics.view import FocusedView

Grey = NDArray[np.uint8]

REACH = 4  # px: patches of 9 × 9; larger ones reach over edges of depth more often
WIDTH = 3.0  # px: σ of the weight about the centre
STEPS = 15
STILL = 0.02  # px: a last step above it has not arrived
LONGEST_STEP = 1.0  # px
LEAST_TEXTURE = 4.0  # grey² a px²: the smaller eigenvalue of the mean of squared gradients
LEAST_CORRELATION = 0.9  # of the patch with what was found
GAINS = (0.5, 2.0)
TINY = 1e-9


def _offsets(reach: int) -> Array:
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    return np.stack([x.ravel(), y.ravel()], -1).astype(np.float64)


OFFSETS, WITH_BORDER = _offsets(REACH), _offsets(REACH + 1)
WEIGHT = np.exp(-(OFFSETS**2).sum(1) / (2 * WIDTH**2))
WEIGHT /= WEIGHT.sum()


@dataclass(frozen=True)
class Followed:
    """Positions (N, 2), and which of them can be believed."""

    xy: Array
    good: Mask


@dataclass(frozen=True)
class _Patches:
    """N patches as the other camera would see them, without their mean, and what a Gauss-Newton step needs of them."""

    grey: Array  # (N, 81)
    dx: Array
    dy: Array
    xx: Array  # (N,)
    xy: Array
    yy: Array

    @classmethod
    def of(cls, image: Grey, at: Array, turn: Array) -> _Patches:
        """Around pixels ``at`` (N, 2); ``turn`` (N, 2, 2): how pixels of the other image move with this one's."""
        side = 2 * REACH + 3
        where = at[:, None] + np.einsum("nij,kj->nki", np.linalg.inv(turn), WITH_BORDER)
        whole = _sampled(image, where).reshape(len(at), side, side)
        inner, many = slice(1, -1), (len(at), -1)
        dx = _centred(((whole[:, inner, 2:] - whole[:, inner, :-2]) / 2).reshape(many))
        dy = _centred(((whole[:, 2:, inner] - whole[:, :-2, inner]) / 2).reshape(many))
        grey = _centred(whole[:, inner, inner].reshape(many))
        return cls(grey, dx, dy, (dx * dx) @ WEIGHT, (dx * dy) @ WEIGHT, (dy * dy) @ WEIGHT)

    @property
    def texture(self) -> Array:
        """(N,): the smaller eigenvalue."""
        apart = np.sqrt((self.xx - self.yy) ** 2 + 4 * self.xy**2)
        return np.asarray((self.xx + self.yy - apart) / 2)

    def step(self, seen: Array) -> Array:
        """(N, 2) px from where the other image looks like ``seen``."""
        gain = ((seen * self.grey) @ WEIGHT) / np.maximum((self.grey**2) @ WEIGHT, TINY)
        gain = np.clip(gain, *GAINS)[:, None]
        rest = seen / gain - self.grey
        bx, by = (rest * self.dx) @ WEIGHT, (rest * self.dy) @ WEIGHT
        whole = np.maximum(self.xx * self.yy - self.xy**2, TINY)
        step = -np.stack([self.yy * bx - self.xy * by, self.xx * by - self.xy * bx], -1) / whole[:, None]
        length = np.linalg.norm(step, axis=1, keepdims=True)
        return np.asarray(step * np.minimum(1.0, LONGEST_STEP / np.maximum(length, TINY)))

    def correlation(self, seen: Array) -> Array:
        """(N,) with what the other image shows."""
        energy = ((seen**2) @ WEIGHT) * ((self.grey**2) @ WEIGHT)
        return np.asarray(((seen * self.grey) @ WEIGHT) / np.sqrt(np.maximum(energy, TINY)))


def follow(before: Grey, after: Grey, start: Array, guess: Array, turn: Array) -> Followed:
    """Positions in ``after`` of what is at ``start`` (N, 2) in ``before``, searched from ``guess`` on."""
    if not len(start):
        return Followed(guess, np.zeros(0, np.bool_))
    patches, xy = _Patches.of(before, start, turn), guess.copy()
    step = np.zeros_like(xy)
    for _ in range(STEPS):
        step = patches.step(_centred(_sampled(after, xy[:, None] + OFFSETS)))
        xy += step
    seen = _centred(_sampled(after, xy[:, None] + OFFSETS))
    good = (patches.texture > LEAST_TEXTURE) & (np.linalg.norm(step, axis=1) < STILL)
    return Followed(xy, good & (patches.correlation(seen) > LEAST_CORRELATION))


def turn_between(view: FocusedView, T_world_home: Array, T_world_other: Array, points: Array) -> Array:
    """(N, 2, 2): pixels of the other view by those of the first one, around world points on surfaces that face it."""
    T = se3.inverse(T_world_other) @ T_world_home
    home = se3.transform(se3.inverse(T_world_home), points)
    there = se3.transform(T, home)
    x, y, z = there.T
    columns = []
    for axis in range(2):  # a pixel further along it the surface lies z/F further
        dx, dy, dz = T[:3, axis, None] * home[:, 2]
        columns.append(np.stack([(dx * z - x * dz) / z**2, (dy * z - y * dz) / z**2], -1))
    return np.stack(columns, -1)


def _centred(values: Array) -> Array:
    return values - (values @ WEIGHT)[:, None]


def _sampled(image: Grey, xy: Array) -> Array:
    """(N, K) between pixels; cubic, as linear interpolation draws positions towards pixel centres."""
    x, y = (np.ascontiguousarray(xy[..., k], np.float32) for k in (0, 1))
    return np.asarray(
        cv2.remap(image.astype(np.float32), x, y, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE),
        np.float64,
    )
