# SPDX-License-Identifier: Apache-2.0
"""Pictures of a keyframe for the report and the viewer: point classes, virtual depth, σ, residuals."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.report.snapshots import PointResiduals, SelectedPoints

Image = NDArray[np.uint8]
Values = Array | Floats

CLASS_COLORS = np.array(
    [(50, 215, 75), (0, 205, 225), (235, 60, 220)], np.uint8
)  # used, uncertain, none: RGB
OUTLIER_COLOR = (255, 200, 0)
LARGEST_SIGMA = 0.015  # of ρ_v: end of the σ scale
LARGEST_GREY, LARGEST_SIGMAS = 15.0, 3.0  # ends of the residual scales
SMALLEST_SIDE, LARGEST_SIDE = 480, 560  # of a picture in the report, px
JPEG_QUALITY = 80


@dataclass(frozen=True)
class Scale:
    """256 colours (RGB) between two values."""

    low: float
    high: float
    table: Image

    def colors(self, values: Values) -> Image:
        """RGB (…, 3) of values; NaN takes the lower end (mask it)."""
        span = self.high - self.low
        share = (np.nan_to_num(np.asarray(values, np.float64), nan=self.low) - self.low) / (
            span if span else 1.0
        )
        return np.asarray(self.table[np.clip(np.rint(share * 255), 0, 255).astype(int)])


def map_table(colormap: int) -> Image:
    """The 256 RGB colours of one of OpenCV's maps."""
    ramp = np.arange(256, dtype=np.uint8)[:, None]
    return np.ascontiguousarray(cv2.applyColorMap(ramp, colormap)[:, 0, ::-1])


def _diverging_table() -> Image:
    """Blue, white, red: the eye finds both signs alike."""
    stops, knots = np.array([(40, 90, 235), (240, 240, 240), (235, 50, 40)], float), [0, 128, 255]
    table = np.stack([np.interp(np.arange(256), knots, stops[:, c]) for c in range(3)], -1)
    return table.astype(np.uint8)


def depth_scale(inv_virtual_depth: Values) -> Scale:
    """Near (small ρ_v) red, far blue."""
    known = inv_virtual_depth[np.isfinite(inv_virtual_depth)]
    near, far = np.quantile(known, [0.02, 0.98]) if len(known) else (0.25, 0.5)
    return Scale(float(far), float(near), map_table(cv2.COLORMAP_TURBO))


def sigma_scale() -> Scale:
    """σ(ρ_v): dark is certain."""
    return Scale(0.0, LARGEST_SIGMA, map_table(cv2.COLORMAP_VIRIDIS))


def residual_scale(limit: float) -> Scale:
    """Blue negative, red positive."""
    return Scale(-limit, limit, _diverging_table())


@dataclass(frozen=True)
class Canvas:
    """A keyframe image brought to the size of a picture."""

    background: Image  # (h, w, 3)
    factor: float

    @classmethod
    def of(cls, image: Image) -> Canvas:
        """Small images are enlarged so that points can be told apart, large ones reduced."""
        side = max(image.shape[:2])
        factor = float(np.clip(side, SMALLEST_SIDE, LARGEST_SIDE)) / side
        rgb = image if image.ndim == 3 else np.repeat(image[..., None], 3, 2)
        how = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
        return cls(
            np.asarray(cv2.resize(rgb, None, fx=factor, fy=factor, interpolation=how), np.uint8), factor
        )

    def dots(self, x: Values, y: Values, colors: Image, dim: float = 1.0, radius: float = 2.2) -> Image:
        """Dots at pixels of the keyframe."""
        out = np.ascontiguousarray((self.background * dim).astype(np.uint8))
        # pixel centres lie at integers: the corner of pixel 0 is −0.5
        places = (np.stack([x, y], -1).astype(float) + 0.5) * self.factor - 0.5
        for centre, color in zip(np.rint(16 * places).astype(int).tolist(), colors.tolist()):
            cv2.circle(out, centre, int(16 * radius), color, -1, cv2.LINE_AA, shift=4)
        return out

    def map(self, colors: Image, valid: Mask) -> Image:
        """A map on the keyframe's grid; what is invalid shows the image, dimmed."""
        size = (self.background.shape[1], self.background.shape[0])
        picture = cv2.resize(colors, size, interpolation=cv2.INTER_NEAREST)
        mask = cv2.resize(valid.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)
        return np.asarray(cv2.copyTo(picture, mask, (self.background * 0.3).astype(np.uint8)), np.uint8)


def classes_picture(canvas: Canvas, points: SelectedPoints) -> Image:
    """Selected points: depth used (green), too uncertain or too far (cyan), none (magenta)."""
    return canvas.dots(points.x, points.y, CLASS_COLORS[points.kind], dim=0.8)


def sparse_depth_picture(canvas: Canvas, points: SelectedPoints, scale: Scale) -> Image:
    """Depth measured at the selected points alone."""
    known = np.isfinite(points.measured)
    return canvas.dots(points.x[known], points.y[known], scale.colors(points.measured[known]), 0.35, 3.5)


def sparse_sigma_picture(canvas: Canvas, points: SelectedPoints) -> Image:
    """σ at the selected points alone."""
    known = np.isfinite(points.sigma)
    return canvas.dots(points.x[known], points.y[known], sigma_scale().colors(points.sigma[known]), 0.35, 3.5)


def dense_picture(canvas: Canvas, values: Floats, scale: Scale) -> Image:
    """A map of inverse virtual depth or σ."""
    return canvas.map(scale.colors(values), np.isfinite(values))


def photometric_picture(canvas: Canvas, residuals: PointResiduals) -> Image:
    """Photometric residuals of the active points; outliers are yellow."""
    colors = residual_scale(LARGEST_GREY).colors(residuals.grey)
    colors[np.isnan(residuals.grey)] = OUTLIER_COLOR
    return canvas.dots(residuals.x, residuals.y, colors, 0.35, 3.0)


def depth_residual_picture(canvas: Canvas, residuals: PointResiduals) -> Image:
    """Depth residuals in units of σ."""
    used = np.isfinite(residuals.sigmas)
    colors = residual_scale(LARGEST_SIGMAS).colors(residuals.sigmas[used])
    return canvas.dots(residuals.x[used], residuals.y[used], colors, 0.35, 3.0)


def thumbnail(image: Image, side: int = 168) -> Image:
    """A small copy."""
    factor = side / max(image.shape[:2])
    return np.asarray(cv2.resize(image, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA), np.uint8)


def jpeg_uri(image: Image) -> str:
    """The picture as a data URI."""
    bgr = image[..., ::-1] if image.ndim == 3 else image
    done, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    assert done
    return "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode("ascii")
