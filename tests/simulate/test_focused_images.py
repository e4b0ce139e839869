# SPDX-License-Identifier: Apache-2.0
"""Decoding a simulated raw image with the true depth gives back the true image, on both views."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from prism_vo.optics.calibration import Calibration, load_calibration
from prism_vo.simulate import CATALOGUE, Renderer, build_scene, plan, preset_camera
from prism_vo.simulate.optics import undistort_mm

sys.path.insert(0, str(Path(__file__).parent))
from plain_synthesis import psnr, totally_focused

SHARED = Path(os.environ.get("PRISM_VO_DATA", Path(__file__).parents[3] / "shared" / "data")) / "table_60"


def table_camera() -> Calibration:
    """A camera like those used on tables: f 16 mm, 1024², micro-images of 14.3 px."""
    return Calibration.model_validate(
        {
            "sensor": {"width": 1024, "height": 1024, "pixel_size_um": 11.0},
            "main_lens": {
                "focal_length_mm": 16.0,
                "mla_distance_mm": 15.05,
                "principal_point_px": (509.3, 514.8),
            },
            "mla": {
                "sensor_distance_mm": 0.38,
                "pitch_px": 14.3,
                "rotation_rad": 0.006,
                "origin_px": (511.2, 510.4),
                "lens_types": tuple({"focus_virtual_depth": v} for v in (2.2, 3.0, 4.2)),
            },
        }
    )


@pytest.fixture(scope="module")
def table():
    renderer = Renderer(table_camera(), build_scene("table"))
    pose = plan(CATALOGUE["table"].path, None, 0).poses[0]
    return renderer, pose, renderer.raw(pose)


@pytest.mark.parametrize("view", ["central", "focal"])
def test_true_depth_gives_the_true_image_and_the_best_one(table, view):
    renderer, pose, raw = table
    truth = renderer.view_truth(pose, view)

    def quality(v_factor: float) -> float:
        image = totally_focused(renderer.calibration, raw, renderer.white(), truth.depth, view, v_factor)
        return psnr(image, truth.image)

    best = quality(1.0)
    assert best >= 35.0
    loss = {f: best - quality(f) for f in ((0.98, 0.99, 1.01, 1.02) if view == "focal" else (0.95, 1.05))}
    if view == "focal":
        assert min(loss[0.99], loss[1.01]) >= 0.15
        assert min(loss[0.98], loss[1.02]) >= 0.5
        assert abs(loss[0.98] - loss[1.02]) < 0.3 * max(loss[0.98], loss[1.02])
    else:
        assert max(loss.values()) <= 0.4


def test_distortion_is_undone_by_its_own_formula():
    data = preset_camera("mini").model_dump()
    data["main_lens"]["distortion"] = {"radial": (-9e-4, 4e-6), "tangential": (3e-5, -2e-5)}
    cal = Calibration.model_validate(data)
    renderer = Renderer(cal, build_scene("table"))
    pose = plan(CATALOGUE["table"].path, None, 0).poses[0]
    truth, raw = renderer.view_truth(pose), renderer.raw(pose)
    centre, mm = np.array(cal.main_lens.principal_point_px), cal.sensor.pixel_size_um * 1e-3

    def undistorted(c: np.ndarray) -> np.ndarray:
        return undistort_mm(cal, (c - centre) * mm) / mm + centre

    aware = totally_focused(
        cal, raw, renderer.white(), truth.depth, "central", undistorted_centres=undistorted
    )
    straight = cal.model_copy(
        update={
            "main_lens": cal.main_lens.model_copy(update={"distortion": type(cal.main_lens.distortion)()})
        }
    )
    unaware = totally_focused(straight, raw, renderer.white(), truth.depth, "central")
    plain_camera = Renderer(straight, renderer.scene)
    plain = totally_focused(straight, plain_camera.raw(pose), plain_camera.white(), truth.depth, "central")
    valid = np.isfinite(aware) & np.isfinite(unaware) & np.isfinite(plain)
    error = [np.sqrt(np.mean((image - truth.image)[valid] ** 2)) for image in (aware, unaware, plain)]
    assert error[0] < 1.1 * error[2]
    assert error[1] > 1.5 * error[0]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the independent simulation is not here")
def test_plain_synthesis_reproduces_an_independent_simulation():
    cal = load_calibration(SHARED / "camera.yaml")
    raw, white = (cv2.imread(str(SHARED / n), -1) for n in ("raw/000000.png", "white.png"))
    for suffix, view, published in (("", "central", 36.0), ("_focal", "focal", 35.5)):
        depth = np.load(SHARED / f"depth{suffix}" / "000000.npy")
        truth = cv2.imread(str(SHARED / f"reference{suffix}" / "000000.png"), -1).astype(float)
        assert psnr(totally_focused(cal, raw, white, depth, view), truth) == pytest.approx(published, abs=0.2)
