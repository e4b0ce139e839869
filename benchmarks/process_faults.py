# SPDX-License-Identifier: Apache-2.0
"""What befalls processes: signals, full disks, things that vanish, two at once. Each must end as the docs say."""

from __future__ import annotations

import hashlib
import os
import pickle
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.small_recording import program, recording

RESULTS = ("trajectory.txt", "keyframes.txt", "points.ply")
FRAMES = 40


class Faults:
    """All of them, on one recording; each method tells what happened, and raises AssertionError if that is wrong."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.walk = recording(folder / "walk", FRAMES)
        self.reference = folder / "reference"
        assert self.run(self.walk, "--out", self.reference)[0] == 0

    def run(self, *arguments: object, **options: Any) -> tuple[int, str]:
        """``prism-vo run`` to its end: exit code and what it said."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, **options)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, " ".join(done.stderr.split())

    @staticmethod
    def command(*arguments: object) -> list[str]:
        """Without a report, which takes longer than these runs."""
        return program("run", *map(str, arguments), "--no-report", "--quiet", "--no-check")

    def same(self, out: Path) -> None:
        """The results are those of the undisturbed run."""
        for name in RESULTS:
            assert (out / name).read_bytes() == (self.reference / name).read_bytes(), name

    def started(self, out: Path, frames: int, *arguments: object, **options: Any) -> subprocess.Popen[str]:
        """A run that is under way, with so many frames done."""
        process = subprocess.Popen(
            self.command(*(arguments or (self.walk, "--out", out))),
            stderr=subprocess.PIPE,
            text=True,
            **{"preexec_fn": _heed_ctrl_c, **options},
        )
        stats = out / "stats.jsonl"
        while process.poll() is None and not (stats.is_file() and stats.read_text().count("\n") >= frames):
            time.sleep(0.01)
        return process

    def ended(self, process: subprocess.Popen[str], code: int, words: str = "") -> str:
        """It ends with this code and one sentence."""
        said = " ".join((process.communicate()[1] or "").split())
        assert process.returncode == code and "Traceback" not in said, (process.returncode, said)
        assert words in said, said
        return said

    def _signal(self, number: int, code: int) -> str:
        out = self.folder / f"signal-{number}"
        process = self.started(out, 8)
        process.send_signal(number)
        said = self.ended(process, code, "go on with: prism-vo run --resume")
        assert all((out / name).is_file() for name in RESULTS)
        assert self.run("--resume", out)[0] == 0
        self.same(out)
        return said

    def ctrl_c(self) -> str:
        """130; map, keyframes and trajectory are written; --resume comes to the same bytes."""
        return self._signal(signal.SIGINT, 130)

    def sigterm(self) -> str:
        """143, the same."""
        return self._signal(signal.SIGTERM, 143)

    def sighup(self) -> str:
        """129, the same."""
        return self._signal(signal.SIGHUP, 129)

    def nohup(self) -> str:
        """An ignored SIGHUP stays ignored."""
        out = self.folder / "nohup"
        ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
        process = self.started(out, 4, preexec_fn=ignore)
        process.send_signal(signal.SIGHUP)
        self.ended(process, 0)
        self.same(out)
        return "runs to its end"

    def two_at_once(self) -> str:
        """The second run into a folder is refused, the first is not disturbed."""
        out = self.folder / "two"
        process = self.started(out, 2)
        process.send_signal(signal.SIGSTOP)
        code, said = self.run(self.walk, "--out", out, "--force")
        process.send_signal(signal.SIGCONT)
        assert code == 2 and "another process is writing here" in said, said
        self.ended(process, 0)
        self.same(out)
        return said

    def quota(self) -> str:
        """A limit on the size of files, as a quota or a full disk: one sentence with the file and what is safe."""
        out = self.folder / "quota"
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # noqa: E731
        code, said = self.run(self.walk, "--out", out, preexec_fn=limit)
        assert code == 2 and "cannot be written" in said, (code, said)
        assert self.run(self.walk, "--resume", out)[0] == 0
        self.same(out)
        return said

    def full_disk(self) -> str:
        """A disk of 3 MB; where none can be made, this fault is left out."""
        disk = self.folder / "disk"
        disk.mkdir()
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], capture_output=True
        )
        if made.returncode != 0:
            return "left out: no right to make a small disk"
        try:
            code, said = self.run(self.walk, "--out", disk / "out")
            assert code == 2 and "No space left on device" in said and str(disk) in said, (code, said)
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            assert self.run(self.walk, "--resume", disk / "out")[0] == 0
            self.same(disk / "out")
        finally:
            subprocess.run(["umount", str(disk)], check=False)
        return said

    def read_only(self) -> str:
        """A folder that may not be written: by its rights, or (to root everything is allowed) by its disk."""
        place = self.folder / "read-only"
        place.mkdir()
        place.chmod(0o555)
        disk = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(place)]
        if os.geteuid() == 0 and subprocess.run(disk, capture_output=True).returncode != 0:
            return "left out: no right to make a read-only disk"
        try:
            code, said = self.run(self.walk, "--out", place / "out")
        finally:
            if os.geteuid() == 0:
                subprocess.run(["umount", str(place)], check=False)
        assert code == 2 and ("Permission denied" in said or "Read-only" in said), (code, said)
        return said

    def input_vanishes(self) -> str:
        """The frames that are gone are lost and said; what was tracked is written."""
        walk = Path(shutil.copytree(self.walk, self.folder / "vanishing"))
        out = self.folder / "input-gone"
        process = self.started(out, 8, walk, "--out", out)
        shutil.rmtree(walk / "raw")
        self.ended(process, 3)
        assert all((out / name).is_file() for name in RESULTS)
        return "exit code 3; the frames left are lost with their problem in stats.jsonl"

    def output_vanishes(self) -> str:
        """One sentence."""
        out = self.folder / "output-gone"
        process = self.started(out, 4)
        shutil.rmtree(out, ignore_errors=True)
        return self.ended(process, 2, "cannot be written")

    def clock_set_back(self) -> str:
        """Files from the future change nothing."""
        out = self.folder / "clock"
        process = self.started(out, 12)
        process.kill()
        process.wait()
        for path in (*out.iterdir(), *(self.walk / "raw").iterdir()):
            os.utime(path, (4e9, 4e9))
        assert self.run("--resume", out)[0] == 0
        self.same(out)
        return "the same bytes with files dated 2096"

    def users_own_files(self) -> str:
        """A folder without our marker is refused; nothing in it changes."""
        out = self.folder / "mine"
        out.mkdir()
        (out / "config.yaml").write_text("mine")
        code, said = self.run(self.walk, "--out", out)
        assert code == 2 and [p.name for p in out.iterdir()] == ["config.yaml"], said
        assert (out / "config.yaml").read_text() == "mine"
        return said

    def links(self) -> str:
        """With --force, a link is replaced and what it leads to stays."""
        out, precious = self.folder / "links", self.folder / "precious.txt"
        out.mkdir()
        precious.write_text("precious")
        for name in ("trajectory.txt", "stats.jsonl", "points.ply", "config.yaml", "checkpoint.bin"):
            (out / name).symlink_to(precious)
        assert self.run(self.walk, "--out", out, "--force")[0] == 0
        self.same(out)
        assert precious.read_text() == "precious"
        return "links replaced, their targets untouched"

    def old_report(self) -> str:
        """That of another run does not survive --force."""
        out = Path(shutil.copytree(self.reference, self.folder / "old"))
        (out / "report.html").write_text("old")
        assert self.run(self.walk, "--out", out, "--force")[0] == 0 and not (out / "report.html").exists()
        return "gone"

    def hostile_checkpoint(self) -> str:
        """A pickle that would run a program is refused."""
        from prism_vo.checkpoint.file import read_checkpoint, write_checkpoint
        from prism_vo.checkpoint.records import RECORDS

        out, trace = self.folder / "hostile", self.folder / "was-run"
        process = self.started(out, 10)
        process.kill()
        process.wait()
        stored = read_checkpoint(out)
        assert stored is not None

        class Hostile:
            def __reduce__(self) -> tuple[object, tuple[str]]:
                return os.system, (f"touch {trace}",)

        facts = {key: stored[0][key] for key in ("identity", "call")}
        records = (out / RECORDS).read_bytes()
        facts["records"] = {"bytes": len(records), "sha256": hashlib.sha256(records).hexdigest()}
        write_checkpoint(out, facts, pickle.dumps(Hostile()))
        code, said = self.run("--resume", out)
        assert code == 2 and "cannot be used" in said and not trace.exists(), said
        return said

    def damaged_checkpoint(self) -> str:
        """Damaged, or of another program: refused with a sentence; --force begins again."""
        out = self.folder / "damaged"
        process = self.started(out, 10)
        process.kill()
        process.wait()
        data = bytearray((out / "checkpoint.bin").read_bytes())
        data[-10] ^= 1
        (out / "checkpoint.bin").write_bytes(bytes(data))
        code, said = self.run("--resume", out)
        assert code == 2 and "damaged" in said, said
        data[-10] ^= 1
        at = data.index(b'"program": "') + 12
        data[at : at + 4] = b"0000"
        (out / "checkpoint.bin").write_bytes(bytes(data))
        code, other = self.run("--resume", out)
        assert code == 2 and "another version" in other, other
        assert self.run(self.walk, "--out", out, "--force")[0] == 0
        self.same(out)
        return said

    def killed_worker(self) -> str:
        """A benchmark whose worker is killed goes on, and its folder has no traces of the attempt."""
        out, data = self.folder / "bench", self.folder / "data"
        data.mkdir()
        shutil.copytree(self.walk, data / "walk")
        command = ["bench", "--suite", "close-range", "--data", str(data), "--methods", "rgbd", "--runs", "1"]
        process = subprocess.Popen(
            program(*command, "--out", str(out)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and not _workers(children, process.pid):
            time.sleep(0.05)
        for child in _workers(children, process.pid):
            os.kill(child, signal.SIGKILL)
        said = process.communicate()[0]
        assert process.returncode == 0 and "1 failed" in said, said
        done = subprocess.run(program(*command, "--out", str(out)), capture_output=True, text=True)
        assert done.returncode == 0 and "0 failed" in done.stdout and not list(out.rglob(".run_*")), (
            done.stdout
        )
        return "a row of the report; done at the next call"


def _workers(children: Path, parent: int) -> list[int]:
    """Processes started by a process, by any of its threads."""
    found = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            found += [int(word) for word in task.read_text().split()]
        except OSError:
            continue
    return found


def _heed_ctrl_c() -> None:
    """A shell lets processes behind ``&`` ignore it, and those that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def all_faults(folder: Path, names: tuple[str, ...] = ()) -> list[bool]:
    """Try each; prints one line a fault."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    faults = Faults(folder)
    own = ("run", "command", "same", "started", "ended")
    methods: dict[str, Callable[[], str]] = {
        name: getattr(faults, name)
        for name in vars(Faults)
        if not name.startswith("_") and name not in own and (not names or name in names)
    }
    outcomes = []
    for name, fault in methods.items():
        try:
            said, good = fault(), True
        except AssertionError as error:
            said, good = f"NOT AS DOCUMENTED: {error}", False
        outcomes.append(good)
        print(f"{name.replace('_', ' '):20s} {said.replace(str(folder), '…')[:200]}", flush=True)
    return outcomes
