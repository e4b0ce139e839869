# SPDX-License-Identifier: Apache-2.0
"""How light falls off without a white image: seen where several micro-images show the same point of the scene.

``log I_pl = log s_p + S(r_pl) + a ρ_l² + b ρ_l⁴`` for point p in lens l (:mod:`~prism_vo.lightfield.same_points`): S is
a smooth curve over the distance r from the centre of a micro-image, ρ the distance of the lens from the optical axis,
from which the light of the main lens falls off. Means over micro-images, with which points are found first, are wrong
by per cents, and a rim that is too bright by 3 % takes more from depth than all noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Array
from prism_vo.lightfield.geometry import MEASURED_X, MEASURED_Y, StereoGeometry
from prism_vo.lightfield.same_points import SamePoints, fit_levels
from prism_vo.linear.spline import DEGREE, bending, spline_basis

PIECES = 6  # of the curve from the centre of a micro-image to its rim
POWERS = 2, 4  # of the distance of a lens from the optical axis
# shares of the information of one number: few samples lie at the centre of a micro-image, a constant is not asked for,
# and what is not seen at all stays as it is
STIFFNESS, CONSTANT, UNSEEN = 1e-2, 1e-6, 1e-9
ROUNDS = 3  # with the light as it was before, points are found at depths that are wrong, too
RIM = 0.0  # px of a micro-image that are left out: none, its curve is wanted up to there


class FallOff(NamedTuple):
    """Logarithms of the light that is left, relative to what was assumed."""

    radii: Array  # (N,) px from the centre of a micro-image
    inside: Array  # (lens types, N) there; 0 at the centre
    lenses: Array  # (lenses,) at the centre


def fall_off(seen: SamePoints, geometry: StereoGeometry) -> FallOff | None:
    """From points of one frame; None: too little is seen."""
    if not seen.are_enough:
        return None
    centres = geometry.lenses[:, [MEASURED_X, MEASURED_Y]]
    beside = np.stack([seen.x, seen.y], -1) - centres[seen.lens]
    axis = _from_axis(geometry, centres)
    share = np.hypot(*beside.T) / geometry.radius
    is_type = geometry.lens_type[:, None] == np.arange(1 + int(geometry.lens_type.max()))
    of_type = is_type[seen.lens].astype(np.float64)
    parts = spline_basis(share, PIECES), of_type * share[:, None] ** 2, of_type, axis[seen.lens]
    basis = np.concatenate(parts, axis=1)
    curve = PIECES + DEGREE
    little = UNSEEN * np.eye(basis.shape[1])
    little[:curve, :curve] += STIFFNESS * bending(curve) + CONSTANT
    found = fit_levels(seen, basis, little)
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]
    smooth, by_type, gains, along = np.split(found, ends)
    radii = np.linspace(0.0, geometry.radius, 4 * PIECES + 1)
    inside = spline_basis(radii / geometry.radius, PIECES) @ smooth
    inside = inside - inside[0] + by_type[:, None] * (radii / geometry.radius) ** 2
    return FallOff(radii, inside, is_type @ gains + axis @ along)


def _from_axis(geometry: StereoGeometry, centres: Array) -> Array:
    """(lenses, powers): powers of the distance from the optical axis, in halves of the longer side of the sensor."""
    calibration = geometry.camera.calibration
    apart = centres - np.asarray(calibration.main_lens.principal_point_px)
    distance = np.hypot(*apart.T) / (0.5 * max(calibration.sensor.width, calibration.sensor.height))
    return np.stack([distance**power for power in POWERS], -1)
