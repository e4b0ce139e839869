# SPDX-License-Identifier: Apache-2.0
"""The dense map of a short recording: true, complete, the same bytes whenever and however it is made."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_vo import se3
from prism_vo.cli import main
from prism_vo.cloud import read_ply
from prism_vo.datasets import open_sequence
from prism_vo.datasets.source import Stream
from prism_vo.dense.densify import DenseMap, densify
from prism_vo.dense_run import DenseSink, FinishedRun, refined_view
from prism_vo.errors import InputError
from prism_vo.evaluate.decoding import TEXTURE_GRADIENT, gradient_magnitude
from prism_vo.evaluate.surface import depth_errors, seen_depth
from prism_vo.lightfield import Decoder
from prism_vo.optics.focus import FocusModel
from prism_vo.optics.lens import LensModel
from prism_vo.results import DENSE, MAP
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.write import simulate_sequence
from prism_vo.trajectory import Trajectory, read_trajectory

FRAMES, TRUTH = 21, 10


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dense") / "table"
    return simulate_sequence(
        "table", folder, SimulateOptions(camera="mini", frames=FRAMES, truth_every=TRUTH)
    )


@pytest.fixture(scope="module")
def mapped(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dense-results") / "table"
    assert main(["run", str(table), "--out", str(out), "--dense", "--no-report", "--no-check", "-q"]) == 0
    return out


def test_map_is_true_and_much_better_than_a_single_image(table: Path, mapped: Path) -> None:
    sequence = open_sequence(table)
    mesh = FinishedRun.read(mapped).dense(sequence).mesh
    decoder, path = Decoder(sequence.camera, white=sequence.white), read_trajectory(mapped / "trajectory.txt")
    truth, raw = np.load(table / "depth" / f"{TRUTH:06d}.npy"), sequence[TRUTH]
    decoded = decoder.dense(raw)  # type: ignore[arg-type]
    assert decoded.inv_virtual_depth is not None
    textured = gradient_magnitude(decoded.image) >= TEXTURE_GRADIENT
    single = decoder.view.depth_of(decoder.view.inv_depth_from_virtual(decoded.inv_virtual_depth))
    pose = se3.inverse(path.poses[TRUTH])
    seen = seen_depth(mesh.vertices, mesh.triangles, pose, decoder.view)
    of_one, of_map = (depth_errors(depth, truth, textured) for depth in (single, seen))
    # 192 × 192 px and 15 cm of path; most of the error is the scale that such a path leaves open
    assert of_map.median_percent < 1.0
    assert of_map.median_percent < 0.5 * of_one.median_percent
    assert of_map.covered > 0.6
    assert of_map.wrong < 0.1


def test_normals_face_the_camera_and_sigma_is_honest(table: Path, mapped: Path) -> None:
    cloud = read_ply(mapped / MAP)
    assert cloud.normals is not None
    assert cloud.sigma is not None
    assert cloud.colors is not None
    centres = read_trajectory(mapped / "keyframes.txt").positions
    towards = [((centre - cloud.points) * cloud.normals).sum(1) for centre in centres]
    assert (np.max(towards, 0) > 0).mean() > 0.97
    sequence = open_sequence(table)
    truth = np.load(table / "depth" / f"{TRUTH:06d}.npy")
    view = sequence.camera.view()
    seen = se3.transform(
        se3.inverse(read_trajectory(mapped / "trajectory.txt").poses[TRUTH]), cloud.points.astype(float)
    )
    x, y = np.rint(view.project(seen)).astype(int).T
    inside = (x >= 0) & (y >= 0) & (x < view.width) & (y < view.height)
    x, y, seen, sigma = x[inside], y[inside], seen[inside], cloud.sigma[inside]
    off = seen[:, 2] - truth[y, x]
    off -= np.median(off / truth[y, x]) * truth[y, x]  # the scale of the run is not part of it
    assert 0.3 < 1.4826 * np.median(np.abs(off / sigma)) < 1.5


def test_the_same_bytes_later_and_with_one_thread(table: Path, mapped: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    shutil.copytree(mapped, again)
    for name in DENSE:
        (again / name).unlink()
    assert main(["dense", str(again), "-q"]) == 0
    for name in DENSE:
        assert (again / name).read_bytes() == (mapped / name).read_bytes()
    run, sequence = FinishedRun.read(mapped), open_sequence(table)
    one, two = (_first_keyframes(run, sequence, threads) for threads in (1, 2))
    assert one.mesh.vertices.tobytes() == two.mesh.vertices.tobytes()
    assert one.mesh.triangles.tobytes() == two.mesh.triangles.tobytes()


def _first_keyframes(run: FinishedRun, sequence: Any, threads: int) -> DenseMap:
    from prism_vo.dense.frames import KeyframeReader

    keyframes = read_trajectory(run.folder / "keyframes.txt")
    decoder = Decoder(sequence.camera, white=sequence.white)
    indices = [int(np.argmin(np.abs(sequence.times - t))) for t in keyframes.times[:4]]
    reader = KeyframeReader(sequence.__getitem__, decoder, decoder.view, indices, keyframes.poses)
    return densify(reader, len(indices), decoder.view, threads)


def test_the_view_is_the_one_that_the_run_ended_with(table: Path) -> None:
    camera = open_sequence(table).camera
    view, focus, lens = camera.view(), FocusModel.of(camera.view(), camera), LensModel.of(camera)
    moved = focus.at(0.01)
    assert refined_view(view, camera, focus.refined(0.01, 1e-3)).w_infinity == pytest.approx(moved.w_infinity)
    other = lens.moved(moved, np.array([0.03, 2.0, -1.5]))
    found = refined_view(view, camera, lens.refined(focus.refined(0.01, 1e-3), other, lens.sigma))
    for name in ("focal_px", "cx", "cy", "w_infinity", "kappa"):
        assert getattr(found, name) == pytest.approx(getattr(other, name), rel=1e-9), name


def test_what_is_there_is_not_overwritten(mapped: Path, capsys: Any) -> None:
    before = (mapped / MAP).read_bytes()
    assert main(["dense", str(mapped)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert (mapped / MAP).read_bytes() == before


def test_folders_without_a_run_or_recording_are_refused(mapped: Path, tmp_path: Path, capsys: Any) -> None:
    assert main(["dense", str(tmp_path)]) == 2
    assert "has no keyframes.txt" in capsys.readouterr().err
    moved = tmp_path / "moved"
    shutil.copytree(mapped, moved)
    settings = (moved / "config.yaml").read_text().splitlines()
    (moved / "config.yaml").write_text(
        "\n".join("path: /nowhere" if line.startswith("path:") else line for line in settings)
    )
    assert main(["dense", str(moved), "--force"]) == 2
    assert "--sequence" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("keyframes.txt", "# nothing\n"),
        ("config.yaml", "[]\n"),
        ("config.yaml", "settings: 3\n"),
        ("camera_refined.yaml", "{}\n"),
    ],
)
def test_damaged_results_are_refused_in_one_sentence(
    mapped: Path, tmp_path: Path, capsys: Any, name: str, text: str
) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(mapped, damaged)
    (damaged / name).write_text(text)
    before = (damaged / MAP).read_bytes()
    assert main(["dense", str(damaged), "--force", "-q"]) == 2
    said = capsys.readouterr().err
    assert str(damaged) in said
    assert said.count("\n") == 1
    assert (damaged / MAP).read_bytes() == before


def test_a_short_run_says_why_it_has_no_map(table: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "short"
    arguments = [
        "run",
        str(table),
        "--frames",
        "2",
        "--out",
        str(out),
        "--dense",
        "--no-report",
        "--no-check",
    ]
    assert main(arguments) == 0
    assert "a dense map needs 3" in capsys.readouterr().out
    assert not (out / MAP).exists()


def test_frames_that_come_once_have_no_dense_map(table: Path, tmp_path: Path) -> None:
    sequence = open_sequence(table)
    with pytest.raises(InputError, match="only once"):
        DenseSink(tmp_path, Stream(iter(sequence), sequence.camera))


def test_the_largest_world_is_mapped() -> None:
    poses = np.tile(np.eye(4), (5, 1, 1))
    both = Trajectory(np.arange(5.0), poses, np.array([0, 0, 1, 1, 1], np.int32))
    assert both.in_segment(both.largest_segment).times.tolist() == [2.0, 3.0, 4.0]
