# SPDX-License-Identifier: Apache-2.0
"""Raytrix and LiFCal XML → camera.yaml: numbers, the lens grid itself, and one sentence per fault."""

from __future__ import annotations

import numpy as np
import pytest
from vendor_files import GRID, MODEL, brown_xml, grid_xml, model_xml, vendor_centres, write_vendor_files

from prism_vo.cli import main
from prism_vo.errors import InputError
from prism_vo.optics.calibration import load_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.nominal import metric_notice
from prism_vo.optics.vendor import calibration_from_vendor, read_lifcal_model, read_raytrix_grid

RAW = (301, 260)  # odd on purpose: floor(301/2) = 150


def imported(tmp_path, grid=None, model=None, raw=RAW):
    g, m = write_vendor_files(tmp_path, grid, model)
    return calibration_from_vendor(read_raytrix_grid(g), read_lifcal_model(m), raw)


def test_numbers_arrive(tmp_path):
    calibration = imported(tmp_path)
    lens, mla = calibration.main_lens, calibration.mla
    assert (lens.focal_length_mm, lens.mla_distance_mm, mla.sensor_distance_mm) == (
        MODEL["f"],
        MODEL["b0"],
        MODEL["B"],
    )
    assert calibration.sensor.pixel_size_um == pytest.approx(5.5, rel=1e-12)
    assert calibration.totally_focused.scale == 2
    assert lens.principal_point_px == pytest.approx((2 * 74.8 - 0.5, 2 * 66.6 - 0.5))
    assert lens.distortion.radial == MODEL["radial"] and lens.distortion.tangential == MODEL["tangential"]
    assert mla.pitch_px == GRID["diameter"] and mla.rotation_rad == -GRID["rotation"]
    focus = [t.focus_virtual_depth for t in mla.lens_types]
    assert focus == pytest.approx([2 / (1 / 2.0 + 1 / 2.8), 2 / (1 / 2.6 + 1 / 4.0), 2 / (1 / 3.5 + 1 / 6.0)])


def test_the_grid_is_the_vendors_grid(tmp_path):
    """Every micro-image centre and lens type, laid out by the vendor's rule, is found in ours."""
    array = MicroLensArray.of(PlenopticCamera(imported(tmp_path)))
    expected = vendor_centres(RAW)
    points = np.array(list(expected))
    kinds = np.array(list(expected.values()))
    assert len(array) > 300
    for centre, kind in zip(array.image_centres, array.lens_type):
        distance = np.linalg.norm(points - centre, axis=1)
        assert distance.min() < 1e-4 and kinds[distance.argmin()] == kind


def test_lens_ids_follow_their_offsets(tmp_path):
    """The same lenses numbered otherwise give the same calibration."""
    renumbered = [(0, (0.0, 0.0), (2.0, 2.8)), (1, (-1.0, 0.0), (3.5, 6.0)), (2, (1.0, 0.0), (2.6, 4.0))]
    assert imported(tmp_path, grid=grid_xml(types=renumbered)) == imported(tmp_path)


def test_command_writes_a_file_that_loads_to_the_same_calibration(tmp_path, capsys):
    grid, model = write_vendor_files(tmp_path)
    out = tmp_path / "camera.yaml"
    # either order of the two files
    assert (
        main(["import-calibration", str(model), str(grid), "--raw-size", "301x260", "--out", str(out)]) == 0
    )
    assert load_calibration(out) == imported(tmp_path)
    before = out.read_bytes()
    assert (
        main(["import-calibration", str(grid), str(model), "--raw-size", "301x260", "--out", str(out)]) == 2
    )
    assert "exists already" in capsys.readouterr().err and out.read_bytes() == before
    arguments = [
        "import-calibration",
        str(grid),
        str(model),
        "--raw-size",
        "301x260",
        "--out",
        str(out),
        "--force",
    ]
    assert main([*arguments, "--view", "focal"]) == 0
    assert load_calibration(out).totally_focused.view == "focal"


def test_command_says_what_is_wrong(tmp_path, capsys):
    grid, model = write_vendor_files(tmp_path)
    out = ["--out", str(tmp_path / "new.yaml")]
    cases = [
        ([str(grid), str(model)], "--raw-size"),
        ([str(grid), str(model), "--raw-size", "many"], "many"),
        ([str(grid), str(grid), "--raw-size", "301x260"], "LiFCal camera model"),
        ([str(grid), str(model), "--raw-size", "700x260"], "no multiple"),
        ([str(grid), str(tmp_path / "nothing.xml"), "--raw-size", "301x260"], "no such file"),
    ]
    for arguments, words in cases:
        assert main(["import-calibration", *arguments, *out]) == 2
        captured = capsys.readouterr().err
        assert words in captured and captured.count("\n") == 1
    assert not (tmp_path / "new.yaml").exists()


def test_a_grid_alone_says_what_it_needs(tmp_path, capsys):
    grid, model = write_vendor_files(tmp_path)
    bad = tmp_path / "bad.xml"
    bad.write_text(grid_xml(lens_base_y=(0.4, 0.7)))
    cut = tmp_path / "cut.xml"
    cut.write_text(grid_xml()[:200])
    size, sheet = ["--raw-size", "301x260"], ["--lens", "16", "--pixel", "5.5"]
    cases = [
        ([str(grid), *size], "--lens 16"),
        ([str(grid), *size, "--lens", "16"], "--pixel 5.5"),
        ([str(grid), *size, "--lens", "-16", "--pixel", "5.5"], "must be positive"),
        ([str(grid), *size, "--lens", "nan", "--pixel", "5.5"], "must be positive"),
        ([str(grid), *size, "--lens", "0.1", "--pixel", "5.5"], "mla_distance_mm"),
        ([str(grid), str(model), *size, *sheet], "leave out --lens and --pixel"),
        ([str(model), *size], "one micro-lens grid"),
        ([str(bad), *size, *sheet], "neither a hexagonal"),
        ([str(cut), *size, *sheet], "not an XML file"),
        ([str(grid), *sheet, "--raw-image", str(grid)], "not a readable image"),
        ([str(grid), *sheet, "--raw-image", str(tmp_path)], "no images in this folder"),
    ]
    for arguments, words in cases:
        assert main(["import-calibration", *arguments, "--out", str(tmp_path / "new.yaml")]) == 2, arguments
        captured = capsys.readouterr().err
        assert words in captured and captured.count("\n") == 1
    assert not (tmp_path / "new.yaml").exists()


def test_nominal_optics_are_marked_and_said_in_one_line(tmp_path, capsys):
    grid, _ = write_vendor_files(tmp_path)
    out = tmp_path / "c.yaml"
    arguments = ["--raw-size", "301x260", "--lens", "16", "--pixel", "5.5", "--f-number", "2.8"]
    assert main(["import-calibration", str(grid), *arguments, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert sum("not metric yet" in line for line in said.splitlines()) == 1
    camera = load_calibration(out)
    assert camera.nominal == (
        "focal_length_mm",
        "mla_distance_mm",
        "sensor_distance_mm",
        "principal_point_px",
    )
    assert camera.mla.sensor_distance_mm == pytest.approx(14.3 * 5.5e-3 * 2.8)
    assert camera.main_lens.mla_distance_mm == pytest.approx(16 - 2.0 * camera.mla.sensor_distance_mm)
    assert camera.main_lens.principal_point_px == (150.0, 129.5)
    assert metric_notice(camera) in said
    assert metric_notice(imported(tmp_path)) is None


def test_distortion_of_the_grid_file_on_the_command_line(tmp_path, capsys):
    """With LiFCal's own it is left out, without it is taken; unknown ones are refused or left out by wish."""
    bent = grid_xml(distortion=brown_xml((1e-8, 0.0), (4.0, 2.0)))
    out = ["--raw-size", "301x260", "--out", str(tmp_path / "c.yaml"), "--force"]
    grid, model = write_vendor_files(tmp_path, grid=bent)
    assert main(["import-calibration", str(grid), str(model), *out]) == 0
    assert "has its own" in capsys.readouterr().out
    assert load_calibration(tmp_path / "c.yaml").main_lens.distortion.radial == MODEL["radial"]
    write_vendor_files(tmp_path, grid=bent, model=model_xml(radial=(0.0, 0.0), tangential=(0.0, 0.0)))
    assert main(["import-calibration", str(grid), str(model), *out]) == 0
    assert "coefficients read per px" in capsys.readouterr().out
    assert load_calibration(tmp_path / "c.yaml").main_lens.distortion.centre_px == (154.0, 127.5)
    grid.write_text(bent.replace("brown", "spline").replace("Brown", "radial"))
    assert main(["import-calibration", str(grid), str(model), *out]) == 2
    assert "--no-distortion" in capsys.readouterr().err
    assert main(["import-calibration", str(grid), str(model), "--no-distortion", *out]) == 0
    assert load_calibration(tmp_path / "c.yaml").main_lens.distortion.radial == (0.0, 0.0)


def test_a_model_without_centre_adjustment_gets_a_note(tmp_path, capsys):
    grid, model = write_vendor_files(tmp_path, model=model_xml(adjusted=False))
    out = str(tmp_path / "c.yaml")
    assert main(["import-calibration", str(grid), str(model), "--raw-size", "301x260", "--out", out]) == 0
    assert "note:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "grid, model, words",
    [
        ("not xml at all", None, "not an XML file"),
        ("<Other/>", None, "root element is 'Other'"),
        (grid_xml().replace("<diameter>14.3</diameter>", ""), None, "'diameter' is missing"),
        (grid_xml().replace("14.3", "wide"), None, "not a number"),
        (grid_xml().replace("14.3", "nan"), None, "not finite"),
        (grid_xml(lens_base_y=(0.4, 0.8660254)), None, "base vectors"),
        (grid_xml(types=GRID["types"][:2]), None, "2 lens types"),
        (grid_xml(types=[(k, (0.0, 0.0), (2.0, 3.0)) for k in range(3)]), None, "share one offset"),
        (None, model_xml().replace("Plenoptic", "Pinhole"), "'Pinhole'"),
        (None, model_xml(f=-3.0), "focal_length"),
        (
            None,
            model_xml().replace("<A1>", "<A1>1</A1><A2>").replace("</A1></Radial", "</A2></Radial"),
            "two radial",
        ),
    ],
)
def test_faults_are_one_sentence(tmp_path, grid, model, words):
    with pytest.raises(InputError, match=words):
        imported(tmp_path, grid, model)
