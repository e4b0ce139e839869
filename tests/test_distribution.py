# SPDX-License-Identifier: Apache-2.0
"""Wheel and sdist hold the package, the citation is valid, the image for Docker runs as nobody special."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import distribution  # noqa: E402
import release_check  # noqa: E402


def test_wheel_and_sdist_are_whole_and_start(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed (extra dev)")
    assert distribution.faults_of_both(tmp_path) == []


def test_a_wheel_without_its_pages_is_noticed(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed (extra dev)")
    import zipfile

    wheel, _ = distribution.build(tmp_path)
    poorer = tmp_path / "poorer.whl"
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(poorer, "w") as part:
        for name in whole.namelist():
            if not name.endswith("run.html"):
                part.writestr(name, whole.read(name))
    assert distribution.wheel_faults(poorer) == ["the wheel lacks prism_vo/report/templates/run.html"]


def test_citation_is_valid_and_of_this_version() -> None:
    assert release_check.citation_faults() == []


def test_citation_keeps_to_the_schema() -> None:
    cffconvert = pytest.importorskip("cffconvert")
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    cffconvert.Citation(text).validate()


def test_release_questions_have_answers() -> None:
    assert {name for name, _ in release_check.QUESTIONS} >= {"version", "changelog", "citation"}
    for ask in (release_check.version_faults, release_check.changelog_faults, release_check.address_faults):
        assert all(isinstance(fault, str) for fault in ask())


def test_docker_image_is_slim_has_no_root_and_shows_the_demo() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    bases = re.findall(r"^FROM (\S+)", text, re.M)
    assert len(bases) == 2 and all(base.endswith("-slim") for base in bases)
    user = re.findall(r"^USER (\S+)", text, re.M)
    assert user and user[-1] not in ("root", "0")
    assert re.search(r'^CMD \["prism-vo", "demo"\]$', text, re.M)
    assert text.rindex("USER ") < text.rindex("CMD ")
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.M)
    assert all((ROOT / name).exists() for line in copied for name in line.split())
