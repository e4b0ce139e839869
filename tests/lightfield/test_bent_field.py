# SPDX-License-Identifier: Apache-2.0
"""A plane seen by a lens with a bent, tilted field: it must come out plane, with errors as they are stated."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from light_fields import LightField, changed, render

from prism_vo.lightfield import Decoder
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate import preset_camera

FIELD = {"tilt": (0.03, -0.02), "curvature": -0.015}  # a third of a virtual depth at the corners


@lru_cache(maxsize=1)
def seen() -> LightField:
    return render(changed(preset_camera("mini"), main_lens={"field": FIELD}), "table")


def pulls(camera: PlenopticCamera) -> tuple[np.ndarray, np.ndarray]:
    """Errors of ρ_v in σ of the pixels with a depth, and their distance from the centre in mm."""
    light = seen()
    decoder = Decoder(camera, white=light.white)
    dense = decoder.dense(light.raw)
    assert dense.valid is not None and dense.inv_virtual_depth is not None and dense.variance is not None
    good = dense.valid & np.isfinite(light.rho)
    error = (dense.inv_virtual_depth - light.rho)[good] / np.sqrt(dense.variance[good])
    y, x = np.nonzero(good)
    points = np.stack([x, y], -1).astype(np.float32)
    found = decoder.measure(light.raw, points[::50])
    np.testing.assert_allclose(
        found.inv_virtual_depth[found.valid], dense.inv_virtual_depth[good][::50][found.valid], atol=0.01
    )
    raw = camera.tf_scale * (points + 0.5) - 0.5
    return error, np.linalg.norm((raw - camera.principal_point) * camera.pixel_mm, axis=1)


def test_depth_is_that_of_the_scene_everywhere() -> None:
    error, radius = pulls(seen().camera)
    outer = radius > np.percentile(radius, 75)
    for part in (outer, ~outer):
        assert abs(np.median(error[part])) < 0.3
        assert 0.6 < 1.4826 * np.median(np.abs(error[part])) < 1.4


def test_without_the_field_in_the_camera_file_it_is_not() -> None:
    flat = changed(seen().camera.calibration, main_lens={"field": {}})
    error, radius = pulls(PlenopticCamera(flat))
    outer = radius > np.percentile(radius, 75)
    assert abs(np.median(error[outer])) > 2.0


def test_two_fields_of_opposite_sign_shift_slopes_to_opposite_sides() -> None:
    camera = seen().camera
    other = {"tilt": tuple(-t for t in FIELD["tilt"]), "curvature": -FIELD["curvature"]}
    twice = PlenopticCamera(changed(camera.calibration, main_lens={"field": other}))
    right, _ = pulls(camera)
    wrong, _ = pulls(twice)
    assert np.median(np.abs(wrong)) > 3 * np.median(np.abs(right))
    assert pytest.approx(0.0, abs=0.3) == float(np.median(right))
