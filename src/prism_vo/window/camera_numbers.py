# SPDX-License-Identifier: Apache-2.0
"""The numbers of the camera that a window estimates: how its focus and its lens are followed, what is known of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism_vo.arrays import Array
from prism_vo.config import WindowConfig
from prism_vo.optics.view import FocusedView
from prism_vo.window.agreement import lengths_would_agree
from prism_vo.window.contents import WindowContents, WindowModel
from prism_vo.window.focus_step import focus_step
from prism_vo.window.focus_watch import (
    CONTRADICT,
    LEAST_KEYFRAMES,
    FocusEstimate,
    FocusWatch,
    honest_sigma,
)
from prism_vo.window.keyframe import BLOCK
from prism_vo.window.refocus import Rescaling, change_from_here, correct_from_the_start
from prism_vo.window.report import FocusReport, LensReport
from prism_vo.window.uncertainty import focus_estimate, own_sigmas

LARGEST_SHIFT = 0.3  # mm, that heat, transport and touch may move a lens by; beyond it the optics are others
NEAR = 0.25  # of σ of the focus: what a wrong one holds back of itself is less then


class WindowWithCamera(WindowContents):
    """A window that follows the camera's own numbers."""

    def __init__(
        self, view: FocusedView, config: WindowConfig, model: WindowModel, first_id: int = 0
    ) -> None:
        super().__init__(view, config, model, first_id)
        self.focus_watch = FocusWatch()
        self.focus_seen: FocusEstimate | None = None  # by the images alone
        # the same, where something seems to cover the scene
        self.focus_suspected: FocusEstimate | None = None
        self.lens_sigma = np.zeros(0) if model.lens is None else model.lens.sigma.copy()
        # keyframes that a focus which was found before is held for: what it was found with cannot tell it any better,
        # but single keyframes move it by what they err, and first estimates would keep that
        self.held_for = LEAST_KEYFRAMES - 1
        self.focus_since = first_id  # id of the first keyframe taken with the present focus

    @property
    def focus_is_settled(self) -> bool:
        """Whether it is known that the focus was right from the start, or nobody asks."""
        return self.model.focus is None or self.focus_watch.trusted

    def follow_focus(self, reduced: tuple[Array, Array]) -> Rescaling | None:
        """Go over to another focus if depth and parallax show one."""
        focus = self.model.focus
        if focus is None:
            return None
        seen = focus_estimate(
            reduced,
            self.free_variables(),
            self.focus_shift,
            self.focus_prior().information,
            self.balance.noise2,
        )
        found = None if seen is None else FocusEstimate(seen[0], honest_sigma(seen[1], focus))
        if found is None or self.is_covered:  # what covers the scene has a parallax of its own
            self.focus_watch = replace(self.focus_watch, verdict="as it was")
            self.focus_suspected = found
            return None
        self.focus_seen, self.focus_suspected = found, None
        guessed = focus.known.guessed and self.model.lens is None
        if (
            guessed or abs(found.shift) > LARGEST_SHIFT
        ):  # it is said, but no focus alone puts such optics right
            self.focus_watch = replace(self.focus_watch, verdict="as it was")
            return None
        was_trusted = self.focus_watch.trusted
        step = focus_step(self, self.focus_since) if was_trusted else None
        self.focus_watch = self.focus_watch.after(self.focus_shift, found, step)
        if self.focus_watch.verdict == "wrong from the start" and not lengths_would_agree(
            self, focus.at(found.shift)
        ):
            self.focus_watch = replace(self.focus_watch, trusted=was_trusted, verdict="as it was")
        match self.focus_watch.verdict:
            case "wrong from the start":
                return correct_from_the_start(self, found.shift)
            case "has changed":
                assert step is not None
                self.focus_since = step.first
                change_from_here(self, focus.shift_of(self.view.w_infinity + step.change), step.first)
            case "differs a little":
                self.focus_is_free = self.focus_has_moved = True
            case _:
                stated = focus.known.stated and self.focus_watch.trusted
                found_before = self.focus_has_moved and self.focus_watch.keyframes > self.held_for
                self.focus_is_free = self.focus_is_free or stated or found_before
        return None

    @property
    def _latest_focus(self) -> FocusEstimate | None:
        """As the images show it now, whether something seems to cover the scene or not."""
        return self.focus_suspected or self.focus_seen

    @property
    def latest_numbers(self) -> Array:
        """Of the camera, the focus as the images show it now, whether it is free yet or not."""
        numbers, seen = self.camera.value, self._latest_focus
        if seen is not None:
            numbers[-1] = seen.shift
        return numbers

    @property
    def focus_is_suspect(self) -> bool:
        """Whether zones of keyframes fit nowhere and the focus is another one, if one believes the others.

        Either something covers the scene, or the focus is so wrong that points of different depths cannot all fit.
        """
        found, enough = self.focus_suspected, self.next_id - self.first_id >= LEAST_KEYFRAMES
        if found is None or self.focus_watch.trusted or not enough:
            return False
        return abs(found.shift - self.focus_shift) > CONTRADICT * found.sigma

    def focus_is_near(self, shift: float) -> bool:
        """Whether the images show the focus where a run began with it (mm)."""
        seen = self._latest_focus
        return seen is None or abs(seen.shift - shift) < NEAR * seen.sigma

    def focus_report(self) -> FocusReport | None:
        """The focus as it is known now; None: it is not estimated."""
        if self.model.focus is None:
            return None
        known = self.focus_prior().information / self.balance.noise2
        if self.focus_seen is None:
            return FocusReport(self.focus_shift, known**-0.5, self.focus_watch.verdict)
        seen = self.focus_seen.sigma**-2
        sigma, likely = (known + seen) ** -0.5, self.focus_seen.shift * seen / (known + seen)
        if not self.focus_is_free:  # wrong by what images and file together would change in it
            sigma = float(np.hypot(sigma, likely - self.focus_shift))
        return FocusReport(self.focus_shift, sigma, self.focus_watch.verdict)

    def follow_lens(self, reduced: Array) -> None:
        """Numbers of the lens are estimated from the moment the images know them better than the camera file."""
        lens = self.model.lens
        if lens is None or self.next_id - self.first_id < LEAST_KEYFRAMES:
            return
        first = BLOCK * len(self.keyframes)
        rows, free = slice(first, first + len(self.lens_is_free)), self.free_variables()
        noise2 = self.balance.noise2
        own = own_sigmas(reduced, free, rows, self.lens_prior(lens).information, noise2)
        if own is not None:
            self.lens_is_free = self.lens_is_free | (own < lens.sigma)

    def lens_report(self) -> LensReport | None:
        """Focal length and principal point as they are known now; None: they are not estimated."""
        if self.model.lens is None:
            return None
        return LensReport(self.camera.value[:-1], self.lens_sigma, self.lens_is_free)
