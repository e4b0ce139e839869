# SPDX-License-Identifier: Apache-2.0
"""Pairs of keyframes: their relative geometry, and what is learnt about it as a statement on absolute poses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.compiled import njit
from prism_vo.photometry import gain_between


class PairGeometry(NamedTuple):
    """Relative poses and brightness of every (host, target) pair: what the kernel needs, at one state."""

    rotation: Floats  # (K, K, 3, 3): R of T_target_host, indexed [host, target]
    translation: Floats  # (K, K, 3)
    adjoint: Array  # (K, K, 6, 6) of T_target_host
    brightness: Floats  # (K, K, 3): e_ji, b_host, b_target

    @classmethod
    def of(cls, poses: Array, affine: Array, exposure: Array) -> PairGeometry:
        """From T_view_world (K, 4, 4), (a, b) (K, 2) and exposure times (K,)."""
        turn = np.swapaxes(poses[:, :3, :3], 1, 2)
        rotation = poses[None, :, :3, :3] @ turn[:, None]
        translation = poses[None, :, :3, 3] - (rotation @ poses[:, None, :3, 3, None])[..., 0]
        brightness = np.empty((len(poses), len(poses), 3), np.float32)
        brightness[..., 0] = gain_between(affine[:, None], exposure[:, None], affine[None], exposure[None])
        brightness[..., 1], brightness[..., 2] = affine[:, None, 1], affine[None, :, 1]
        return cls(
            np.ascontiguousarray(rotation, dtype=np.float32),
            np.ascontiguousarray(translation, dtype=np.float32),
            _adjoints(rotation, translation),
            brightness,
        )


def _adjoints(rotation: Array, translation: Array) -> Array:
    """6×6 adjoints of many poses: se3.adjoint, vectorised."""
    x, y, z = translation[..., 0], translation[..., 1], translation[..., 2]
    zero = np.zeros_like(x)
    hat = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).reshape(*x.shape, 3, 3)
    out = np.zeros((*x.shape, 6, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = rotation
    out[..., :3, 3:] = hat @ rotation
    return out


@njit(nogil=True, cache=True)
def add_pairs(h_pair, b_pair, adjoint, brightness, h, b):  # type: ignore[no-untyped-def]
    """Add the blocks (K, K, 8, 8), (K, K, 8) of relative poses and brightness to H and b of the absolute ones.

    A left increment of the target moves the relative pose by itself, one of the host by −Ad.
    """
    count = h_pair.shape[0]
    block, to_host, off = np.empty((8, 8)), np.zeros((8, 8)), np.empty((8, 8))
    for i in range(count):
        for j in range(count):
            if i == j or h_pair[i, j, 7, 7] == 0.0:
                continue
            for r in range(8):
                for c in range(8):
                    block[r, c] = h_pair[i, j, min(r, c), max(r, c)]
            to_host[:6, :6] = -adjoint[i, j]
            to_host[6, 6] = -1.0
            to_host[7, 7] = -brightness[i, j, 0]
            for r in range(8):
                for c in range(8):
                    total = 0.0
                    for k in range(8):
                        total += to_host[k, r] * block[k, c]
                    off[r, c] = total
            for r in range(8):
                back = 0.0
                for c in range(8):
                    total = 0.0
                    for k in range(8):
                        total += off[r, k] * to_host[k, c]
                    h[8 * i + r, 8 * i + c] += total
                    h[8 * j + r, 8 * j + c] += block[r, c]
                    h[8 * i + r, 8 * j + c] += off[r, c]
                    h[8 * j + c, 8 * i + r] += off[r, c]
                    back += to_host[c, r] * b_pair[i, j, c]
                b[8 * j + r] += b_pair[i, j, r]
                b[8 * i + r] += back
