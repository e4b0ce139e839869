# SPDX-License-Identifier: Apache-2.0
"""Micro-images: where they are, how they shift from lens to lens, which lens type is sharp."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from scipy.ndimage import map_coordinates
from scipy.optimize import minimize_scalar

from prism_vo.simulate import PRESETS, Renderer, SensorModel, plane_scene, preset_camera
from prism_vo.simulate.optics import sensor_rays

QUIET = SensorModel(bits=12, noise=0.0)


def centres_of(cal) -> tuple[np.ndarray, np.ndarray]:
    """Micro-image centres well inside the sensor (N, 2), and their grid indices (N, 2)."""
    turn = cal.mla.rotation_rad + np.array([0.0, np.pi / 3])
    axes = cal.mla.pitch_px * np.stack([np.cos(turn), np.sin(turn)], -1)
    jj, ii = np.mgrid[-60:61, -60:61]
    index = np.stack([ii.ravel(), jj.ravel()], -1)
    c = np.array(cal.mla.origin_px) + index @ axes
    margin = 1.5 * cal.mla.pitch_px
    limit = np.array([cal.sensor.width, cal.sensor.height]) - 1 - margin
    keep = (c > margin).all(1) & (c < limit).all(1)
    return c[keep], index[keep]


def test_white_image_centres_lie_on_the_grid():
    cal = preset_camera("small")
    white = Renderer(cal, plane_scene(1.0), sensor=QUIET).white().astype(float)
    centres, _ = centres_of(cal)
    radius = cal.mla.pitch_px / 2 - 2.0
    yy, xx = np.mgrid[0 : cal.sensor.height, 0 : cal.sensor.width]

    def measured(start: np.ndarray) -> np.ndarray:
        # brightness falls with the square of the distance from the centre: fit that paraboloid to a window of pixels
        # which is deliberately not centred
        inside = np.hypot(xx - start[0] - 0.4, yy - start[1] + 0.3) < radius
        x, y = xx[inside] - start[0], yy[inside] - start[1]
        columns = np.stack([np.ones_like(x), x, y, x * x + y * y], -1)
        fit = np.linalg.lstsq(columns, white[inside], rcond=None)[0]
        return start - fit[1:3] / (2 * fit[3])

    errors = np.array([measured(c) - c for c in centres[::17]])
    assert len(errors) > 50
    assert np.abs(errors).max() < 0.02


def test_disparity_between_neighbouring_lenses_is_baseline_times_inverse_virtual_depth():
    cal = preset_camera("r5")
    data = cal.model_dump()
    data["sensor"].update(width=480, height=480)
    data["main_lens"]["principal_point_px"], data["mla"]["origin_px"] = (238.2, 243.9), (240.3, 238.1)
    cal = type(cal).model_validate(data)
    f, b0, B = cal.main_lens.focal_length_mm, cal.main_lens.mla_distance_mm, cal.mla.sensor_distance_mm
    depth = 1.2
    renderer = Renderer(cal, plane_scene(depth, tile=0.35), samples=36, aperture=0.0, sensor=QUIET)
    even = renderer.irradiance(np.eye(4)) / np.maximum(renderer.vignetting, 1e-3)
    image_distance = f * depth * 1e3 / (depth * 1e3 - f)
    inv_virtual_depth = B / (image_distance - b0)
    lens_spacing = cal.mla.pitch_px * b0 / (b0 + B)
    expected = lens_spacing * inv_virtual_depth
    centres, index = centres_of(cal)
    where = {tuple(k): c for k, c in zip(index, centres)}
    unit = np.array([np.cos(cal.mla.rotation_rad), np.sin(cal.mla.rotation_rad)])
    span = np.arange(-3.0, 3.1, 0.5)
    window = np.stack(np.meshgrid(span, span), -1).reshape(-1, 2)
    found = []
    for i, j in list(where)[::3]:
        if (i + 1, j) not in where:
            continue
        half = 0.5 * expected * unit

        def patch(start: np.ndarray, offset: np.ndarray) -> np.ndarray:
            p = start + offset + window
            return map_coordinates(even, [p[:, 1], p[:, 0]], order=3)

        def mismatch(extra: float, a=where[i, j], b=where[i + 1, j], h=half) -> float:
            first, second = patch(a, h + 0.5 * extra * unit), patch(b, -h - 0.5 * extra * unit)
            return float(((first - second) ** 2).sum())

        if patch(where[i, j], half).std() < 0.03:
            continue
        # centre-relative coordinates of micro-images: c_I differs from c_ML by the squint, part of the shift
        squint = cal.mla.pitch_px - lens_spacing
        best = minimize_scalar(mismatch, bounds=(-1.0, 1.0), method="bounded", options={"xatol": 1e-4})
        found.append(expected + best.x - squint)
    assert len(found) > 50
    assert abs(np.median(found) - expected) < 0.02


def test_lenses_focused_at_the_plane_are_the_sharpest():
    cal = preset_camera("r5")
    data = cal.model_dump()
    data["sensor"].update(width=480, height=480)
    data["main_lens"]["principal_point_px"], data["mla"]["origin_px"] = (238.2, 243.9), (240.3, 238.1)
    cal = type(cal).model_validate(data)
    f, b0, B = cal.main_lens.focal_length_mm, cal.main_lens.mla_distance_mm, cal.mla.sensor_distance_mm
    tables = sensor_rays(cal, 0.9, 4).tables
    for kind, lens in enumerate(cal.mla.lens_types):
        image_distance = b0 + B * lens.focus_virtual_depth
        depth = f * image_distance / (image_distance - f) * 1e-3
        renderer = Renderer(
            cal, plane_scene(depth, "gravel", 0.25 * depth), samples=16, aperture=0.9, sensor=QUIET
        )
        even = renderer.irradiance(np.eye(4)) / np.maximum(renderer.vignetting, 1e-3)
        edges = cv2.Laplacian(even, cv2.CV_32F)
        interior = cv2.erode((renderer.vignetting > 0).astype(np.uint8), np.ones((5, 5))) > 0
        kinds = tables.lens_kind[tables.lens]
        sharpness = [float(np.mean(edges[interior & (kinds == k)] ** 2)) for k in range(3)]
        assert int(np.argmax(sharpness)) == kind


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets_are_honest_optics(name):
    """From its nearest working distance to infinity, points have v ≥ 1.7 and are seen by at least two lenses."""
    p = PRESETS[name]
    near = 0.4 if p.f_L < 30 else 1.5
    v_far = (p.f_L - p.b_L0) / p.B
    v_near = (p.f_L * near * 1e3 / (near * 1e3 - p.f_L) - p.b_L0) / p.B
    assert 1.7 <= v_far < v_near < 7.5
    assert 0.907 * v_far**2 * (1 - 2 / p.pitch_px) ** 2 > 2.0
    assert v_far * 0.9 < p.focus[0] < p.focus[1] < v_near  # the last type is for nearer things still
    assert 1.2 < p.B / (p.pitch_px * p.pixel_um * 1e-3) < 6.0  # f-number of micro-lenses and main lens
