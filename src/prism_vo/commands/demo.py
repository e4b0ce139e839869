# SPDX-License-Identifier: Apache-2.0
"""``prism-vo demo``: simulate a short recording, track it, print the errors against the truth, write the report."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from prism_vo.commands.narration import Narration
    from prism_vo.dense_run import DenseSink
    from prism_vo.pipeline import RunResult

MARK = ".prism-vo-demo"  # in the folders a demo may replace
RESULTS = "results"
CAMERA, FRAMES, BAYER = "small", 60, "RGGB"


def demo(
    *,
    out: Path = Path("demo"),
    scene: str = "table",
    frames: int = FRAMES,
    camera: str = CAMERA,
    quiet: Quiet = False,
) -> int:
    """Simulate a hand-held sweep over a table with a small colour camera, track it, make the dense map, compare it all
    with the truth.

    Parameters
    ----------
    out
        Folder for the recording and the results; an earlier demo in it is replaced.
    scene
        A scene of `prism-vo simulate --list`.
    frames
        Number of frames.
    camera
        A camera preset of `prism-vo simulate --list`.
    """
    from prism_vo.commands.narration import Narration
    from prism_vo.commands.output import print_summary
    from prism_vo.errors import ConfigError
    from prism_vo.simulate.scene import check_ray_tracer

    if frames < 10:
        raise ConfigError(f"--frames is {frames}; a recording for the demo has at least 10.")
    check_ray_tracer()  # before anything is removed or rendered
    _clear(out)
    with Narration() as say:
        result, mapper = _simulate_and_run(out, scene, frames, camera, say)
    print_summary(result, mapper)
    print(f"Report: {(out / RESULTS / 'report.html').resolve()}")
    return result.exit_code


def _clear(out: Path) -> None:
    from prism_vo.errors import InputError
    from prism_vo.simulate.write import RECORD

    if out.exists() and not (out / MARK).exists():
        raise InputError(f"{out}: exists and is no earlier demo; give another --out.")
    for part in [out / RESULTS, *(record.parent for record in out.glob(f"*/{RECORD}"))]:
        shutil.rmtree(part, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()


def _simulate_and_run(
    out: Path, scene: str, frames: int, camera: str, say: Narration
) -> tuple[RunResult, DenseSink]:
    say("loading")
    from prism_vo import compile_beside, pipeline
    from prism_vo.commands.narration import ReportAnnouncement, TrackingProgress
    from prism_vo.datasets import open_sequence
    from prism_vo.dense_run import DenseSink
    from prism_vo.report.sink import ReportSink
    from prism_vo.simulate.options import SimulateOptions
    from prism_vo.simulate.write import simulate_sequence

    compile_beside.begin(colour=True)
    recording = out / scene
    options = SimulateOptions(camera=camera, frames=frames, truth_every=0, bayer=BAYER)
    say(f"rendering '{scene}' (compiles on the first run)")
    simulate_sequence(
        scene, recording, options, progress=lambda done, total: say(f"rendering '{scene}'", done, total)
    )
    say("compiling the odometry (first run only)")
    sequence = open_sequence(recording)
    mapper = DenseSink(out / RESULTS, sequence, say)
    result = pipeline.run(
        sequence,
        out=out / RESULTS,
        sinks=[mapper, ReportAnnouncement(say), ReportSink(out / RESULTS, mapper)],
        progress=TrackingProgress(say),
    )
    return result, mapper
