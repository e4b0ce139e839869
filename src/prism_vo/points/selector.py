# SPDX-License-Identifier: Apache-2.0
"""Chooses the candidates of new keyframes, on a thread of its own while the window is being optimised."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.config import SelectConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.points.candidates import select_candidates
from prism_vo.points.records import Candidates
from prism_vo.stopwatch import Stopwatch
from prism_vo.types import Frame, InputFrame, PointDepth

Measure = Callable[[InputFrame, Floats], PointDepth]


class CandidateSelector:
    """Reads nothing but the frame it is given, so it may run beside anything."""

    def __init__(
        self,
        measure: Measure,
        config: SelectConfig,
        contrast: float,
        seed: int,
        watch: Stopwatch,
        threads: bool,
    ) -> None:
        self.measure, self.config, self.contrast = measure, config, contrast
        self.restart(seed)
        self.watch = watch
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="select") if threads else None

    def restart(self, seed: int) -> None:
        """Choose as at the beginning of a run."""
        self.rng = np.random.default_rng(seed)

    def first(self, frame: Frame, view: FocusedView) -> Candidates:
        """Of the first keyframe of a segment: more of them, at once."""
        return self._select(frame, view, self.config.first_candidates)

    def begin(self, frame: Frame, view: FocusedView) -> Callable[[], Candidates]:
        """Begin to select; the function that is returned waits for the candidates."""
        if self.executor is not None:
            return self.executor.submit(self._select, frame, view, self.config.candidates).result
        selected = self._select(frame, view, self.config.candidates)
        return lambda: selected

    def _select(self, frame: Frame, view: FocusedView, wanted: int) -> Candidates:
        def measure(points: Floats) -> PointDepth:
            with self.watch("measure"):
                return self.measure(frame.source, points)

        with self.watch("select"):
            found = select_candidates(
                view, frame.image, measure, wanted, self.config, self.contrast, self.rng
            )
            picture = frame.focused.color
            return found if picture is None else found.painted(picture)
