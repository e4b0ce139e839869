# SPDX-License-Identifier: Apache-2.0
"""The benchmark's simulated recordings: the scenes of each suite, and how large they are at each scale."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from prism_vo.bench.plan import BenchSequence
from prism_vo.bounded.files import read_text
from prism_vo.errors import ConfigError, InputError, PrismError
from prism_vo.workers.processes import end_with
from prism_vo.yaml_files import read_yaml

if TYPE_CHECKING:
    from prism_vo.simulate.options import SimulateOptions

Suite = Literal["loops", "close-range", "fan", "closing"]
Scale = Literal["small", "medium", "full"]
SUITES: tuple[Suite, ...] = get_args(Suite)
ALL: tuple[Suite, ...] = ("loops", "close-range", "fan")  # the paper's experiments, all of odometry alone
WHOLE = "-whole"  # after the name of a scene: its whole path at its natural speed, at every scale
SCENES: dict[Suite, tuple[str, ...]] = {
    "loops": tuple(f"seq_{k:03d}" for k in range(1, 12)),
    "close-range": (
        "01_plants",
        "02_tools",
        "03_books",
        "04_toys",
        "05_wires",
        "06_kitchen",
        "07_workshop",
    ),
    "fan": ("fan",),
    # long enough to drift, and back at its start: with and without recognised places
    "closing": tuple(f"seq_{k:03d}{WHOLE}" for k in range(1, 12)),
}


@dataclass(frozen=True)
class ScaleSettings:
    """How much of a recording is rendered, and with how many pixels."""

    raw_width: int | None  # px; None: the camera as it is
    loop_frames: int | None  # None: the whole path at its natural speed
    loop_length: float | None  # m at the most
    other_frames: int | None


SCALES: dict[Scale, ScaleSettings] = {
    "small": ScaleSettings(640, 80, 4.2, 48),
    "medium": ScaleSettings(1024, 240, 8.0, 120),
    "full": ScaleSettings(None, None, None, None),
}
EXIT_REFUSED = 2
SMALL_CAMERA = "small"  # made for few pixels; 35-mm scenes keep their lens and get fewer pixels instead
WITH_DEPTH_CAMERA = "01_plants"  # the scene of the figure that compares with an RGB-D-like sensor


def render_suite(
    suite: Suite,
    scale: Scale,
    folder: Path,
    only: tuple[str, ...] = (),
    report: Callable[[str, int, int], None] = lambda *_: None,
) -> tuple[BenchSequence, ...]:
    """Render (or continue, or simply find) the recordings of a suite. ``report(name, frame, frames)``."""
    found = []
    for scene in (s for s in SCENES[suite] if not only or s in only):
        frames = _finished_frames(scene, scale, folder / scene)
        if frames:
            report(scene, frames, frames)
        else:
            frames = _render_isolated(scene, scale, folder / scene, report)
        found.append(BenchSequence(scene, suite, folder / scene, frames))
    return tuple(found)


def _finished_frames(scene: str, scale: Scale, out: Path) -> int:
    """Frames of a recording that is complete and was made with these settings, else 0."""
    record, times = out / "simulation.yaml", out / "times.txt"
    if not (record.is_file() and times.is_file()):
        return 0
    wanted = simulation_options(scene, scale).record(scene.removesuffix(WHOLE))
    planned = len(read_text(times).split("\n")) - 1
    complete = planned == sum(1 for _ in (out / "raw").glob("*.png"))
    return planned if complete and read_yaml(record) == wanted else 0


def _render_isolated(scene: str, scale: Scale, out: Path, report: Callable[[str, int, int], None]) -> int:
    """Render in a process of its own; one that dies (not: refuses) is continued once. Returns the frames."""
    frames, words = 0, ""
    for _ in range(2):
        command = [sys.executable, "-m", "prism_vo.bench.suites", scene, scale, str(out), str(os.getpid())]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as worker:
            assert worker.stdout is not None
            try:
                for line in worker.stdout:
                    numbers = line.split()
                    if len(numbers) == 3 and numbers[0] == "frame":
                        frames = int(numbers[2])
                        report(scene, int(numbers[1]), frames)
                    elif line.strip():
                        words = line.strip()
            except BaseException:
                worker.kill()
                raise
        if worker.returncode == 0:
            return frames
        if worker.returncode == EXIT_REFUSED:
            raise InputError(words)
    raise InputError(f"{out}: rendering ended with code {worker.returncode}: {words}")


def _worker(scene: str, scale: Scale, out: Path) -> int:
    from prism_vo.simulate.write import simulate_sequence

    try:
        simulate_sequence(
            scene.removesuffix(WHOLE),
            out,
            simulation_options(scene, scale),
            progress=lambda k, n: print("frame", k, n, flush=True),
        )
    except PrismError as error:
        print(error)
        return EXIT_REFUSED
    return 0


def simulation_options(recording: str, scale: Scale) -> SimulateOptions:
    """The simulator's settings for one recording at one scale."""
    from prism_vo.simulate.cameras import PRESETS
    from prism_vo.simulate.catalogue import entry_of
    from prism_vo.simulate.options import SimulateOptions

    scene, whole = recording.removesuffix(WHOLE), recording.endswith(WHOLE)
    entry, size = entry_of(scene), SCALES[scale]
    camera, factor = entry.camera, 1.0
    if size.raw_width is not None:
        if scale == "small" and not camera.endswith("35mm"):
            camera = SMALL_CAMERA
        factor = size.raw_width / PRESETS[camera].size[0]
    if whole:
        return SimulateOptions(camera=camera, scale=factor, truth_every=0)
    walk = entry.path.kind == "walk"
    frames = size.loop_frames if walk else size.other_frames
    return SimulateOptions(
        camera=camera,
        frames=frames,
        size=_fitting_length(entry.path.clear, size.loop_length) if walk else None,
        scale=factor,
        truth_every=20,
        baselines=scene == WITH_DEPTH_CAMERA,
    )


def _fitting_length(clear: tuple[float, float], wanted: float | None) -> float | None:
    """A loop of the wanted length, or the longest ellipse that fits into the scene's free space."""
    if wanted is None:
        return None
    a, b = clear
    longest = math.pi * (3 * (a + b) - math.sqrt((3 * a + b) * (a + 3 * b)))  # Ramanujan
    return round(min(wanted, 0.98 * longest), 3)


def check_scenes(names: tuple[str, ...], suites: tuple[Suite, ...]) -> None:
    """Refuse scenes that are in none of the suites."""
    known = [scene for suite in suites for scene in SCENES[suite]]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError(f"There is no recording '{unknown[0]}' here; choose from {', '.join(known)}.")


def suites_of(name: str) -> tuple[Suite, ...]:
    """The suites a word on the command line means."""
    if name == "all":
        return ALL
    if name not in SUITES:
        raise ConfigError(f"There is no suite '{name}'; choose {', '.join(SUITES)} or all.")
    return (name,)


if __name__ == "__main__":
    end_with(int(sys.argv[4]))
    sys.exit(_worker(sys.argv[1], sys.argv[2], Path(sys.argv[3])))  # type: ignore[arg-type]
