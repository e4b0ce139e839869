# SPDX-License-Identifier: Apache-2.0
"""``prism-vo dense``: a dense coloured map and a mesh of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from prism_vo.dense.densify import DenseMap


def dense(
    results: Path,
    *,
    sequence: Path | None = None,
    camera: Path | None = None,
    force: Annotated[bool, Parameter(negative=())] = False,
    quiet: Quiet = False,
) -> None:
    """Make the dense map of a finished run: map.ply (points with colour, normal, σ), mesh.ply and mesh.glb; its report
    shows it from then on.

    Parameters
    ----------
    results
        Results folder of `prism-vo run`; the files are written into it.
    sequence
        The recording it was made of (default: where it was then).
    camera
        Camera file of the recording (default: its own).
    force
        Overwrite the dense map that is there.
    """
    from prism_vo.commands.narration import Narration
    from prism_vo.commands.output import dense_words
    from prism_vo.datasets import open_sequence
    from prism_vo.dense_run import FinishedRun, write_dense
    from prism_vo.errors import InputError
    from prism_vo.results import DENSE, REPORT

    run = FinishedRun.read(results)
    if not force and (taken := [name for name in DENSE if (results / name).exists()]):
        raise InputError(f"{results / taken[0]}: exists already; overwrite it with --force.")
    recording = open_sequence(sequence or run.recording_path(), camera=camera)
    with Narration(quiet) as say:
        say("loading or, the first time, compiling")
        found = run.dense(recording, say)
        say("writing the map")
        write_dense(found, results)
        _refresh(results / REPORT, found)
    print(f"dense map       {dense_words(found)}")
    print(f"results         {results}")


def _refresh(path: Path, found: DenseMap) -> None:
    """The report of the run shows the map from now on."""
    from prism_vo.atomic import write_text_atomically
    from prism_vo.bounded.files import MB, read_text
    from prism_vo.report.refresh import with_dense_map

    page = with_dense_map(read_text(path, 100 * MB), found) if path.is_file() else None
    if page is not None:
        write_text_atomically(path, page)
