# SPDX-License-Identifier: Apache-2.0
"""A multiple or a fraction of the lenses' grid leaves nothing over and is refused; no right grid is."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from micro_images import Look, raw_image
from scenes import DATA, recording

from prism_vo.calibrate import Grid, fit_grid, micro_image_profile
from prism_vo.calibrate.check import check_camera
from prism_vo.calibrate.features import grey_frames
from prism_vo.calibrate.micro_image import rim_beyond_lens
from prism_vo.calibrate.multiples import GridMultipleError, lattice_shown
from prism_vo.cli import main
from prism_vo.optics.calibration import load_calibration, save_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate import preset_camera

sys.path.insert(0, str(Path(__file__).parents[1] / "optics"))
from vendor_files import corner_xml

SHAPE = (480, 480)
PITCH = 17.2
TURN = np.array([[1.0, 1.0], [-1.0, 2.0]])  # the next coarser hexagonal lattice, √3 times as wide
RIM, SOFT, NONE = (Look(shape=SHAPE, vignetting=kind) for kind in ("rim", "soft", "none"))
WHITE = Look(shape=SHAPE, contrast=0.0, rim_radius=0.4)


def grid(layout: str = "hexagonal") -> Grid:
    return Grid.regular(layout, PITCH, 0.2, (160.3, 152.8))  # type: ignore[arg-type]


def times(truth: Grid, factor: float) -> Grid:
    axes = {3**0.5: TURN, 3**-0.5: np.linalg.inv(TURN)}.get(factor, factor * np.eye(2)) @ truth.axes
    return Grid(truth.layout, axes, truth.origin)


@pytest.mark.parametrize(
    ("layout", "look", "factor"),
    [
        ("hexagonal", RIM, 3.0),
        ("hexagonal", RIM, 2.0),
        ("hexagonal", RIM, 3**0.5),
        ("hexagonal", RIM, 3**-0.5),
        ("hexagonal", RIM, 0.5),
        ("hexagonal", RIM, 1 / 3),
        ("hexagonal", SOFT, 2.0),
        ("hexagonal", NONE, 3.0),
        ("hexagonal", NONE, 2.0),
        ("hexagonal", WHITE, 0.5),
        ("rectangular", RIM, 2.0),
        ("rectangular", RIM, 0.5),
    ],
)
def test_a_wrong_multiple_is_refused_and_the_right_pitch_named(
    layout: str, look: Look, factor: float
) -> None:
    truth = grid(layout)
    with pytest.raises(GridMultipleError, match=r"micro-lenses 17\.[12]\d\d px apart"):
        fit_grid(raw_image(truth, look), times(truth, factor))


KINDS = [
    Look(shape=SHAPE, vignetting="none", blur_by_type=(0.0, 1.0, 2.0)),
    Look(shape=SHAPE, vignetting="none", blur_by_type=(0.0, 0.0, 3.0)),
    Look(shape=SHAPE, radius_by_type=(1.0, 0.85, 0.7)),
    Look(shape=SHAPE, rim_radius=0.57, contrast=0.0),
    Look(shape=SHAPE, rim_radius=0.3),
]


@pytest.mark.parametrize("look", [RIM, SOFT, NONE, WHITE, *KINDS])
@pytest.mark.parametrize("layout", ["hexagonal", "rectangular"])
def test_right_grids_are_left_alone(layout: str, look: Look) -> None:
    """Kinds of lenses that differ much, gaps that are tiny or wide, no vignetting."""
    if layout == "rectangular" and look in KINDS[:3]:
        pytest.skip("rectangular grids have one kind of lenses")
    truth = grid(layout)
    assert lattice_shown(grey_frames(raw_image(truth, look)), truth) is None


@pytest.mark.parametrize("vignetting", [True, False])
@pytest.mark.parametrize("scene", ["table", "room", "street"])
def test_simulated_cameras(scene: str, vignetting: bool) -> None:
    truth, frames, white = recording(scene, vignetting)
    assert lattice_shown(grey_frames(frames), truth) is None
    assert lattice_shown(grey_frames(white), truth) is None
    found = lattice_shown(grey_frames(frames), times(truth, 2.0))
    assert found is not None and found.pitch == pytest.approx(truth.pitch)


def test_a_check_of_a_camera_names_the_pitch() -> None:
    calibration = preset_camera("mini")
    half = calibration.mla.model_copy(update={"pitch_px": calibration.mla.pitch_px / 2, "border_px": 0.5})
    camera = PlenopticCamera.from_calibration(calibration.model_copy(update={"mla": half}))
    (problem,) = check_camera(camera, recording("table").frames).problems()
    assert "micro-lenses 12.2" in problem and "6.1" in problem


def test_calibrate_grid_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calibration = preset_camera("mini")
    wide = calibration.mla.model_copy(update={"pitch_px": calibration.mla.pitch_px * 2})
    save_calibration(calibration.model_copy(update={"mla": wide}), tmp_path / "two.yaml")
    for number, frame in enumerate(recording("table").frames):
        cv2.imwrite(str(tmp_path / f"{number}.png"), frame)
    out = tmp_path / "camera.yaml"
    arguments = ["calibrate", "grid", str(tmp_path), "--start", str(tmp_path / "two.yaml"), "--out", str(out)]
    assert main(arguments) == 2
    assert "micro-lenses 12.2" in capsys.readouterr().err.splitlines()[-1] and not out.exists()


def _corner_file(path: Path, pitch: float, aside: float) -> Path:
    origin, second = complex(3 + aside, 5), pitch * np.exp(1j * np.pi / 3)
    lenses = [(0, 0), (8, 0), (-4, 8), (4, 8)] if pitch > 40 else [(0, 0), (24, 0), (-12, 24), (12, 24)]
    places = [origin + i * pitch + j * second for i, j in lenses]
    path.write_text(corner_xml(pitch, 0.0, [(float(c.real), float(c.imag)) for c in places]))
    return path


@pytest.mark.parametrize(
    ("pitch", "aside", "sentence"),
    [(3 * PITCH, 0.0, "3 times as much"), (0.985 * PITCH, -0.45 * PITCH, "not the file of this camera")],
)
def test_import_refuses_the_file_of_another_camera(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pitch: float, aside: float, sentence: str
) -> None:
    truth = Grid.regular("hexagonal", PITCH, 0.0, (3.0, 5.0))
    cv2.imwrite(str(tmp_path / "raw.png"), raw_image(truth, RIM))
    file, out = _corner_file(tmp_path / "mla.xml", pitch, aside), tmp_path / "camera.yaml"
    arguments = ["import-calibration", str(file), "--raw-image", str(tmp_path / "raw.png")]
    arguments += ["--lens", "16", "--pixel", "5.5", "--out", str(out)]
    assert main(arguments) == 2
    assert sentence in capsys.readouterr().err and not out.exists()
    assert main([*arguments, "--keep-grid"]) == 0
    assert load_calibration(out).mla.pitch_px == pytest.approx(pitch)


def test_a_rim_beyond_half_the_pitch_is_a_problem() -> None:
    truth = grid()
    profile = replace(micro_image_profile(raw_image(truth, RIM), truth), radius=1.08 * PITCH / 2)
    sentence = rim_beyond_lens(profile, truth)
    assert sentence is not None and "beyond half the pitch" in sentence
    for look in (RIM, WHITE, NONE):
        assert rim_beyond_lens(micro_image_profile(raw_image(truth, look), truth), truth) is None


@pytest.mark.parametrize(("name", "pitch"), [("turntable_r5", 23.218), ("still_r8", 34.980)])
def test_real_cameras(name: str, pitch: float) -> None:
    from prism_vo.datasets.images import read_image
    from prism_vo.optics.vendor import read_raytrix_grid

    folder = DATA / "real" / name
    if not folder.is_dir():
        pytest.skip("recording not present")
    image = read_image(sorted((folder / "raw").glob("*.png"))[0])
    vendor, (height, width) = read_raytrix_grid(folder / "mla.xml"), image.shape[:2]
    origin = ((width - 1) / 2 + vendor.offset[0], (height - 1) / 2 - vendor.offset[1])
    fit = fit_grid(image, Grid.regular("hexagonal", vendor.diameter, -vendor.rotation, origin))
    assert fit.grid.pitch == pytest.approx(pitch, abs=0.003)
    for factor in (3.0, 2.0, 0.5, 1 / 3):
        found = lattice_shown(grey_frames(image), times(fit.grid, factor))
        assert found is not None and found.pitch == pytest.approx(pitch, abs=0.003)
