# SPDX-License-Identifier: Apache-2.0
"""Videos for the loader tests: lossless, so that every pixel can be compared."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np


def write_video(path: Path, frames: list[np.ndarray], codec: str = "FFV1", rate: float = 20.0) -> Path:
    """Frames grey (8 or 16 bit) or RGB."""
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = frames[0].shape[:2]
    options = [
        *(cv2.VIDEOWRITER_PROP_IS_COLOR, int(frames[0].ndim == 3)),
        *(cv2.VIDEOWRITER_PROP_DEPTH, cv2.CV_16U if frames[0].dtype == np.uint16 else cv2.CV_8U),
    ]
    four = cv2.VideoWriter_fourcc(*codec)
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, four, rate, (width, height), options)
    assert writer.isOpened()
    for frame in frames:
        writer.write(np.ascontiguousarray(frame[..., ::-1]) if frame.ndim == 3 else frame)
    writer.release()
    return path
