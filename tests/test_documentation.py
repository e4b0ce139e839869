# SPDX-License-Identifier: Apache-2.0
"""The documentation builds without a broken link, its figures are what the script draws, citations exist."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prism_vo.config import Config

ROOT = Path(__file__).resolve().parent.parent
SETTING = re.compile(r"`(select|track|window)\.(\w+) = ([\d.]+)`")
CITATION = re.compile(r"docs/([a-z-]+\.md)(?:``)?(?:, (eq\.|section) (\d+)(?:[–-](\d+))?)?")


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="MkDocs is not installed (extra docs)")
def test_builds_strictly(tmp_path: Path) -> None:
    command = [
        sys.executable,
        *["-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir"],
        str(tmp_path / "site"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "site" / "method" / "index.html").is_file()


def test_figures_are_what_the_script_draws() -> None:
    spec = importlib.util.spec_from_file_location("draw", ROOT / "docs" / "figures" / "draw.py")
    assert spec is not None and spec.loader is not None
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    for name, make in draw.FIGURES.items():
        assert (ROOT / "docs" / "figures" / name).read_text(encoding="utf-8") == str(make()), name


def test_every_cited_equation_and_section_exists() -> None:
    found = 0
    for source in (ROOT / "src").rglob("*.py"):
        for page, kind, first, last in CITATION.findall(source.read_text(encoding="utf-8")):
            path = ROOT / "docs" / page
            assert path.is_file(), f"{source}: cites {page}"
            text = path.read_text(encoding="utf-8")
            for number in range(int(first or 0), int(last or first or 0) + 1) if kind else ():
                wanted = rf"\({number}\)" if kind == "eq." else rf"^## {number}\. "
                assert re.search(wanted, text, re.M), f"{source}: {page} has no {kind} {number}"
                found += 1
    assert found >= 8


def test_defaults_named_in_the_method_are_the_defaults() -> None:
    config = Config()
    named = SETTING.findall((ROOT / "docs" / "method.md").read_text(encoding="utf-8"))
    assert len(named) >= 12
    for section, setting, value in named:
        assert getattr(getattr(config, section), setting) == pytest.approx(float(value)), (
            f"{section}.{setting}"
        )


def test_readme_links_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"(?:\]\(|src=\")([^)#\"]+)", text) if not link.startswith("http")]
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_pages_and_messages_name_only_commands_that_exist() -> None:
    from prism_vo.cli import COMMANDS

    known = {name for name, _, _ in COMMANDS}
    sources = (ROOT / "src").rglob("*.py")
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *sources]:
        for command in re.findall(r"prism-vo ([a-z][a-z-]+)", page.read_text(encoding="utf-8")):
            assert command in known or command in WORDS, f"{page.name}: prism-vo {command}"


WORDS = {"follows", "is", "and", "reads"}  # "prism-vo follows a camera": a sentence, not a command
