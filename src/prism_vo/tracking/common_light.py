# SPDX-License-Identifier: Apache-2.0
"""A frame at the brightness of the map: two images a gain apart show the same, and all that follows counts grey levels.

Thresholds of residuals, outliers and gradients, the noise that weighs intensity against depth, the patterns of points:
with keyframes of different brightness each means something else. A table whose images became darker by 0.3 came out
0.65 % too long instead of 0.01 (the noise followed over twenty keyframes, and depth weighed too much until then).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.tracking.brightness import LARGEST_GAIN, LEAST_CONTRAST, SAME_LIGHT
from prism_vo.tracking.track import Track
from prism_vo.types import Frame, PosedFrame


def light_of(gain: float, exposure: float, reference_exposure: float) -> float:
    """What a frame is to be divided by: its light against that of the map, 1 if it is about the same.

    ``gain``: against a reference that was divided itself, so that its exposure is another than it was. A gain that
    differs little from that of the reference is no change of light: over many keyframes such differences add up to
    what shading and reflections do.
    """
    same = exposure / reference_exposure
    light = same if abs(np.log(gain / same)) <= SAME_LIGHT else gain
    return 1.0 if abs(np.log(light)) <= SAME_LIGHT else float(np.clip(light, LEAST_CONTRAST, LARGEST_GAIN))


def divided(posed: PosedFrame, gain: float, pyramid: Callable[[Floats], list[Floats]]) -> PosedFrame:
    """A frame as if it had been exposed so much shorter; what depth is measured in stays as it is."""
    frame = posed.frame
    image = (frame.focused.image / np.float32(gain)).astype(np.float32)
    focused = replace(frame.focused, image=image, exposure=frame.exposure / gain)
    a, b = posed.affine
    return replace(
        posed, frame=Frame.of(frame.source, focused, pyramid(image)), affine=np.array([a, b / gain])
    )


def track_divided(track: Track, gain: float) -> Track:
    """What would have been found out about such a frame."""
    light = track.brightness
    light = replace(light, gain=light.gain / gain, offset=light.offset / gain)
    return replace(track, brightness=light, rms=track.rms / gain)
