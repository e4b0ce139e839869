# SPDX-License-Identifier: Apache-2.0
"""What docs/extending.md shows works as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from decoded_frames import CAMERA, VIEW, wall

from prism_vo import Odometry, Stream, run
from prism_vo.report.sink import ReportSink
from prism_vo.sensor import Sensor
from prism_vo.types import DecodedFrame

PAGE = Path(__file__).resolve().parent.parent / "docs" / "extending.md"


@pytest.fixture(scope="module")
def sensor_class() -> type[Sensor]:
    """The class in the section on sensors."""
    section = PAGE.read_text(encoding="utf-8").split("## A sensor")[1]
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", section, re.S)[0], names)
    return names["ExactSensor"]


def blind(frames: list[DecodedFrame]) -> list[DecodedFrame]:
    """The images alone, without the depth that came with them."""
    return [DecodedFrame(f.index, f.time, f.view, f.image, None, None, None) for f in frames]


def test_a_sensor_written_from_the_page_tracks_in_metres_and_gives_dense_maps(
    sensor_class: type[Sensor],
) -> None:
    frames, truth = wall(8)
    maps = [VIEW.depth_of(VIEW.inv_depth_from_virtual(f.inv_virtual_depth)) for f in frames]
    sensor = sensor_class(VIEW, maps)  # type: ignore[call-arg]
    odometry = Odometry(CAMERA, sensor=sensor)
    reports = [odometry(frame) for frame in blind(list(frames))]
    assert {r.status for r in reports} == {"ok", "keyframe"}
    moved = np.linalg.norm(reports[-1].T_world_cam[:3, 3] - reports[0].T_world_cam[:3, 3])
    assert moved == pytest.approx(np.linalg.norm(truth[7][:3, 3] - truth[0][:3, 3]), rel=0.01)
    dense = sensor.dense(blind(list(frames))[0])
    np.testing.assert_allclose(dense.inv_virtual_depth, frames[0].inv_virtual_depth, atol=1e-6)


def test_a_generator_of_frames_is_run_with_results_and_report(tmp_path: Path) -> None:
    frames, _ = wall(8)

    def camera_driver() -> Iterator[DecodedFrame]:
        yield from frames

    seen: list[int | None] = []
    result = run(
        Stream(camera_driver(), CAMERA, name="driver"),
        out=tmp_path / "out",
        sinks=[ReportSink(tmp_path / "out")],
        progress=lambda done, total, report: seen.append(total),
    )
    assert result.name == "driver" and len(result.reports) == 8 and seen == [None] * 8
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    assert len((tmp_path / "out" / "trajectory.txt").read_text().splitlines()) > 8


def test_only_as_many_frames_as_asked_for_are_taken_from_a_generator() -> None:
    frames, _ = wall(8)
    taken: list[int] = []

    def endless() -> Iterator[DecodedFrame]:
        for frame in frames:
            taken.append(frame.index)
            yield frame
        raise AssertionError("asked for more than was wanted")

    result = run(Stream(endless(), CAMERA), frames=5)
    assert len(result.reports) == 5 and taken == [0, 1, 2, 3, 4]
