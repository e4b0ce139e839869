# SPDX-License-Identifier: Apache-2.0
"""``report.html`` of a benchmark: one file that opens offline, tables and figures with how they were made."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prism_vo import __version__
from prism_vo.report.table import Table
from prism_vo.report.templating import render


@dataclass(frozen=True)
class Picture:
    """A PNG on disk and what it shows."""

    path: Path
    caption: str

    @property
    def uri(self) -> str:
        """The picture itself, as a page holds it."""
        return "data:image/png;base64," + base64.b64encode(self.path.read_bytes()).decode("ascii")


@dataclass(frozen=True)
class Section:
    """A chapter of the report; an empty line in its text begins a paragraph."""

    title: str
    text: str = ""
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()

    @property
    def paragraphs(self) -> list[str]:
        """The text, cut at its empty lines."""
        return [part for part in self.text.split("\n\n") if part]


def render_report(title: str, facts: Mapping[str, str], sections: Sequence[Section]) -> str:
    """The whole page; ``facts`` are the settings that every figure in it shares."""
    return render(
        "bench.html", title=title, subtitle=f"prism-vo {__version__}", facts=facts, sections=sections
    )
