# SPDX-License-Identifier: Apache-2.0
"""A run that changes images on the way (bands of a lamp, darkness) and keeps places goes on to the same bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from smooth_scene import small_view
from still_frames import still_frame

from prism_vo.checkpoint.pickling import from_bytes, to_bytes
from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.pipeline import run
from prism_vo.types import DecodedFrame, Frame, RawFrame

DARK_FROM, DARKNESS = 4, 0.45


class Stop:
    """Ctrl-C after some frames."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, done: int, total: int | None, report: object) -> None:
        if done == self.after:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def flickering(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording with bands that wander over the rows, and in the dark from some frame on."""
    folder = tmp_path_factory.mktemp("lamp") / "table"
    shutil.copytree(recording, folder)
    for k, path in enumerate(sorted((folder / "raw").iterdir())):
        image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        assert image is not None
        rows = 1.0 + 0.15 * np.sin(2 * np.pi * (1.5 * np.arange(len(image)) / len(image) + 0.37 * k))
        lit = rows.reshape(-1, *[1] * (image.ndim - 1)) * (DARKNESS if k >= DARK_FROM else 1.0)
        cv2.imwrite(str(path), np.clip(np.rint(image * lit), 0, 255).astype(image.dtype))
    return folder


@pytest.mark.parametrize("after", [6, 9])
def test_a_run_in_changing_light_with_places_goes_on_to_the_same_bytes(
    flickering: Path, tmp_path: Path, after: int
) -> None:
    config, whole, out = Config(loops=True), tmp_path / "whole", tmp_path / "out"
    result = run(open_sequence(flickering), config, whole)
    assert result.lost == 0 and any("lamp" in notice for notice in result.notices)
    assert result.reports[-1].track is not None and result.reports[-1].track.brightness.gain < 0.6
    with pytest.raises(KeyboardInterrupt):
        run(open_sequence(flickering), config, out, progress=Stop(after))
    again = run(open_sequence(flickering), config, out, resume=True, threads=False)
    assert again.notices == result.notices
    for name in ("trajectory.txt", "keyframes.txt", "points.ply"):
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name


def test_a_frame_is_kept_as_it_came_and_as_it_was_changed() -> None:
    view = small_view()
    frame = still_frame(view, 3, np.ones((96, 128), np.float32))
    raw = RawFrame(3, 0.3, np.zeros((4, 4), np.uint8))

    def shown(grey: float) -> Frame:
        focused = DecodedFrame(3, 0.3, view, np.full((96, 128), grey, np.float32), None, None, None)
        return Frame.of(raw, focused, frame.pyramid)

    came, evened = shown(10.0), shown(30.0)
    data = to_bytes({"a": came, "b": evened, "c": came, "d": evened}, {})
    back = from_bytes(data, {}, lambda index: raw, lambda focused: [focused.image])
    assert back["a"] is back["c"] and back["b"] is back["d"]
    assert back["a"].focused.image[0, 0] == 10.0 and back["b"].focused.image[0, 0] == 30.0
    assert back["b"].pyramid[0][0, 0] == 30.0
