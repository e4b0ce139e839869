# SPDX-License-Identifier: Apache-2.0
"""``prism-vo run --source``: opening a camera, warming up, ending at the first Ctrl-C, telling how late things are."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_vo.errors import ConfigError

if TYPE_CHECKING:
    from prism_vo.commands.call import Call
    from prism_vo.commands.narration import TrackingProgress
    from prism_vo.config import Config
    from prism_vo.live.source import LiveSource
    from prism_vo.odometry import FrameReport
    from prism_vo.pipeline import Progress


def open_camera(source: str, call: Call, white: Path | None, queue: int, resume: Path | None) -> LiveSource:
    """The camera; what makes no sense with one is refused."""
    from prism_vo.live.opening import open_live
    from prism_vo.live.source import PATIENCE

    if call.sequence is not None or resume is not None:
        raise ConfigError("--source names a live camera; give neither a sequence nor --resume with it.")
    if call.start != 0 or call.stride != 1:
        raise ConfigError("--start and --stride belong to recordings; a live camera begins now.")
    return open_live(source, call.camera, white, queue, PATIENCE if call.follow is None else call.follow)


@contextmanager
def running(data: Any, settings: Config) -> Iterator[None]:
    """A live camera warmed up, ended by the first Ctrl-C, and closed at the end; anything else is left alone."""
    from prism_vo.live.source import LiveSource
    from prism_vo.live.warm_up import warm_up

    if not isinstance(data, LiveSource):
        yield
        return
    try:
        warm_up(data.camera, settings, data.white, data.first_image())
        data.begin()
        with _first_ctrl_c_stops(data):
            yield
    finally:
        data.close()


def progress_of(data: Any, told: TrackingProgress) -> Progress:
    """The same progress, with latency and losses of a live camera."""
    from prism_vo.live.source import LiveSource

    if not isinstance(data, LiveSource):
        return told

    def tell(done: int, total: int | None, report: FrameReport) -> None:
        data.done(report.index)
        told(done, total, report, data.counts.words())

    return tell


@contextmanager
def _first_ctrl_c_stops(source: LiveSource) -> Iterator[None]:
    """Ctrl-C is how a live run ends, and no accident; a second one ends everything."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        source.stop()

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
