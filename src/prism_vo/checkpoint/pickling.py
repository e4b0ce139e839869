# SPDX-License-Identifier: Apache-2.0
"""State ↔ bytes: pickles that name images of the recording instead of holding them, and are read with care.

A pickle is a program. The reader takes classes of this package that hold state, and arrays in a form of our own;
nothing else is looked up, so that a file made by somebody else can at worst fail to load.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import Any

from prism_vo.checkpoint import plain_arrays
from prism_vo.errors import InputError
from prism_vo.types import DecodedFrame, Frame, InputFrame, RawFrame

ROOMS = frozenset(
    {
        *(
            "types",
            "config",
            "odometry",
            "beginning",
            "frame_report",
            "optics",
            "window",
            "points",
            "tracking",
            "map",
            "variants",
            "places",
        ),
        *(
            "linear",
            "lightfield",
            "report",
            "trajectory",
            "cloud",
            "calibrate",
            "evaluate",
            "sensor",
            "segments",
            "shelf",
        ),
    }
)
AS_IT_CAME = -1  # number of a focused image that is the recording's own
PYTHON = {
    "builtins": ("set", "frozenset", "slice", "range", "complex", "bytearray"),
    "collections": ("deque", "OrderedDict", "Counter"),
}


class _Writer(pickle.Pickler):
    """Frames of the recording are named by their number; what the reader has anyway (camera, sensor) by a word."""

    def __init__(self, file: BytesIO, shared: dict[str, object]) -> None:
        super().__init__(file, protocol=5)
        self._names = {id(value): name for name, value in shared.items()}
        self._written: dict[int, int] = {}  # focused images: identity → number

    def persistent_id(self, value: Any) -> Any:
        """What stands for a value; None: the value itself."""
        if (name := self._names.get(id(value))) is not None:
            return ("shared", name)
        if isinstance(value, RawFrame):
            return ("source", value.index)
        if isinstance(value, Frame):
            return ("frame", value.index, *self._focused(value))
        return None

    def reducer_override(self, value: Any) -> Any:
        """Values of NumPy in a form that is checked when it is read."""
        return plain_arrays.reduced(value)

    def _focused(self, frame: Frame) -> tuple[int, DecodedFrame | None]:
        """Number of the focused image, and the image itself, once; the pyramid is made of it again.

        A frame may be there twice: as it came in, and evened or in the light of the map.
        """
        if frame.focused is frame.source:
            return AS_IT_CAME, None
        known = self._written.get(id(frame.focused))
        if known is not None:
            return known, None
        number = self._written[id(frame.focused)] = len(self._written)
        return number, replace(
            frame.focused, picture=None
        )  # colour is made when a keyframe is, and only then


class _Reader(pickle.Unpickler):
    def __init__(
        self,
        data: bytes,
        shared: dict[str, object],
        source: Callable[[int], InputFrame],
        pyramid: Callable[[DecodedFrame], Any],
    ) -> None:
        super().__init__(BytesIO(data))
        self._shared, self._source, self._pyramid = shared, source, pyramid
        self._sources: dict[int, InputFrame] = {}
        self._frames: dict[tuple[int, int], Frame] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Only what holds state."""
        if module == plain_arrays.__name__ and name in plain_arrays.READERS:
            return plain_arrays.READERS[name]
        if name in PYTHON.get(module, ()):
            return getattr(importlib.import_module(module), name)
        rooms = module.split(".")
        if rooms[0] == "prism_vo" and len(rooms) > 1 and rooms[1] in ROOMS and "." not in name:
            found = getattr(importlib.import_module(module), name, None)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError("it names what is no state of a run")

    def persistent_load(self, key: Any) -> Any:
        """What a word or number stands for."""
        kind, which = key[0], key[1]
        if kind == "shared":
            return self._shared[which]
        if kind == "source":
            return self._frame_of_recording(which)
        if kind == "frame":
            return self._whole_frame(which, key[2], key[3])
        raise pickle.UnpicklingError("an unknown reference")

    def _frame_of_recording(self, index: int) -> InputFrame:
        if index not in self._sources:
            self._sources[index] = self._source(index)
        return self._sources[index]

    def _whole_frame(self, index: int, number: int, focused: DecodedFrame | None) -> Frame:
        if (index, number) not in self._frames:
            source = self._frame_of_recording(index)
            image = focused if focused is not None else source
            assert isinstance(image, DecodedFrame)
            self._frames[index, number] = Frame.of(source, image, self._pyramid(image))
        return self._frames[index, number]


def to_bytes(state: object, shared: dict[str, object]) -> bytes:
    """The state as bytes."""
    file = BytesIO()
    _Writer(file, shared).dump(state)
    return file.getvalue()


def from_bytes(
    data: bytes,
    shared: dict[str, object],
    source: Callable[[int], InputFrame],
    pyramid: Callable[[DecodedFrame], Any],
) -> Any:
    """The state again; ``source(index)`` gives frames of the recording."""
    try:
        return _Reader(data, shared, source, pyramid).load()
    except InputError:
        raise
    except Exception as error:  # whatever a damaged or foreign pickle comes up with
        raise InputError(f"the checkpoint cannot be used ({type(error).__name__})") from error
