# SPDX-License-Identifier: Apache-2.0
"""``prism-vo run``: raw images in, metric trajectory and cloud out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def run(
    sequence: Path,
    *,
    out: Path | None = None,
    config: Path | None = None,
    variant: Literal["full", "plenoptic", "pinhole"] | None = None,
    seed: int | None = None,
    frames: int | None = None,
    threads: bool = True,
    report: bool = True,
    force: bool = False,
    quiet: Annotated[bool, Parameter(alias="-q")] = False,
) -> int:
    """Track a sequence and write the results folder.

    Parameters
    ----------
    sequence
        Sequence folder, sequence.yaml, or anything a dataset loader knows.
    out
        Results folder; default: results/NAME, numbered when that is taken.
    config
        YAML file with settings (see `prism-vo config`).
    variant
        full: with depth terms; plenoptic: depth only to start and track; pinhole: no depth, free scale.
    seed
        Seed of the point selection.
    frames
        Stop after so many frames.
    threads
        Read and focus the next frames beside tracking; the results are the same bytes without.
    report
        Write report.html.
    force
        Overwrite the results of another run in --out.
    quiet
        Print nothing but errors.
    """
    from prism_vo import pipeline
    from prism_vo.commands.output import RunProgress, print_summary
    from prism_vo.config import Config
    from prism_vo.config_file import check_config, load_config
    from prism_vo.datasets import open_sequence

    settings = load_config(config) if config is not None else Config()
    if variant is not None:
        settings = replace(settings, variant=variant)
    if seed is not None:
        settings = replace(settings, seed=seed)
    check_config(settings)
    data = open_sequence(sequence)
    folder = out if out is not None else free_folder(Path("results"), data.name)
    sinks: list[pipeline.Sink] = []
    if report:
        sinks += _report_sink(folder)
    with RunProgress(quiet) as progress:
        result = pipeline.run(data, settings, folder, sinks=sinks, progress=progress, frames=frames,
                              threads=threads, force=force)  # fmt: skip
    if not quiet:
        print_summary(result)
    return 3 if result.lost or result.segments > 1 else 0


def free_folder(parent: Path, name: str) -> Path:
    """``parent/name``, or with the first free number."""
    if not (parent / name).exists():
        return parent / name
    number = 2
    while (parent / f"{name}-{number}").exists():
        number += 1
    return parent / f"{name}-{number}"


def _report_sink(folder: Path) -> list:  # type: ignore[type-arg]
    try:
        from prism_vo.view.report import ReportSink
    except ImportError:
        return []
    return [ReportSink(folder)]
