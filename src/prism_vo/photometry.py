# SPDX-License-Identifier: Apache-2.0
"""How the brightness of two frames is related (docs/method.md, eq. 9).

A frame has an exposure time t and an affine brightness (a, b). A grey level I_i of frame i appears in frame j as
``e_ji (I_i − b_i) + b_j`` with ``e_ji = (t_j/t_i) exp(a_j − a_i)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Array


def gain_between(host: ArrayLike, host_exposure: ArrayLike, target: ArrayLike, exposure: ArrayLike) -> Array:
    """e_ji from the (a, b) (…, 2) and the exposure times (…) of hosts i and targets j; shapes are broadcast."""
    difference = np.asarray(target)[..., 0] - np.asarray(host)[..., 0]
    return np.asarray(np.exp(difference) * exposure / host_exposure)


def transfer(
    host: ArrayLike, host_exposure: ArrayLike, target: ArrayLike, exposure: ArrayLike
) -> tuple[Array, Array]:
    """(gain, offset) with ``I_target = gain · I_host + offset``."""
    gain = gain_between(host, host_exposure, target, exposure)
    return gain, np.asarray(target)[..., 1] - gain * np.asarray(host)[..., 1]


def affine_of_target(host: Array, host_exposure: float, gain: float, offset: float, exposure: float) -> Array:
    """The target's (a, b), when its gain and offset against the host were measured: the inverse of ``transfer``."""
    return np.array([host[0] + np.log(gain * host_exposure / exposure), offset + gain * host[1]])
