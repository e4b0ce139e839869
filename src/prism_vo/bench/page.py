# SPDX-License-Identifier: Apache-2.0
"""``report.html`` of a benchmark: one file that opens offline, tables and figures with how they were made."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prism_vo.report.table import Table


@dataclass(frozen=True)
class Section:
    """A chapter of the report."""

    title: str
    text: str = ""
    tables: tuple[Table, ...] = ()
    figures: tuple[tuple[Path, str], ...] = ()  # PNG and caption


@dataclass(frozen=True)
class Report:
    """Title, the settings every figure shares, and the chapters."""

    title: str
    facts: Mapping[str, str]
    sections: tuple[Section, ...] = field(default_factory=tuple)

    def html(self) -> str:
        """The whole page."""
        facts = "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in self.facts.items())
        links = "".join(f"<a href='#s{k}'>{html.escape(s.title)}</a>" for k, s in enumerate(self.sections))
        body = "".join(_section(k, s) for k, s in enumerate(self.sections))
        return PAGE.format(title=html.escape(self.title), facts=facts, links=links, body=body)


def _section(index: int, section: Section) -> str:
    text = "".join(f"<p>{html.escape(p)}</p>" for p in section.text.split("\n\n") if p)
    figures = "".join(_figure(path, caption) for path, caption in section.figures)
    tables = "".join(table.html() for table in section.tables)
    return f"<section id='s{index}'><h2>{html.escape(section.title)}</h2>{text}{tables}{figures}</section>\n"


def _figure(path: Path, caption: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    alt = html.escape(caption, quote=True)
    return (
        f"<figure><img alt='{alt}' src='data:image/png;base64,{data}'>"
        f"<figcaption class='below'>{html.escape(caption)}</figcaption></figure>\n"
    )


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
:root {{ color-scheme: light dark; --ink: #1d2327; --soft: #5b6670; --line: #d5dade; --paper: #fff;
  --band: #f4f6f8; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e4e7ea; --soft: #9aa5ae; --line: #3a424a; --paper: #16191c; --band: #1f2428; }}
  img {{ background: #fff; }}
}}
body {{ font: 15px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1120px; margin: 0 auto; padding: 2rem 1.2rem 4rem; }}
h1 {{ font-size: 1.7rem; margin: 0 0 .4rem; }} h2 {{ font-size: 1.2rem; margin: 2.4rem 0 .6rem; }}
nav a {{ margin-right: 1.1rem; color: inherit; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; font-size: .88rem;
  color: var(--soft); }}
dd {{ margin: 0; }} figure {{ margin: 1.2rem 0; overflow-x: auto; }} img {{ max-width: 100%; height: auto; }}
figcaption {{ font-weight: 600; margin-bottom: .4rem; }}
figcaption.below, .note {{ font-weight: 400; color: var(--soft); font-size: .88rem; }}
table {{ border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }} thead th {{ border-bottom: 2px solid var(--line); }}
tbody tr:nth-child(even) {{ background: var(--band); }}
@media print {{ body {{ max-width: none; }} section {{ break-inside: avoid; }} nav {{ display: none; }} }}
</style></head><body>
<h1>{title}</h1><nav>{links}</nav><dl>{facts}</dl>
{body}</body></html>
"""
