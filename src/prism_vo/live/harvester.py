# SPDX-License-Identifier: Apache-2.0
"""GenICam cameras through Harvesters (extra ``live``) and the vendor's GenTL producer, a ``.cti`` file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from prism_vo.errors import InputError, MissingExtraError
from prism_vo.live.aravis import between, pixel_type
from prism_vo.live.grabber import WAIT, Grabbed


def load_harvesters() -> Any:
    """The package, or one sentence where it comes from."""
    try:
        from harvesters.core import Harvester
    except ImportError as error:
        raise MissingExtraError("Harvesters is not installed: pip install 'prism-vo[live]'.") from error
    return Harvester


class HarvesterGrabber:
    """The camera with a serial number, or the first one, that a GenTL producer finds."""

    waits = False

    def __init__(self, producer: Path, serial: str | None = None) -> None:
        if not producer.is_file():
            raise InputError(f"{producer}: no such file; name the .cti file of the camera maker's driver.")
        self._harvester = load_harvesters()()
        try:
            self._harvester.add_file(str(producer))
            self._harvester.update()
            self._acquirer = self._harvester.create({"serial_number": serial} if serial else 0)
            self._acquirer.start()
        except Exception as error:  # whatever the vendor's library raises
            self._harvester.reset()
            raise InputError(f"{producer}: no camera can be opened ({error}).") from error
        self.name = serial or producer.stem
        self._last: int | None = None

    def grab(self) -> Grabbed | None:
        """The next image."""
        buffer = self._acquirer.try_fetch(timeout=WAIT)
        if buffer is None:
            return None
        with buffer:
            number = int(buffer.frame_id)
            missed = between(self._last, number)
            if missed is None:  # it was counted as missed when later ones came
                return None
            self._last = number
            part = buffer.payload.components[0]
            dtype, channels = pixel_type(part.data_format)
            image = np.asarray(part.data).view(dtype).reshape(part.height, part.width, *channels).copy()
            return Grabbed(buffer.timestamp_ns * 1e-9, image, missed)

    def begin(self) -> None:
        """It runs already."""

    def close(self) -> None:
        """Stop the camera and unload the producer."""
        self._acquirer.stop()
        self._acquirer.destroy()
        self._harvester.reset()
