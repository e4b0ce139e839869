# SPDX-License-Identifier: Apache-2.0
"""The mean micro-image by distance from its centre: vignetting and radius."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.calibrate.features import grey_frames, light_map
from prism_vo.calibrate.fit import SURROUNDINGS
from prism_vo.calibrate.grid import CLASS_COUNT, Grid
from prism_vo.compiled import njit

BIN_PX = 0.25
SMOOTH_PX = 1.0  # width over which a fall of light is measured
RIM_FROM = 0.6  # of the radius of a cell's inner circle: a rim lies farther out
CENTRE_SHARE = 0.2  # of the pitch: what is 1 in the profile
RIM_BEYOND = 1.07  # of half the pitch: a Raytrix R5 shows 1.034, an R8 1.022 with their right grids
LEAST_FALL = 0.1  # of the central brightness, over SMOOTH_PX: less is no rim


@dataclass(frozen=True)
class MicroImageProfile:
    """``brightness`` (R,) at ``radii`` (R,) raw pixels, 1 in the centre; ``by_class`` (3, R) for each (i − j) mod 3.

    ``radius``: where light falls fastest, or None where no rim shows (vignetting removed). ``radius_by_class`` (3,)
    has NaN there.
    """

    radii: Array
    brightness: Array
    by_class: Array
    radius: float | None
    radius_by_class: Array


def micro_image_profile(images: Sequence[NDArray[Any]] | NDArray[Any], grid: Grid) -> MicroImageProfile:
    """Mean brightness against distance from the micro-image centre, over all lenses and frames."""
    light = light_map(grey_frames(images), SURROUNDINGS * grid.pitch)
    count = int(np.floor(grid.cell_radius / BIN_PX))
    total, weight = _rings(light.values, np.linalg.inv(grid.axes), grid.axes, grid.origin, BIN_PX, count)
    radii = np.asarray((np.arange(count) + 0.5) * BIN_PX, np.float64)
    mean = _scaled(radii, total.sum(0), weight.sum(0), grid.pitch)
    by_class = np.stack([_scaled(radii, t, w, grid.pitch) for t, w in zip(total, weight)])
    radius = _rim(radii, mean, grid.pitch)
    by_class_radius = np.array([_rim(radii, profile, grid.pitch) or np.nan for profile in by_class])
    return MicroImageProfile(radii, mean, by_class, radius, by_class_radius)


def rim_beyond_lens(profile: MicroImageProfile, grid: Grid) -> str | None:
    """What a rim farther out than half the pitch means: a lens cannot be wider than the distance of two."""
    if profile.radius is None or profile.radius < RIM_BEYOND * grid.pitch / 2:
        return None
    return (
        f"Micro-images seem to end {profile.radius:.1f} px from their centres, beyond half the pitch of "
        f"{grid.pitch:.2f} px: the pitch is not that of these images, or the aperture of the main lens is so wide that "
        "micro-images overlap."
    )


def _scaled(radii: Array, total: Array, weight: Array, pitch: float) -> Array:
    known = weight > 0
    profile: Array = np.interp(radii, radii[known], total[known] / weight[known])
    inner = radii < CENTRE_SHARE * pitch
    centre = float((profile[inner] * radii[inner]).sum() / radii[inner].sum())
    return np.asarray(profile / max(centre, 1e-9))


def _rim(radii: Array, profile: Array, pitch: float) -> float | None:
    """Radius of the fastest fall, to a fraction of a bin."""
    reach = max(1, round(SMOOTH_PX / BIN_PX / 2))
    fall = np.zeros_like(profile)
    fall[reach:-reach] = profile[: -2 * reach] - profile[2 * reach :]
    fall[radii < RIM_FROM * pitch / 2] = 0.0
    k = int(fall.argmax())
    if fall[k] < LEAST_FALL or k in (0, len(fall) - 1):
        return None
    bend = fall[k - 1] - 2 * fall[k] + fall[k + 1]
    shift = 0.5 * (fall[k - 1] - fall[k + 1]) / bend if bend < 0 else 0.0
    return float(radii[k] + shift * BIN_PX)


@njit(nogil=True, cache=True)
def _rings(values, inverse, axes, origin, width, count):  # type: ignore[no-untyped-def]
    """Sum of the values and number of pixels by class and ring about the nearest centre."""
    total = np.zeros((CLASS_COUNT, count))
    weight = np.zeros((CLASS_COUNT, count))
    for y in range(values.shape[0]):
        for x in range(values.shape[1]):
            dx, dy = x - origin[0], y - origin[1]
            i0 = int(np.floor(dx * inverse[0, 0] + dy * inverse[1, 0]))
            j0 = int(np.floor(dx * inverse[0, 1] + dy * inverse[1, 1]))
            best, kind = 1e30, 0
            for j in (j0, j0 + 1):
                for i in (i0, i0 + 1):
                    px = dx - i * axes[0, 0] - j * axes[1, 0]
                    py = dy - i * axes[0, 1] - j * axes[1, 1]
                    distance = px * px + py * py
                    if distance < best:
                        best, kind = distance, (i - j) % CLASS_COUNT
            ring = int(np.sqrt(best) / width)
            if ring < count:
                total[kind, ring] += values[y, x]
                weight[kind, ring] += 1.0
    return total, weight
