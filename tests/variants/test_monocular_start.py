# SPDX-License-Identifier: Apache-2.0
"""The start without plenoptic depth: shape from parallax alone, and not its reversal."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from plane_scene import Relief, pinhole_view, write_decoded_sequence

from prism_vo import pipeline, se3
from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.odometry import Odometry
from prism_vo.sensor import DecodedSensor
from prism_vo.tracking.brightness import Brightness
from prism_vo.types import DecodedFrame, Frame, PosedFrame
from prism_vo.variants.monocular_start import MonocularStart

VIEW, SCENE = pinhole_view(), Relief()
BLIND = replace(Config(), variant="pinhole")
MOVE = se3.exp(np.array([0.10, 0.03, 0.0, 0.0, 0.01, 0.0]))  # T_world_cam of the second frame, m


@pytest.fixture
def started(tmp_path: Path) -> tuple[Odometry, np.ndarray]:
    """An odometry that has seen one frame, and the true inverse depth of its points in units of their mean."""
    write_decoded_sequence(tmp_path / "relief", count=2)
    camera = open_sequence(tmp_path / "relief").camera
    odometry = Odometry(camera, BLIND, DecodedSensor(VIEW))
    image, depth = SCENE.render(VIEW, np.eye(4))
    odometry(DecodedFrame(0, 0.0, VIEW, image, None, None, None))
    points = odometry.window.points
    inverse = 1.0 / depth[np.rint(points.v).astype(int), np.rint(points.u).astype(int)]
    return odometry, inverse / inverse.mean()


def second_frame(odometry: Odometry, pose: np.ndarray) -> PosedFrame:
    image, _ = SCENE.render(VIEW, MOVE)
    focused = DecodedFrame(1, 0.1, VIEW, image, None, None, None)
    return PosedFrame(Frame.of(focused, focused, odometry.tracker.pyramid(image)), pose, np.zeros(2))


def true_pose(scale: float) -> np.ndarray:
    """T_view_world of the second frame, its translation in units in which the mean inverse depth is 1."""
    pose = se3.inverse(MOVE)
    pose[:3, 3] *= scale
    return pose


def test_reversal_keeps_the_flow_of_the_mean_plane(started: tuple[Odometry, np.ndarray]) -> None:
    start = MonocularStart(started[0].window, started[0].tracker)
    pose = true_pose(0.7)
    points = np.array([[x, y, 1.0] for x in (-0.2, 0.0, 0.2) for y in (-0.2, 0.0, 0.2)])
    flows = []
    for T in (pose, start.reversed(pose)):
        p = se3.transform(T, points)
        flows.append(VIEW.focal_px * (p[:, :2] / p[:, 2:] - points[:, :2]))
    size = np.linalg.norm(flows[0], axis=1).mean()
    apart = np.linalg.norm(flows[0] - flows[1], axis=1)
    assert apart[4] < 0.01 * size  # in the middle; the turn bends the flow outwards from there
    assert apart.max() < 0.2 * size


@pytest.mark.parametrize("mirrored", [False, True])
def test_depth_is_not_reversed_whatever_the_start(
    started: tuple[Odometry, np.ndarray], mirrored: bool
) -> None:
    odometry, truth = started
    start = MonocularStart(odometry.window, odometry.tracker)
    pose = true_pose(0.75)
    first = 2.0 - truth if mirrored else truth
    odometry.window.points = replace(odometry.window.points, inv_depth=first)
    posed = second_frame(odometry, start.reversed(pose) if mirrored else pose)
    found = start.settle(posed, Brightness()).T_view_world
    assert np.corrcoef(odometry.window.points.inv_depth, truth)[0, 1] > 0.8
    direction = found[:3, 3] / np.linalg.norm(found[:3, 3])
    assert direction @ (pose[:3, 3] / np.linalg.norm(pose[:3, 3])) > 0.95


def test_shape_is_right_and_scale_is_free(tmp_path: Path) -> None:
    write_decoded_sequence(tmp_path / "relief", count=30)
    result = pipeline.run(open_sequence(tmp_path / "relief"), BLIND, threads=False)
    assert result.lost == 0 and result.metrics is not None
    assert result.metrics.sim3.rmse_t_percent < 2.0
    assert result.metrics.scale_error > 0.05, "nothing can have told the scale"
