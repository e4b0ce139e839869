# SPDX-License-Identifier: Apache-2.0
"""``prism-vo eval`` from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from trajectories import disturbed, loop_poses, random_similarity

from prism_vo.cli import main
from prism_vo.evaluate.metrics import evaluate_trajectory
from prism_vo.trajectory import Trajectory, TrajectoryFormat, write_trajectory


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    truth = loop_poses()
    estimate = disturbed(truth, 1, random_similarity(1, 0.98))
    write_trajectory(Trajectory(truth.times, truth.poses), tmp_path / "truth.txt")
    write_trajectory(Trajectory(estimate.times, estimate.poses), tmp_path / "estimate.txt")
    return tmp_path / "estimate.txt", tmp_path / "truth.txt"


def test_table_json_latex_and_plot(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["eval", str(files[0]), str(files[1]), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "SE(3)" in printed and "Sim(3)" in printed and "e_align %" in printed

    truth = loop_poses()
    expected = evaluate_trajectory(disturbed(truth, 1, random_similarity(1, 0.98)), truth)
    record = json.loads((out / "metrics.json").read_text())["estimates"]["estimate"]
    assert record["se3"]["rmse_t_m"] == pytest.approx(expected.se3.rmse_t, rel=1e-9)
    assert record["sim3"]["alignment"] == "Sim(3)"
    assert expected.drift is not None
    assert record["drift"]["e_align_percent"] == pytest.approx(expected.drift.e_align_percent, rel=1e-9)
    latex = (out / "tables.tex").read_text()
    assert latex.count(r"\begin{tabular}") == 2 and r"RMSE\_t \%" in latex
    assert (out / "trajectory.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("form", ["kitti", "euroc"])
def test_several_estimates_in_any_format(
    form: TrajectoryFormat, files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = loop_poses()
    other = tmp_path / "other" / f"estimate.{'csv' if form == 'euroc' else 'txt'}"
    other.parent.mkdir()
    write_trajectory(Trajectory(truth.times, truth.poses), other, form)
    out = tmp_path / "out"
    assert main(["eval", str(files[0]), str(other), str(files[1]), "--out", str(out), "--no-plot"]) == 0
    records = json.loads((out / "metrics.json").read_text())["estimates"]
    assert len(records) == 2 and not (out / "trajectory.png").exists()
    errors = sorted(r["se3"]["rmse_t_m"] for r in records.values())
    assert errors[0] < 1e-9 < errors[1]
    assert "other/estimate" in capsys.readouterr().out


def test_results_and_sequence_folders_stand_for_their_files(files: tuple[Path, Path], tmp_path: Path) -> None:
    results, sequence = tmp_path / "results", tmp_path / "sequence"
    results.mkdir()
    sequence.mkdir()
    files[0].rename(results / "trajectory.txt")
    files[1].rename(sequence / "groundtruth.txt")
    assert main(["eval", str(results), str(sequence), "--out", str(tmp_path / "out"), "--no-plot"]) == 0
    assert "results" in json.loads((tmp_path / "out/metrics.json").read_text())["estimates"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{estimate}"], "at least two files"),
        (["{estimate}", "nowhere.txt"], "nowhere.txt: no such file"),
        (["{estimate}", "{truth}", "--segment-share", "0.7"], "--segment-share"),
        (["{late}", "{truth}"], "no time stamps within"),
    ],
)
def test_refusals_are_one_sentence_and_write_nothing(
    arguments: list[str],
    sentence: str,
    files: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    truth = loop_poses()
    write_trajectory(Trajectory(truth.times + 1e4, truth.poses), tmp_path / "late.txt")
    names = {"estimate": files[0], "truth": files[1], "late": tmp_path / "late.txt"}
    out = tmp_path / "out"
    assert main(["eval", *(a.format(**names) for a in arguments), "--out", str(out)]) == 2
    message = capsys.readouterr().err
    assert sentence in message and message.count("\n") == 1
    assert not out.exists()


def test_a_short_loop_says_why_it_has_no_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = loop_poses(60)
    write_trajectory(Trajectory(short.times, short.poses), tmp_path / "short.txt")
    arguments = [
        "eval",
        str(tmp_path / "short.txt"),
        str(tmp_path / "short.txt"),
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*arguments, "--no-plot"]) == 0
    assert "start segment has 9 poses" in capsys.readouterr().out


def test_the_table_is_in_millimetres(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["eval", str(files[0]), str(files[1]), "--out", str(out), "--no-plot"]) == 0
    printed = capsys.readouterr().out
    assert "RMSE_t mm" in printed and "max mm" in printed and "RPE mm" in printed
    record = json.loads((out / "metrics.json").read_text())["estimates"]["estimate"]
    row = next(line for line in printed.splitlines() if line.startswith("estimate ") and "SE(3)" in line)
    assert float(row.split()[5]) == pytest.approx(1e3 * record["se3"]["rmse_t_m"], rel=5e-3)


def test_paths_are_drawn_upright(files: tuple[Path, Path]) -> None:
    from prism_vo.evaluate.association import as_series
    from prism_vo.report.plots import trajectory_figure

    pytest.importorskip("matplotlib")
    truth = loop_poses()  # cameras upright: the world's y points down
    estimate = as_series(disturbed(truth, 1, random_similarity(1, 0.98)))
    figure = trajectory_figure(
        {"a": estimate}, as_series(truth), {"a": evaluate_trajectory(estimate, truth)}, "SE(3)"
    )
    plan, _, height, _ = figure.axes
    assert (plan.get_xlabel(), plan.get_ylabel()) == ("x [m]", "z [m]")
    assert not plan.xaxis_inverted() and not plan.yaxis_inverted()
    assert "seen from above" in plan.get_title(loc="left")
    assert height.get_ylabel() == "y [m]" and height.yaxis_inverted()


def test_somebodys_own_files_are_not_written_among(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "tables.md").write_text("my thesis")
    arguments = ["eval", str(files[0]), str(files[1]), "--out", str(mine), "--no-plot"]
    assert main(arguments) == 2
    assert "holds files that are not results of `prism-vo eval`" in capsys.readouterr().err
    assert (mine / "tables.md").read_text() == "my thesis" and len(list(mine.iterdir())) == 1
    assert main([*arguments, "--force"]) == 0 and "thesis" not in (mine / "tables.md").read_text()
    assert main(arguments) == 0, "its own folder is written again"
