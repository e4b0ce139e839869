# SPDX-License-Identifier: Apache-2.0
"""Simulated recordings of the benchmark: which, how large, and rendered apart from the benchmark's own process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("embreex")

from prism_vo.bench import suites
from prism_vo.datasets import open_sequence
from prism_vo.errors import ConfigError, InputError
from prism_vo.simulate.catalogue import CATALOGUE
from prism_vo.simulate.path import plan


def test_every_scene_exists_and_small_ones_are_small() -> None:
    for suite in suites.ALL:
        for scene in suites.SCENES[suite]:
            options = suites.simulation_options(scene, "small")
            calibration = options.calibration(CATALOGUE[scene].camera)
            assert abs(calibration.sensor.width - 640) <= 2
            track = plan(CATALOGUE[scene].path, options.frames, options.seed, options.size)
            assert len(track.poses) <= 120
            if suite == "loops":
                assert 3.5 <= track.length <= 8 and len(track.poses) >= 40
    assert [len(suites.SCENES[s]) for s in suites.SUITES] == [11, 7, 1, 11]


def test_whole_paths_come_back_to_their_start_and_share_no_folder_with_short_ones() -> None:
    for recording in suites.SCENES["closing"]:
        scene = recording.removesuffix(suites.WHOLE)
        options = suites.simulation_options(recording, "small")
        assert options.frames is None and options.size is None
        assert abs(options.calibration(CATALOGUE[scene].camera).sensor.width - 640) <= 2
        track = plan(CATALOGUE[scene].path, options.frames, options.seed, options.size)
        first, last = track.poses[0][:3, 3], track.poses[-1][:3, 3]
        step = track.length / len(track.poses)
        assert track.length > 8 and np.linalg.norm(first - last) < 2 * step
        assert recording not in suites.SCENES["loops"]


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fan").mkdir()
    (tmp_path / "fan" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="not a simulation"):
        suites.render_suite("fan", "small", tmp_path)
    assert [p.name for p in (tmp_path / "fan").iterdir()] == ["notes.txt"]


def test_names_are_checked() -> None:
    assert suites.suites_of("all") == ("loops", "close-range", "fan") and suites.suites_of("fan") == ("fan",)
    assert suites.suites_of("closing") == ("closing",)
    with pytest.raises(ConfigError, match="no suite 'loop'"):
        suites.suites_of("loop")
    with pytest.raises(ConfigError, match="no recording 'seq_1'"):
        suites.check_scenes(("seq_1",), ("loops",))


def test_worker_renders_a_sequence_that_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(suites.SCALES, "small", suites.ScaleSettings(320, 2, None, 2))
    assert suites._worker("02_tools", "small", tmp_path / "02_tools") == 0
    sequence = open_sequence(tmp_path / "02_tools")
    assert len(sequence) == 2 and sequence.groundtruth is not None
    assert suites._finished_frames("02_tools", "small", tmp_path / "02_tools") == 2, (
        "it is not rendered again"
    )
    (tmp_path / "02_tools/raw/000001.png").unlink()
    assert suites._finished_frames("02_tools", "small", tmp_path / "02_tools") == 0
