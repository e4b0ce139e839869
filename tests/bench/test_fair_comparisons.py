# SPDX-License-Identifier: Apache-2.0
"""Nobody wins by covering less, by writing keyframes only, or by there being no other result."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from trajectories import loop_poses

from prism_vo.baselines.external import ProgramSettings, ProgramsFile
from prism_vo.bench.common_poses import compared, pair_sentence, pair_table
from prism_vo.bench.jobs import RESULT, Job, execute, recover_attempts, run_isolated, stored_result
from prism_vo.bench.plan import BenchPlan, BenchSequence
from prism_vo.bench.results import Results
from prism_vo.bench.summary import verdict
from prism_vo.bench.tables import cost_table
from prism_vo.evaluate.coverage import coverage_of
from prism_vo.evaluate.metrics import evaluate_trajectory
from prism_vo.trajectory import Trajectory, write_trajectory
from prism_vo.workers.executors import unsafe_scheduler


def record(method: str, drift: float | None, folder: Path, **more: object) -> dict[str, object]:
    job = Job("loop", "/loop", "loops", method, 0, str(folder))
    figures = dict.fromkeys(("d_s_prime", "e_s_prime", "e_r_deg", "e_align_percent"), drift)
    aligned = dict.fromkeys(("rmse_t_m", "rmse_t_percent", "rmse_r_deg", "rpe_t_m"), 0.1)
    metrics = {"se3": aligned, "sim3": aligned, "drift": figures if drift else None, "scale_error": 0.0}
    state = {"status": "ok", "alignment": "SE(3)", "frames": 100, "lost": 0, "method_seconds": 1.0}
    return {"job": asdict(job), "metrics": metrics, **state, **more}


def test_no_win_without_a_result(tmp_path: Path) -> None:
    ours, none = record("prism", 1.1, tmp_path), record("dso", None, tmp_path)
    words = verdict(Results((ours, none)))
    assert "best" not in words and "Without a result" in words and "dso" in words
    assert "is best in" in verdict(Results((ours, record("spo", 1.2, tmp_path))))
    assert "not best" in verdict(Results((ours, record("spo", 1.05, tmp_path))))


def test_keyframes_alone_are_measured_on_the_ends_of_the_loop() -> None:
    truth = loop_poses(140)
    whole = Trajectory(truth.times, truth.poses)
    keyframes = whole.select(np.arange(0, 140, 4))
    measured = evaluate_trajectory(keyframes, whole, segment_share=0.2)
    assert measured.drift is not None and measured.drift.e_align_percent < 1e-6
    assert 5 <= measured.drift.start_poses < 20
    few = evaluate_trajectory(whole.select(np.arange(0, 140, 40)), whole, segment_share=0.2)
    assert few.drift is None and "keyframes" in few.drift_refusal


def test_coverage_tells_keyframes_from_lost_frames() -> None:
    frames = np.arange(100) * 0.1
    assert coverage_of(frames, frames).pose_share == 1.0
    keyframes = coverage_of(frames[::5], frames)
    assert keyframes.poses == 20 and keyframes.spanned_share == pytest.approx(0.96)
    three = coverage_of(frames[[0, 1, 2]], frames)
    assert three.spanned_share == pytest.approx(0.03)
    gap = coverage_of(np.concatenate([frames[:20], frames[80:]]), frames)
    assert gap.spanned_share == pytest.approx(0.4)
    assert coverage_of(frames[:0], frames).spanned_share == 0.0


def test_a_few_poses_are_no_result(loop_folder: Path, tmp_path: Path) -> None:
    job = Job("loop", str(loop_folder), "loops", "stand_in_methods:FEW", 0, str(tmp_path / "final"))
    found = execute(job, tmp_path)
    assert found["status"] == "failed" and "3 poses of 140 frames" in found["error"]


def test_messages_name_the_folder_that_will_be_there(loop_folder: Path, tmp_path: Path) -> None:
    job = Job("loop", str(loop_folder), "loops", "stand_in_methods:LOGS", 0, str(tmp_path / "final"))
    found = execute(job, tmp_path / "attempt")
    assert str(tmp_path / "final" / "x.log") in found["error"] and "attempt" not in found["error"]


def test_methods_are_compared_on_the_poses_both_have(loop_folder: Path, tmp_path: Path) -> None:
    truth = loop_poses(140)
    bent = truth.poses.copy()
    bent[100:, :3, 3] *= 1.5  # wrong in its last part, which the other never saw
    records = []
    for name, poses, part in (("prism", bent, 140), ("dso", truth.poses, 90)):
        (tmp_path / name).mkdir()
        write_trajectory(Trajectory(truth.times[:part], poses[:part]), tmp_path / name / "trajectory.txt")
        records.append(record(name, 1.1, tmp_path / name))
    pairs = compared(Results(tuple(records)), [BenchSequence("loop", "loops", loop_folder, 140)])
    (pair,) = pairs
    assert pair.share == pytest.approx(90 / 140) and pair.ours == pytest.approx(pair.theirs, abs=1e-6)
    assert "64" in pair_table(pairs).text() and "64 % of the frames" in pair_sentence(pairs)
    assert compared(Results(tuple(records[:1])), [BenchSequence("loop", "loops", loop_folder, 140)]) == []


def test_jobs_depend_on_what_the_programs_file_says_of_them(tmp_path: Path) -> None:
    file = tmp_path / "programs.yaml"
    sequence = BenchSequence("loop", "loops", tmp_path, 100)

    def jobs(text: str | None) -> dict[str, Job]:
        if text is not None:
            file.write_text(text)
        plan = BenchPlan((sequence,), ("prism", "dso", "dpvo"), 1, tmp_path, None if text is None else file)
        return {job.method: job for job in plan.jobs()}

    without, first = jobs(None), jobs("dso: {executable: [/a/dso]}\n")
    second = jobs("dso: {executable: [/b/dso]}\n")
    assert without["prism"] == first["prism"], "ours are not run again because somebody else is"
    assert first["dso"] != second["dso"] and first["dpvo"] == second["dpvo"] == without["dpvo"]
    settings = ProgramsFile.model_validate_json(first["dso"].programs or "")
    assert settings.dso == ProgramSettings(executable=("/a/dso",))


def test_shares_are_measured(tmp_path: Path) -> None:
    sparse = record("dso", 1.1, tmp_path, coverage={"pose_share": 0.2, "spanned_share": 0.95})
    text = cost_table(Results((sparse,))).text()
    assert "20.00" in text and "95.00" in text


def test_finished_work_of_a_killed_benchmark_is_taken_over(loop_folder: Path, tmp_path: Path) -> None:
    job = Job("loop", str(loop_folder), "loops", "stand_in_methods:GOOD", 0, str(tmp_path / "r" / "run_00"))
    run_isolated(job)
    Path(job.folder).rename(tmp_path / "r" / ".run_00-abcdef012345")
    (tmp_path / "r" / ".run_00-000000000000").mkdir()
    assert stored_result(job) is None
    recover_attempts(job)
    assert stored_result(job) is not None
    assert [p.name for p in (tmp_path / "r").iterdir()] == ["run_00"]
    recover_attempts(replace(job, run=1))
    assert (Path(job.folder) / RESULT).is_file()


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("tcp://127.0.0.1:8786", True),
        ("localhost:8786", True),
        ("tcp://[::1]:8786", True),
        ("tls://far.example:8786", True),
        ("tcp://far.example:8786", False),
        ("tcp://10.0.0.7:8786", False),
    ],
)
def test_an_open_scheduler_is_warned_of(address: str, safe: bool) -> None:
    warning = unsafe_scheduler(address)
    assert (warning is None) == safe and (safe or "closed network" in str(warning))
