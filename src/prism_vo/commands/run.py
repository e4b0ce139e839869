# SPDX-License-Identifier: Apache-2.0
"""``prism-vo run``: raw images in, metric trajectory and cloud out."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from prism_vo.config import Config
    from prism_vo.datasets.source import FrameSource
    from prism_vo.pipeline import Sink


def run(
    sequence: Path,
    *,
    out: Path | None = None,
    camera: Path | None = None,
    config: Path | None = None,
    variant: Literal["full", "plenoptic", "pinhole"] | None = None,
    seed: int | None = None,
    start: int = 0,
    frames: int | None = None,
    stride: int = 1,
    threads: bool = True,
    report: bool = True,
    check: bool = True,
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
        Sequence folder, sequence.yaml, video, or anything a dataset loader knows.
    out
        Results folder; default: results/NAME, numbered when that is taken.
    camera
        Camera file for images or a video without one (default: camera.yaml in or beside the sequence).
    config
        YAML file with settings (see `prism-vo config`).
    variant
        full: with depth terms; plenoptic: depth only to start and track; pinhole: no depth, free scale.
    seed
        Seed of the point selection.
    start
        First frame, counted from 0; indices and times stay those of the recording.
    frames
        Stop after so many frames.
    stride
        Take every so many-th frame.
    threads
        Read and focus the next frames beside tracking; the results are the same bytes without.
    report
        Write report.html.
    check
        Look, beside the run, whether the camera file fits the images.
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
    if view or record is not None:
        from prism_vo.view.rerun_sink import load_rerun

        load_rerun()  # if it is missing, that is said before anything is opened
    from prism_vo import pipeline
    from prism_vo.commands.narration import Narration, ReportAnnouncement, TrackingProgress
    from prism_vo.commands.output import print_summary
    from prism_vo.datasets.source import notes_of

    settings = _settings(config, variant, seed)
    data = _open(sequence, camera, follow, start, frames, stride)
    folder = out if out is not None else free_folder(Path("results"), data.name)
    sinks = _sinks(folder, report, view, record, verbose, log_json)
    if not quiet:
        for note in notes_of(data):
            print(f"note: {note}", file=sys.stderr)
    with Narration(quiet or verbose or log_json) as say:
        say("loading or, the first time, compiling")
        result = pipeline.run(
            data,
            settings,
            folder,
            sinks=[ReportAnnouncement(say), *sinks] if report else sinks,
            progress=TrackingProgress(say),
            frames=frames,
            threads=threads,
            force=force,
            check=check,
        )
    if not quiet and not log_json:
        print_summary(result)
    return 3 if result.lost or result.segments > 1 else 0


def _settings(
    config: Path | None, variant: Literal["full", "plenoptic", "pinhole"] | None, seed: int | None
) -> Config:
    from prism_vo.config import Config
    from prism_vo.config_file import check_config, load_config

    settings = load_config(config) if config is not None else Config()
    if variant is not None:
        settings = replace(settings, variant=variant)
    if seed is not None:
        settings = replace(settings, seed=seed)
    check_config(settings)
    return settings


def _open(
    path: Path, camera: Path | None, follow: float | None, start: int, frames: int | None, stride: int
) -> FrameSource:
    """The recording, or the part of it that was asked for."""
    from prism_vo.datasets import open_sequence, part_of
    from prism_vo.datasets.follow import FollowedSequence
    from prism_vo.datasets.selection import check_part
    from prism_vo.errors import ConfigError

    check_part(start, frames, stride)
    if follow is None:
        recording = open_sequence(path, camera=camera)
        whole = start == 0 and frames is None and stride == 1
        return recording if whole else part_of(recording, start, frames, stride)
    if camera is not None:
        raise ConfigError(
            "--camera cannot be combined with --follow; put camera.yaml into the growing folder."
        )
    return FollowedSequence(path, follow, start, stride)


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
    """Everybody who looks on."""
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
