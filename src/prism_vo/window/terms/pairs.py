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
        count = len(poses)
        out = cls(
            np.empty((count, count, 3, 3), np.float32),
            np.empty((count, count, 3), np.float32),
            np.zeros((count, count, 6, 6)),
            np.empty((count, count, 3), np.float32),
        )
        _relate(poses, out)
        out.brightness[..., 0] = gain_between(
            affine[:, None], exposure[:, None], affine[None], exposure[None]
        )
        out.brightness[..., 1], out.brightness[..., 2] = affine[:, None, 1], affine[None, :, 1]
        return out


@njit(nogil=True, cache=True)
def _relate(poses, out):  # type: ignore[no-untyped-def]
    """T_target_host of all pairs and its adjoint (:func:`prism_vo.se3.adjoint`)."""
    count, t = len(poses), np.empty(3)
    for i in range(count):
        for j in range(count):
            turn = out.adjoint[i, j, :3, :3]
            for r in range(3):
                t[r] = poses[j, r, 3]
                for c in range(3):
                    for k in range(3):
                        turn[r, c] += poses[j, r, k] * poses[i, c, k]
                    t[r] -= turn[r, c] * poses[i, c, 3]
                    out.rotation[i, j, r, c] = turn[r, c]
                out.translation[i, j, r] = t[r]
            for c in range(3):
                for r in range(3):
                    out.adjoint[i, j, 3 + r, 3 + c] = turn[r, c]
                out.adjoint[i, j, 0, 3 + c] = t[1] * turn[2, c] - t[2] * turn[1, c]
                out.adjoint[i, j, 1, 3 + c] = t[2] * turn[0, c] - t[0] * turn[2, c]
                out.adjoint[i, j, 2, 3 + c] = t[0] * turn[1, c] - t[1] * turn[0, c]


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
            for r in range(6):
                for c in range(6):
                    to_host[r, c] = -adjoint[i, j, r, c]
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
