# SPDX-License-Identifier: Apache-2.0
"""The benchmark's page: what it is given is data in it, never markup or a template; it opens without the network."""

from __future__ import annotations

import re
from pathlib import Path

import chromium
import pytest
from markupsafe import escape

from prism_vo.bench.page import Picture, Section, render_report
from prism_vo.report.table import Table

HOSTILE = "<b>a</b> {{ title }} {% raw %} '\" & d_s' < 1.05"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)


@pytest.fixture
def page(tmp_path: Path) -> str:
    picture = tmp_path / "figure.png"
    picture.write_bytes(PIXEL)
    table = Table(HOSTILE, ("method", HOSTILE), (("m", HOSTILE),), HOSTILE)
    section = Section(HOSTILE, f"{HOSTILE}\n\nsecond", (table,), (Picture(picture, HOSTILE),))
    return render_report(HOSTILE, {HOSTILE: HOSTILE}, [section])


def test_names_are_plain_data_everywhere(page: str) -> None:
    words = str(escape(HOSTILE))
    assert "<b>a</b>" not in page
    for place in ("<title>{}</title>", "<h1>{}</h1>", '<a href="#s0">{}</a>', "<dt>{}</dt><dd>{}</dd>"):
        assert place.format(words, words) in page
    for place in ("<h2>{}</h2>", "<p>{}</p>", "<th>{}</th>", "<td>{}</td>", '<p class="quiet">{}</p>'):
        assert place.format(words) in page
    assert f'<img alt="{words}" src="data:image/png;base64,' in page
    assert "<p>second</p>" in page


def test_it_is_one_file(page: str) -> None:
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert addresses and all(a.startswith(("data:", "#s")) for a in addresses)


@pytest.mark.skipif(chromium.EXECUTABLE is None, reason="no Chromium on this machine (apt install chromium)")
def test_a_browser_shows_it_without_errors(page: str, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    script = """
    document.documentElement.dataset.theme = "light";
    document.getElementById("theme").click();
    const texts = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent);
    return {titles: texts("h1, h2"), cells: texts("td"), theme: document.documentElement.dataset.theme,
            loaded: [...document.images].map((i) => i.naturalWidth)};
    """
    found, errors, console = chromium.probe(tmp_path / "report.html", script, tmp_path)
    assert (errors, console) == ([], [])
    assert found == {"titles": [HOSTILE] * 2, "cells": ["m", HOSTILE], "theme": "dark", "loaded": [1]}
