# SPDX-License-Identifier: Apache-2.0
"""A camera that does not wait: the queue stays short, what is lost is counted, the run ends as it should."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism_vo import PlenopticCamera, open_sequence
from prism_vo.commands.live import _first_ctrl_c_stops
from prism_vo.errors import InputError
from prism_vo.live.aravis import between, pixel_type
from prism_vo.live.counts import LiveCounts
from prism_vo.live.grabber import Grabbed
from prism_vo.live.source import LiveSource
from prism_vo.types import RawFrame, UnreadableFrame


@pytest.fixture(scope="module")
def camera(recording: Path) -> PlenopticCamera:
    return open_sequence(recording).camera


class Scripted:
    """Delivers what a generator yields; an image is the camera's size unless said otherwise."""

    name = "scripted"

    def __init__(self, items: Iterator[Grabbed | None], waits: bool = False) -> None:
        self._items, self.waits, self.closed = items, waits, False

    def grab(self) -> Grabbed | None:
        try:
            return next(self._items)
        except StopIteration:
            raise EOFError from None

    def begin(self) -> None: ...

    def close(self) -> None:
        self.closed = True


def image(value: int, size: int = 384) -> Any:
    return np.full((size, size), value, np.uint8)


def test_slow_tracking_gets_the_newest_and_the_rest_is_counted(camera: PlenopticCamera) -> None:
    go, all_sent = threading.Event(), threading.Event()

    def items() -> Iterator[Grabbed]:
        yield Grabbed(0.0, image(0))
        go.wait()
        yield from (Grabbed(n / 10, image(n)) for n in range(1, 20))
        all_sent.set()

    source = LiveSource(Scripted(items()), camera, queue=3)
    frames = iter(source)
    assert next(frames).index == 0
    go.set()
    all_sent.wait()
    time.sleep(0.05)
    rest = list(frames)
    assert [frame.index for frame in rest] == [17, 18, 19]
    assert all(isinstance(f, RawFrame) and f.image[0, 0] == f.index for f in rest)
    assert (source.counts.arrived, source.counts.dropped) == (20, 16)
    assert "16 of 20 frames (80.0 %) were dropped" in " ".join(source.counts.sentences())


def test_files_wait_and_none_is_dropped(camera: PlenopticCamera) -> None:
    items = (Grabbed(n / 10, image(n)) for n in range(30))
    source = LiveSource(Scripted(items, waits=True), camera, queue=2)
    seen = []
    for frame in source:
        time.sleep(0.002)
        seen.append(frame.index)
    assert seen == list(range(30)) and source.counts.dropped == 0


def test_missing_and_damaged_frames_keep_their_numbers(camera: PlenopticCamera) -> None:
    items = iter(
        [
            Grabbed(0.0, image(1)),
            Grabbed(0.3, image(2), missed=2),
            Grabbed(0.4, None, problem="scripted: missing packets."),
            Grabbed(0.5, image(3)),
        ]
    )
    source = LiveSource(Scripted(items, waits=True), camera, queue=10)
    frames = list(source)
    assert [frame.index for frame in frames] == [0, 3, 4, 5]
    assert isinstance(frames[2], UnreadableFrame) and "missing packets" in frames[2].reason
    words = " ".join(source.closing_notes)
    for frame in frames:
        source.done(frame.index)
    assert "2 of 6 frames (33.3 %) were never delivered" in words
    assert "1 of 6 frames (16.7 %) were delivered with holes" in words


def test_warming_up_loses_nothing_that_waits_and_forgets_what_does_not(camera: PlenopticCamera) -> None:
    for waits, first in ((True, 0), (False, 5)):
        go = threading.Event()

        def items(go: threading.Event = go) -> Iterator[Grabbed]:
            yield from (Grabbed(n / 10, image(n)) for n in range(5))
            go.wait()
            yield from (Grabbed(n / 10, image(n)) for n in range(5, 8))

        source = LiveSource(Scripted(items(), waits), camera, queue=8)
        assert source.first_image()[0, 0] == 0
        time.sleep(0.05)
        source.begin()
        go.set()
        values = [int(frame.image[0, 0]) for frame in source if isinstance(frame, RawFrame)]
        assert values == list(range(first, 8))
        assert source.counts.arrived == 8 - first


def test_a_camera_that_falls_silent_ends_the_run_with_a_sentence(camera: PlenopticCamera) -> None:
    def items() -> Iterator[Grabbed | None]:
        yield Grabbed(0.0, image(1))
        while True:
            time.sleep(0.01)
            yield None

    grabber = Scripted(items())
    source = LiveSource(grabber, camera, patience=0.1)
    assert len(list(source)) == 1
    assert any("no image came for 0.1 s" in note for note in source.closing_notes)
    source.close()
    assert grabber.closed


def test_a_camera_without_any_image_is_an_error(camera: PlenopticCamera) -> None:
    source = LiveSource(Scripted(iter([])), camera)
    with pytest.raises(InputError, match="delivered no image"):
        source.first_image()


def test_errors_of_the_driver_arrive_where_frames_are_used(camera: PlenopticCamera) -> None:
    def items() -> Iterator[Grabbed]:
        yield Grabbed(0.0, image(1))
        raise InputError("scripted: was unplugged.")

    source = LiveSource(Scripted(items(), waits=True), camera)
    with pytest.raises(InputError, match="unplugged"):
        list(source)


def test_images_of_another_size_are_refused(camera: PlenopticCamera) -> None:
    source = LiveSource(Scripted(iter([Grabbed(0.0, image(1, 100))]), waits=True), camera)
    with pytest.raises(InputError, match="100x100 pixels, the camera file says 384x384"):
        source.first_image()


def test_the_first_ctrl_c_ends_the_camera_and_not_the_program(camera: PlenopticCamera) -> None:
    def items() -> Iterator[Grabbed]:
        for n in range(10_000):
            time.sleep(0.002)
            yield Grabbed(n / 10, image(1))

    source = LiveSource(Scripted(items()), camera)
    seen = 0
    with _first_ctrl_c_stops(source):
        for _ in source:
            seen += 1
            if seen == 5:
                os.kill(os.getpid(), signal.SIGINT)
        assert 5 <= seen < 20
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)


def test_latency_is_from_arrival_to_pose(camera: PlenopticCamera) -> None:
    source = LiveSource(Scripted(iter([Grabbed(0.0, image(1))]), waits=True), camera)
    for frame in source:
        time.sleep(0.05)
        source.done(frame.index)
    assert 0.05 <= source.counts._quantile(0.5) < 0.5
    assert source.counts.words().startswith("latency ")


def test_nothing_is_said_about_a_camera_that_never_began() -> None:
    assert LiveCounts().sentences() == [] and LiveCounts().words() == ""


@pytest.mark.parametrize(
    ("last", "number", "missed"),
    [
        (None, 7, 0),
        (7, 8, 0),
        (7, 10, 2),
        (65535, 1, 0),  # the standard leaves out 0
        (65535, 0, 0),  # some do not
        (65534, 1, 1),
        (8, 7, None),  # it comes late
        (8, 8, None),
        (70_000, 70_003, 2),
        (70_003, 5, None),
    ],
)
def test_frame_numbers_wrap(last: int | None, number: int, missed: int | None) -> None:
    assert between(last, number) == missed


@pytest.mark.parametrize(
    ("name", "dtype", "channels"),
    [
        ("Mono8", np.uint8, ()),
        ("BayerRG12", np.uint16, ()),
        ("RGB8", np.uint8, (3,)),
        ("Mono16", np.uint16, ()),
    ],
)
def test_pixel_formats(name: str, dtype: Any, channels: tuple[int, ...]) -> None:
    assert pixel_type(name) == (dtype, channels)


@pytest.mark.parametrize("name", ["Mono12Packed", "YUV422_8", "", "Mono9"])
def test_other_pixel_formats_are_named(name: str) -> None:
    with pytest.raises(InputError, match="set it to Mono8"):
        pixel_type(name)


def test_waiting_for_a_camera_is_not_time_spent_reading() -> None:
    from prism_vo.loading import focused_frames

    def frames() -> Iterator[UnreadableFrame]:
        for n in range(3):
            time.sleep(0.05)
            yield UnreadableFrame(n, n / 10, "")

    sensor: Any = SimpleNamespace(memory=lambda: None)
    for live, least, most in ((False, 0.05, 10.0), (True, 0.0, 0.04)):
        seconds = [loaded.seconds for loaded in focused_frames(frames(), sensor, False, live)]
        assert all(least <= s < most for s in seconds)
