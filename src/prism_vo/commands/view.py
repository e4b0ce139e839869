# SPDX-License-Identifier: Apache-2.0
"""``prism-vo view``: look at a finished run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet


def view(
    results: Path,
    *,
    rerun: Annotated[bool, Parameter(negative=())] = False,
    record: Path | None = None,
    open_: Annotated[bool, Parameter(name="--open", negative="--no-open")] = True,
    quiet: Quiet = False,
) -> None:
    """Open the report of a results folder in the browser, or its path and cloud in Rerun; say what a map holds.

    Parameters
    ----------
    results
        Folder that `prism-vo run` wrote, or a map that its --save-map wrote.
    rerun
        Show path, keyframes, cloud and curves in Rerun instead.
    record
        Write a Rerun recording (.rrd) instead of opening a window.
    open_
        Open the browser; otherwise only the path of the report is printed.
    """
    if results.is_file():
        _view_map(results, rerun, record)
        return
    from prism_vo.errors import InputError
    from prism_vo.results import TRAJECTORY

    if not (results / TRAJECTORY).is_file():
        raise InputError(f"{results}: holds no results; name a folder that `prism-vo run` wrote.")
    if rerun or record is not None:
        from prism_vo.view.replay import replay

        replay(results, record)
        return
    page = results / "report.html"
    if not page.is_file():
        raise InputError(f"{results}: has no report.html; use --rerun, or run again without --no-report.")
    print(page.resolve())
    if open_:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())


def _view_map(path: Path, rerun: bool, record: Path | None) -> None:
    """A few words about a map, or its keyframes and points in Rerun."""
    from prism_vo.commands.map_lines import map_line
    from prism_vo.map_file import read_map

    stored = read_map(path)
    if rerun or record is not None:
        from prism_vo.view.replay import show_map

        show_map(stored, record)
        return
    print(map_line(path, stored))
    print("Start in it: prism-vo run SEQUENCE --loops --map FILE. Look at it: prism-vo view FILE --rerun")
