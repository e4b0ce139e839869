# SPDX-License-Identifier: Apache-2.0
"""When a frame becomes a keyframe (docs/method.md, section 5)."""

from __future__ import annotations

import numpy as np

from prism_vo.config import TrackConfig
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.track import Track

TRANSLATION_SHARE = 0.67  # of the flow that counts; the rest is that of translation and rotation together
BRIGHTNESS_WEIGHT = (
    0.5  # a change by a factor of exp(1) shortens the distance at which a keyframe is due by a third
)
COVERED_DISTANCE = 1.7  # times the usual distance, and …
COVERED_VISIBLE = 0.5  # … share of the reference in view, at which a keyframe is due all the same
# σ of scale that the depths of one keyframe know by themselves. Where it is small, more keyframes bring little and may
# be FARTHER times as far apart; where it is large, scale is the mean of what all of them measure, and each one counts.
# Tables and rooms know 0.1 to 0.35 % with one image, streets 1 to 2 %
SURE_OF_SCALE, UNSURE_OF_SCALE, FARTHER = 0.004, 0.008, 1.4


def keyframe_distance(scale_sigma: float) -> float:
    """Times the usual image motion at which a keyframe is due, where the depths of one know scale to this."""
    doubt = np.log(max(scale_sigma, SURE_OF_SCALE) / SURE_OF_SCALE) / np.log(UNSURE_OF_SCALE / SURE_OF_SCALE)
    return float(FARTHER + (1.0 - FARTHER) * min(doubt, 1.0))


def wants_keyframe(
    track: Track, motion: Motion, config: TrackConfig, is_example: bool = True, farther: float = 1.0
) -> bool:
    """Far from the reference, much brighter or darker, mostly out of view, or fitting worse and worse.

    Not ``is_example``: it fits badly, and nothing confirms it. ``farther``: see :func:`keyframe_distance`.
    """
    flow = TRANSLATION_SHARE * track.flow_translation + (1.0 - TRANSLATION_SHARE) * track.flow
    # a flickering light alone asks for none: two images a gain apart show the same
    distance = flow / config.keyframe_flow * (1.0 + BRIGHTNESS_WEIGHT * abs(np.log(track.brightness.gain)))
    if track.covered is not None or not is_example:
        # what covers the scene or blurs it would become part of the map: keep to the reference while it is any good
        return bool(distance > COVERED_DISTANCE or track.visible < COVERED_VISIBLE)
    grown = (
        motion.first_rms is not None and track.relative_rms > config.keyframe_rms_growth * motion.first_rms
    )
    return bool(distance > farther or grown or track.visible < config.keyframe_visible)
