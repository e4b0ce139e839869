# SPDX-License-Identifier: Apache-2.0
"""``prism-vo run``: raw images in, metric trajectory and cloud out."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from prism_vo.pipeline import Sink


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
    view: Annotated[bool, Parameter(negative=())] = False,
    record: Path | None = None,
    follow: float | None = None,
    force: bool = False,
    quiet: Annotated[bool, Parameter(alias="-q")] = False,
    verbose: Annotated[bool, Parameter(alias="-v", negative=())] = False,
    log_json: Annotated[bool, Parameter(negative=())] = False,
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
    view
        Watch in Rerun while it runs (extra `view`; listens on 127.0.0.1 only).
    record
        Write a Rerun recording (.rrd); needs no screen.
    follow
        The folder still grows: take frames as they arrive, end after so many seconds without a new one.
    force
        Overwrite the results of another run in --out.
    quiet
        Print nothing but errors.
    verbose
        One line a keyframe.
    log_json
        One JSON object a frame on standard output, for other programs, instead of the summary.
    """
    from prism_vo import pipeline
    from prism_vo.commands.output import RunProgress, print_summary
    from prism_vo.config import Config
    from prism_vo.config_file import check_config, load_config
    from prism_vo.datasets import open_sequence
    from prism_vo.datasets.follow import FollowedSequence

    settings = load_config(config) if config is not None else Config()
    if variant is not None:
        settings = replace(settings, variant=variant)
    if seed is not None:
        settings = replace(settings, seed=seed)
    check_config(settings)
    data = open_sequence(sequence) if follow is None else FollowedSequence(sequence, follow)
    folder = out if out is not None else free_folder(Path("results"), data.name)
    sinks = _sinks(folder, report, view, record, verbose, log_json)
    with RunProgress(quiet or verbose or log_json) as progress:
        result = pipeline.run(
            data,
            settings,
            folder,
            sinks=sinks,
            progress=progress,
            frames=frames,
            threads=threads,
            force=force,
        )
    if not quiet and not log_json:
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


def _sinks(
    folder: Path, report: bool, view: bool, record: Path | None, verbose: bool, log_json: bool
) -> list[Sink]:
    """Everybody who looks on. Rerun comes first: if it is missing, that is said before anything runs."""
    sinks: list[Sink] = []
    if view or record is not None:
        from prism_vo.view.rerun_sink import RerunSink

        sinks += [RerunSink(None)] if view else []
        sinks += [RerunSink(record)] if record is not None else []
    if report:
        from prism_vo.report.sink import ReportSink

        sinks.append(ReportSink(folder))
    if verbose or log_json:
        from prism_vo.view.log import JsonLog, KeyframeLog

        sinks += [KeyframeLog(sys.stderr)] if verbose else []
        sinks += [JsonLog(sys.stdout)] if log_json else []
    return sinks
