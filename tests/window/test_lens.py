# SPDX-License-Identifier: Apache-2.0
"""Focal length and principal point in the window: derivatives, what is found, and what is held."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import Exact, exact_window

from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.focus import FocusModel
from prism_vo.optics.lens import LENS, LensModel
from prism_vo.simulate import preset_camera
from prism_vo.window.energy import WindowEnergy
from prism_vo.window.keyframe import BLOCK
from prism_vo.window.solver import minimise
from prism_vo.window.state import CameraBlock, State
from prism_vo.window.terms.depth import DepthTerm
from prism_vo.window.terms.lens import LensPrior
from prism_vo.window.uncertainty import OPTIMISM, own_sigmas

COUNT = 4
CAMERA = PlenopticCamera.from_calibration(preset_camera("mini"))


def with_lens(numbers: np.ndarray) -> tuple[Exact, State]:
    """A window at the truth but for its lens; the last number of the camera is the focus, which nothing here feels."""
    exact = exact_window(count=COUNT, each=80, eta=0.0, zoom=2)
    camera = CameraBlock(np.append(numbers, 0.0), np.zeros(LENS + 1))
    term = replace(exact.photometric, lens=exact.view.image_plane.intrinsics)
    return replace(exact, photometric=term), replace(exact.state, camera=camera)


def linearized(exact: Exact, state: State):  # type: ignore[no-untyped-def]
    return WindowEnergy(exact.photometric).linearize(state)


@pytest.mark.parametrize(("number", "step"), [(0, 2e-4), (1, 0.02), (2, 0.02)])
def test_blocks_of_the_lens_are_derivatives_of_the_gradient(number: int, step: float) -> None:
    """At the truth residuals vanish, and the gradient changes by a column of H: poses, brightness, lens and points."""
    exact, state = with_lens(np.zeros(LENS))
    here, row = linearized(exact, state), state.camera_rows.start + number
    ends = []
    for sign in (1.0, -1.0):
        numbers = np.zeros(LENS)
        numbers[number] = sign * step
        ends.append(linearized(exact, with_lens(numbers)[1]))
    by = (ends[0].b - ends[1].b) / (2 * step)
    by_points = (ends[0].b_points - ends[1].b_points) / (2 * step)
    size = np.abs(here.h[:, row]).reshape(-1)
    for rows in (slice(0, 3), slice(3, 6)):  # of each keyframe: translation and rotation differ in size
        each = np.concatenate([BLOCK * k + np.arange(BLOCK)[rows] for k in range(COUNT)])
        np.testing.assert_allclose(by[each], here.h[each, row], atol=0.03 * size[each].max())
    lens = slice(state.camera_rows.start, state.camera_rows.start + LENS)
    scale = np.sqrt(np.diag(here.h)[lens] * here.h[row, row])
    np.testing.assert_allclose(by[lens], here.h[lens, row], atol=0.03 * scale.max(), rtol=0.03)
    np.testing.assert_allclose(
        by_points, here.h_cross[:, row], atol=0.05 * np.abs(here.h_cross[:, row]).max()
    )
    np.testing.assert_allclose(here.h, here.h.T, rtol=1e-9, atol=1e-9)


def test_a_wrong_focal_length_is_found_where_poses_are_known() -> None:
    """Where the camera does not turn, the principal point hardly shows; it must not spoil the focal length."""
    wrong = np.array([0.01, -0.8, 0.6])
    exact, state = with_lens(wrong)
    free = np.arange(state.size) >= BLOCK * COUNT
    free[-1] = False
    p = exact.points
    depth = DepthTerm(exact.view, p.measured, p.information, 16.0, 2.5)
    energy = WindowEnergy(exact.photometric, (depth,))
    found = minimise(energy, state, free, 30, scale_is_gauge=False).state.camera.value
    assert abs(found[0]) < 0.05 * wrong[0]
    assert (np.abs(found[:LENS]) < np.abs(wrong)).all()


def test_the_prior_is_a_quadratic_about_the_file() -> None:
    _, state = with_lens(np.array([0.01, 1.0, -2.0]))
    prior = LensPrior(np.array([1e4, 2.0, 3.0]))
    system = WindowEnergy(replace(with_lens(np.zeros(LENS))[0].photometric, lens=None)).linearize(state)
    before, gradient = system.h.copy(), system.b.copy()
    assert prior.linearize(state, system) == pytest.approx(1.0 + 2.0 + 12.0)
    rows = slice(state.camera_rows.start, state.camera_rows.start + LENS)
    np.testing.assert_allclose((system.b - gradient)[rows], [100.0, 2.0, -6.0])
    np.testing.assert_allclose(np.diag(system.h - before)[rows], [1e4, 2.0, 3.0])


def test_what_images_know_by_themselves() -> None:
    h = np.diag([4.0, 9.0, 25.0])
    found = own_sigmas(h, np.array([True, False, False]), slice(1, 3), np.array([5.0, 25.0]), 16.0)
    assert found is not None
    np.testing.assert_allclose(found, [OPTIMISM * 4.0 / 2.0, np.inf])


def test_a_view_and_its_camera_file_are_one_to_one() -> None:
    model, view = LensModel.of(CAMERA), CAMERA.view("central")
    moved = model.moved(FocusModel.of(view, CAMERA).at(4e-3), np.array([0.004, 1.5, -0.5]))
    refined = model.refined(CAMERA.calibration, moved, np.array([1e-3, 0.2, 0.3]))
    again = PlenopticCamera.from_calibration(refined).view("central")
    for name in ("focal_px", "cx", "cy", "w_infinity", "kappa"):
        assert getattr(again, name) == pytest.approx(getattr(moved, name), rel=1e-12)
    stated = LensModel.of(PlenopticCamera.from_calibration(refined)).sigma
    np.testing.assert_allclose(stated, [1e-3, 0.2, 0.3], rtol=1e-9)
    assert model.moved(view, np.zeros(LENS)) is view
    nominal = CAMERA.calibration.model_copy(update={"nominal": ("focal_length_mm",)})
    assert (LensModel.of(PlenopticCamera.from_calibration(nominal)).sigma > model.sigma).all()
