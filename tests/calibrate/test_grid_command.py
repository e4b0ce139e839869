# SPDX-License-Identifier: Apache-2.0
"""``prism-vo calibrate grid``: what it finds, says, draws and writes; where it refuses, nothing is written."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml
from micro_images import Look, raw_image
from scenes import centre_rms, recording, wrong_start

from prism_vo.calibrate import Grid, fit_grid
from prism_vo.calibrate.findings import by_parts, look_at_grid
from prism_vo.calibrate.grid_file import corrected_calibration, load_grid_file
from prism_vo.calibrate.grid_picture import round_scale
from prism_vo.calibrate.reading import likeliest_start
from prism_vo.cli import main
from prism_vo.commands.grid_images import MOST_IMAGES, read_images, without_mosaic
from prism_vo.commands.grid_lines import with_sigma
from prism_vo.optics.calibration import Calibration, load_calibration, save_calibration
from prism_vo.optics.vendor import RaytrixGrid, grid_readings
from prism_vo.simulate import preset_camera


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw images and a white image of the smallest simulated camera, with a camera file whose grid is off."""
    path = tmp_path_factory.mktemp("recording")
    truth, frames, white = recording("street")
    (path / "raw").mkdir()
    for number, frame in enumerate(frames):
        cv2.imwrite(str(path / "raw" / f"{number:06d}.png"), frame)
    cv2.imwrite(str(path / "white.png"), white)
    save_calibration(
        _with_grid(preset_camera("mini"), wrong_start(truth, white.shape, 0.4, -7e-4)), path / "off.yaml"
    )
    return path


def _with_grid(calibration: Calibration, grid: Grid) -> Calibration:
    x, y = (float(c) for c in grid.origin)
    changes = {"pitch_px": grid.pitch, "rotation_rad": grid.rotation, "origin_px": (x, y)}
    notes = {"lens": "measured in spring"}
    return calibration.model_copy(
        update={"mla": calibration.mla.model_copy(update=changes), "uncertainty": notes}
    )


def test_white_image_alone_gives_a_grid_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "grid.yaml", tmp_path / "grid.png"
    assert main(["calibrate", "grid", str(folder / "white.png"), "--out", str(out), "--plot", str(plot)]) == 0
    words = capsys.readouterr().out
    assert "hexagonal micro-lens grid in 1 image of" in words and "dark gaps" in words
    assert (
        "these images cannot tell" in words
        and "the grid alone" in words
        and "start" not in words.split("wrote")[0]
    )
    truth, _, white = recording("street")
    file = load_grid_file(out)
    assert centre_rms(file.grid, truth, white.shape) <= 0.03
    assert (file.sensor.height, file.sensor.width) == white.shape
    assert out.read_text(encoding="utf-8").startswith("# A micro-lens grid measured in images")
    assert cv2.imread(str(plot)) is not None
    assert main(["calibrate", "grid", str(folder / "white.png"), "--start", str(out)]) == 0
    assert "the start fits" in capsys.readouterr().out


def test_camera_file_is_corrected_and_the_rest_of_it_kept(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "camera.yaml"
    start = folder / "off.yaml"
    assert main(["calibrate", "grid", str(folder), "--start", str(start), "--out", str(out)]) == 0
    words = capsys.readouterr().out
    assert "in 5 images of" in words and "the start is off: pitch 0.0" in words and "too small" in words
    assert "lens types    three: sharpness" in words and "look at mla.lens_types" not in words
    before, after = load_calibration(start), load_calibration(out)
    truth, _, white = recording("street")
    assert centre_rms(Grid.of(after.mla), truth, white.shape) <= 0.1
    assert after.mla.lens_types == before.mla.lens_types and after.mla.layout == before.mla.layout
    assert after.mla.border_px == before.mla.border_px
    same = ("sensor", "main_lens", "totally_focused", "response", "frame_rate")
    assert all(getattr(after, key) == getattr(before, key) for key in same)
    notes = after.uncertainty
    assert notes is not None and notes["lens"] == "measured in spring"
    assert 0 < notes["grid"]["pitch_px"] < 0.01 and notes["grid"]["centres_px"] < 0.1


def test_nothing_is_overwritten_without_force(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    white, taken = str(folder / "white.png"), tmp_path / "taken.yaml"
    taken.write_text("mine")
    picture = tmp_path / "taken.png"
    picture.write_text("mine")
    for option, path in (("--out", taken), ("--plot", picture)):
        assert main(["calibrate", "grid", white, option, str(path)]) == 2
        assert "exists already; give another" in capsys.readouterr().err and path.read_text() == "mine"
    assert main(["calibrate", "grid", white, "--out", str(taken), "--force"]) == 0
    assert yaml.safe_load(taken.read_text(encoding="utf-8"))["format"] == "prism-vo/grid/1"


def test_where_no_grid_shows_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noise = np.random.default_rng(0).normal(120, 20, (256, 256)).clip(0, 255).astype(np.uint8)
    cv2.imwrite(str(tmp_path / "noise.png"), noise)
    out, plot = tmp_path / "grid.yaml", tmp_path / "grid.png"
    arguments = ["calibrate", "grid", str(tmp_path / "noise.png"), "--out", str(out), "--plot", str(plot)]
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert "shows clearly" in captured.err.splitlines()[-1] and not captured.out
    assert not out.exists() and not plot.exists()


def test_bad_input_is_one_sentence(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    white = str(folder / "white.png")
    vendor = tmp_path / "mla.xml"
    vendor.write_text(VENDOR_FILE)
    (tmp_path / "empty").mkdir()
    cv2.imwrite(str(tmp_path / "small.png"), np.zeros((64, 64), np.uint8))
    cases = [
        ([], "No raw images given"),
        ([str(tmp_path / "nothing.png")], "no such file or folder"),
        ([str(tmp_path / "empty")], "holds no images"),
        ([white, str(tmp_path / "small.png")], "give images of one camera only"),
        ([str(tmp_path / "small.png"), "--start", str(folder / "off.yaml")], "describes a sensor of"),
        ([white, "--start", str(tmp_path / "none.yaml")], "no such file"),
        ([white, "--start", str(vendor), "--out", str(tmp_path / "camera.yaml")], "import-calibration"),
        ([white, "--plot", str(tmp_path / "grid.jpg")], "ending in .png"),
        ([white, "--out", str(tmp_path / "none" / "camera.yaml")], "no such folder"),
    ]
    for arguments, sentence in cases:
        assert main(["calibrate", "grid", *arguments]) == 2, arguments
        captured = capsys.readouterr()
        assert sentence in captured.err.splitlines()[-1] and not captured.out
    assert not (tmp_path / "camera.yaml").exists()


VENDOR_FILE = """<RayCalibData version="1.0">
<offset><x>1.5</x><y>-2.0</y></offset><diameter>14.3</diameter><rotation>1.5708</rotation><lens_border>1</lens_border>
<lens_base_x><x>0</x><y>1</y></lens_base_x><lens_base_y><x>0.866</x><y>0.5</y></lens_base_y>
<lens_type id="0"><offset><x>0</x><y>0</y></offset><depth_range><min>2</min><max>4</max></depth_range></lens_type>
</RayCalibData>"""


@pytest.mark.parametrize("turned_twice", [False, True])
def test_the_images_tell_what_a_vendors_file_means(turned_twice: bool) -> None:
    """Bases turned by 90° and a rotation of 90°: either the same turn or one after the other."""
    rotation = 0.0 if turned_twice else np.pi / 2
    truth = Grid.regular("hexagonal", 14.3, rotation, (160.9, 161.3))
    vendor = RaytrixGrid(
        offset=(1.5, -2.0),
        diameter=14.3,
        rotation=np.pi / 2,
        lens_border=1.0,
        lens_base_x=(0.0, 1.0),
        lens_base_y=(0.866, 0.5),
        lens_types=(),
    )
    image = raw_image(truth, Look(shape=(320, 320)))
    readings = grid_readings(vendor, (320, 320))
    assert len(readings) == 2
    start = likeliest_start([image], readings)
    assert np.allclose(start.origin, (161.0, 161.5))
    assert centre_rms(fit_grid(image, start).grid, truth, image.shape) < 0.05


def test_border_grows_where_the_rim_is_farther_inside() -> None:
    truth = Grid.regular("hexagonal", 16.2, 0.0, (150.0, 150.0))
    findings = look_at_grid([raw_image(truth, Look(shape=(320, 320), contrast=0.0, rim_radius=0.4))], truth)
    assert findings.profile.radius == pytest.approx(0.4 * 16.2, abs=0.2)
    assert findings.border == pytest.approx(0.1 * 16.2 + 0.65, abs=0.2)
    calibration = preset_camera("mini")
    assert corrected_calibration(calibration, findings).mla.border_px == round(findings.border, 2)
    findings = look_at_grid([raw_image(truth, Look(shape=(320, 320), vignetting="none", seed=3))], truth)
    assert findings.profile.radius is None
    assert corrected_calibration(calibration, findings).mla.border_px == calibration.mla.border_px


def test_offsets_by_parts_of_the_sensor() -> None:
    truth = Grid.regular("hexagonal", 15.1, 0.0, (150.0, 150.0))
    fit = fit_grid(
        raw_image(truth, Look(shape=(480, 480), contrast=0.0)), wrong_start(truth, (480, 480), 0.5, 0.0)
    )
    parts = by_parts(fit, fit.start_offsets)
    assert parts.shape == (3, 3, 2) and np.abs(parts - (-0.4, 0.3)).max() < 0.05
    some = np.where(fit.zones.centre[:, :1] < 160, np.nan, fit.start_offsets)
    assert np.isnan(by_parts(fit, some)[:, 0]).all() and np.isfinite(by_parts(fit, some)[:, 1:]).all()


def test_large_recordings_are_thinned_out(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.png" for n in range(MOST_IMAGES + 7)]
    for n, path in enumerate(paths):
        cv2.imwrite(str(path), np.full((16, 16), n, np.uint8))
    images = read_images(paths, lambda words, done=None, total=None: None, mosaic=False)
    assert len(images) == MOST_IMAGES and images[0][0, 0] == 0 and images[-1][0, 0] == MOST_IMAGES + 6


def test_a_mosaic_of_one_colour_is_even() -> None:
    cell = np.array([[200, 120], [120, 40]], np.uint8)
    assert np.ptp(without_mosaic(np.tile(cell, (8, 8)))) == 0


def test_numbers_are_rounded_by_their_sigma() -> None:
    assert with_sigma(23.218017, 0.000266) == "23.21802 ± 0.00027"
    assert with_sigma(12.5, 3.0) == "12.5 ± 3.0"
    assert [round_scale(s) for s in (0.3, 1.9, 7.0, 99.0, 2345.0)] == [1, 1, 5, 50, 2000]
