# SPDX-License-Identifier: Apache-2.0
"""What is written for other programs reads back as the same camera."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_vo.errors import CalibrationError
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.vendor import (
    calibration_from_vendor,
    lifcal_xml,
    raytrix_xml,
    read_lifcal_model,
    read_vendor_grid,
)
from prism_vo.simulate.cameras import preset_camera


def changed(name: str, layout: str, rotation: float) -> Calibration:
    data = preset_camera(name).model_dump()
    data["mla"] |= {"layout": layout, "rotation_rad": rotation}
    if layout == "rectangular":
        data["mla"]["lens_types"] = data["mla"]["lens_types"][:1]
    data["main_lens"]["distortion"] |= {"radial": (1.5e-4, -2e-6), "tangential": (3e-5, -1e-5)}
    return Calibration.model_validate(data)


@pytest.mark.parametrize("name", ["r5", "r32-half", "small"])
@pytest.mark.parametrize(
    ("layout", "rotation"), [("hexagonal", 0.004), ("hexagonal", -0.3), ("rectangular", 0.02)]
)
def test_round_trip(tmp_path: Path, name: str, layout: str, rotation: float) -> None:
    camera = changed(name, layout, rotation)
    (tmp_path / "CameraModel.xml").write_text(lifcal_xml(camera))
    (tmp_path / "mla.xml").write_text(raytrix_xml(camera))
    model, grid = read_lifcal_model(tmp_path / "CameraModel.xml"), read_vendor_grid(tmp_path / "mla.xml")
    again = calibration_from_vendor(grid, model, (camera.sensor.width, camera.sensor.height))
    ours, theirs = camera.model_dump(), again.model_dump()
    for part in ("sensor", "main_lens", "mla"):
        for key, value in ours[part].items():
            if isinstance(value, dict | str) or value is None:
                assert theirs[part][key] == value, key
            elif key == "lens_types":
                focus = [kind["focus_virtual_depth"] for kind in value]
                assert [k["focus_virtual_depth"] for k in theirs[part][key]] == pytest.approx(
                    focus, rel=1e-12
                )
            else:
                assert theirs[part][key] == pytest.approx(value, rel=1e-9, abs=1e-9), key


def test_a_distortion_about_another_centre_cannot_be_written() -> None:
    data = preset_camera("small").model_dump()
    data["main_lens"]["distortion"] |= {"radial": (1e-4, 0.0), "centre_px": (300.0, 310.0)}
    with pytest.raises(CalibrationError, match="centre of its own"):
        lifcal_xml(Calibration.model_validate(data))
