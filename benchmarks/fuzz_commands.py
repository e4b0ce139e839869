# SPDX-License-Identifier: Apache-2.0
"""Whole commands on hostile files: exit code 0, 2 or 3, at most one sentence, nothing else."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from pathlib import Path
from random import Random

from benchmarks.fuzz_kept_files import header_changed, state_changed
from benchmarks.fuzz_mutations import hostile_word
from benchmarks.fuzz_targets import HEADER, TEXT, XML, YAML, Target, change
from prism_vo.checkpoint.file import CHECKPOINT
from prism_vo.cli import main
from prism_vo.commands.call import Call
from prism_vo.datasets import open_sequence
from prism_vo.pipeline import run as run_frames

CODES = (0, 2, 3)


class CommandFault(Exception):
    """A command ended as no command may."""


def _call(*arguments: str) -> None:
    said = io.StringIO()
    with redirect_stderr(said):
        code = main([*arguments])
    sentences = [line for line in said.getvalue().splitlines() if line.startswith("prism-vo: ")]
    if code not in CODES or "Traceback" in said.getvalue() or len(sentences) != (code == 2):
        raise CommandFault(f"{arguments}: code {code}, {said.getvalue()[-300:]}")


def all_commands(folder: Path) -> list[Target]:
    """Commands that read the files of ``fuzz_targets.all_targets`` in the same folder."""
    recording, out = folder / "recording", folder / "out"

    def with_out(*arguments: str) -> Callable[[Path], None]:
        def call(_: Path) -> None:
            shutil.rmtree(out, ignore_errors=True)
            _call(*arguments, "--out", str(out))

        return call

    def info(path: Path) -> None:
        _call("info", str(path))

    run = with_out("run", str(recording), "--no-report", "--quiet", "--no-threads", "--no-check")
    return [
        Target(
            "info recording",
            recording / "raw" / "000000.png",
            lambda _: info(recording),
            (change.png_changed,),
        ),
        Target("info camera.yaml", folder / "camera.yaml", info, YAML),
        Target("info points.ply", folder / "points.ply", info, TEXT),
        Target("info mla.xml", folder / "mla.xml", info, XML),
        Target("info grey.tif", folder / "grey.tif", info, HEADER),
        Target("run frame", recording / "raw" / "000001.png", run, (change.png_changed, *HEADER)),
        Target("run camera.yaml", recording / "camera.yaml", run, YAML),
        Target("run times.txt", recording / "times.txt", run, TEXT),
        Target(
            "run --config",
            folder / "config.yaml",
            with_out(
                "run", str(recording), "--config", str(folder / "config.yaml"), "--no-report", "--quiet"
            ),
            YAML,
        ),
        Target(
            "depth",
            recording / "raw" / "000000.png",
            with_out("depth", str(recording)),
            (change.png_changed,),
        ),
        Target(
            "eval",
            folder / "tum.txt",
            with_out("eval", str(folder / "kitti.txt"), str(folder / "tum.txt"), "--no-plot"),
            TEXT,
        ),
        Target("simulate --preview", folder / "box.obj", _preview(folder), TEXT),
        Target("arguments", folder / "arguments.txt", _arguments(folder, out), TEXT),
        *_more_commands(folder, with_out, info),
    ]


def _more_commands(
    folder: Path, with_out: Callable[..., Callable[[Path], None]], info: Callable[[Path], None]
) -> list[Target]:
    """Commands that read what other commands wrote, bags, and vendors' files."""
    recording, unfinished = folder / "recording", folder / "unfinished run"
    quiet = ("--no-report", "--quiet", "--no-threads", "--no-check")
    _leave_unfinished(recording, unfinished)
    whole = {path: path.read_bytes() for path in unfinished.iterdir()}
    checkpoint = folder / "unfinished.bin"
    checkpoint.write_bytes(whole[unfinished / CHECKPOINT])

    def resume(path: Path) -> None:
        shutil.rmtree(unfinished)
        unfinished.mkdir()
        for other, data in whole.items():
            other.write_bytes(path.read_bytes() if other.name == CHECKPOINT else data)
        _call("run", "--resume", str(unfinished), *quiet)

    vendor = ("import-calibration", str(folder / "mla.xml"), str(folder / "CameraModel.xml"), "--raw-size")
    bag = folder / "ros_bag"
    return [
        Target("run --resume", checkpoint, resume, (state_changed, header_changed, *TEXT)),
        Target(
            "run --map",
            folder / "small.map",
            with_out("run", str(recording), "--loops", "--map", str(folder / "small.map"), *quiet),
            (header_changed, *HEADER),
        ),
        Target("run bag", bag / "walk.bag", with_out("run", str(bag), *quiet), HEADER),
        Target("info rosbag.yaml", bag / "rosbag.yaml", info, YAML),
        Target("import-calibration", folder / "mla.xml", with_out(*vendor, "300x260"), XML),
        Target(
            "calibrate grid",
            folder / "grey.png",
            lambda path: _call("calibrate", "grid", str(path)),
            (change.png_changed,),
        ),
        Target(
            "view .map",
            folder / "small.map",
            lambda path: _call("view", str(path)),
            (header_changed, *HEADER),
        ),
    ]


def _leave_unfinished(recording: Path, out: Path) -> None:
    """A run that was interrupted after its first frame."""
    sequence = open_sequence(recording)

    def stop(done: int, total: int | None, report: object) -> None:
        raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        run_frames(sequence, None, out, progress=stop, threads=False, call=Call(recording).record())


def _preview(folder: Path) -> Callable[[Path], None]:
    def call(path: Path) -> None:
        _call(
            "simulate",
            str(path),
            str(folder / "preview.png"),
            "--preview",
            "--camera",
            "mini",
            "--frames",
            "2",
        )

    return call


def _arguments(folder: Path, out: Path) -> Callable[[Path], None]:
    """The mutated file chooses hostile values of options."""
    (folder / "arguments.txt").write_text("0 1 2 3 4 5 6 7 8 9\n")
    options = {
        "run": ("--start", "--frames", "--stride", "--seed", "--follow", "--variant", "--camera", "--config"),
        "depth": ("--near", "--far", "--start", "--frames", "--stride", "--view", "--white"),
        "export": ("--as", "--first", "--last", "--images"),
        "simulate": (
            *(
                "--frames",
                "--size",
                "--scale",
                "--seed",
                "--noise",
                "--samples",
                "--aperture",
                "--bits",
                "--gamma",
            ),
            *("--bayer", "--exposure-change", "--motion-blur", "--truth-every", "--camera", "--threads"),
        ),
        "eval": ("--max-time-difference", "--rpe-delta", "--segment-share", "--alignment"),
    }

    def call(path: Path) -> None:
        rng = Random(path.read_bytes())
        command = rng.choice(sorted(options))
        chosen = rng.choice(options[command])
        value = rng.choice((hostile_word(rng), str(rng.choice((-3, 0, 1, 2, 0.5, 1e9)))))
        first = {"simulate": "table", "eval": str(folder / "tum.txt")}.get(command, str(folder / "recording"))
        rest = [str(folder / "tum.txt")] if command == "eval" else []
        if "\0" in value or value == "":
            return
        shutil.rmtree(out, ignore_errors=True)
        more = (
            ["--camera", "mini", "--frames", "2"]
            if command == "simulate" and chosen not in ("--camera", "--frames")
            else []
        )
        more += ["--preview"] if command == "simulate" else []
        target = [str(folder / "preview.png")] if command == "simulate" else ["--out", str(out)]
        more += ["--as", "mono"] if command == "export" and chosen != "--as" else []
        if chosen == "--follow":
            return
        _call(command, first, *rest, *target, *more, f"{chosen}={value}")

    return call


if __name__ == "__main__":
    sys.exit("run: python -m benchmarks.fuzz")
