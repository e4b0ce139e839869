# SPDX-License-Identifier: Apache-2.0
"""Every basis of a lattice, turned, mirrored, negative: the same lenses with the same types as the file means."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from vendor_files import (
    GRID,
    brown_xml,
    corner_xml,
    grid_xml,
    lenses_by_base_vectors,
    model_xml,
    write_vendor_files,
)

from prism_vo.errors import CalibrationError
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.distortion import distort
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.vendor import (
    AmbiguousGridError,
    grid_readings,
    join_calibration,
    nominal_optics,
    read_vendor_grid,
    the_only_reading,
)
from prism_vo.optics.vendor.brown import lens_distortion

RAW = (301, 260)
H = math.sqrt(0.75)
QUARTER = math.pi / 2
UNTURNED = [
    ((1.0, 0.0), (0.5, H)),
    ((1.0, 0.0), (0.5, -H)),  # mirrored
    ((1.0, 0.0), (-0.5, H)),
    ((-1.0, 0.0), (-0.5, -H)),  # negative
    ((-1.0, 0.0), (0.5, -H)),
    ((0.5, H), (1.0, 0.0)),
    ((1.0, 0.0), (1.5, H)),  # not the shortest
    ((2.5, H), (1.0, 0.0)),
]
ROWS_UPWARD = [  # the grid turned by 90°
    ((0.0, 1.0), (H, 0.5)),
    ((0.0, 1.0), (-H, 0.5)),
    ((0.0, -1.0), (-H, -0.5)),
    ((-4.3711e-08, 1.0), (0.866025388241, 0.500000059605)),  # single precision, as written by cameras
]


def read(tmp_path, text):
    (tmp_path / "mla.xml").write_text(text)
    return read_vendor_grid(tmp_path / "mla.xml")


def lens_array(grid, reading):
    optics = nominal_optics(reading.pitch, RAW, lens_mm=16.0, pixel_um=5.5)
    return MicroLensArray.of(PlenopticCamera(join_calibration(grid, reading, optics, RAW)))


def assert_the_same_lenses(grid, reading, turn, **changes):
    array = lens_array(grid, reading)
    centres, kinds = lenses_by_base_vectors(turn, RAW, **changes)
    assert len(array) > 300 and (kinds >= 0).all()
    for centre, kind in zip(array.image_centres, array.lens_type):
        distance = np.linalg.norm(centres - centre, axis=1)
        assert distance.min() < 1e-3
        assert reading.type_order[kind] == kinds[distance.argmin()]


@pytest.mark.parametrize("rotation", [0.0, 0.0123, -0.02, QUARTER])
@pytest.mark.parametrize("bases", UNTURNED)
def test_unturned_bases_are_turned_by_the_rotation(tmp_path, bases, rotation):
    changes = {"lens_base_x": bases[0], "lens_base_y": bases[1], "rotation": rotation}
    grid = read(tmp_path, grid_xml(**changes))
    reading = the_only_reading(grid_readings(grid, RAW))
    assert_the_same_lenses(grid, reading, rotation, **changes)
    assert abs(reading.rotation) <= math.pi / 6 + 1e-6


@pytest.mark.parametrize("bases", ROWS_UPWARD)
def test_bases_turned_like_the_rotation_have_two_readings(tmp_path, bases):
    """The file alone does not tell whether the rotation is inside; both readings are right about what they mean."""
    x, y = bases[0]
    types = [(0, (0.0, 0.0), (2.0, 2.8)), (1, (x, y), (2.6, 4.0)), (2, (-x, -y), (3.5, 6.0))]
    changes = {
        "lens_base_x": bases[0],
        "lens_base_y": bases[1],
        "rotation": 1.570796370506,
        "sub_grid_base": (2 * H, 3.0),
        "types": types,
    }
    grid = read(tmp_path, grid_xml(**changes))
    outside, inside = grid_readings(grid, RAW)
    assert_the_same_lenses(grid, outside, changes["rotation"], **changes)
    assert_the_same_lenses(grid, inside, 0.0, **changes)
    with pytest.raises(AmbiguousGridError, match="--raw-image"):
        the_only_reading((outside, inside))


def test_turned_bases_without_that_rotation_are_clear(tmp_path):
    x, y = ROWS_UPWARD[0]
    types = [(0, (0.0, 0.0), (2.0, 2.8)), (1, x, (2.6, 4.0)), (2, (0.0, -1.0), (3.5, 6.0))]
    changes = {"lens_base_x": x, "lens_base_y": y, "types": types, "sub_grid_base": (2 * H, 3.0)}
    for rotation in (0.0, 0.004):
        grid = read(tmp_path, grid_xml(rotation=rotation, **changes))
        reading = the_only_reading(grid_readings(grid, RAW))
        assert_the_same_lenses(grid, reading, rotation, rotation=rotation, **changes)


def test_types_follow_their_offsets_when_ids_are_exchanged(tmp_path):
    types = [(0, (1.0, 0.0), (2.0, 2.8)), (1, (0.0, 0.0), (2.6, 4.0)), (2, (0.5, -H), (3.5, 6.0))]
    grid = read(tmp_path, grid_xml(types=types))
    reading = the_only_reading(grid_readings(grid, RAW))
    assert_the_same_lenses(grid, reading, GRID["rotation"], types=types)
    assert reading.type_order[0] == 1  # the lens at the origin


def test_a_square_grid_of_one_type(tmp_path):
    changes = {"lens_base_x": (0.0, 1.0), "lens_base_y": (-1.0, 0.0), "types": GRID["types"][:1]}
    grid = read(tmp_path, grid_xml(rotation=0.01, **changes))
    reading = the_only_reading(grid_readings(grid, RAW))
    assert reading.layout == "rectangular"
    centres, _ = lenses_by_base_vectors(0.01, RAW, **changes)
    for centre in lens_array(grid, reading).image_centres:
        assert np.linalg.norm(centres - centre, axis=1).min() < 1e-3


def test_a_grid_without_lens_types_has_one_of_nominal_focus(tmp_path):
    grid = read(tmp_path, grid_xml(types=[]))
    reading = the_only_reading(grid_readings(grid, RAW))
    optics = nominal_optics(reading.pitch, RAW, lens_mm=16.0, pixel_um=5.5)
    calibration = join_calibration(grid, reading, optics, RAW)
    assert len(calibration.mla.lens_types) == 1 and "focus_virtual_depth" in calibration.nominal


@pytest.mark.parametrize("pitch", [9.3, 23.2, 75.0])
@pytest.mark.parametrize("rotation", [0.0, QUARTER])
def test_the_grid_through_four_corner_lenses(tmp_path, pitch, rotation):
    axis = cmath.rect(pitch * 1.003, rotation + 0.002)  # the stated pitch and rotation are nearly right
    second = axis * cmath.exp(1j * math.pi / 3)
    lenses = [(0, 0), (21, 0), (-16, 32), (5, 32)]
    corners = [(40 + 30j) + i * axis + j * second for i, j in lenses]
    grid = read(tmp_path, corner_xml(pitch, rotation, [(c.real + 0.1, c.imag) for c in corners]))
    reading = the_only_reading(grid_readings(grid, RAW))
    assert reading.pitch == pytest.approx(abs(axis), rel=1e-9) and reading.misfit < 1e-6
    turn = (reading.rotation - cmath.phase(axis)) / (math.pi / 3)
    assert turn == pytest.approx(round(turn), abs=1e-9)
    assert reading.focus == (3.0,) and reading.type_order == ()


BROWN = (1e-8, -2e-15, 3e-7, -2e-7)  # k1 k2 p1 p2 per pixel


def brown_by_hand(values, centre, pixel):
    """x_d of the documented formula, y up, in pixels about the image's middle."""
    k1, k2, p1, p2 = values
    width, height = RAW
    x = pixel[0] - (width / 2 - 0.5) - centre[0]
    y = -(pixel[1] - (height / 2 - 0.5)) - centre[1]
    r2 = x * x + y * y
    gain = 1 + k1 * r2 + k2 * r2 * r2
    xd = x * gain + p1 * (r2 + 2 * x * x) + 2 * p2 * x * y
    yd = y * gain + p2 * (r2 + 2 * y * y) + 2 * p1 * x * y
    return pixel[0] + xd - x, pixel[1] - (yd - y)


@pytest.mark.parametrize("units", ["pix", None, "mm"])
@pytest.mark.parametrize("with_model", [False, True])
def test_brown_distortion_with_its_centre(tmp_path, units, with_model):
    from prism_vo.optics.vendor import lifcal_optics, read_lifcal_model

    centre, mm = (12.0, -7.0), 5.5e-3
    powers = (2, 4, 1, 1)
    written = BROWN if units != "mm" else tuple(v / mm**n for v, n in zip(BROWN, powers))
    text = grid_xml(distortion=brown_xml(written, centre, units))
    files = write_vendor_files(tmp_path, text, model_xml(radial=(0.0, 0.0), tangential=(0.0, 0.0)))
    grid = read_vendor_grid(files[0])
    bent = lens_distortion(grid.distortion, RAW, 5.5)
    assert bent.unit == ("mm" if units == "mm" else "px") and bent.residual == 0.0
    reading = the_only_reading(grid_readings(grid, RAW))
    optics = (
        lifcal_optics(read_lifcal_model(files[1]), 2, bent)
        if with_model
        else nominal_optics(reading.pitch, RAW, lens_mm=16.0, pixel_um=5.5, distortion=bent)
    )
    calibration = join_calibration(grid, reading, optics, RAW)
    moved = 0.0
    for pixel in ((3.0, 5.0), (290.0, 20.0), (150.0, 250.0)):
        expected = brown_by_hand(BROWN, centre, pixel)
        assert distort(calibration, pixel) == pytest.approx(expected, abs=1e-9)
        moved = max(moved, math.dist(expected, pixel))
    assert 0.01 < moved <= bent.largest_shift


def test_a_third_radial_term_is_fitted_and_what_is_lost_is_said(tmp_path):
    k1, k3 = 1e-7, 3e-17
    grid = read(tmp_path, grid_xml(distortion=brown_xml((k1, 0.0, k3), units="pix")))
    bent = lens_distortion(grid.distortion, RAW, 5.5)
    reading = the_only_reading(grid_readings(grid, RAW))
    optics = nominal_optics(reading.pitch, RAW, lens_mm=16.0, pixel_um=5.5, distortion=bent)
    calibration = join_calibration(grid, reading, optics, RAW)
    corner, middle = np.array([300.0, 259.0]), np.array([150.0, 129.5])
    along = np.linspace(0, 1, 200)[:, None] * (corner - middle)
    r2 = (along**2).sum(1, keepdims=True)
    wanted = along * (k1 * r2 + k3 * r2**3)
    lost = np.linalg.norm(distort(calibration, middle + along) - (middle + along) - wanted, axis=1).max()
    assert bent.residual == pytest.approx(lost, rel=0.1)
    without = np.linalg.norm(along * k3 * r2**3, axis=1).max()  # what leaving the third term out would lose
    assert bent.residual < 0.1 * without


def test_a_centre_too_far_from_the_middle_counts_from_the_corner(tmp_path):
    grid = read(tmp_path, grid_xml(distortion=brown_xml((1e-8,), (160.0, 120.0))))
    assert lens_distortion(grid.distortion, RAW, 5.5).centre_px == (160.0, 120.0)


def test_coefficients_too_strong_for_pixels_are_per_millimetre(tmp_path):
    grid = read(tmp_path, grid_xml(distortion=brown_xml((5e-3,))))
    assert lens_distortion(grid.distortion, RAW, 5.5).unit == "mm"
    grid = read(tmp_path, grid_xml(distortion=brown_xml((5.0,))))
    with pytest.raises(CalibrationError, match="--no-distortion"):
        lens_distortion(grid.distortion, RAW, 5.5)


CONSTANT = (
    '<distortion type="radial"><function>constant</function><parameter count="0">0</parameter></distortion>'
)


def test_no_distortion(tmp_path):
    assert read(tmp_path, grid_xml(distortion=CONSTANT)).distortion is None
    assert read(tmp_path, grid_xml(distortion=brown_xml((0.0, 0.0)))).distortion is None


FAR_CORNERS = [(10.0, 10.0), (207.0, 10.0), (10.0, 301.0), (222.0, 323.0)]


@pytest.mark.parametrize(
    "text, words",
    [
        (grid_xml(lens_base_y=(0.3, 0.9)), "neither a hexagonal nor a square"),
        (grid_xml(lens_base_y=(2.0, 0.0)), "neither a hexagonal nor a square"),
        (grid_xml(lens_base_x=(0.0, 0.0)), "neither a hexagonal nor a square"),
        (grid_xml(lens_base_x=(2.0, 0.0), lens_base_y=(1.0, 2 * H)), "neither"),
        (grid_xml(lens_base_y=(0.0, 1.0)), "rectangular micro-lens grid has 3"),
        (grid_xml(diameter=0.5), "diameter of 0.5 px"),
        (grid_xml(types=[(k, (0.3 * k, 0.3), (2.0, 3.0)) for k in range(3)]), "no lens"),
        (grid_xml(distortion=CONSTANT.replace("0</p", "0.1</p").replace('"0"', '"1"')), "only 'Brown'"),
        (grid_xml(distortion=brown_xml((1e-9,) * 6)), "6 parameters"),
        (grid_xml(distortion=brown_xml((1e-9,)).replace('"1"', '"2"')), "announces 2 numbers"),
        (grid_xml(distortion=brown_xml((1e-9,)).replace("1e-09", "few")), "'few', not a number"),
        (grid_xml().replace('id="1"', 'id="one"'), "'one', not a number"),
        (corner_xml(20.0, 0.0, FAR_CORNERS[:2]), "2 corner centres"),
        (corner_xml(20.0, 0.0, FAR_CORNERS), "miss a hexagonal grid"),
        (corner_xml(20.0, 0.0, [(5.0, 5.0)] * 4), "coincide"),
        (corner_xml(-20.0, 0.0, FAR_CORNERS), "diameter of -20"),
        ("<Other/>", "RayCalibData or TSPCCalibData"),
    ],
)
def test_faults_are_one_sentence(tmp_path, text, words):
    with pytest.raises(CalibrationError, match=words) as error:
        the_only_reading(grid_readings(read(tmp_path, text), RAW))
    assert "\n" not in str(error.value)
