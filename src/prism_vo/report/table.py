# SPDX-License-Identifier: Apache-2.0
"""One table of text cells, written as plain text, Markdown, LaTeX or CSV. No I/O."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "°": r"$^\circ$",
    "′": r"$'$",
    "–": "--",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "σ": r"$\sigma$",
    "η": r"$\eta$",
    "×": r"$\times$",
    "−": "$-$",
    "<": "$<$",
    ">": "$>$",
}


@dataclass(frozen=True)
class Table:
    """Rows of text under named columns; ``note`` says how they were made and is part of every format."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table '{self.title}': {len(row)} cells under {len(self.columns)} columns")

    def text(self) -> str:
        """Aligned columns for a terminal."""
        lines = [tuple(map(_one_line, line)) for line in (self.columns, *self.rows)]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.columns))]
        padded = [_pad(line, widths) for line in lines]
        rule = "─" * len(padded[0])
        return (
            "\n".join([self.title, rule, padded[0], rule, *padded[1:], rule, *_note_lines(self.note)]) + "\n"
        )

    def markdown(self) -> str:
        """A Markdown pipe table under a heading."""
        rule = ["---"] + ["---:"] * (len(self.columns) - 1)
        lines = [self.columns, rule, *self.rows]
        body = "\n".join("| " + " | ".join(_pipe_safe(c) for c in line) + " |" for line in lines)
        return f"### {self.title}\n\n{body}\n" + (f"\n{self.note}\n" if self.note else "")

    def latex(self) -> str:
        """A booktabs table float."""
        layout = "l" + "r" * (len(self.columns) - 1)
        body = [" & ".join(map(latex_text, line)) + r" \\" for line in self.rows]
        head = " & ".join(map(latex_text, self.columns)) + r" \\"
        caption = latex_text(f"{self.title}. {self.note}".strip())
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{caption}}}",
                rf"\begin{{tabular}}{{{layout}}}",
                r"\toprule",
                head,
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def csv(self) -> str:
        """Comma-separated values; title and note as comment lines."""
        out = io.StringIO()
        for line in (self.title, self.note):
            if line:
                out.write(f"# {line}\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return out.getvalue()


def latex_text(text: str) -> str:
    """Plain text with everything LaTeX would read as a command escaped."""
    return "".join(_LATEX_SPECIAL.get(c, c) for c in _one_line(text))


def number(value: float | None, digits: int = 3, missing: str = "–") -> str:
    """A figure with a fixed number of significant digits, never in exponent form for ordinary sizes."""
    if value is None or value != value:
        return missing
    if value == 0 or not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - _exponent(value))
    return f"{value:.{decimals}f}"


def _exponent(value: float) -> int:
    return int(f"{abs(value):e}".split("e")[1])


def _pad(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (f"{c:<{w}}" if k == 0 else f"{c:>{w}}" for k, (c, w) in enumerate(zip(line, widths)))
    return "  ".join([first, *rest])


def _note_lines(note: str) -> list[str]:
    return [note] if note else []


def _pipe_safe(cell: str) -> str:
    """Text that stays text in Markdown: no new cells, tags or links."""
    return _TAG.sub("&lt;", _one_line(cell).replace("|", "\\|").replace("](", "]\\("))


def _one_line(cell: str) -> str:
    """Names of recordings may hold any character; in a table they stay on their line."""
    return "".join(c if c.isprintable() else " " for c in cell)
