# SPDX-License-Identifier: Apache-2.0
"""The report's pictures from real files: a small recording, run by a real method, drawn in full."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from plane_scene import Relief, decoded, pinhole_view, write_decoded_sequence

from prism_vo import se3
from prism_vo.baselines.spo import light_field_depth
from prism_vo.bench.figures import eta_of
from prism_vo.bench.plan import BenchPlan, BenchSequence
from prism_vo.bench.recordings import loop_ends, paths_of
from prism_vo.bench.run import run_bench
from prism_vo.bench.scene_figures import DepthView, depth_figure, error_by_distance, map_points
from prism_vo.bench.summary import Summary
from prism_vo.report.plots import save_figure


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "relief"
    write_decoded_sequence(folder, 44)
    return folder


def test_a_real_method_is_measured_and_drawn(recording: Path, tmp_path: Path) -> None:
    sequence = BenchSequence("relief", "loops", recording, 44)
    results = run_bench(BenchPlan((sequence,), ("spo", "rgbd"), 1, tmp_path / "results"), 2)
    assert [r["status"] for r in results.records] == ["ok", "ok"]
    assert results.records[0]["metrics"]["se3"]["rmse_t_percent"] < 1.0
    drawn = loop_ends(results, (sequence,))
    assert drawn is not None
    _, ends, truth = drawn
    depth = ends["spo"].start[:, 2]
    assert np.median(np.abs(depth - 1.3)) == pytest.approx(0.2, abs=0.03), "planes at 1.1 m and 1.5 m"
    paths = paths_of(results, sequence)
    assert paths is not None and np.abs(paths[0]["spo"] - truth).max() < 0.02
    page = Summary(results, (sequence,), tmp_path).write({"machine": "test"}).read_text()
    assert page.count("data:image/png") >= 2 and "Reconstruction" in page


def test_points_land_where_the_scene_is() -> None:
    view, rng, pose = pinhole_view(), np.random.default_rng(0), np.eye(4)
    pose[:3, 3] = 0.05, -0.02, 0.1
    image, depth = Relief().render(view, pose)
    points = map_points(light_field_depth(decoded(view, image, depth, rng, 1e-5)), view, pose)
    distance = np.minimum(np.abs(points[:, 2] - 1.5), np.abs(points[:, 2] - 1.1))
    assert len(points) > 2000 and np.percentile(distance, 99) < 5e-3
    assert se3.transform(pose, np.zeros(3)) == pytest.approx(pose[:3, 3])


def test_depth_picture_and_its_error_curve(tmp_path: Path) -> None:
    view = pinhole_view()
    image, depth = Relief().render(view, np.eye(4))
    truth = depth.astype(np.float32)
    distance, error = error_by_distance(1.02 * truth, truth)
    assert error == pytest.approx(0.02, rel=1e-3) and distance[0] < distance[-1]
    holes = np.where(image > 60, 1.01 * truth, np.nan).astype(np.float32)
    save_figure(depth_figure(DepthView(image, holes, truth, truth)), tmp_path / "depth.png")
    assert (tmp_path / "depth.png").stat().st_size > 10_000


def test_eta_comes_with_its_frame() -> None:
    stats = [{"frame": 0}, {"frame": 4, "eta": 30.0}, {"frame": 9, "eta": None}, {"frame": 12, "eta": 31.0}]
    assert eta_of(stats).tolist() == [[4.0, 30.0], [12.0, 31.0]]
