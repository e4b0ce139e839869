# SPDX-License-Identifier: Apache-2.0
"""Something else than a function takes: one sentence that says what it takes, as PrismError and as TypeError."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism_vo as pv
from prism_vo.config import SelectConfig

IMAGE = np.zeros((8, 8), np.uint8)


def camera(recording: Path) -> pv.PlenopticCamera:
    return pv.open_sequence(recording).camera


CALLS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a number as path": (lambda r: pv.open_sequence(3), "path of a recording must be a str or Path"),  # type: ignore[arg-type]
    "a file as camera": (lambda r: pv.Odometry("camera.yaml"), "load_calibration"),  # type: ignore[arg-type]
    "a dict as settings": (lambda r: pv.Odometry(camera(r), {"seed": 1}), "config must be a Config"),  # type: ignore[arg-type]
    "the whole settings": (lambda r: pv.Decoder(camera(r), pv.Config()), "config must be a DecodeConfig"),  # type: ignore[arg-type]
    "an image as frame": (lambda r: pv.Odometry(camera(r))(IMAGE), r"RawFrame\(index, time, image\)"),  # type: ignore[arg-type]
    "an image to decode": (lambda r: pv.Decoder(camera(r)).dense(IMAGE), "raw must be a RawFrame"),  # type: ignore[arg-type]
    "a list as image": (lambda r: pv.RawFrame(0, 0.0, [[1, 2]]), "image of a RawFrame must be a ndarray"),  # type: ignore[arg-type]
    "a path as calibration": (
        lambda r: pv.PlenopticCamera.from_calibration(r / "camera.yaml"),  # type: ignore[arg-type]
        "calibration must be a Calibration",
    ),
    "an unknown variant": (
        lambda r: pv.run(r, config=pv.Config(variant="x"), frames=3),  # type: ignore[arg-type]
        "key 'variant': must be full or plenoptic or pinhole, not 'x'",
    ),
    "an unknown variant, frame by frame": (
        lambda r: pv.Odometry(camera(r), pv.Config(variant="x")),  # type: ignore[arg-type]
        "key 'variant': must be full",
    ),
    "a word as seed": (
        lambda r: pv.run(r, pv.Config(seed="a")),
        "key 'seed': must be a whole number, not 'a'",
    ),  # type: ignore[arg-type]
    "a word as distance": (
        lambda r: pv.Decoder(camera(r), pv.DecodeConfig(near="far")),  # type: ignore[arg-type]
        "key 'decode.near': must be a number, not 'far'",
    ),
    "a dict as part of the settings": (
        lambda r: pv.run(r, pv.Config(decode={"near": 1.0})),  # type: ignore[arg-type]
        "key 'decode': must be a DecodeConfig",
    ),
    "yes as word": (lambda r: pv.run(r, pv.Config(loops="yes")), "'loops': must be True or False, not 'yes'"),  # type: ignore[arg-type]
    "a word as window": (
        lambda r: pv.run(r, pv.Config(decode=pv.DecodeConfig(window="2"))),  # type: ignore[arg-type]
        "key 'decode.window': must be a whole number or None, not '2'",
    ),
    "a word as number of frames": (
        lambda r: pv.run(r, frames="a"),
        "frames must be a whole number, not a str",
    ),  # type: ignore[arg-type]
    "half a frame": (lambda r: pv.run(r, frames=2.5), "frames must be a whole number, not a float"),  # type: ignore[arg-type]
    "a word as part": (
        lambda r: pv.open_sequence(r).part(start="a"),  # type: ignore[attr-defined]
        "start must be a whole number",
    ),
    "a number as folder": (lambda r: pv.run(r, out=3), "out must be a str or Path"),  # type: ignore[arg-type]
    "a number as map": (lambda r: pv.run(r, known=3), "known must be a str or Path"),  # type: ignore[arg-type]
    "a word as sink": (
        lambda r: pv.run(r, sinks=["log"]),
        "a sink has on_frame and on_end, which a str has not",
    ),  # type: ignore[list-item]
    "one sink": (lambda r: pv.run(r, sinks=3), "sinks must be a Sequence"),  # type: ignore[arg-type]
    "a word as progress": (lambda r: pv.run(r, progress="bar"), "progress must be a function, not a str"),  # type: ignore[arg-type]
    "frames alone": (lambda r: pv.run([IMAGE]), "source must be a recording, its path or a Stream"),  # type: ignore[arg-type]
    "a stream of nothing": (lambda r: pv.Stream(3, camera(r)), "frames of a Stream must be a Iterable"),  # type: ignore[arg-type]
    "lists as trajectory": (lambda r: pv.Trajectory([0.0], np.eye(4)[None]), "times of a Trajectory"),  # type: ignore[arg-type]
    "poses of another shape": (lambda r: pv.Trajectory(np.zeros(2), np.eye(4)[None]), r"\(N, 4, 4\) poses"),
    "points of another shape": (lambda r: pv.PointCloud(np.zeros((2, 2), np.float32)), r"\(N, 3\) points"),
    "too few colours": (
        lambda r: pv.PointCloud(np.zeros((2, 3), np.float32), np.zeros((1, 3), np.uint8)),
        "2 points has 1 colors",
    ),
    "a path to evaluate": (lambda r: pv.evaluate_trajectory("a.txt", "b.txt"), "read_trajectory"),  # type: ignore[arg-type]
    "poses to write": (lambda r: pv.write_trajectory(np.eye(4), "a.txt"), "trajectory must be a Trajectory"),  # type: ignore[arg-type]
    "an unknown form": (
        lambda r: pv.write_trajectory(pv.Trajectory(np.zeros(0), np.zeros((0, 4, 4))), "a.txt", "csv"),  # type: ignore[arg-type]
        "form must be one of tum, kitti, euroc",
    ),
    "points to write": (lambda r: pv.write_ply(np.zeros((2, 3)), "a.ply"), "cloud must be a PointCloud"),  # type: ignore[arg-type]
    "nothing to read": (lambda r: pv.read_ply(None), "path must be a str or Path"),  # type: ignore[arg-type]
    "no calibration file": (lambda r: pv.load_calibration(None), "path must be a str or Path"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", CALLS)
def test_the_sentence_says_what_is_wanted(
    name: str, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, sentence = CALLS[name]
    with pytest.raises(pv.PrismError, match=sentence) as caught:
        call(recording)
    assert isinstance(caught.value, TypeError | ValueError)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"select": SelectConfig(candidates=3)}])
def test_settings_outside_their_range_are_refused_in_python_too(
    recording: Path, wrong: dict[str, Any]
) -> None:
    with pytest.raises(pv.PrismError, match="out of range; it goes from"):
        pv.run(recording, pv.Config(**wrong), frames=2)


def test_whole_numbers_are_numbers_and_so_are_those_of_numpy(recording: Path) -> None:
    decode = pv.DecodeConfig(near=1, far=np.float64(3.0))
    assert len(pv.run(recording, pv.Config(decode=decode), frames=np.int64(2)).reports) == 2  # type: ignore[arg-type]


def test_a_path_is_enough_to_run(recording: Path) -> None:
    result = pv.run(str(recording), frames=3)
    assert len(result.trajectory) == 3
