# SPDX-License-Identifier: Apache-2.0
"""Objects at a prompt and in a notebook: one short line, a small table, a drawing the right way up."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_vo import Decoder, PointCloud, Trajectory, open_sequence
from prism_vo.errors import MissingExtraError
from prism_vo.notebook.directions import plane_of
from prism_vo.pipeline import RunResult


@pytest.fixture(scope="module")
def shown(recording: Path, reported: RunResult) -> dict[str, Any]:
    sequence = open_sequence(recording)
    decoder = Decoder(sequence.camera, white=sequence.white)
    return {
        "sequence": sequence,
        "part": sequence.part(2, 3),  # type: ignore[attr-defined]
        "camera": sequence.camera,
        "raw": sequence[0],
        "decoder": decoder,
        "decoded": decoder.focus(sequence[0]),  # type: ignore[arg-type]
        "odometry": reported.odometry,
        "report": reported.reports[3],
        "result": reported,
        "trajectory": reported.trajectory,
        "cloud": reported.odometry.cloud(),
    }


NAMES = (
    *("sequence", "part", "camera", "raw", "decoder", "decoded"),
    *("odometry", "report", "result", "trajectory", "cloud"),
)


@pytest.mark.parametrize("name", NAMES)
def test_repr_is_one_short_line(shown: dict[str, Any], name: str) -> None:
    text = repr(shown[name])
    assert "\n" not in text and 10 < len(text) < 200
    assert "array(" not in text and " at 0x" not in text


@pytest.mark.parametrize("name", ["sequence", "part", "report", "result", "trajectory", "cloud"])
def test_html_is_small_closed_and_needs_nothing(shown: dict[str, Any], name: str) -> None:
    page = shown[name]._repr_html_()
    assert len(page) < 400_000
    assert "<script" not in page and not re.search(r"(?:src|href)=\"http", page)
    for tag in ("div", "table", "tr", "td", "svg"):
        assert page.count(f"<{tag}") == page.count(f"</{tag}>"), tag
    if name in ("result", "trajectory", "cloud"):
        assert "<svg" in page


def test_names_from_files_cannot_write_html(reported: RunResult) -> None:
    from dataclasses import replace

    page = replace(reported, name="<img src=x onerror=alert(1)>")._repr_html_()
    assert "<img" not in page


def path_along(*axes: int, n: int = 20) -> Trajectory:
    """A path that goes two units along the first axis and one along the second; cameras upright."""
    poses = np.tile(np.eye(4), (n, 1, 1))
    poses[:, axes[0], 3], poses[:, axes[1], 3] = np.linspace(0, 2, n), np.linspace(0, 1, n) ** 2
    return Trajectory(np.arange(n) / 10, poses)


@pytest.mark.parametrize(
    ("axes", "across", "upwards", "flipped"),
    [((0, 2), 0, 2, False), ((0, 1), 0, 1, True), ((2, 1), 2, 1, True)],
)
def test_right_is_right_and_up_is_up(axes: tuple[int, int], across: int, upwards: int, flipped: bool) -> None:
    """x right, y down, z forward: from above z goes up the page, from the front and the side y goes down."""
    path = path_along(*axes)
    plane = plane_of(path.positions, path.poses)
    assert (plane.across, plane.upwards, plane.flip_across, plane.flip_upwards) == (
        across,
        upwards,
        False,
        flipped,
    )


def test_in_a_world_with_z_up_the_plan_is_x_right_y_up() -> None:
    path = path_along(0, 1)
    upright = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # the camera's y axis is the world's −z
    path.poses[:, :3, :3] = upright
    plane = plane_of(path.positions, path.poses)
    assert (plane.across, plane.upwards, plane.flip_across, plane.flip_upwards) == (0, 1, False, False)


def test_a_plot_has_names_units_and_one_scale() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    axes = path_along(0, 1).plot(label="mine")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "y [m]")
    assert axes.yaxis_inverted() and not axes.xaxis_inverted() and axes.get_aspect() == 1.0
    again = path_along(0, 1).plot(axes, label="other")
    assert again is axes and axes.yaxis_inverted()
    pyplot.close(axes.figure)


def test_trajectory_indexes_and_slices() -> None:
    path = path_along(0, 2)
    time, pose = path[3]
    assert time == pytest.approx(0.3) and pose.shape == (4, 4)
    assert path[-1][0] == pytest.approx(1.9)
    assert len(path[5:10]) == 5 and path[5:10].times[0] == pytest.approx(0.5)
    assert len(path[path.times > 1.0]) == 9
    with pytest.raises(IndexError, match="pose 20 of 20"):
        path[20]
    assert path[np.int64(2)][0] == pytest.approx(0.2)


def test_pandas_has_every_pose() -> None:
    pytest.importorskip("pandas")
    path = path_along(0, 2)
    table = path.to_pandas()
    assert list(table.columns) == ["time", "x", "y", "z", "qx", "qy", "qz", "qw", "segment"]
    np.testing.assert_allclose(table[["x", "y", "z"]].to_numpy(), path.positions)
    assert (table.qw == 1).all()


def test_without_pandas_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        path_along(0, 2).to_pandas()


def test_empty_things_can_be_shown() -> None:
    nothing = Trajectory(np.zeros(0), np.zeros((0, 4, 4)))
    assert "0" in nothing._repr_html_() and repr(nothing) == "Trajectory(empty)"
    assert "0" in PointCloud(np.zeros((0, 3), np.float32))._repr_html_()
    assert "svg" in PointCloud(np.ones((1, 3), np.float32))._repr_html_()
