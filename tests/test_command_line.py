# SPDX-License-Identifier: Apache-2.0
"""What every command has in common: usage with names, -q, completion, and no flags that mean nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from prism_vo.cli import CALIBRATE_COMMANDS, COMMANDS, main
from prism_vo.commands.evaluate import distinct_names
from prism_vo.pipeline import RunResult

NAMES = [name for name, _, _ in COMMANDS] + [f"calibrate {name}" for name, _, _ in CALIBRATE_COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_help_names_its_arguments_and_has_quiet(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    page = capsys.readouterr().out
    usage = page.splitlines()[0]
    assert usage.startswith(f"Usage: prism-vo {name} ") and "ARGS" not in usage
    assert "--quiet" in page and "-q" in page
    assert "--empty-" not in page


def test_quiet_commands_print_nothing(
    recording: Path, reported: RunResult, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    truth = str(recording)
    for arguments in (
        ["config", "-q"],
        ["info", truth, "--no-check", "--quiet"],
        ["eval", str(reported.out), truth, "--no-plot", "--out", str(tmp_path / "eval"), "-q"],
        ["view", str(reported.out), "--no-open", "-q"],
        ["simulate", "--list", "-q"],
        ["depth", f"{truth}/raw/000000.png", "--out", str(tmp_path / "depth"), "-q"],
        ["export", str(reported.out), "--as", "tum", "--out", str(tmp_path / "path.txt"), "-q"],
    ):
        assert main(arguments) == 0, arguments
        printed = capfd.readouterr()
        assert printed.out == "" and printed.err == "", arguments


def test_quiet_commands_still_name_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(tmp_path / "nowhere"), "-q"]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and "no such file or folder" in printed.err


def test_quiet_ends_with_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "-q"])
    main(["config"])
    assert "variant" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_completion_is_installed_and_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert main(["--install-completion", "--shell", "bash"]) == 0
    assert "prism-vo" in capsys.readouterr().out
    script = next(p for p in tmp_path.rglob("prism-vo*") if p.is_file())
    program = f"""
        source {script}
        complete_words() {{
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            $(complete -p prism-vo | sed 's/.*-F \\([^ ]*\\).*/\\1/')
            echo "${{COMPREPLY[@]}}"
        }}
        complete_words prism-vo ex
        complete_words prism-vo export results --as ner
        complete_words prism-vo calibrate g
    """
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["export", "nerfstudio", "grid"], done.stderr


def test_runs_have_their_names_in_tables(tmp_path: Path) -> None:
    for name in ("walk", "walk.v2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "trajectory.txt").write_text("")
        (tmp_path / name / "keyframes.txt").write_text("")
    other = tmp_path / "orbslam.txt"
    other.write_text("")
    paths = (tmp_path / "walk/trajectory.txt", tmp_path / "walk/keyframes.txt", tmp_path / "walk.v2", other)
    assert distinct_names(paths) == ["walk", "walk keyframes", "walk.v2", "orbslam"]


def test_the_folder_one_stands_in_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "walk").mkdir()
    (tmp_path / "walk" / "trajectory.txt").write_text("")
    monkeypatch.chdir(tmp_path / "walk")
    assert distinct_names((Path("."),)) == ["walk"]
    assert distinct_names((Path("trajectory.txt"),)) == ["walk"]
