# SPDX-License-Identifier: Apache-2.0
"""One short simulated run with a report, shared by the tests of what a person sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_vo import pipeline
from prism_vo.datasets import open_sequence
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.write import simulate_sequence
from prism_vo.view.report import ReportSink

FRAMES = 12


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny camera before the table: raw images, white image, truth."""
    folder = tmp_path_factory.mktemp("view") / "table"
    return simulate_sequence("table", folder, SimulateOptions(camera="mini", frames=FRAMES, truth_every=0))


@pytest.fixture(scope="session")
def reported(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> pipeline.RunResult:
    """The run over it, with its results folder and report.html."""
    out = tmp_path_factory.mktemp("results") / "table"
    return pipeline.run(open_sequence(recording), out=out, sinks=[ReportSink(out)])
