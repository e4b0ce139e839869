# SPDX-License-Identifier: Apache-2.0
"""``prism-vo run``: raw images in, metric trajectory and cloud out."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from prism_vo.dense_run import DenseSink
    from prism_vo.pipeline import Sink
    from prism_vo.view.rerun_sink import RerunSink


def run(
    sequence: Path | None = None,
    *,
    out: Path | None = None,
    resume: Path | None = None,
    camera: Path | None = None,
    config: Path | None = None,
    variant: Literal["full", "plenoptic", "pinhole"] | None = None,
    calibrate: Literal["off", "focus", "all"] | None = None,
    seed: int | None = None,
    loops: bool | None = None,
    map_: Annotated[Path | None, Parameter(name="--map")] = None,
    save_map: Path | None = None,
    start: int = 0,
    frames: int | None = None,
    stride: int = 1,
    threads: bool = True,
    dense: Annotated[bool, Parameter(negative=())] = False,
    report: bool = True,
    check: bool = True,
    view: Annotated[bool, Parameter(negative=())] = False,
    record: Path | None = None,
    follow: float | None = None,
    source: str | None = None,
    white: Path | None = None,
    queue: int = 2,
    force: bool = False,
    quiet: Quiet = False,
    verbose: Annotated[bool, Parameter(alias="-v", negative=())] = False,
    log_json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Track a sequence and write the results folder.

    Parameters
    ----------
    sequence
        Sequence folder, sequence.yaml, video, or anything a dataset loader knows; not needed with --resume.
    out
        Results folder; default: results/NAME, numbered when that is taken.
    resume
        Results folder of a run that was ended early: go on where it was, to the same bytes as without the break.
    camera
        Camera file for images or a video without one (default: camera.yaml in or beside the sequence).
    config
        YAML file with settings (see `prism-vo config`).
    variant
        full: with depth terms; plenoptic: depth only to start and track; pinhole: no depth, free scale.
    calibrate
        focus (default): follow the focus; all: focal length and principal point, too; off: the file is exact.
    seed
        Seed of the point selection.
    loops
        Recognise places: close loops, find lost frames anywhere on the path, join segments. Default: odometry alone.
    map_
        A map of an earlier run: start localised in it, in its world. Needs --loops.
    save_map
        Write the map of this run, for --map and `prism-vo view`. Needs --loops.
    start
        First frame, counted from 0; indices and times stay those of the recording.
    frames
        Stop after so many frames.
    stride
        Take every so many-th frame.
    threads
        Read and focus the next frames beside tracking; the results are the same bytes without.
    dense
        Make a dense coloured map and a mesh at the end: map.ply, mesh.ply, mesh.glb; about a second a keyframe.
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
    source
        A live camera instead of a recording, until Ctrl-C, --frames or --follow seconds (10) without an image: v4l2:0,
        opencv:URL, video:FILE (at its own pace), folder:PATH, aravis[:NAME], harvesters:FILE.cti[#SERIAL]. Needs
        --camera, except with a folder.
    white
        White image of a live camera.
    queue
        Frames of a live camera that wait at the most; the oldest is dropped, and counted.
    force
        Overwrite the results of another run in --out.
    verbose
        One line a keyframe.
    log_json
        One JSON object a frame on standard output, for other programs, instead of the summary.
    """
    if view or record is not None:
        from prism_vo.view.rerun_sink import load_rerun

        load_rerun()  # if it is missing, that is said before anything is opened
    from prism_vo import compile_beside, pipeline
    from prism_vo.commands.call import Call, finished_before
    from prism_vo.commands.live import open_camera, progress_of, running
    from prism_vo.commands.narration import Narration, ReportAnnouncement, TrackingProgress
    from prism_vo.commands.output import print_summary
    from prism_vo.datasets.source import notes_of
    from prism_vo.errors import ConfigError

    call = Call(
        sequence,
        camera,
        config,
        variant,
        calibrate,
        seed,
        loops,
        start,
        frames,
        stride,
        follow,
        map_,
        save_map,
        dense,
    )
    if resume is not None:
        if out is not None:
            raise ConfigError("--out cannot be combined with --resume, which names the results folder.")
        if (code := finished_before(resume)) is not None:
            print(f"{resume}: is finished already.")
            return code
        call = call.completed(resume)
    settings = call.settings()
    data = call.open() if source is None else open_camera(source, call, white, queue, resume)
    folder = resume or out or free_folder(Path("results"), data.name)
    mapper = None
    if call.dense:
        from prism_vo.dense_run import DenseSink

        mapper = DenseSink(folder, data)
    watching = _watching(view, record, mapper)
    sinks = [*watching, *_sinks(folder, report, verbose, log_json, mapper)]
    if not quiet:
        for note in notes_of(data):
            print(f"note: {note}", file=sys.stderr)
    with Narration(quiet or verbose or log_json) as say, ExitStack() as stack:
        say("loading or, the first time, compiling")
        compile_beside.begin()
        stack.enter_context(running(data, settings))
        for viewer in watching:
            stack.callback(viewer.close)
        if mapper is not None:
            mapper.say = say
        result = pipeline.run(
            data,
            settings,
            folder,
            # the dense map is made before the report that shows it
            sinks=[
                *([] if mapper is None else [mapper]),
                *([ReportAnnouncement(say)] if report else []),
                *sinks,
            ],
            progress=progress_of(data, TrackingProgress(say)),
            frames=call.frames,
            threads=threads,
            force=force,
            check=check,
            resume=resume is not None,
            call=call.record(),
            known=call.known_map,
            save_map=call.save_map,
        )
    if not quiet and not log_json:
        print_summary(result, mapper)
    return result.exit_code


def free_folder(parent: Path, name: str) -> Path:
    """``parent/name``, or with the first free number."""
    if not (parent / name).exists():
        return parent / name
    number = 2
    while (parent / f"{name}-{number}").exists():
        number += 1
    return parent / f"{name}-{number}"


def _watching(view: bool, record: Path | None, mapper: DenseSink | None) -> list[RerunSink]:
    """A viewer, a recording of what it would show, both or none."""
    if not view and record is None:
        return []
    from prism_vo.view.rerun_sink import RerunSink

    live = [RerunSink(None, mapper)] if view else []
    return live if record is None else [*live, RerunSink(record, mapper)]


def _sinks(folder: Path, report: bool, verbose: bool, log_json: bool, mapper: DenseSink | None) -> list[Sink]:
    """Everybody else who looks on."""
    sinks: list[Sink] = []
    if report:
        from prism_vo.report.sink import ReportSink

        sinks.append(ReportSink(folder, mapper))
    if verbose or log_json:
        from prism_vo.view.log import JsonLog, KeyframeLog

        sinks += [KeyframeLog(sys.stderr)] if verbose else []
        sinks += [JsonLog(sys.stdout)] if log_json else []
    return sinks
