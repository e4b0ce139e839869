# SPDX-License-Identifier: Apache-2.0
"""GenICam cameras (GigE Vision, USB3 Vision) through Aravis, which Linux distributions bring."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.errors import InputError, MissingExtraError
from prism_vo.live.grabber import WAIT, Grabbed

BUFFERS = 8
LARGEST_ID = 65535  # of GigE Vision
UNPACKED = {"8": np.uint8, "10": np.uint16, "12": np.uint16, "14": np.uint16, "16": np.uint16}


def load_aravis() -> Any:
    """The library, or one sentence where it comes from."""
    try:
        import gi

        gi.require_version("Aravis", "0.8")
        from gi.repository import Aravis
    except (ImportError, ValueError) as error:
        raise MissingExtraError(
            "Aravis and its Python binding are not installed (Debian, Ubuntu: apt install gir1.2-aravis-0.8 python3-gi,"
            " and a virtual environment made with --system-site-packages)."
        ) from error
    return Aravis


class AravisGrabber:
    """One camera, by its name, serial number or address; the first that is found without one."""

    waits = False

    def __init__(self, device: str | None = None) -> None:
        self._aravis = load_aravis()
        # asked for first, or a camera may be found through a network interface that its images do not come in by
        self._aravis.update_device_list()
        try:
            self._camera = self._aravis.Camera.new(device)
            self.name = f"{self._camera.get_vendor_name()} {self._camera.get_model_name()}"
            self._format = self._camera.get_pixel_format_as_string()
            self._dtype, self._channels = pixel_type(self._format)
            self._stream = self._camera.create_stream(None, None)
            payload = self._camera.get_payload()
            for _ in range(BUFFERS):
                self._stream.push_buffer(self._aravis.Buffer.new_allocate(payload))
            self._camera.set_acquisition_mode(self._aravis.AcquisitionMode.CONTINUOUS)
            self._camera.start_acquisition()
        except PermissionError:
            raise
        except Exception as error:  # GLib's errors have no class of their own to name here
            if isinstance(error, InputError):
                raise
            what = f"camera {device!r}" if device else "camera"
            raise InputError(f"Aravis: no {what} can be opened ({_plain(error)}).") from error
        self._last: int | None = None

    def grab(self) -> Grabbed | None:
        """The next image; one with missing packets is damaged."""
        buffer = self._stream.timeout_pop_buffer(int(WAIT * 1e6))
        if buffer is None:
            return None
        try:
            number = int(buffer.get_frame_id())
            missed = between(self._last, number)
            if missed is None:  # it was counted as missed when later ones came
                return None
            self._last = number
            stamp = buffer.get_system_timestamp() * 1e-9
            if buffer.get_status() != self._aravis.BufferStatus.SUCCESS:
                word = buffer.get_status().value_nick.replace("-", " ")
                return Grabbed(stamp, None, missed, problem=f"{self.name}: frame {number}: {word}.")
            shape = (buffer.get_image_height(), buffer.get_image_width(), *self._channels)
            # a copy: the buffer is filled again at once
            image: NDArray[Any] = np.frombuffer(buffer.get_data(), self._dtype, int(np.prod(shape))).copy()
            return Grabbed(stamp, image.reshape(shape), missed)
        finally:
            self._stream.push_buffer(buffer)

    def begin(self) -> None:
        """It runs already."""

    def close(self) -> None:
        """Stop the camera."""
        try:
            self._camera.stop_acquisition()
        except Exception:  # it was unplugged: nothing is left to stop
            return


def between(last: int | None, number: int) -> int | None:
    """How many frames were left out between two numbers; None: it comes late, later ones were here already.

    GigE Vision counts to 65535 and begins again, at 1 (the standard) or at 0 (some cameras).
    """
    if last is None or number > last:
        return 0 if last is None else number - last - 1
    if last > LARGEST_ID or last - number < LARGEST_ID // 2:
        return None
    return max(0, number + LARGEST_ID - last - 1)


def pixel_type(name: str) -> tuple[Any, tuple[int, ...]]:
    """NumPy's type and the channels of a GenICam pixel format such as Mono8, BayerRG12 or RGB8."""
    kind = name.rstrip("0123456789")
    bits = name[len(kind) :]
    grey = kind == "Mono" or (kind.startswith("Bayer") and len(kind) == 7)
    if bits in UNPACKED and (grey or kind == "RGB"):
        return UNPACKED[bits], () if grey else (3,)
    raise InputError(
        f"The camera's pixel format {name} is not understood; set it to Mono8, Mono16, BayerRG8, BayerRG12 or RGB8."
    )


def _plain(error: Exception) -> str:
    return str(getattr(error, "message", None) or error).strip().rstrip(".")
