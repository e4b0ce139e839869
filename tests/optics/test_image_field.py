# SPDX-License-Identifier: Apache-2.0
"""A lens with a bent field: what is measured there, made flat again, and kept in camera.yaml."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prism_vo.config import DecodeConfig
from prism_vo.lightfield.geometry import search_range
from prism_vo.optics.calibration import Calibration, ImageField, load_calibration, save_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.field import bent, flattened, is_bent, shift_range, virtual_depth_shift
from prism_vo.simulate.cameras import preset_camera

FIELD = ImageField(tilt=(0.01, -0.02), curvature=-0.004)


def with_field(field: ImageField) -> Calibration:
    calibration = preset_camera("small")
    return calibration.model_copy(
        update={"main_lens": calibration.main_lens.model_copy(update={"field": field})}
    )


def test_flattening_undoes_what_the_field_bends() -> None:
    camera = PlenopticCamera(with_field(FIELD))
    random = np.random.default_rng(0)
    pixels = random.uniform(0, 300, (50, 2))
    flat = random.uniform(0.2, 0.45, 50)
    measured = bent(flat, virtual_depth_shift(camera, pixels))
    np.testing.assert_allclose(1.0 / measured, 1.0 / flat + virtual_depth_shift(camera, pixels))
    rho = (measured - (1.0 - camera.lam)) / camera.lam
    found, variance = flattened(camera, pixels, rho, np.full(50, 1e-6))
    np.testing.assert_allclose((1.0 - camera.lam) + camera.lam * found, flat)
    step, _ = flattened(camera, pixels, rho + 1e-6, np.full(50, 1e-6))
    np.testing.assert_allclose(np.sqrt(variance / 1e-6), (step - found) / 1e-6, rtol=1e-4)


def test_the_principal_point_stays_and_the_corner_moves() -> None:
    camera = PlenopticCamera(with_field(FIELD))
    assert virtual_depth_shift(camera, camera.tf_from_raw(camera.principal_point)) == pytest.approx(0.0)
    least, most = shift_range(camera)
    r = 0.5 * 640 * camera.pixel_mm
    assert least == pytest.approx(-0.004 * 2 * r * r - 0.03 * r, rel=0.05)
    assert 0.0 < most < 0.1


def test_all_slopes_of_a_bent_field_are_searched() -> None:
    flat = PlenopticCamera(with_field(ImageField()))
    camera = PlenopticCamera(with_field(FIELD))
    assert is_bent(camera) and not is_bent(flat)
    config = DecodeConfig()
    near, far = search_range(flat, flat.view("central"), config)
    wider = search_range(camera, camera.view("central"), config)
    assert wider[0] < near and wider[1] > far


def test_camera_files_keep_the_field_and_leave_a_plane_one_out(tmp_path: Path) -> None:
    for field, written in ((FIELD, True), (ImageField(), False)):
        save_calibration(with_field(field), tmp_path / "camera.yaml")
        assert ("curvature" in (tmp_path / "camera.yaml").read_text()) == written
        assert load_calibration(tmp_path / "camera.yaml").main_lens.field == field


def test_an_impossible_field_is_refused() -> None:
    data = with_field(ImageField(curvature=1.0)).model_dump()
    with pytest.raises(ValueError, match=r"main_lens\.field"):
        Calibration.model_validate(data)
