# SPDX-License-Identifier: Apache-2.0
"""Photometric residuals of all points in all keyframes but their hosts (docs/method.md, eq. 9)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.optics.lens import LENS
from prism_vo.optics.pinhole import Intrinsics
from prism_vo.points.pattern import NONE, OUTSIDE
from prism_vo.points.records import Points
from prism_vo.window.keyframe import POSE
from prism_vo.window.state import State
from prism_vo.window.system import Residuals, System
from prism_vo.window.terms.lens_kernel import LensSums, accumulate_lens, add_lens
from prism_vo.window.terms.pairs import PairGeometry, add_pairs
from prism_vo.window.terms.photometric_kernel import Found, Limits, Patterns, Sums, accumulate_residuals

# images, slots, intrinsics, geometry of pairs now and at first estimates, patterns
Place = tuple[Floats, Integers, Intrinsics, PairGeometry, PairGeometry, Patterns]


@dataclass(frozen=True)
class FrameEquations:
    """``H δ = −b`` of the pose of one frame."""

    h: Array  # (6, 6)
    b: Array  # (6,)
    energy: float
    photometric: Residuals


@dataclass(frozen=True)
class PhotometricTerm:
    """Σ w ‖r_photo‖_γ with everything that stays constant during one solve."""

    intrinsics: Intrinsics
    images: Floats  # (S, h, w)
    slots: Integers  # (K,)
    exposure: Array  # (K,)
    outlier_energy: Floats  # (K,)
    points: Points
    huber: float
    outside_cost: Floats | None = None  # (N, K), of residuals out of view; None: the outlier energies
    lens: Intrinsics | None = (
        None  # what the numbers of the lens in the state move; None: ``intrinsics`` hold
    )

    def linearize(self, state: State, system: System) -> float:
        """Adds to the keyframes and the points, and notes what became of each residual."""
        now = PairGeometry.of(state.poses, state.affine, self.exposure)
        first = PairGeometry.of(state.base_pose, state.base_affine, self.exposure)
        place = self._place(state, now, first)
        sums = Sums.zeros(len(self.slots), system.h_cross)
        energy, found = self._accumulate(place, sums)
        add_pairs(sums.h_pair, sums.b_pair, first.adjoint, first.brightness, system.h, system.b)
        if self.lens is not None:
            lens = LensSums.zeros(len(self.slots), len(self.points))
            accumulate_lens(*place, float(self.huber), found.status, lens)
            add_lens(lens, first.adjoint, first.brightness, system, state.camera_rows.start)
        system.h_points += sums.h_points
        system.b_points += sums.b_points
        system.residuals = Residuals(found.status, found.energy, sums.h_points)
        return energy

    def of_last_pose(self, state: State) -> FrameEquations:
        """The last frame's pose alone, everything else held: no more is summed than that."""
        poses = PairGeometry.of(state.base_pose, state.base_affine, self.exposure)
        sums = Sums.of_poses(len(self.slots))
        energy, found = self._accumulate(self._place(state, poses, poses), sums)
        upper, b = sums.h_pair[:, -1].sum(0)[:POSE, :POSE], sums.b_pair[:, -1].sum(0)[:POSE]
        h = np.triu(upper) + np.triu(upper, 1).T
        return FrameEquations(h, b, energy, Residuals(found.status, found.energy, sums.h_points))

    def _place(self, state: State, now: PairGeometry, first: PairGeometry) -> Place:
        """What the kernels read, in their order."""
        p = self.points
        intrinsics = self.intrinsics if self.lens is None else self.lens.moved(state.camera.value[:LENS])
        patterns = Patterns(p.host, p.u, p.v, state.inv_depth, p.color, p.weight)
        return self.images, self.slots, intrinsics, now, first, patterns

    def _accumulate(self, place: Place, sums: Sums) -> tuple[float, Found]:
        """Energy, and what became of each residual; adds to ``sums``."""
        cost = self.outside_cost if self.outside_cost is not None else self.outlier_energy
        status = self.points.residual_status.copy()
        found = Found(status, np.broadcast_to(cost, status.shape).copy())
        limits = Limits(np.float32(self.huber), self.outlier_energy)
        return float(accumulate_residuals(*place, limits, found, sums)), found

    def limited(self, energies: Floats) -> Floats:
        """What residuals (N, K) cost: their energy, at the most the outlier energy of their keyframe."""
        return np.minimum(energies, self.outlier_energy[None, :])

    def with_costs_of(self, residuals: Residuals) -> PhotometricTerm:
        """Residuals that leave the image from here on keep the energy they have now."""
        return replace(self, outside_cost=self.limited(residuals.energy))

    @property
    def with_held_lens(self) -> PhotometricTerm:
        """The same with focal length and principal point as they are now."""
        return replace(self, lens=None)

    def without(self, residuals: Mask) -> PhotometricTerm:
        """Some residuals (N, K) do not exist."""
        status = np.where(residuals, NONE, self.points.residual_status).astype(np.int8)
        return replace(self, points=replace(self.points, residual_status=status))


def settle_borders(term: PhotometricTerm, start: Residuals) -> tuple[PhotometricTerm, float, Mask]:
    """Make the energy continuous across the image border for one descent from ``start``: the term, what is dropped of
    its energy there, and which residuals (N, K) are.

    A residual out of view at the start takes no part, one that leaves on the way keeps the energy it had in the last
    accepted state: a jump at the border would refuse good steps for the sake of a few points crossing it.
    """
    outside = start.status == OUTSIDE
    dropped = float(start.energy[outside].sum())
    return term.without(outside).with_costs_of(start), dropped, outside
