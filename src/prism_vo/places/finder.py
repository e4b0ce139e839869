# SPDX-License-Identifier: Apache-2.0
"""Known keyframes: found by appearance, verified one after the other until one is the same place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.config import TrackConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.places.alignment import Aligner
from prism_vo.places.index import PlaceIndex
from prism_vo.places.keyframe import CompactKeyframe
from prism_vo.places.verification import Verification, verify

LOOKED_UP = 8  # keyframes that look most alike
TRIED = 2  # of them are verified, unless somebody asks for more

Prior = Callable[[int], Array | None]  # id of a known keyframe → expected T_frame_keyframe


@dataclass(frozen=True)
class Found:
    """A frame shows the place of a known keyframe."""

    keyframe: int  # id of the known one
    T_frame_keyframe: Array
    information: Array  # (6, 6), left tangent
    verification: Verification


class Finder:
    """Keyframes by id, and their index."""

    def __init__(self, view: FocusedView, config: TrackConfig) -> None:
        self.view = view
        self.aligner = Aligner(view, config)
        self.index = PlaceIndex()
        self.keyframes: dict[int, CompactKeyframe] = {}

    def add(self, keyframe: CompactKeyframe) -> None:
        """A new keyframe can be found from now on."""
        self.keyframes[keyframe.id] = keyframe
        self.index.add(keyframe.id, keyframe.features.descriptors)

    def improve(self, keyframe: CompactKeyframe) -> None:
        """Better depths of a keyframe that is known."""
        if keyframe.id in self.keyframes:
            self.keyframes[keyframe.id] = keyframe

    def find(
        self,
        frame: CompactKeyframe,
        finer: list[Floats],
        without: set[int],
        prior: Prior,
        tried: int = TRIED,
    ) -> Found | None:
        """The place a frame shows; ``finer``: levels of its image above the one it keeps; ``without``: ids."""
        if len(frame.features) == 0:
            return None
        allowed = np.array([k not in without for k in self.index.ids], np.bool_)
        alike = self.index.find(frame.features.descriptors, LOOKED_UP, allowed)
        for known in self._nearest_first(alike, prior)[:tried]:
            found = verify(self.aligner, self.keyframes[known], frame, finer, prior(known))
            if found.ok and found.T_b_a is not None and found.information is not None:
                return Found(known, found.T_b_a, found.information, found)
        return None

    def _nearest_first(self, alike: list[int], prior: Prior) -> list[int]:
        """Where the pose is about known, the keyframe with the least parallax first: errors of depth grow with it."""
        expected = {known: prior(known) for known in alike}
        if not any(pose is not None for pose in expected.values()):
            return alike

        def parallax(known: int) -> float:
            pose = expected[known]
            if pose is None:
                return np.inf
            near = self.keyframes[known].inv_depth
            depth = float(np.median(near)) if len(near) else 1.0
            angle = np.arccos(np.clip((np.trace(pose[:3, :3]) - 1.0) / 2.0, -1.0, 1.0))
            return float(np.linalg.norm(pose[:3, 3]) * depth + angle)

        return sorted(alike, key=parallax)
