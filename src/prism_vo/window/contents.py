# SPDX-License-Identifier: Apache-2.0
"""What the window holds, and how it is turned into the terms of an energy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Mask
from prism_vo.config import WindowConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.optics.focus import FocusModel
from prism_vo.optics.lens import LENS, LensModel
from prism_vo.optics.pinhole import Pinhole
from prism_vo.points.records import Candidates, HostFrames, Points
from prism_vo.tracking.brightness import ZoneAgreement
from prism_vo.types import PosedFrame, PosedImage
from prism_vo.window.balance import EtaBalance
from prism_vo.window.energy import WindowEnergy
from prism_vo.window.keyframe import BLOCK, Keyframe
from prism_vo.window.state import CameraBlock, State
from prism_vo.window.terms.brightness import BrightnessTerm
from prism_vo.window.terms.depth import DepthTerm, information_at_estimate
from prism_vo.window.terms.focus import FocusPrior
from prism_vo.window.terms.lens import LensPrior
from prism_vo.window.terms.photometric import PhotometricTerm
from prism_vo.window.terms.prior import Prior
from prism_vo.window.terms.term import Term

MOVED_SIGMA = 0.05  # mm, of a focus that is not the one of the camera file
LARGEST_SIGMA = 0.5  # 1/m, of an inverse depth that counts as known
COVERED_PART = 0.15  # share of the image; with a focus wrong by 20 µm up to 0.12 disagree


@dataclass(frozen=True)
class WindowModel:
    """What a variant of the method lets the window minimise."""

    depth_terms: bool = True
    scale_is_gauge: bool = False  # nothing in the energy knows the scale: it is taken out of every step
    variance_power: float = 0.0  # of the sensor
    focus: FocusModel | None = None  # None: the focus is taken as it stands in the camera file
    lens: LensModel | None = None  # focal length and principal point; only together with the focus


class WindowContents:
    """Keyframes, points, candidates, prior. Poses are those of the totally focused view: T_view_world."""

    def __init__(
        self, view: FocusedView, config: WindowConfig, model: WindowModel, first_id: int = 0
    ) -> None:
        self.file_view, self.config, self.model = view, config, model
        self.images = self._no_images()
        self.keyframes: list[Keyframe] = []
        self.points = Points.empty()
        self.candidates = Candidates.empty()
        lens = 0 if model.lens is None else LENS
        estimated = np.zeros(0 if model.focus is None else lens + 1)  # the focus is the last of them
        self.camera = CameraBlock(estimated, estimated.copy())
        self.prior = Prior.blank(0, len(self.camera))
        self.balance = EtaBalance(config)
        self.lens_is_free = np.zeros(lens, np.bool_)  # numbers that the images know better than the file
        self.focus_is_free = False  # held until measured depth and parallax can be compared
        self.focus_has_moved = False  # the camera file is wrong about it
        self.first_id = self.next_id = first_id
        self.origin = np.zeros(3)  # centre of the first keyframe

    def __getstate__(self) -> dict[str, Any]:
        """For checkpoints: of the images, those in use."""
        used = {k.slot: self.images[k.slot] for k in self.keyframes}
        return vars(self) | {"images": used}

    def __setstate__(self, state: dict[str, Any]) -> None:
        used = state["images"]
        vars(self).update(state)
        self.images = self._no_images()
        for slot, grey in used.items():
            if (
                grey.shape != self.images.shape[1:3]
                or grey.dtype != np.float32
                or slot not in range(len(self.images))
            ):
                raise ValueError("images of another window")
            self.images[slot] = grey

    def _no_images(self) -> Floats:
        """A slot for each keyframe, and one for a frame that is located."""
        view = self.file_view
        return np.zeros((self.config.keyframes + 1, view.height, view.width), np.float32)

    def insert(self, posed: PosedFrame, fixed: bool = False, covered: ZoneAgreement | None = None) -> None:
        """Put a keyframe at the end of the window; every active point gets a residual to it.

        ``covered``: zones of it in which something covers the scene.
        """
        frame, slot = posed.frame, self._free_slot()
        if self.next_id == self.first_id:
            self.origin = se3.inverse(posed.T_view_world)[:3, 3]
        self.images[slot] = frame.image
        self.keyframes.append(
            Keyframe(
                self.next_id,
                frame.index,
                frame.time,
                frame.exposure,
                slot,
                posed.T_view_world,
                posed.affine,
                posed.affine,
                fixed,
                covered=covered,
            )
        )
        self.next_id += 1
        self.points = self.points.with_keyframe()
        self.prior = self.prior.with_new_keyframe()

    @property
    def is_covered(self) -> bool:
        """Whether something covers a good part of the scene in one of the keyframes.

        Single zones disagree where the focus is wrong, too, and that must be found.
        """
        found = (k.covered for k in self.keyframes)
        return any(zones is not None and zones.covered.mean() > COVERED_PART for zones in found)

    @property
    def focus_shift(self) -> float:
        """δ, mm; 0 if it is not estimated."""
        return 0.0 if self.model.focus is None else float(self.camera.value[-1])

    @property
    def view(self) -> FocusedView:
        """The view with the camera's numbers as they are estimated now."""
        view, lens = self._view_without_lens, self.model.lens
        return view if lens is None else lens.moved(view, self.camera.value[:LENS])

    @property
    def _view_without_lens(self) -> FocusedView:
        """The view with the focus alone as it is estimated now."""
        return self.file_view if self.model.focus is None else self.model.focus.at(self.focus_shift)

    @property
    def plane(self) -> Pinhole:
        """The keyframes' images as pinhole images."""
        return self.view.image_plane

    @property
    def eta(self) -> float:
        """Weight of the depth terms."""
        return self.balance.eta if self.model.depth_terms else 0.0

    @property
    def hosts(self) -> HostFrames:
        """The keyframes as their points see them."""
        return HostFrames(
            np.array([k.pose for k in self.keyframes]),
            np.array([k.affine for k in self.keyframes]),
            np.array([k.exposure for k in self.keyframes]),
        )

    def state(self, points: Points) -> State:
        """The present state with some points."""
        return State.of(self.keyframes, points.inv_depth, self.camera)

    def photometric(self, points: Points) -> PhotometricTerm:
        """Residuals of some points in the window's keyframes."""
        return PhotometricTerm(
            self.plane.intrinsics,
            self.images,
            np.array([k.slot for k in self.keyframes], np.int32),
            np.array([k.exposure for k in self.keyframes]),
            np.array([k.outlier_energy for k in self.keyframes], np.float32),
            points,
            self.config.huber,
            lens=None if self.model.lens is None else self._view_without_lens.image_plane.intrinsics,
        )

    def depth(self, points: Points) -> DepthTerm | None:
        """Depth residuals of some points, if the variant has them."""
        if not self.model.depth_terms:
            return None
        information = self.depth_information(points)
        return DepthTerm(
            self.file_view,
            points.measured,
            information,
            self.eta,
            self.config.depth_huber,
            self.model.focus,
        )

    def point_terms(self, points: Points) -> tuple[Term, ...]:
        """All terms but the photometric one that some points are part of: what leaves with them."""
        depth = self.depth(points)
        return () if depth is None else (depth,)

    def depth_information(self, points: Points) -> Array:
        """What the depth measurements (N,) of some points weigh: in the energy, in tracking and in pictures."""
        return information_at_estimate(self.view, points, self.model.variance_power)

    def brightness(self) -> BrightnessTerm:
        """Brightness of the keyframes about their tracked values."""
        sigma = np.array([self.config.sigma_gain, self.config.sigma_offset])
        centre = np.array([k.tracked_affine for k in self.keyframes])
        return BrightnessTerm(centre, self.balance.noise2 / sigma**2)

    def energy(self, depth: DepthTerm | None) -> WindowEnergy:
        """All terms."""
        others: tuple[Term, ...] = (self.brightness(), self.prior)
        if self.model.focus is not None:
            others = (*others, self.focus_prior())
        if self.model.lens is not None:
            others = (*others, self.lens_prior(self.model.lens))
        return WindowEnergy(self.photometric(self.points), others if depth is None else (depth, *others))

    def focus_prior(self) -> FocusPrior:
        """The focus about that of the camera file."""
        assert self.model.focus is not None
        sigma = MOVED_SIGMA if self.focus_has_moved else self.model.focus.known.sigma
        return FocusPrior(self.balance.noise2 / sigma**2)

    def lens_prior(self, lens: LensModel) -> LensPrior:
        """Focal length and principal point about those of the camera file."""
        return LensPrior(self.balance.noise2 / lens.sigma**2)

    def least_curvature(self) -> float:
        """Curvature below which a depth is not known, at the present noise."""
        return self.balance.noise2 / LARGEST_SIGMA**2

    def free_variables(self) -> Mask:
        """All variables but those of the fixed keyframe (the gauge)."""
        free = np.repeat([not k.fixed for k in self.keyframes], BLOCK)
        if self.model.focus is None:
            return np.concatenate([free, np.ones(len(self.camera), np.bool_)])
        return np.concatenate([free, self.lens_is_free, [self.focus_is_free]])

    def with_frame(self, posed: PosedImage) -> tuple[PhotometricTerm, State]:
        """The photometric term and the state with one more frame at the end, in a free image slot."""
        slot = self._free_slot()
        self.images[slot] = posed.grey
        term, state = self.photometric(self.points).with_held_lens, self.state(self.points)
        count = len(self.keyframes) + 1
        term = replace(
            term,
            slots=np.append(term.slots, np.int32(slot)),
            exposure=np.append(term.exposure, posed.exposure),
            outlier_energy=np.append(term.outlier_energy, term.outlier_energy[-1]),
        )
        state = replace(
            state,
            base_pose=np.concatenate([state.poses, posed.T_view_world[None]]),
            base_affine=np.vstack([state.affine, posed.affine]),
            delta=np.zeros((count, BLOCK)),
            in_prior=np.zeros(count, np.bool_),
        )
        return term, state

    def _free_slot(self) -> int:
        """A place in the image stack that no keyframe uses."""
        used = {k.slot for k in self.keyframes}
        return next(s for s in range(len(self.images)) if s not in used)
