# SPDX-License-Identifier: Apache-2.0
"""The documentation builds without a broken link and fetches nothing from elsewhere; its equations can be typeset, its
figures are what the script draws, and what the code cites exists."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import prism_vo
from prism_vo.config import Config

ROOT = Path(__file__).resolve().parent.parent
SETTING = re.compile(r"`(select|track|window)\.(\w+) = ([\d.]+)`")
CITATION = re.compile(r"docs/([a-z-]+\.md)(?:``)?(?:, (eq\.|section) (\d+)(?:[–-](\d+))?)?")
BLOCK, INLINE = r"^```math\n(.*?)^```$", r"(?<![\w$])\$([^$\n]+)\$(?!\w)"
EQUATION = re.compile(f"{BLOCK}|{INLINE}", re.S | re.M)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation built strictly, in a copy: nothing is left in the working tree."""
    pytest.importorskip("zensical", reason="Zensical is not installed (extra docs)")
    copy = tmp_path_factory.mktemp("documentation")
    shutil.copy(ROOT / "mkdocs.yml", copy)
    for folder in ("docs", "src"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", "mkdocs.yml"],
        cwd=copy,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return copy / "site"


def test_reference_describes_every_public_name(site: Path) -> None:
    page = (site / "reference.html").read_text(encoding="utf-8")
    missing = [name for name in prism_vo.__all__ if f'id="prism_vo.{name}"' not in page]
    assert not missing


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.glob("*.html"))
    assert (site / "method.html") in pages
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe)[^>]+src=\"?(?:https?:)?//[^>]*>", text), page.name
        assert not re.findall(
            r"<link[^>]+rel=\"?(?:stylesheet|preconnect)[^>]+href=\"?(?:https?:)?//", text
        ), page.name
        for source in re.findall(r"<(?:script|img)[^>]+src=\"([^\":]+)\"", text):
            assert (site / source.lstrip("/")).is_file(), f"{page.name}: {source}"


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_equations_can_be_typeset() -> None:
    program = """
        const katex = require(process.argv[1]);
        for (const latex of JSON.parse(require("fs").readFileSync(0)))
            katex.renderToString(latex, {throwOnError: true, displayMode: true, strict: "error"});
    """
    equations = [
        "".join(found)
        for page in (ROOT / "docs").glob("*.md")
        for found in EQUATION.findall(re.sub(r"`[^`\n]+`", "", page.read_text(encoding="utf-8")))
    ]
    assert len(equations) > 100
    done = subprocess.run(
        ["node", "-e", program, str(ROOT / "docs" / "assets" / "katex" / "katex.min.js")],
        input=json.dumps(equations),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]


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
                wanted = rf"\\tag\{{{number}\}}" if kind == "eq." else rf"^## {number}\. "
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


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_outside_the_site_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"(?:\]\(|src=\")([^)#\"]+)", text) if not link.startswith("http")]
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_pages_and_messages_name_only_commands_that_exist() -> None:
    from prism_vo.cli import COMMANDS

    known = {name for name, _, _ in COMMANDS} | {"calibrate"}  # a group of commands
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for command in re.findall(r"prism-vo ([a-z][a-z-]+)", page.read_text(encoding="utf-8")):
            assert command in known or command in WORDS, f"{page.name}: prism-vo {command}"


WORDS = {"follows", "is", "and", "reads"}  # "prism-vo follows a camera": a sentence, not a command
