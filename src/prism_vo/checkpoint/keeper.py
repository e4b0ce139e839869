# SPDX-License-Identifier: Apache-2.0
"""Keeps the checkpoint of a run up to date, and puts a run back to where its checkpoint was written."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from prism_vo.checkpoint.file import read_checkpoint, write_checkpoint
from prism_vo.checkpoint.pickling import from_bytes, to_bytes
from prism_vo.checkpoint.records import RecordFile
from prism_vo.errors import InputError
from prism_vo.odometry import FrameReport, Odometry
from prism_vo.shelf import Shelf
from prism_vo.types import InputFrame

KEYFRAMES = 5  # between checkpoints, at least
MOST_TIME = 0.02  # of the run's, spent on them
# made anew from camera, settings and recording; all other attributes are state
TOOLS = ("camera", "config", "variant", "sensor", "view", "watch", "tracker", "selector", "tools")
REBUILT = (*TOOLS, "following")
REBUILT_IN_FOLLOWING = (*TOOLS, "judge", "places")
REBUILT_IN_SELECTOR = ("view", "measure", "config", "contrast", "watch", "executor")


@runtime_checkable
class Remembers(Protocol):
    """A sink (or another part of a run) whose state belongs to the checkpoint."""

    def memory(self) -> object: ...

    def remember(self, memory: Any) -> None: ...


@dataclass
class Keeper:
    """``offer`` after every frame; ``save`` at once when a run is interrupted between two frames."""

    folder: Path
    header: dict[str, Any]  # what is needed to call the same run again
    odometry: Odometry
    parts: Sequence[object] = ()  # sinks and others; those that remember are asked
    position: int = 0  # frames done
    _keyframes: int = 0  # since the last checkpoint
    _spent: float = 0.0
    _start: float = field(default_factory=time.monotonic)
    _latest: tuple[Shelf[FrameReport], object] | None = None  # None: nothing to save
    records: RecordFile | None = None  # where what is older lies
    able: bool = True  # False: the state cannot be saved

    def begin(self) -> None:
        """An empty checkpoint: enough to begin again."""
        write_checkpoint(self.folder, self.header, b"")

    def offer(self, reports: Shelf[FrameReport], sensor_memory: object) -> None:
        """One more frame is done; now and then everything is written down."""
        self.position += 1
        self._latest = (reports, sensor_memory)
        self._keyframes += reports[-1].status in ("keyframe", "recovered")
        elapsed = time.monotonic() - self._start
        if self._keyframes >= KEYFRAMES and self._spent <= MOST_TIME * elapsed:
            self.save()

    def save(self) -> bool:
        """Write the checkpoint of the last frame; False: there is nothing to write."""
        if self._latest is None or not self.able:
            return False
        start = time.monotonic()
        reports, sensor_memory = self._latest
        state = {
            "position": self.position,
            "reports": reports,
            "odometry": _state(self.odometry, REBUILT),
            "following": _state(self.odometry.following, REBUILT_IN_FOLLOWING),
            "selector": _state(self.odometry.selector, REBUILT_IN_SELECTOR),
            "places": None if self.odometry.places is None else self.odometry.places.memory(),
            "sensor": (sensor_memory, self.odometry.sensor.learned()),
            "parts": {
                type(part).__name__: part.memory() for part in self.parts if isinstance(part, Remembers)
            },
        }
        try:
            data = to_bytes(state, _shared(self.odometry, self.records))
        except (
            pickle.PicklingError,
            TypeError,
            AttributeError,
        ):  # e.g. a sensor of the user's that holds a device
            self.able = False
            return False
        records = {} if self.records is None else self.records.facts()
        write_checkpoint(self.folder, {**self.header, "position": self.position, "records": records}, data)
        self._latest, self._keyframes = None, 0
        self._spent += time.monotonic() - start
        return True

    def restore(
        self, state: bytes, source: Callable[[int], InputFrame], records: RecordFile
    ) -> Shelf[FrameReport]:
        """Put everything back; returns the reports of the frames that are done."""
        odometry, shared = self.odometry, _shared(self.odometry, records)
        try:
            found = from_bytes(state, shared, source, lambda focused: odometry.tracker.pyramid(focused.image))
            parts, position, reports = dict(found["parts"]), int(found["position"]), found["reports"]
            if not isinstance(reports, Shelf):
                raise TypeError("reports")
            states = found["odometry"], found["selector"], found["sensor"], found["following"]
            places = found["places"]
        except InputError as error:
            raise InputError(f"{self.folder}: {error}; begin again with --force.") from error
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"{self.folder}: the checkpoint is not whole; begin again with --force."
            ) from error
        vars(odometry).update(states[0])
        vars(odometry.following).update(states[3])
        vars(odometry.selector).update(states[1])
        odometry.sensor.remember(*states[2])
        if odometry.places is not None and places is not None:
            odometry.places.remember(places, odometry.map.corrections)
        for part in self.parts:  # who looks on may be others than before
            if isinstance(part, Remembers) and type(part).__name__ in parts:
                part.remember(parts[type(part).__name__])
        self.position = position
        return reports


def stored_run(folder: Path) -> tuple[dict[str, Any], bytes] | None:
    """Header and state of the checkpoint in a results folder, if there is one."""
    return read_checkpoint(folder)


def _state(owner: object, rebuilt: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in vars(owner).items() if name not in rebuilt}


def _shared(odometry: Odometry, records: RecordFile | None) -> dict[str, object]:
    following = odometry.following
    found: dict[str, object] = {name: getattr(odometry, name) for name in TOOLS}
    found |= {"judge": following.judge, "places": following.places, "known": odometry.tools.known}
    found |= {"records": records}
    return {
        name: value for name, value in found.items() if value is not None
    }  # None would stand for every None
