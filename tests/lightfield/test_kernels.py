# SPDX-License-Identifier: Apache-2.0
"""The fast kernels against the slow twin, on both views and with distortion."""

from dataclasses import dataclass

import numpy as np
import pytest
from camera_model import raw_from_tf
from light_fields import changed
from sums_twin import interpolated_image, samples_of

from prism_vo.config import DecodeConfig
from prism_vo.lightfield import workspace as rows
from prism_vo.lightfield.accumulate import accumulate
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.focus import FocusTable
from prism_vo.lightfield.geometry import StereoGeometry, raw_border
from prism_vo.lightfield.nearby import Area, NearbyLenses, gather_lenses, lens_grid, lens_room
from prism_vo.lightfield.records import MatchingImage, Overlay, SampleGrid
from prism_vo.lightfield.sample_steps import GREY_OFFSET, OUTSIDE, STEPS_A_PIXEL
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate import preset_camera

FALL = 0.4
MISSING = -1e9  # grey of a sample that cannot be read; its weight is 0
BENT = {"distortion": {"radial": (3e-4, 0.0), "tangential": (1.5e-5, -2.2e-5)}}


def geometry_of(view: str, distorted: bool) -> StereoGeometry:
    sections = {"main_lens": BENT} if distorted else {}
    camera = PlenopticCamera.from_calibration(changed(preset_camera("mini"), **sections))
    return StereoGeometry.of(camera, DecodeConfig(view=view))


def noise_image(geometry: StereoGeometry) -> np.ndarray:
    """White noise, interpolated at half-pixel steps; 0: what must not be used."""
    sensor = geometry.camera.calibration.sensor
    rng = np.random.default_rng(5)
    raw = rng.uniform(40, 220, (sensor.height, sensor.width))
    raw[rng.random(raw.shape) < 0.01] = np.nan
    return np.nan_to_num(interpolated_image(raw)).astype(np.float32)


@dataclass(frozen=True)
class Overlaid:
    """Everything the kernels sum over, but the grid of samples."""

    image: MatchingImage
    lenses: NearbyLenses
    overlay: Overlay

    def sums(self, grid: SampleGrid, tile_columns: int = 0, with_slope: bool = True) -> np.ndarray:
        """(SUMS, samples), of the kernel for tiles ``tile_columns`` wide, or of the one for blocks (0)."""
        workspace = rows.workspace_for(tile_columns)
        overlay = self.overlay._replace(with_slope=with_slope)
        accumulate(self.image, self.lenses, overlay, grid, workspace)
        samples = grid.nx * grid.ny
        return workspace.work.reshape(-1, rows.STRIDE)[: rows.SUMS, rows.PAD : rows.PAD + samples]


def overlaid(geometry: StereoGeometry, image: np.ndarray, slope: float, area: Area) -> Overlaid:
    border = STEPS_A_PIXEL * raw_border(geometry)
    padded = np.pad(np.where(image > 0, image, OUTSIDE), border, constant_values=OUTSIDE)
    grid = lens_grid(geometry)
    lenses = gather_lenses(grid, slope, geometry.radius / slope, area, lens_room(grid))
    return Overlaid(MatchingImage(padded, FALL), lenses, Overlay(slope, geometry.radius, 1, True))


def inner(sums: np.ndarray, columns: int) -> np.ndarray:
    """Without the outermost samples, which are there for gradients alone."""
    return sums.reshape(*sums.shape[:-1], -1, columns)[..., 1:-1, 1:-1]


def neighbour_sums(w: np.ndarray, grey: np.ndarray) -> list[np.ndarray]:
    """Σw, Σw∇I, ΣwI, ΣwI², ΣwB, ΣwIB over the samples (lens, row, column) with four neighbours, flat, lens by lens."""
    ring = np.pad(grey, ((0, 0), (1, 1), (1, 1)), constant_values=MISSING)
    right, left, below, above = ring[:, 1:-1, 2:], ring[:, 1:-1, :-2], ring[:, 2:, 1:-1], ring[:, :-2, 1:-1]
    w = np.where(np.minimum.reduce([right, left, below, above]) > MISSING, w, 0.0)
    bend = (right + left + below + above) / 4 - grey
    values = (1.0, right - left, below - above, grey, grey**2, bend, grey * bend)
    return [np.where(w > 0, w * value, 0.0).reshape(len(w), -1) for value in values]


@pytest.mark.parametrize("view", ["central", "focal"])
@pytest.mark.parametrize("distorted", [False, True])
@pytest.mark.parametrize("corner", [(20.0, 33.0), (180.3, 171.7), (330.0, 340.0)])
def test_sums_equal_the_slow_twin(view: str, distorted: bool, corner: tuple[float, float]) -> None:
    geometry = geometry_of(view, distorted)
    image, slope, step, nx, ny = noise_image(geometry), 0.34, 3.1, 9, 7
    x0, y0 = corner
    field = overlaid(geometry, image, slope, Area(x0, y0, x0 + step * nx, y0 + step * ny))
    box, tile = SampleGrid(0.0, 0.0, step, nx, ny), SampleGrid(0.0, 0.0, step, rows.TILE, ny)
    sums = field.sums(box)
    for ours, theirs in zip(
        inner(field.sums(tile, rows.TILE), rows.TILE), inner(field.sums(tile), rows.TILE)
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4 * np.abs(theirs).max())
    cost = field.sums(box, with_slope=False)  # the outermost samples count like all others
    for ours, theirs in zip(inner(sums, nx), inner(cost, nx)[: rows.COST_SUMS]):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4 * np.abs(theirs).max())
    yy, xx = np.mgrid[:ny, :nx]
    xy = np.stack([x0 + step * xx.ravel(), y0 + step * yy.ravel()], -1)
    w, grey, d = samples_of(geometry, image, xy, float(geometry.inv_virtual_depth(slope)), FALL)
    grey = np.where(grey > 0, grey - GREY_OFFSET, MISSING)
    twin = [
        w,
        w**2,
        w * grey,
        w * grey**2,
        w * d[..., 0],
        w * d[..., 1],
        w * grey * d[..., 0],
        w * grey * d[..., 1],
        w * d[..., 0] ** 2,
        w * d[..., 0] * d[..., 1],
        w * d[..., 1] ** 2,
        *neighbour_sums(w.reshape(-1, ny, nx), grey.reshape(-1, ny, nx)),
    ]
    assert len(twin) == rows.SUMS
    assert (w > 0).sum(0).mean() > 1.0  # the twin sees something
    for row, expected in enumerate(twin):
        scale = np.abs(expected).sum(0).max()
        tolerance = 3e-3 * scale if distorted else 2e-4 * scale  # lenses linearise the distortion
        if rows.row_offset(row) in (rows.GX, rows.GY, rows.GB, rows.GIB):
            tolerance *= 2.0  # differences of samples of white noise: more error, no larger sums
        total = expected.sum(0)
        np.testing.assert_allclose(inner(sums[row], nx), inner(total, nx), atol=tolerance)
        if row < rows.COST_SUMS:
            np.testing.assert_allclose(cost[row], total, atol=tolerance)


def test_focused_image_equals_the_weighted_mean_of_the_twin() -> None:
    geometry = geometry_of("central", False)
    sensor = geometry.camera.calibration.sensor
    rng = np.random.default_rng(2)
    raw = rng.uniform(40, 220, (sensor.height, sensor.width)).astype(np.float32)
    image = FocusTable(geometry, Bands(1), geometry.rest_slope)(np.pad(raw, raw_border(geometry)))
    pixels = rng.integers(20, 170, (40, 2))
    xy = raw_from_tf(geometry.camera, pixels)
    centres = geometry.array.image_centres
    slope = geometry.rest_slope
    for (x, y), position in zip(pixels, xy):
        offset = (position - centres) * slope
        q = (offset**2).sum(-1) / geometry.radius**2
        seen = q < 1
        at = (centres + offset)[seen]
        px = np.floor(at).astype(int)
        u, v = (at - px).T
        i, j = px.T
        taps = raw[j, i] * (1 - u) * (1 - v) + raw[j, i + 1] * u * (1 - v)
        taps += raw[j + 1, i] * (1 - u) * v + raw[j + 1, i + 1] * u * v
        weight = (1 - q[seen]) ** 2
        assert image[y, x] == pytest.approx((weight * taps).sum() / weight.sum(), abs=0.02)


def test_focused_image_does_not_depend_on_bands_and_reaches_the_border() -> None:
    geometry = geometry_of("central", False)
    sensor = geometry.camera.calibration.sensor
    raw = np.random.default_rng(3).uniform(40, 220, (sensor.height, sensor.width)).astype(np.float32)
    padded = np.pad(raw, raw_border(geometry))
    whole, parts = (FocusTable(geometry, Bands(n), geometry.rest_slope)(padded) for n in (1, 3))
    np.testing.assert_array_equal(whole, parts)
    even = FocusTable(geometry, Bands(1), geometry.rest_slope)(
        np.pad(np.full_like(raw, 100.0), raw_border(geometry))
    )
    np.testing.assert_allclose(
        even, 100.0, atol=1e-3
    )  # lenses beside the image count in both sums, or in neither
