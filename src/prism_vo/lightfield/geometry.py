# SPDX-License-Identifier: Apache-2.0
"""Where each micro-lens images a pixel of the totally focused (TF) view: one affine map a lens.

On the central view the squinting lenses cancel and the *micro-image* centres do stereo with ``h = 1/v_n``;
on the focal view the *micro-lens* centres do it with ``h = ρ_v``. Both read (undistorted raw pixels)::

    x_raw = c + (t − c) · h          t: the TF pixel in raw units          1/v_n = (1 − λ) + λ ρ_v

``h`` is called the stereo slope below; it is affine in ρ_v in both views, so Gaussian stays Gaussian.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Array, Integers
from prism_vo.config import DecodeConfig
from prism_vo.errors import ConfigError
from prism_vo.optics.camera import FocusedView, PlenopticCamera
from prism_vo.optics.distortion import distort, undistort
from prism_vo.optics.field import is_bent, shift_range
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.nominal import is_metric

# columns of ``StereoGeometry.lenses``: the centre that does stereo, that of the micro-image without distortion and as
# measured, and the Jacobian of the distortion there, JACOBIAN_XY = ∂x_measured/∂y
STEREO_X, STEREO_Y, IMAGE_X, IMAGE_Y, MEASURED_X, MEASURED_Y = range(6)
JACOBIAN_XX, JACOBIAN_XY, JACOBIAN_YX, JACOBIAN_YY = range(6, 10)
LENS_COLUMNS = 10
INTERPOLATION_MARGIN = 2  # px: the second pixel of a bilinear sample, and one for rounding
DERIVATIVE_STEP = 0.5  # px, of the numeric Jacobian of the distortion
MARGIN_BEYOND_FAR = 0.03  # share of the range searched beyond ``far``: noise must not be cut off there
LEAST_SLOPE = 1.0 / 40.0  # virtual depth 40: hundreds of lenses see a point, nothing is gained beyond
NEAREST_OVER_FOCAL_LENGTH = 1.05  # nothing nearer than the focal length has a real image
METRES_PER_MM = 1e-3
# virtual depth down to which is searched where nobody knows how long a metre is: ``near`` means nothing there
NEAREST_WITHOUT_UNIT = 6.0
LARGEST_SLOPE = 0.62  # below virtual depth 1.6 fewer than two usable circles overlap anywhere


@dataclass(frozen=True)
class StereoGeometry:
    """The lenses as the kernels want them, and the map between stereo slope and inverse virtual depth."""

    view: FocusedView
    camera: PlenopticCamera
    array: MicroLensArray
    lenses: Array  # (N, LENS_COLUMNS)
    lens_type: Integers  # (N,)
    radius: float  # usable radius of a micro-image, raw px
    slope_near: float  # stereo slope at ``near`` (the smaller one)
    slope_far: float  # stereo slope at ``far``, with a margin for noise

    @classmethod
    def of(cls, camera: PlenopticCamera, config: DecodeConfig) -> StereoGeometry:
        """Lay out the lenses of ``camera`` for the view named in ``config`` (or in the calibration)."""
        view = camera.view(config.view)
        array = MicroLensArray.of(camera)
        calibration = camera.calibration
        measured = array.image_centres
        true = undistort(calibration, measured)
        stereo = true if view.name == "central" else array.lens_centres
        jacobian = np.empty((len(array), 2, 2))
        for axis in (0, 1):
            step = np.zeros(2)
            step[axis] = DERIVATIVE_STEP
            jacobian[:, :, axis] = (distort(calibration, true + step) - distort(calibration, true - step)) / (
                2 * DERIVATIVE_STEP
            )
        lenses = np.concatenate([stereo, true, measured, jacobian.reshape(-1, 4)], axis=1)
        near, far = search_range(camera, view, config)
        return cls(view, camera, array, lenses, array.lens_type, array.usable_radius, near, far)

    def slope(self, inv_virtual_depth: ArrayLike) -> Array:
        """ρ_v → stereo slope h."""
        return self.view.alpha + self.view.beta * np.asarray(inv_virtual_depth, dtype=np.float64)

    def inv_virtual_depth(self, slope: ArrayLike) -> Array:
        """Stereo slope h → ρ_v."""
        return (np.asarray(slope, dtype=np.float64) - self.view.alpha) / self.view.beta

    @property
    def focus_inv_virtual_depth(self) -> Array:
        """ρ_v at which each lens type is in focus."""
        return np.array([1.0 / t.focus_virtual_depth for t in self.camera.calibration.mla.lens_types])

    @property
    def rest_slope(self) -> float:
        """The slope of a TF image without depth: where the lens types focus on average, inside the range."""
        return float(
            np.clip(self.slope(self.focus_inv_virtual_depth).mean(), self.slope_near, self.slope_far)
        )


def search_range(camera: PlenopticCamera, view: FocusedView, config: DecodeConfig) -> tuple[float, float]:
    """Stereo slopes at ``near`` and ``far``; works on either side of ``b_L0 = f_L``."""
    if not 0.0 < config.near < config.far:
        raise ConfigError(
            f"decode.near ({config.near} m) must be positive and less than decode.far ({config.far} m)."
        )
    nearest = camera.f_L * METRES_PER_MM * NEAREST_OVER_FOCAL_LENGTH
    wanted = config.near
    if not is_metric(camera.calibration):
        wanted = min(wanted, float(camera.depth(NEAREST_WITHOUT_UNIT)))
    inv_depths = np.array([1.0 / max(wanted, nearest), 0.0 if np.isinf(config.far) else 1.0 / config.far])
    gap = (camera.f_L - camera.b_L0) + camera.f_L * camera.b_L0 * inv_depths * METRES_PER_MM
    rho = np.where(gap > 0, camera.inv_virtual_depth(inv_depths), np.inf)  # gap ≤ 0: in front of the array
    slopes = view.alpha + view.beta * rho
    if is_bent(camera):  # the same depths are seen at other slopes elsewhere in the image
        inverse = 1.0 / slopes + np.array(shift_range(camera))[::-1]
        slopes = np.where(inverse > 0, 1.0 / np.where(inverse > 0, inverse, 1.0), np.inf)
    near, far = float(slopes[0]), float(min(slopes[1], LARGEST_SLOPE))
    far = min(far + MARGIN_BEYOND_FAR * (far - max(near, LEAST_SLOPE)), LARGEST_SLOPE)
    near = max(near, LEAST_SLOPE)
    if not near < far:
        raise ConfigError(
            f"decode.near {config.near} m and decode.far {config.far} m leave no virtual depth this camera can "
            "measure; widen the range or check the calibration."
        )
    return near, far


def raw_border(geometry: StereoGeometry) -> int:
    """Pixels of padding round a prepared raw image: a micro-image on the edge never reads beyond them."""
    return int(np.ceil(geometry.array.diameter)) + INTERPOLATION_MARGIN
