# SPDX-License-Identifier: Apache-2.0
"""COLMAP as a baseline, where it is installed; without it the benchmark says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from prism_vo.baselines.colmap import load_pycolmap, run_colmap
from prism_vo.baselines.export import export_sequence
from prism_vo.baselines.external import NotInstalledError
from prism_vo.baselines.focused import focused_frames, view_of
from prism_vo.config import DecodeConfig
from prism_vo.datasets import open_sequence
from prism_vo.evaluate.metrics import evaluate_trajectory


def test_without_the_package_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycolmap", None)
    with pytest.raises(NotInstalledError, match="pip install pycolmap"):
        load_pycolmap()


def test_a_small_sweep_is_reconstructed(recording: Path, tmp_path: Path) -> None:
    pytest.importorskip("pycolmap")
    sequence, central = open_sequence(recording), DecodeConfig(view="central")
    frames, view = focused_frames(sequence, central), view_of(sequence, central)
    exported = export_sequence(frames, view, None, "mono", tmp_path / "exported")
    trajectory = run_colmap(exported, tmp_path)
    assert len(trajectory) >= len(sequence) // 2
    assert sequence.groundtruth is not None
    assert evaluate_trajectory(trajectory, sequence.groundtruth).sim3.rmse_t_percent < 5.0
