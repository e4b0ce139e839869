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
from prism_vo.lightfield.same_points import ROBUST_SIGMA, SamePoints, fit_levels, levels_of
from prism_vo.linear.spline import DEGREE, bending, spline_basis

PIECES = 6  # of the curve from the centre of a micro-image to its rim
POWERS = 2, 4  # of the distance of a lens from the optical axis
# shares of the information of one number: few samples lie at the centre of a micro-image, a constant is not asked for,
# and what is not seen at all stays as it is
STIFFNESS, CONSTANT, UNSEEN = 1e-2, 1e-6, 1e-9
ROUNDS = 3  # with the light as it was before, points are found at depths that are wrong, too
# RMS over micro-images beyond which a white image is not that of the recording: 33 recordings of two renderers with
# theirs have 0.01 to 0.09 %, one taken with another aperture has 5 and more
OTHER_LIGHT = 0.02
SURE = 5.0  # σ, which counts samples as independent
LARGEST_SIGMA = 0.01  # of a frame that tells anything; noise of 20 grey levels leaves 0.003 to 0.009
# by which points differ in brightness where there is a scene; where there is none, the only texture is that of the
# array, printed into an even image (lens cap, grey start of a film) by a white image that is not its own
LEAST_CONTRAST = 0.05


class FallOff(NamedTuple):
    """Logarithms of the light that is left, relative to what was assumed."""

    radii: Array  # (N,) px from the centre of a micro-image
    inside: Array  # (lens types, N) there; 0 at the centre
    lenses: Array  # (lenses,) at the centre
    sigma: float  # of ``inside``, RMS over a micro-image
    contrast: float = 1.0  # of the points that were looked at: robust σ of their brightness over its median

    @property
    def spread(self) -> float:
        """By how much light is unevenly wrong inside micro-images: RMS over their area, of the worst type."""
        area = self.radii / self.radii.sum()
        apart = self.inside - (self.inside @ area)[:, None]
        return float(np.sqrt((apart**2 @ area).max()))

    @property
    def is_other_light(self) -> bool:
        """Whether micro-images are surely not as they were thought to be."""
        return self.spread > max(OTHER_LIGHT, SURE * self.sigma)


def fall_off(seen: SamePoints, geometry: StereoGeometry) -> FallOff | None:
    """From points of one frame; None: too little is seen, or in too much noise."""
    found = _fitted(seen, geometry) if seen.are_enough else None
    if found is None or found.sigma > LARGEST_SIGMA or found.contrast < LEAST_CONTRAST:
        return None
    return found


def _fitted(seen: SamePoints, geometry: StereoGeometry, over_sensor: bool = True) -> FallOff:
    """``over_sensor``: as far as light falls off from lens to lens, too, if that is known to LARGEST_SIGMA.

    Points compare neighbouring lenses only; what lies farther apart follows from many small differences.
    """
    centres = geometry.lenses[:, [MEASURED_X, MEASURED_Y]]
    beside = np.stack([seen.x, seen.y], -1) - centres[seen.lens]
    axis = _from_axis(geometry, centres)[:, : len(POWERS) if over_sensor else 0]
    share = np.hypot(*beside.T) / geometry.radius
    is_type = geometry.lens_type[:, None] == np.arange(1 + int(geometry.lens_type.max()))
    of_type = is_type[seen.lens].astype(np.float64)
    parts = spline_basis(share, PIECES), of_type * share[:, None] ** 2, of_type, axis[seen.lens]
    basis = np.concatenate(parts, axis=1)
    curve = PIECES + DEGREE
    little = UNSEEN * np.eye(basis.shape[1])
    little[:curve, :curve] += STIFFNESS * bending(curve) + CONSTANT
    found, covariance = fit_levels(seen, basis, little)
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]
    if over_sensor:
        apart = axis - axis.mean(0)
        if (
            np.einsum("ni,ij,nj->n", apart, covariance[ends[-1] :, ends[-1] :], apart).mean()
            > LARGEST_SIGMA**2
        ):
            return _fitted(seen, geometry, over_sensor=False)
    smooth, by_type, gains, along = np.split(found, ends)
    radii = np.linspace(0.0, geometry.radius, 4 * PIECES + 1)
    at = radii / geometry.radius
    common = spline_basis(at, PIECES)
    inside = common @ smooth
    inside = inside - inside[0] + by_type[:, None] * at**2
    first_type = np.column_stack([common, at**2])
    apart = first_type - at @ first_type / at.sum()
    variance = np.einsum("ni,ij,nj->n", apart, covariance[: curve + 1, : curve + 1], apart)
    sigma, lenses = float(np.sqrt(at @ variance / at.sum())), is_type @ gains + axis @ along
    levels = levels_of(seen, np.exp(basis @ found))
    middle = float(np.median(levels))
    contrast = ROBUST_SIGMA * float(np.median(np.abs(levels - middle))) / middle
    return FallOff(radii, inside, lenses, sigma, contrast)


def _from_axis(geometry: StereoGeometry, centres: Array) -> Array:
    """(lenses, powers): powers of the distance from the optical axis, in halves of the longer side of the sensor."""
    calibration = geometry.camera.calibration
    apart = centres - np.asarray(calibration.main_lens.principal_point_px)
    distance = np.hypot(*apart.T) / (0.5 * max(calibration.sensor.width, calibration.sensor.height))
    return np.stack([distance**power for power in POWERS], -1)
