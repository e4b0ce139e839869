# SPDX-License-Identifier: Apache-2.0
"""Which camera a word on the command line stands for."""

from __future__ import annotations

import re
from pathlib import Path

from prism_vo.datasets.images import Size, read_image
from prism_vo.datasets.video import is_video
from prism_vo.errors import ConfigError
from prism_vo.live.grabber import Grabber
from prism_vo.live.source import LiveSource
from prism_vo.optics.calibration import load_calibration
from prism_vo.optics.camera import PlenopticCamera

FORMS = (
    "v4l2:0 (or /dev/video0), opencv:URL (RTSP and the like), video:FILE, folder:PATH, aravis or aravis:NAME,"
    " harvesters:FILE.cti or harvesters:FILE.cti#SERIAL"
)
DEVICE = re.compile(r"(?:v4l2:|/dev/video)(\d{1,3})")


def open_live(
    source: str, camera: Path | None, white: Path | None, queue: int, patience: float
) -> LiveSource:
    """The camera that ``source`` names, ready to deliver."""
    if not 1 <= queue <= 1000:
        raise ConfigError("--queue must be a number of frames from 1 to 1000.")
    if not patience > 0:
        raise ConfigError("--follow must be a positive number of seconds.")
    kind, _, rest = source.partition(":")
    if kind == "folder" or (not rest and Path(source).is_dir()):
        return _folder(Path(rest or source), camera, white, queue, patience)
    if camera is None:
        raise ConfigError(f"--source {source} needs --camera FILE: nothing else describes the camera.")
    model = PlenopticCamera.from_calibration(load_calibration(camera))
    sensor = model.calibration.sensor
    size = Size(sensor.width, sensor.height, "the white image must have the raw images' size")
    light = None if white is None else read_image(white, size)
    return LiveSource(open_grabber(source), model, light, queue, patience, white)


def open_grabber(source: str) -> Grabber:
    """The device alone."""
    kind, _, rest = source.partition(":")
    if (device := DEVICE.fullmatch(source)) is not None or source.isdigit():
        from prism_vo.live.opencv import CaptureGrabber

        return CaptureGrabber(int(device[1] if device else source))
    if kind == "opencv" and rest:
        from prism_vo.live.opencv import CaptureGrabber

        return CaptureGrabber(rest)
    if (kind == "video" and rest) or is_video(Path(source)):
        from prism_vo.live.opencv import PacedVideo

        return PacedVideo(rest if kind == "video" else source)
    if kind == "aravis":
        from prism_vo.live.aravis import AravisGrabber

        return AravisGrabber(rest or None)
    if kind == "harvesters" and rest:
        from prism_vo.live.harvester import HarvesterGrabber

        producer, _, serial = rest.partition("#")
        return HarvesterGrabber(Path(producer), serial or None)
    raise ConfigError(f"--source {source} is not understood; there are: {FORMS}.")


def _folder(path: Path, camera: Path | None, white: Path | None, queue: int, patience: float) -> LiveSource:
    from prism_vo.live.folder import FolderGrabber

    if camera is not None or white is not None:
        raise ConfigError("--camera and --white cannot be combined with a folder; put camera.yaml into it.")
    grabber = FolderGrabber(path, patience)
    sequence = grabber.sequence
    # the folder's own patience ends the run
    return LiveSource(grabber, sequence.camera, sequence.white, queue, 2 * patience + 1, sequence.white_path)
