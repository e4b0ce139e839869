# SPDX-License-Identifier: Apache-2.0
"""When a frame becomes a keyframe (docs/method.md, section 5)."""

from __future__ import annotations

import numpy as np

from prism_vo.config import TrackConfig
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.track import Track

TRANSLATION_SHARE = 0.67  # of the flow that counts; the rest is that of translation and rotation together
BRIGHTNESS_WEIGHT = 2.0  # a change by a factor of exp(1/2) asks for a keyframe, however small the motion


def wants_keyframe(track: Track, motion: Motion, config: TrackConfig) -> bool:
    """Far from the reference, much brighter or darker, mostly out of view, or fitting worse and worse."""
    flow = TRANSLATION_SHARE * track.flow_translation + (1.0 - TRANSLATION_SHARE) * track.flow
    distance = flow / config.keyframe_flow + BRIGHTNESS_WEIGHT * abs(np.log(track.brightness.gain))
    grown = motion.first_rms is not None and track.rms > config.keyframe_rms_growth * motion.first_rms
    return bool(distance > 1.0 or grown or track.visible < config.keyframe_visible)
