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
from prism_vo.window.state import State
from prism_vo.window.system import Residuals, System
from prism_vo.window.terms.lens_kernel import LensSums, accumulate_lens, add_lens
from prism_vo.window.terms.pairs import PairGeometry, add_pairs
from prism_vo.window.terms.photometric_kernel import Found, Limits, Patterns, Sums, accumulate_residuals


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
        p, count = self.points, len(self.points)
        now = PairGeometry.of(state.poses, state.affine, self.exposure)
        first = PairGeometry.of(state.base_pose, state.base_affine, self.exposure)
        intrinsics = self.intrinsics if self.lens is None else self.lens.moved(state.camera.value[:LENS])
        patterns = Patterns(p.host, p.u, p.v, state.inv_depth, p.color, p.weight)
        cost = self.outside_cost if self.outside_cost is not None else self.outlier_energy
        found = Found(p.residual_status.copy(), np.broadcast_to(cost, (count, len(self.slots))).copy())
        sums = Sums.zeros(len(self.slots), system.h_cross)
        energy = accumulate_residuals(
            self.images,
            self.slots,
            intrinsics,
            now,
            first,
            patterns,
            Limits(np.float32(self.huber), self.outlier_energy),
            found,
            sums,
        )
        add_pairs(sums.h_pair, sums.b_pair, first.adjoint, first.brightness, system.h, system.b)
        if self.lens is not None:
            lens = LensSums.zeros(len(self.slots), count)
            place = self.images, self.slots, intrinsics, now, first, patterns
            accumulate_lens(*place, float(self.huber), found.status, lens)
            add_lens(lens, first.adjoint, first.brightness, system, state.camera_rows.start)
        system.h_points += sums.h_points
        system.b_points += sums.b_points
        system.residuals = Residuals(found.status, found.energy, sums.h_points)
        return float(energy)

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


def settle_borders(term: PhotometricTerm, start: System) -> tuple[PhotometricTerm, System, Mask]:
    """Make the energy continuous across the image border for one descent from ``start``.

    A residual out of view at the start takes no part, one that leaves on the way keeps the energy it had in the last
    accepted state: a jump at the border would refuse good steps for the sake of a few points crossing it.
    """
    outside = start.photometric.status == OUTSIDE
    dropped = float(start.photometric.energy[outside].sum())
    settled = term.without(outside).with_costs_of(start.photometric)
    return settled, replace(start, energy=start.energy - dropped), outside
