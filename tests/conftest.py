# SPDX-License-Identifier: Apache-2.0
"""Property tests draw the same examples in every run; one short run with a report is shared by all who look at it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from prism_vo.pipeline import RunResult

# a failure is never a matter of luck
settings.register_profile("prism-vo", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("prism-vo")

# a shell starts what runs in the background with these ignored, and whoever is tested inherits that
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, usual)

FRAMES = 12


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny camera before the table: raw images, white image, truth."""
    from prism_vo.simulate.options import SimulateOptions
    from prism_vo.simulate.write import simulate_sequence

    folder = tmp_path_factory.mktemp("view") / "table"
    return simulate_sequence("table", folder, SimulateOptions(camera="mini", frames=FRAMES, truth_every=0))


@pytest.fixture(scope="session")
def reported(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """The run over it, with its results folder and report.html."""
    from prism_vo import pipeline
    from prism_vo.datasets import open_sequence
    from prism_vo.report.sink import ReportSink

    out = tmp_path_factory.mktemp("results") / "table"
    return pipeline.run(open_sequence(recording), out=out, sinks=[ReportSink(out)])
