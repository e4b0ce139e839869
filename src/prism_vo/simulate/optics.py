# SPDX-License-Identifier: Apache-2.0
"""What a raw pixel looks through: its micro-lens, its vignetting, and how wide its rays are in the scene."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array, Floats, Integers
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.distortion import centre_mm
from prism_vo.simulate.records import SensorTables, ThinLens
from prism_vo.simulate.sensor import cfa_table

MM = 1e-3
PUPIL_FALLOFF = 0.42  # loss of light at the edge of the main-lens pupil, as seen from the sensor
# texels to one cell of a pixel: a texel is a mean and is interpolated, which together is as wide as three texels' means
TEXEL = 3.0**-0.5
EDGE_PX = 1.0  # width of the ramp at the rim of a micro-image: one pixel, the blur of its own area


@dataclass(frozen=True)
class SensorRays:
    """Tables from which the kernels trace a raw pixel."""

    width: int
    height: int
    tables: SensorTables
    spread: Floats  # (kinds, 4): footprint of one ray, see `ray_spread`


def ray_spread(calibration: Calibration, aperture: float, samples: int) -> Floats:
    """Width of a ray at depth z: ``hypot(s0 + s1 z, s2 + s3 z)`` in metres, by lens type.

    ``X(z) = −P + z (m + P/f_L)`` differentiated by the sensor point (first pair) and by the point ``a`` on the
    micro-lens (second pair), over the distance between neighbouring samples.
    """
    f, b0, B = _lengths(calibration)
    cell = 1.0 / np.sqrt(samples)
    pixel = calibration.sensor.pixel_size_um * 1e-3 * cell * TEXEL
    rows = []
    for kind in calibration.mla.lens_types:
        dm_da = (kind.focus_virtual_depth - 1.0) / (B * kind.focus_virtual_depth) - 1.0 / B
        dp_da = 1.0 - b0 * dm_da
        blur = 1.5 * aperture * cell  # a disc of radius R has a standard deviation of R/2: a box 1.7 R wide
        rows.append(
            (
                pixel * b0 / B * MM,
                pixel * (1.0 - b0 / f) / B,
                -blur * dp_da * MM,
                blur * (dm_da + dp_da / f),
            )
        )
    return np.array(rows, np.float32)


def sensor_rays(calibration: Calibration, aperture: float, samples: int) -> SensorRays:
    """Lay the micro-lens grid over the sensor. ``aperture``: micro-lens radius as a share of half the pitch."""
    f, b0, B = _lengths(calibration)
    mla, sensor = calibration.mla, calibration.sensor
    mm = sensor.pixel_size_um * 1e-3
    centre = np.array(calibration.main_lens.principal_point_px)
    grid, kinds, lens = _grid(calibration)
    radius = mla.pitch_px / 2
    yy, xx = np.mgrid[0 : sensor.height, 0 : sensor.width]
    distance = np.hypot(xx - grid[lens, 0], yy - grid[lens, 1])
    chief = np.hypot(*(grid - centre).T) * mm / (b0 + B)
    corner = (1.0 / (1.0 + chief**2)) ** 1.5  # natural falloff of the main lens, one value a micro-image
    rim = np.clip((radius + 0.5 * EDGE_PX - 0.35 - distance) / EDGE_PX, 0.0, 1.0)
    weight = (1.0 - PUPIL_FALLOFF * (distance / radius) ** 2) * rim * corner[lens]
    centres_mm = undistort_mm(calibration, (grid - centre) * mm)
    if any((*calibration.main_lens.distortion.radial, *calibration.main_lens.distortion.tangential)):
        pixel = undistort_mm(calibration, (np.stack([xx, yy], -1) - centre) * mm)
    else:
        pixel = (-centre * mm).reshape(1, 1, 2)
    inv_micro_focal = np.array(
        [(t.focus_virtual_depth - 1) / (B * t.focus_virtual_depth) for t in mla.lens_types]
    )
    aperture_mm = aperture * radius * mm * b0 / (b0 + B)
    return SensorRays(
        width=sensor.width,
        height=sensor.height,
        tables=SensorTables(
            lens=lens,
            weight=np.maximum(weight, 0.0).astype(np.float32),
            pixel=pixel,
            lens_centre=centres_mm * (b0 / (b0 + B)),
            main_focal=main_focal_lengths(calibration, centres_mm),
            lens_kind=kinds,
            inv_micro_focal=inv_micro_focal,
            optics=ThinLens(f, b0, B, mm, aperture_mm),
            cfa=cfa_table(sensor.bayer),
        ),
        spread=ray_spread(calibration, aperture_mm, samples),
    )


def main_focal_lengths(calibration: Calibration, xy: Array) -> Array:
    """Focal length (N,) of the main lens for fields (N, 2), mm: if it changes, the focal surface is bent.

    In ``1/h = (b_L0 + B)/B (1 − b_L0/f + b_L0/z)`` it shifts all depths alike, and no rays through the lens's centre.
    """
    f, b0, B = _lengths(calibration)
    field = calibration.main_lens.field
    shift = field.tilt[0] * xy[:, 0] + field.tilt[1] * xy[:, 1] + field.curvature * (xy**2).sum(1)
    if not shift.any():
        return np.full(len(xy), f)
    return np.asarray(1.0 / (1.0 / f - shift * B / (b0 * (b0 + B))))


def undistort_mm(calibration: Calibration, xy: Array) -> Array:
    """Recorded point of the sensor plane → the point a distortion-free lens would have imaged there."""
    d = calibration.main_lens.distortion
    (a0, a1), (t0, t1) = d.radial, d.tangential
    centre_x, centre_y = centre_mm(calibration)
    out = xy.copy()
    for _ in range(20):
        x, y = out[..., 0] - centre_x, out[..., 1] - centre_y
        r2 = x * x + y * y
        gain = a0 * r2 + a1 * r2 * r2
        dx = x * gain + t0 * (r2 + 2 * x * x) + 2 * t1 * x * y
        dy = y * gain + t1 * (r2 + 2 * y * y) + 2 * t0 * x * y
        out = xy - np.stack([dx, dy], -1)
    return out


def _lengths(calibration: Calibration) -> tuple[float, float, float]:
    lens = calibration.main_lens
    return lens.focal_length_mm, lens.mla_distance_mm, calibration.mla.sensor_distance_mm


def _grid(calibration: Calibration) -> tuple[Array, Integers, Integers]:
    """All micro-image centres near the sensor (N, 2) px, their types, and the index (H, W) of the nearest one."""
    mla, (w, h) = calibration.mla, (calibration.sensor.width, calibration.sensor.height)
    turn = mla.rotation_rad + np.array([0.0, np.pi / 3 if mla.layout == "hexagonal" else np.pi / 2])
    axes = mla.pitch_px * np.stack([np.cos(turn), np.sin(turn)], -1)
    origin, inverse = np.array(mla.origin_px), np.linalg.inv(axes)
    reach = (np.array([[0, 0], [w, 0], [0, h], [w, h]], float) - origin) @ inverse
    low, high = np.floor(reach.min(0)).astype(int) - 2, np.ceil(reach.max(0)).astype(int) + 2
    columns = high[0] - low[0] + 1
    jj, ii = np.mgrid[low[1] : high[1] + 1, low[0] : high[0] + 1]
    centres = origin + ii[..., None] * axes[0] + jj[..., None] * axes[1]
    nearest = np.empty((h, w), np.int32)
    xx = np.arange(w, dtype=np.float64)
    for y in range(h):  # row by row: a 31-Mpx sensor needs no gigabytes here
        p = np.stack([xx, np.full(w, float(y))], -1)
        base = np.floor((p - origin) @ inverse).astype(int)
        best = np.full(w, np.inf)
        for corner in ((0, 0), (1, 0), (0, 1), (1, 1)):
            i, j = base[:, 0] + corner[0] - low[0], base[:, 1] + corner[1] - low[1]
            d2 = ((p - centres[j, i]) ** 2).sum(-1)
            nearest[y] = np.where(d2 < best, j * columns + i, nearest[y])
            best = np.minimum(best, d2)
    kinds = np.mod(ii - jj, len(mla.lens_types)).astype(np.int32).ravel()
    return centres.reshape(-1, 2), kinds, nearest
