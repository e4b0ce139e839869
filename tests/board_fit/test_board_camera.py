# SPDX-License-Identifier: Apache-2.0
"""A camera from the corners of a checkerboard: exact corners give the exact camera, noisy ones a σ that holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from board_fit.exact_board import BOARD, camera, poses, seen

from prism_vo.batch.numbers import CX, CY, FOCAL, KAPPA, CameraNumbers, W
from prism_vo.batch.system import CameraPrior
from prism_vo.board_fit.adjust import adjust, usable_radius
from prism_vo.board_fit.centres import fit_centres
from prism_vo.board_fit.fit import BoardFit, calibrate_board
from prism_vo.board_fit.records import Board, BoardState, CornerSlopes, MicroCorners
from prism_vo.board_fit.system import FIRST_POSE, linearize, predict
from prism_vo.board_fit.words import board_lines, calibration_of
from prism_vo.errors import DegenerateError, InputError
from prism_vo.optics.calibration import load_calibration, save_calibration

TRUTH = CameraNumbers.of(camera().calibration)
NUMBERS = [FOCAL, CX, CY, W, KAPPA]


def fitted(corners: MicroCorners, board: Board = BOARD) -> BoardFit:
    sensor = camera().calibration.sensor
    half = camera().calibration.mla.pitch_px / 2
    size = (sensor.width, sensor.height)
    return calibrate_board(corners, CornerSlopes.none(), board, size, sensor.pixel_size_um * 1e-3, half)


def test_exact_corners_give_the_exact_camera() -> None:
    fit = fitted(seen())
    # the loose prior of the centre (5 % of the width) is all that pulls
    assert np.allclose(fit.numbers.values[NUMBERS], TRUTH.values[NUMBERS], rtol=2e-5)
    assert fit.numbers.optics == pytest.approx(TRUTH.optics, rel=1e-4)
    assert np.abs(fit.held_out.size - 1).max() < 1e-4
    assert fit.radius == np.inf


def test_noisy_corners_give_a_sigma_that_holds(tmp_path: Path) -> None:
    corners = seen(0.2)
    corners.xy[::97] += 9.0  # other corners
    corners = corners.take(
        (corners.frame != 4) | (corners.corner < 5)
    )  # a picture that shows little of the board
    fit = fitted(corners)
    away = (fit.numbers.values - TRUTH.values)[NUMBERS] / fit.sigma[NUMBERS]
    assert np.abs(away).max() < 3.5
    assert 0.19 < fit.adjusted.rms < 0.21
    assert fit.terms == "none"
    assert fit.adjusted.corners.frames == 7
    assert any("squares come out" in line for line in board_lines(fit))
    like = camera().calibration.model_copy(update={"nominal": ("focal_length_mm", "focus_virtual_depth")})
    save_calibration(calibration_of(fit, like), tmp_path / "camera.yaml")
    written = load_calibration(tmp_path / "camera.yaml")
    assert written.nominal == ("focus_virtual_depth",)
    assert written.uncertainty is not None and written.uncertainty["F_px"] > 0


def test_derivatives_are_those_of_the_prediction() -> None:
    corners = seen(0.1, 4)
    state = BoardState(TRUTH, poses(4), 1.01)
    held = CameraPrior.held(TRUTH.values)
    at = predict(state, BOARD, corners)
    columns = np.concatenate([at.by_shared, at.by_pose], 2)
    for k in range(FIRST_POSE + 6):
        step = np.zeros(FIRST_POSE + 6)
        step[k] = 1e-6 * (TRUTH.values[FOCAL] if k in (FOCAL, CX, CY) else 1.0)
        ends = []
        for sign in (1, -1):
            every = np.tile(sign * step[FIRST_POSE:], (4, 1))
            moved = state.moved(sign * step[: FIRST_POSE - 1], sign * step[FIRST_POSE - 1], every)
            ends.append(predict(moved, BOARD, corners).value)
        assert np.allclose(columns[:, :, k], (ends[0] - ends[1]) / (2 * step[k]), rtol=1e-4, atol=1e-4), k
    system = linearize(
        state, BOARD, corners, CornerSlopes.none(), 1e6, held
    )  # σ so large that nothing is robust
    total = 0.5e-12 * ((at.value - corners.xy) ** 2).sum()
    assert system.energy == pytest.approx(2 * total)


def test_errors_beside_the_rim_are_noticed_and_left_out() -> None:
    corners = seen(0.1)
    away = corners.xy - corners.centre
    radius = np.linalg.norm(away, axis=1)
    half = camera().calibration.mla.pitch_px / 2
    pulled = np.where(radius > 0.65 * half, 0.9, 0.0)[:, None] * away / np.maximum(radius, 1.0)[:, None]
    fit = fitted(replace(corners, xy=corners.xy - pulled))
    assert 0.5 * half < fit.radius < 0.7 * half
    assert np.abs(fit.numbers.values[FOCAL] / TRUTH.values[FOCAL] - 1) < 0.01
    exact = adjust(
        BoardState(TRUTH, poses()), BOARD, corners, CornerSlopes.none(), CameraPrior.held(TRUTH.values)
    )
    assert usable_radius(exact, BOARD, corners, half) == np.inf


def test_boards_that_cannot_do_it() -> None:
    with pytest.raises(DegenerateError, match="at least 4"):
        fitted(seen(count=3))
    corners = seen(count=5)
    same = corners.take(corners.frame == 2)
    repeated = [replace(same, frame=np.full(len(same), k, np.intp)) for k in range(5)]
    columns = ("frame", "corner", "centre", "xy")
    still = MicroCorners(*(np.concatenate([getattr(part, n) for part in repeated]) for n in columns))
    with pytest.raises(DegenerateError, match="same distance"):
        fitted(still)
    with pytest.raises(DegenerateError):
        fitted(corners, Board(5, 7, 0.03))


@pytest.mark.parametrize("shifted", [0.5, -0.5, 0.0])
def test_a_grid_from_numbered_centres(shifted: float) -> None:
    rng = np.random.default_rng(0)
    row, column = np.mgrid[:40, 1:50].reshape(2, -1).astype(float)
    high = np.sqrt(0.75) if shifted else 1.0
    flat = 20.1 * np.stack([column + shifted * (row % 2), high * row], -1)
    turn = np.array([[np.cos(0.01), np.sin(0.01)], [-np.sin(0.01), np.cos(0.01)]])
    places = flat @ turn + [3.0, 5.0]
    found = fit_centres(
        np.stack([column, row], -1), places + 0.1 * rng.standard_normal(places.shape), "centres"
    )
    assert found.grid.pitch == pytest.approx(20.1, abs=1e-3)
    assert found.grid.rotation == pytest.approx(0.01, abs=1e-4)
    assert np.abs(found.points(np.stack([column, row], -1)) - places).max() < 0.03
    assert found.rms == pytest.approx(0.1 * np.sqrt(2), rel=0.05)
    with pytest.raises(InputError, match="do not lie on"):
        fit_centres(np.stack([row, row % 3], -1), places, "centres")
