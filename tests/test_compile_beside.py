# SPDX-License-Identifier: Apache-2.0
"""The process that compiles beside a first run: when it is started, and that what it does leaves nothing to compile."""

import subprocess
import sys
from pathlib import Path

import pytest

from prism_vo import compile_beside

# after both halves, a run of a recording must not add a signature to any kernel
NOTHING_LEFT = """
import sys
from numba.core import event
from prism_vo import Odometry, open_sequence
from prism_vo.compile_beside import decode_noise, follow_a_wall, sum_nothing
from prism_vo.window.terms.photometric_kernel import accumulate_residuals
sum_nothing()
follow_a_wall()
decode_noise(colour=False)
def known():
    kernels = {}
    for module in [m for name, m in sys.modules.items() if name.startswith("prism_vo.")]:
        for name, thing in vars(module).items():
            if hasattr(thing, "nopython_signatures"):
                kernels[f"{thing.py_func.__module__}.{thing.py_func.__name__}"] = len(thing.nopython_signatures)
    return kernels
before = known()
sequence = open_sequence(sys.argv[1])
odometry = Odometry(sequence.camera)
for n in range(len(sequence)):
    odometry(sequence[n])
odometry.finish()
after = known()
print(sum(before.values()), len(odometry.map.T_view_world))
print(*sorted(name for name in after if after[name] > before.get(name, 0)))
print(len(accumulate_residuals.nopython_signatures))
"""


def test_a_wall_is_followed_from_keyframe_to_keyframe() -> None:
    odometry = compile_beside.follow_a_wall()
    keyframes = len(odometry.map.T_view_world)
    assert (
        odometry.config.window.keyframes + 2 <= keyframes <= compile_beside.FRAMES - 2
    )  # some left, some between
    assert odometry.segment == 0


def test_nothing_is_left_to_compile(recording: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NOTHING_LEFT, recording], capture_output=True, text=True, check=True
    )
    counts, new, signatures = done.stdout.split("\n")[:3]
    assert all(int(count) > 3 for count in counts.split())
    assert new == "", f"compiled by the run itself: {new}"
    assert signatures == "1"  # what was summed over no points has the types of what is summed over some


@pytest.mark.parametrize("kept", [True, False])
def test_it_is_started_once(kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Process:
        def __init__(self, command: list[str], **_: object) -> None:
            started.append(command)

        def kill(self) -> None: ...

    monkeypatch.setattr(compile_beside, "_is_compiled", lambda: kept)
    monkeypatch.setattr(compile_beside, "_cores", lambda: 2)
    monkeypatch.setattr(subprocess, "Popen", Process)
    compile_beside.begin(colour=True)
    assert started == ([] if kept else [[sys.executable, "-m", "prism_vo.compile_beside", "colour"]])


def test_without_a_second_core_or_a_process_a_run_compiles_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(compile_beside, "_is_compiled", lambda: False)
    monkeypatch.setattr(subprocess, "Popen", refused)
    monkeypatch.setattr(compile_beside, "_cores", lambda: 2)
    compile_beside.begin()
    monkeypatch.setattr(compile_beside, "_cores", lambda: 1)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    compile_beside.begin()
