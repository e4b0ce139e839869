# SPDX-License-Identifier: Apache-2.0
"""A white image shows an evenly lit target: noise, dust, another aperture do not matter; a scene is refused by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "calibrate"))
from scenes import recording
from vendor_files import grid_xml, model_xml

from prism_vo.cli import main
from prism_vo.optics.calibration import save_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.photometric import WhiteImageError, vignetting_from_white
from prism_vo.simulate import Renderer, SensorModel, build_scene, preset_camera

CAMERA = PlenopticCamera.from_calibration(preset_camera("mini"))
ARRAY = MicroLensArray.of(CAMERA)
SIDE = 384
Image = NDArray[np.uint8]


@lru_cache
def white(aperture: float = 0.75) -> Image:
    calibration = preset_camera("mini")
    world = build_scene("table", seed=1)
    return Renderer(calibration, world, samples=4, aperture=aperture, sensor=SensorModel(), seed=1).white()


def light(factor: NDArray[np.float64] | float = 1.0, noise: float = 0.0, of: Image | None = None) -> Image:
    image = (white() if of is None else of) * factor
    image = image + np.random.default_rng(1).normal(0.0, noise, image.shape) if noise else image
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def dust() -> NDArray[np.float64]:
    """Sixty specks that take half the light."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:SIDE, :SIDE]
    left = np.ones((SIDE, SIDE))
    for at_x, at_y, r in zip(rng.uniform(0, SIDE, 60), rng.uniform(0, SIDE, 60), rng.uniform(1, 5, 60)):
        left *= 1.0 - 0.5 * np.exp(-((x - at_x) ** 2 + (y - at_y) ** 2) / (2 * r * r))
    return left


def fall_off() -> NDArray[np.float64]:
    """Dark in one corner, as behind a lens that shades."""
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    return np.asarray(1.0 - 0.6 * ((x - 0.3) ** 2 + (y - 0.4) ** 2))


@pytest.mark.parametrize(
    "make",
    [
        white,
        lambda: white(0.3),
        lambda: light(noise=20.0),
        lambda: light(0.1, noise=3.0),
        lambda: light(dust()),
        lambda: light(fall_off(), noise=3.0),
    ],
    ids=["itself", "another aperture", "noise", "dark", "dust", "shaded"],
)
def test_white_images_are_taken(make: Callable[[], Image]) -> None:
    assert (vignetting_from_white(CAMERA, ARRAY, make()).gain > 0).any()


def test_a_mosaic_is_even() -> None:
    sites = np.tile(np.array([[0.5, 1.0], [1.0, 0.4]]), (SIDE // 2, SIDE // 2))
    assert (vignetting_from_white(CAMERA, ARRAY, light(sites, 2.0), "RGGB").gain > 0).any()
    assert (vignetting_from_white(CAMERA, ARRAY, light(sites, 2.0)).gain > 0).any()  # not said to be one


@pytest.mark.parametrize("scene", ["table", "room", "street"])
def test_a_scene_is_refused(scene: str) -> None:
    for frame in recording(scene).frames:
        with pytest.raises(WhiteImageError, match="not one of an evenly lit target"):
            vignetting_from_white(CAMERA, ARRAY, frame)


def test_run_and_info_name_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk = tmp_path / "walk"
    (walk / "raw").mkdir(parents=True)
    frames = recording("table").frames
    for number, frame in enumerate(frames):
        cv2.imwrite(str(walk / "raw" / f"{number:06d}.png"), frame)
    save_calibration(preset_camera("mini"), walk / "camera.yaml")
    for image, words in ((frames[2], "not one of an evenly lit"), (np.zeros_like(frames[0]), "is black")):
        cv2.imwrite(str(walk / "white.png"), image)
        assert main(["run", str(walk), "--out", str(tmp_path / "out")]) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert f"{walk / 'white.png'}: white image" in error and words in error
        assert not (tmp_path / "out").exists()
        assert main(["depth", str(walk), "--out", str(tmp_path / "depth")]) == 2
        assert f"{walk / 'white.png'}: white image" in capsys.readouterr().err
        assert main(["info", str(walk)]) == 0
        said = capsys.readouterr().out
        assert f"!             {walk / 'white.png'}: white image" in said and words in said


def test_a_camera_model_of_another_size_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid, model = tmp_path / "mla.xml", tmp_path / "model.xml"
    grid.write_text(grid_xml())
    model.write_text(model_xml())
    assert main(["import-calibration", str(grid), str(model), "--raw-size", "387x384"]) == 2
    assert f"{model}: raw size 387x384 is no multiple" in capsys.readouterr().err
