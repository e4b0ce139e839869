# SPDX-License-Identifier: Apache-2.0
"""A slow, plain totally focused image from a raw image and known depth: the formulas of the camera model, in NumPy."""

from __future__ import annotations

import cv2
import numpy as np

from prism_vo.optics.calibration import Calibration

RELIABLE_SHARE = 0.75  # of a micro-image's radius


def grid(cal: Calibration) -> tuple[np.ndarray, np.ndarray]:
    turn = cal.mla.rotation_rad + np.array([0.0, np.pi / 3])
    return np.array(cal.mla.origin_px), cal.mla.pitch_px * np.stack([np.cos(turn), np.sin(turn)], -1)


def distorted(cal: Calibration, px: np.ndarray) -> np.ndarray:
    centre, mm = np.array(cal.main_lens.principal_point_px), cal.sensor.pixel_size_um * 1e-3
    (a0, a1), (b0, b1) = cal.main_lens.distortion.radial, cal.main_lens.distortion.tangential
    x, y = np.moveaxis((px - centre) * mm, -1, 0)
    r2 = x * x + y * y
    dx = x * (a0 * r2 + a1 * r2**2) + b0 * (r2 + 2 * x * x) + 2 * b1 * x * y
    dy = y * (a0 * r2 + a1 * r2**2) + b1 * (r2 + 2 * y * y) + 2 * b0 * x * y
    return px + np.stack([dx, dy], -1) / mm


def totally_focused(
    cal: Calibration,
    raw: np.ndarray,
    white: np.ndarray,
    depth: np.ndarray,
    view: str,
    v_factor: float = 1.0,
    undistorted_centres=lambda c: c,
) -> np.ndarray:
    """Mean over the lenses that see each TF pixel's point; NaN where none does."""
    f, b0, B = cal.main_lens.focal_length_mm, cal.main_lens.mla_distance_mm, cal.mla.sensor_distance_mm
    k, c = cal.totally_focused.scale, np.array(cal.main_lens.principal_point_px)
    h, w = depth.shape
    yy, xx = np.mgrid[0:h, 0:w]
    x = (np.stack([xx, yy], -1) + 0.5) * k - 0.5 - c
    z = depth.astype(float) * 1e3
    v = (f * z / (z - f) - b0) / B * v_factor
    image_distance = b0 + v * B
    x_virtual = x if view == "focal" else x * (image_distance / (b0 + B))[..., None]
    lam = b0 / (b0 + B)
    origin, axes = grid(cal)
    even = raw.astype(np.float32) / np.maximum(white.astype(np.float32) / 200.0, 0.05)
    expected = c + x_virtual * (b0 / image_distance)[..., None] / lam
    base = np.round((expected - origin) @ np.linalg.inv(axes)).astype(int)
    total, count = np.zeros((h, w)), np.zeros((h, w))
    reach = int(np.ceil(v.max())) + 1
    for di in range(-reach, reach + 1):
        for dj in range(-reach, reach + 1):
            if (
                np.linalg.norm(di * axes[0] + dj * axes[1])
                > (RELIABLE_SHARE * v.max() / 2 + 1.0) * cal.mla.pitch_px
            ):
                continue  # too far from the central projection to see the point
            measured = origin + (base[..., :1] + di) * axes[0] + (base[..., 1:] + dj) * axes[1]
            lens = (undistorted_centres(measured) - c) * lam
            p = distorted(cal, lens + (x_virtual - lens) / v[..., None] + c)
            near = np.linalg.norm(p - measured, axis=-1) < RELIABLE_SHARE * cal.mla.pitch_px / 2
            near &= (p >= 0).all(-1) & (p[..., 0] <= raw.shape[1] - 1) & (p[..., 1] <= raw.shape[0] - 1)
            if near.any():
                sampled = cv2.remap(
                    even, p[..., 0].astype(np.float32), p[..., 1].astype(np.float32), cv2.INTER_LINEAR
                )
                total += np.where(near, sampled, 0)
                count += near
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def psnr(image: np.ndarray, truth: np.ndarray) -> float:
    """dB over all pixels some lens sees (at least 99.9 % of them)."""
    error = image - truth
    assert np.isfinite(error).mean() > 0.999
    return float(10 * np.log10(255.0**2 / np.nanmean(error**2)))
