# SPDX-License-Identifier: Apache-2.0
"""Files that can be read in two ways: the images decide, and say how far the file is off."""

from __future__ import annotations

import math
import re
import sys
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import pytest
from micro_images import Look, raw_image
from scenes import DATA, centre_rms, recording

from prism_vo.calibrate import Grid, GridUncertainError, middle
from prism_vo.calibrate.lens_order import see_lens_order
from prism_vo.calibrate.reading import see_reading
from prism_vo.cli import main
from prism_vo.datasets import open_sequence
from prism_vo.datasets.images import read_image
from prism_vo.optics.calibration import load_calibration
from prism_vo.optics.vendor import (
    AmbiguousGridError,
    grid_readings,
    join_calibration,
    nominal_optics,
    read_vendor_grid,
)
from prism_vo.simulate import preset_camera

sys.path.insert(0, str(Path(__file__).parents[1] / "optics"))
from vendor_files import corner_xml, grid_xml, model_xml

SIDE = 480
H = math.sqrt(0.75)
PITCH = 21.3
TURNED = {
    "lens_base_x": (0.0, 1.0),
    "lens_base_y": (H, 0.5),
    "sub_grid_base": (2 * H, 3.0),
    "types": [(0, (0.0, 0.0), (2.0, 2.8)), (1, (0.0, 1.0), (2.6, 4.0)), (2, (0.0, -1.0), (3.5, 6.0))],
}


@lru_cache
def pictures(rotation: float, pitch: float = PITCH, vignetting: str = "rim", shift: float = 0.0):
    """Two raw images of a hexagonal grid; its lens nearest to the middle lies at GRID's offset."""
    origin = (SIDE / 2 - 0.5 + 3.7 + shift, SIDE / 2 - 0.5 + 5.2)
    grid = Grid.regular("hexagonal", pitch, rotation, origin)
    return tuple(
        raw_image(grid, Look(shape=(SIDE, SIDE), seed=seed, vignetting=vignetting, noise=1.0))
        for seed in (3, 4)
    )


def readings(tmp_path, **changes):
    (tmp_path / "mla.xml").write_text(grid_xml(**{"diameter": PITCH, **changes}))
    return grid_readings(read_vendor_grid(tmp_path / "mla.xml"), (SIDE, SIDE))


@pytest.mark.parametrize("vignetting", ["rim", "none"])
@pytest.mark.parametrize("truth, meaning", [(math.pi / 6, "already"), (0.0, "rotation turns")])
def test_the_image_tells_whether_the_rotation_is_inside_the_bases(tmp_path, truth, meaning, vignetting):
    seen = see_reading(
        pictures(truth, vignetting=vignetting), readings(tmp_path, rotation=math.pi / 2, **TURNED)
    )
    assert meaning in seen.reading.meaning
    shown = Grid.regular("hexagonal", seen.corrected.pitch, seen.corrected.rotation, seen.corrected.origin)
    expected = Grid.regular("hexagonal", PITCH, truth, seen.reading.origin)
    assert centre_rms(shown, expected, (SIDE, SIDE)) < (0.1 if vignetting == "rim" else 0.2)


@pytest.mark.parametrize("truth, meaning", [(-0.02, "rotation turns"), (0.0, "already")])
def test_small_rotations_too(tmp_path, truth, meaning):
    """Both readings lead to one fit; the nearer one is what the file means."""
    seen = see_reading(pictures(truth), readings(tmp_path, rotation=0.02))
    assert meaning in seen.reading.meaning
    assert seen.before.largest < 0.3


def test_it_says_how_far_the_file_is_off_and_corrects_it(tmp_path):
    """Pitch 1.5 % too small, as seen in a real file: at the border the grid lies several pixels beside."""
    seen = see_reading(pictures(0.0, PITCH * 1.015, shift=0.5), readings(tmp_path, rotation=0.0))
    assert seen.pitch_error == pytest.approx(1 / 1.015 - 1, abs=1e-4)
    assert seen.corrected.pitch == pytest.approx(PITCH * 1.015, rel=1e-4)
    assert 2.0 < seen.before.largest < 0.015 * SIDE
    assert seen.after.largest < 0.3
    assert seen.origin_shift == pytest.approx(0.5, abs=0.15) and seen.types_certain


def test_corner_lenses(tmp_path):
    """The corners are 1.5 px off and the stated rotation means the columns."""
    origin = complex(SIDE / 2 - 0.5 + 3.7, SIDE / 2 - 0.5 + 5.2)
    axis = 1j * PITCH
    second = axis * np.exp(1j * math.pi / 3)
    lenses = [(-2, 10), (-12, -10), (12, 10), (2, -10)]
    corners = [origin + i * axis + j * second for i, j in lenses]
    places = [(float(c.real) + 1.5 * (-1) ** n, float(c.imag) - 0.7) for n, c in enumerate(corners)]
    (tmp_path / "mla.xml").write_text(corner_xml(PITCH, 0.0, places))
    found = grid_readings(read_vendor_grid(tmp_path / "mla.xml"), (SIDE, SIDE))
    seen = see_reading(pictures(math.pi / 6), found)
    assert "across" in seen.reading.meaning
    assert seen.corrected.pitch == pytest.approx(PITCH, rel=2e-4) and seen.after.largest < 0.3


def test_images_without_a_grid_are_refused(tmp_path):
    rng = np.random.default_rng(5)
    noise = [np.clip(rng.normal(120, 20, (SIDE, SIDE)), 0, 255).astype(np.uint8)]
    with pytest.raises(GridUncertainError):
        see_reading(noise, readings(tmp_path, rotation=math.pi / 2, **TURNED))


@pytest.mark.parametrize("focus", [(2.2, 3.0, 5.0), (2.2, 5.0, 3.0), (3.0, 5.0, 2.2)])
def test_the_order_of_lens_types_is_seen(tmp_path, focus, monkeypatch):
    """Three planes, each class blurred in proportion to its defocus |1/v − 1/v_f|; the file has another order."""
    (reading,) = readings(tmp_path, rotation=0.0)
    grid = Grid.regular("hexagonal", PITCH, 0.0, reading.origin)
    frames = []
    for seed, v in enumerate((2.3, 3.0, 4.4)):
        blur = [8.0 * abs(1 / v - 1 / f) + 0.3 for f in focus]
        look = Look(shape=(SIDE, SIDE), virtual_depth=v, seed=seed, blur_by_type=(blur[0], blur[1], blur[2]))
        frames.append(raw_image(grid, look))
    optics = nominal_optics(PITCH, (SIDE, SIDE), lens_mm=35.0, pixel_um=5.5)
    vendor = read_vendor_grid(tmp_path / "mla.xml")
    camera = join_calibration(vendor, reading, optics, (SIDE, SIDE))
    for largest in (middle.LARGEST_SIDE, SIDE - 90):  # and in the middle of images that are too large
        monkeypatch.setattr(middle, "LARGEST_SIDE", largest)
        found = see_lens_order(frames, camera)
        assert found is not None and found.clear
        assert found.focus_by_class(sorted(focus)) == focus


def test_an_order_that_cannot_be_seen_is_not_stated():
    """Kinds of focus that hardly differ over the depths of a scene."""
    truth = preset_camera("mini")
    focus = tuple(kind.focus_virtual_depth for kind in truth.mla.lens_types)
    found = see_lens_order(recording("table").frames, truth)
    assert found is not None
    assert not found.clear or found.focus_by_class(focus) == focus


def test_flat_images_show_no_order():
    flat = [np.full((384, 384), 120, np.uint8)]
    found = see_lens_order(flat, preset_camera("mini"))
    assert found is None or not found.clear


def write_images(folder: Path, images) -> list[str]:
    paths = [folder / f"{n}.png" for n in range(len(images))]
    for path, image in zip(paths, images):
        cv2.imwrite(str(path), image)
    return [str(path) for path in paths]


def test_command_with_a_grid_alone(tmp_path, capsys):
    grid, out = tmp_path / "mla.xml", tmp_path / "camera.yaml"
    grid.write_text(grid_xml(diameter=PITCH, rotation=math.pi / 2, **TURNED))
    images = write_images(tmp_path, pictures(math.pi / 6, PITCH * 1.001))
    sheet = ["--lens", "16", "--pixel", "5.5", "--out", str(out)]
    assert main(["import-calibration", str(grid), "--raw-size", f"{SIDE}x{SIDE}", *sheet]) == 2
    error = capsys.readouterr().err
    assert "--raw-image" in error and error.count("\n") == 1 and not out.exists()
    assert main(["import-calibration", str(grid), "--raw-image", *images, *sheet]) == 0
    said = capsys.readouterr().out
    assert "turned already; seen in the images" in said
    stated = re.search(r"pitch ([\d.]+) % too small", said)
    assert stated is not None and float(stated[1]) == pytest.approx(0.1, abs=0.01)
    assert said.count("not metric yet") == 1
    camera = load_calibration(out)
    assert camera.mla.pitch_px == pytest.approx(PITCH * 1.001, rel=1e-4)
    assert camera.mla.sensor_distance_mm == pytest.approx(3 * camera.mla.pitch_px * 5.5e-3)
    assert camera.main_lens.mla_distance_mm == pytest.approx(16 - 2.0 * camera.mla.sensor_distance_mm)
    assert set(camera.nominal) >= {"focal_length_mm", "mla_distance_mm", "sensor_distance_mm"}
    assert main(["info", str(out)]) == 0
    assert capsys.readouterr().out.count("not metric yet") == 1
    keep = ["--keep-grid", "--force", *sheet]
    assert main(["import-calibration", str(grid), "--raw-image", str(tmp_path), *keep]) == 0
    assert load_calibration(out).mla.pitch_px == PITCH


def test_command_with_an_image_that_shows_nothing(tmp_path, capsys):
    """A file that is clear by itself is taken, with a note; size from the image."""
    grid, out = tmp_path / "mla.xml", tmp_path / "camera.yaml"
    grid.write_text(grid_xml(diameter=PITCH, rotation=0.0))
    image = write_images(tmp_path, [np.full((240, 260), 128, np.uint8)])
    sheet = ["--lens", "16", "--pixel", "5.5", "--out", str(out)]
    assert main(["import-calibration", str(grid), "--raw-image", *image, *sheet]) == 0
    assert "note: the grid of the file was not checked" in capsys.readouterr().out
    assert (load_calibration(out).sensor.width, load_calibration(out).sensor.height) == (260, 240)


def test_a_lifcal_folder_whose_grid_needs_an_image_says_what_to_type(tmp_path):
    """Opening a folder does not fit grids; camera.yaml made by the command named is taken from then on."""
    (tmp_path / "Images_Raw_Processed").mkdir()
    images = write_images(tmp_path / "Images_Raw_Processed", pictures(math.pi / 6))
    grid, model = tmp_path / "MLA_Calibration.xml", tmp_path / "CameraModel.xml"
    grid.write_text(grid_xml(diameter=PITCH, rotation=math.pi / 2, **TURNED))
    model.write_text(model_xml(size=(SIDE // 2, SIDE // 2), principal=(119.0, 121.0)))
    with pytest.raises(AmbiguousGridError, match="import-calibration a raw image"):
        open_sequence(tmp_path)
    out = ["--out", str(tmp_path / "camera.yaml")]
    assert main(["import-calibration", str(grid), str(model), "--raw-image", *images, *out]) == 0
    mla = open_sequence(tmp_path).camera.calibration.mla
    assert abs(mla.rotation_rad) == pytest.approx(math.pi / 6, abs=1e-3)


@pytest.mark.parametrize("name, count", [("turntable_r5", 5), ("still_r8", 1)])
def test_real_cameras(name, count):
    folder = DATA / "real" / name
    if not folder.is_dir():
        pytest.skip("recording not present")
    paths = sorted((folder / "raw").glob("*.png"))
    images = [read_image(paths[k]) for k in np.linspace(0, len(paths) - 1, count).astype(int)]
    height, width = images[0].shape[:2]
    found = grid_readings(read_vendor_grid(folder / "mla.xml"), (width, height))
    seen = see_reading(images, found)
    assert len(found) == 1 or "already" in seen.reading.meaning
    assert 0.5 < seen.before.largest < 1.5 and seen.after.largest < 1.0 and seen.types_certain
