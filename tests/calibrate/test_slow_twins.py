# SPDX-License-Identifier: Apache-2.0
"""Kernels against plain versions, and the algebra of grids."""

import numpy as np
import pytest
from micro_images import Look, raw_image
from numpy.testing import assert_allclose

from prism_vo.calibrate.cell import fold, mean_cell, symmetric
from prism_vo.calibrate.features import grey_frames, light_map
from prism_vo.calibrate.grid import Grid, centre_distance, nearest_equal_grid
from prism_vo.calibrate.lattice import corrected, fit_lattice
from prism_vo.calibrate.lens_order import FEWEST_DEPTHS, row_medians
from prism_vo.calibrate.offsets import TAPER_PX, lens_offsets
from prism_vo.calibrate.zones import Zones
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.simulate import preset_camera

TRUTH = Grid.regular("hexagonal", 12.6, 0.03, (60.2, 57.9))


def _feature():  # type: ignore[no-untyped-def]
    return light_map(grey_frames(raw_image(TRUTH, Look(shape=(120, 130)))), 25.0)


def test_fold_is_a_mean_by_lattice_coordinates() -> None:
    values = _feature().values
    yy, xx = np.indices(values.shape)
    cells = TRUTH.cells(np.stack([xx, yy], -1)) * 12
    total, weight = np.zeros((12, 12)), np.zeros((12, 12))
    for (u, v), value in zip(cells.reshape(-1, 2), values.ravel()):
        for j in (int(np.floor(v)), int(np.floor(v)) + 1):
            for i in (int(np.floor(u)), int(np.floor(u)) + 1):
                share = (1 - abs(u - i)) * (1 - abs(v - j))
                total[j % 12, i % 12] += share * value
                weight[j % 12, i % 12] += share
    assert_allclose(fold(values, TRUTH, 12), total / weight, rtol=1e-6)


@pytest.mark.parametrize("layout", ["hexagonal", "rectangular"])
def test_symmetric_cells_do_not_change_any_more(layout: str) -> None:
    cell = np.random.default_rng(0).normal(size=(11, 11))
    once = symmetric(cell, layout)  # type: ignore[arg-type]
    assert_allclose(symmetric(once, layout), once, atol=1e-12)  # type: ignore[arg-type]
    assert_allclose(once[1, 0], once[0, 1], atol=1e-12)
    assert_allclose(once[1, 0], once[0, -1], atol=1e-12)


def test_offsets_are_least_squares() -> None:
    feature, grid = _feature(), TRUTH.moved(np.array([0.2, -0.3]), np.zeros((2, 2)), np.zeros(2))
    cell = mean_cell(feature.values, grid)
    measured = lens_offsets(feature, grid, cell)
    size, radius = len(cell.value), grid.cell_radius
    yy, xx = np.indices(feature.values.shape)
    for k in (0, 17, len(measured.offset) - 1):
        p = np.stack([xx, yy], -1) - measured.lenses.centres[k]
        weight = np.clip((radius - np.hypot(p[..., 0], p[..., 1])) / TAPER_PX, 0, 1)
        use = weight > 0
        u, v = (np.rint(p[use] @ np.linalg.inv(grid.axes) * size).astype(int) % size).T
        T, Tx, Ty = cell.value[v, u], cell.slope_x[v, u], cell.slope_y[v, u]
        design = np.stack([np.ones_like(T), T, p[use][:, 0] * T, p[use][:, 1] * T, Tx, Ty], -1)
        root = np.sqrt(weight[use])
        answer = np.linalg.lstsq(design * root[:, None], feature.values[use] * root, rcond=None)[0]
        assert_allclose(measured.offset[k], -answer[4:] / answer[1], atol=1e-4)


def test_lattice_fit_inverts_a_known_change() -> None:
    rng = np.random.default_rng(1)
    centre = rng.uniform(0, 1000, (64, 2))
    change = np.array([[3e-4, -2e-4], [2e-4, 3e-4]])
    offset = np.array([0.3, -0.1]) + centre @ change.T
    offset[5] += 20.0  # one zone is nonsense
    sigma = np.full((64, 2), 0.02)
    zones = Zones((8, 8), centre, offset + rng.normal(0, 0.02, (64, 2)), sigma, np.full(64, 50, np.int32))
    fit = fit_lattice(zones)
    better = corrected(TRUTH, fit)
    wanted = TRUTH.moved(np.array([0.3, -0.1]), change, np.zeros(2))
    error = centre_distance(better, wanted, (1000, 1000)).max()
    assert error < 4 * fit.centre_sigma(centre).max() < 0.1
    assert fit.excess < 1.5


def test_grid_agrees_with_the_array_of_the_camera() -> None:
    calibration = preset_camera("mini")
    array = MicroLensArray.of(PlenopticCamera.from_calibration(calibration))
    grid = Grid.of(calibration.mla)
    assert_allclose(grid.points(array.grid), array.image_centres, atol=1e-9)
    assert grid.pitch == pytest.approx(calibration.mla.pitch_px)
    assert grid.rotation == pytest.approx(calibration.mla.rotation_rad)


def test_same_lattice_by_other_names() -> None:
    other = Grid("hexagonal", np.array([[0, 1], [-1, 1]]) @ TRUTH.axes, TRUTH.points(np.array([2, -1])))
    back = nearest_equal_grid(other, TRUTH)
    assert_allclose(back.axes, TRUTH.axes, atol=1e-12)
    assert_allclose(back.origin, TRUTH.origin, atol=1e-9)


def test_row_medians_leave_out_what_is_not_known() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((200, 25))
    rows[rng.random(rows.shape) < rng.random((200, 1))] = np.nan
    known = [row[np.isfinite(row)] for row in rows]
    expected = [np.median(k) if len(k) >= FEWEST_DEPTHS else np.nan for k in known]
    assert 20 < np.isnan(expected).sum() < 180
    assert_allclose(row_medians(rows), expected, rtol=1e-15)
