# SPDX-License-Identifier: Apache-2.0
"""Grids of recordings by another simulator and of real cameras, where they are at hand."""

import numpy as np
import pytest
from scenes import DATA, centre_rms, wrong_start

from prism_vo.calibrate import Grid, find_grid, fit_grid
from prism_vo.datasets.images import read_image
from prism_vo.optics.calibration import load_calibration
from prism_vo.optics.vendor import read_raytrix_grid

SIMULATED = ["table_60", "street_45", "bias/room_blurred", "bias/street_pinhole"]


def _frames(name: str, count: int) -> list:  # type: ignore[type-arg]
    paths = sorted((DATA / name / "raw").glob("*.png"))
    return [read_image(paths[k]) for k in np.linspace(0, len(paths) - 1, min(count, len(paths))).astype(int)]


@pytest.mark.parametrize("name", SIMULATED)
def test_other_simulator(name: str) -> None:
    if not (DATA / name).is_dir():
        pytest.skip("recording not present")
    truth = Grid.of(load_calibration(DATA / name / "camera.yaml").mla)
    white = read_image(DATA / name / "white.png")
    start = wrong_start(truth, white.shape, 0.4, -7e-4)
    assert centre_rms(fit_grid(white, start).grid, truth, white.shape) <= 0.03
    assert centre_rms(fit_grid(_frames(name, 5), start).grid, truth, white.shape) <= 0.05


def test_real_r5() -> None:
    folder = "real/turntable_r5"
    if not (DATA / folder).is_dir():
        pytest.skip("recording not present")
    vendor = read_raytrix_grid(DATA / folder / "mla.xml")
    # the turn by 90° of this file is in its bases as well as in its rotation: it counts once
    origin = (1023.5 + vendor.offset[0], 1023.5 - vendor.offset[1])
    fit = fit_grid(_frames(folder, 30), Grid.regular("hexagonal", vendor.diameter, -vendor.rotation, origin))
    assert fit.grid.pitch == pytest.approx(23.218, abs=0.003)
    assert 0.5 < np.nanmax(np.hypot(*fit.start_offsets.T)) < 1.1
    alone = find_grid(_frames(folder, 1))
    assert alone.grid.pitch == pytest.approx(23.218, abs=0.003)
