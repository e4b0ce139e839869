# SPDX-License-Identifier: Apache-2.0
"""Metric facts: what makes lengths metres. Each is a length that the adjustment knows in its own unit, and in metres.

The adjustment itself has no metres: κ is its unit of length. A fact gives the logarithm of the factor between both, its
derivatives by everything that moved, and its own variance; its errors go with those of the camera into one
covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted
from prism_vo.batch.numbers import COUNT, FOCAL, KAPPA, kappa_of
from prism_vo.batch.projection import POSE
from prism_vo.batch.records import Rows
from prism_vo.errors import DegenerateError

FEWEST_POSES = 3
SHORTEST = 1e-6  # in the unit of the adjustment


@dataclass(frozen=True)
class Scale:
    """Metres per unit of the adjustment, as a logarithm."""

    log_factor: float
    by_variables: Array  # (M,)
    by_points: Array  # (P, 3)
    own_variance: float

    @property
    def factor(self) -> float:
        """Metres per unit."""
        return float(np.exp(self.log_factor))


class MetricFact(Protocol):
    """Something with a known length."""

    @property
    def words(self) -> str:
        """What it is, for the screen."""
        ...

    def scale(self, found: Adjusted) -> Scale:
        """What it says about the unit of length."""
        ...


@dataclass(frozen=True)
class NoFact:
    """Nothing is known: the unit stays that of the start."""

    words: str = "none: everything but the scale"

    def scale(self, found: Adjusted) -> Scale:
        """Factor 1, not known at all."""
        return Scale(0.0, np.zeros(len(found.system.b)), np.zeros_like(found.state.points), np.inf)


@dataclass(frozen=True)
class SensorDistance:
    """B of this body, from an earlier calibration."""

    millimetres: float
    sigma: float = 0.0  # mm

    @property
    def words(self) -> str:
        return f"distance array to sensor B = {self.millimetres:g} mm"

    def scale(self, found: Adjusted) -> Scale:
        """κ = (b_L0+B)(b_L0+B−B)/B with b_L0 + B = F·pixel."""
        camera = found.state.camera
        focal, pixel = float(camera.values[FOCAL]), camera.pixel_mm
        kappa = kappa_of(focal, pixel, self.millimetres)
        if kappa <= 0:
            raise DegenerateError(
                f"--sensor-distance {self.millimetres:g} mm is not less than the distance lens to sensor, "
                f"{focal * pixel:.3g} mm; give B in millimetres."
            )
        by_variables = np.zeros(len(found.system.b))
        by_variables[FOCAL] = (2 * focal * pixel - self.millimetres) / (
            focal * (focal * pixel - self.millimetres)
        )
        own = (self.sigma / self.millimetres) ** 2
        log_factor = float(np.log(kappa / camera.values[KAPPA]))
        return Scale(log_factor, by_variables, np.zeros_like(found.state.points), own)


@dataclass(frozen=True)
class FrameDistance:
    """Two keyframes are so far apart."""

    first: int
    second: int
    metres: float
    words: str

    def scale(self, found: Adjusted) -> Scale:
        """Logarithm of the distance of two camera centres."""
        centres = found.state.centres
        between = centres[self.second] - centres[self.first]
        length = float(np.linalg.norm(between))
        if length < SHORTEST:
            raise DegenerateError("The two frames of --distance were taken at the same place; choose others.")
        by_centres = np.zeros_like(centres)
        by_centres[self.second], by_centres[self.first] = between / length**2, -between / length**2
        by_variables = -_by_poses(found, by_centres)
        return Scale(
            float(np.log(self.metres / length)), by_variables, np.zeros_like(found.state.points), 0.0
        )


@dataclass(frozen=True)
class TruePoses:
    """Positions (K, 3) of all keyframes, metres."""

    positions: Array
    words: str = "ground-truth poses of the recording"

    def scale(self, found: Adjusted) -> Scale:
        """Similarity of the estimated path to the true one; what is left over says how certain it is."""
        if len(self.positions) < FEWEST_POSES:
            raise DegenerateError(f"The ground truth covers fewer than {FEWEST_POSES} of the keyframes.")
        by_centres, log_factor, own = similarity_scale(found.state.centres, self.positions)
        return Scale(log_factor, -_by_poses(found, by_centres), np.zeros_like(found.state.points), own)


@dataclass(frozen=True)
class KnownShape:
    """Points of the adjustment whose mutual places are known: two marked points, or corners of a board."""

    rows: Rows  # (N,) of the points
    metres: Array  # (N, 3) in any frame
    words: str

    def scale(self, found: Adjusted) -> Scale:
        """Similarity of the estimated points to the known shape."""
        places, jacobian = world_points(found, self.rows)
        if len(self.rows) == 2:
            between = places[1] - places[0]
            length = float(np.linalg.norm(between))
            if length < SHORTEST:
                raise DegenerateError("The two marked points are one; choose others.")
            by_places = np.array([-between, between]) / length**2
            known = float(np.linalg.norm(self.metres[1] - self.metres[0]))
            log_factor, own = float(np.log(known / length)), 0.0
        else:
            by_places, log_factor, own = similarity_scale(places, self.metres)
        by_points = np.zeros_like(found.state.points)
        by_points[self.rows] = -np.einsum("ni,nij->nj", by_places, jacobian)
        return Scale(log_factor, np.zeros(len(found.system.b)), by_points, own)


def similarity_scale(places: Array, metres: Array) -> tuple[Array, float, float]:
    """∂ log size/∂places (N, 3), log of metres per unit, and its variance by what the similarity leaves over."""
    similar = se3.align(places, metres, with_scale=True)
    away = places - places.mean(0)
    size = float((away**2).sum())
    left = metres - similar.apply(places)
    freedom = max(3 * len(places) - 7, 1)
    own = float((left**2).sum()) / freedom / (similar.scale**2 * size)
    return away / size, float(np.log(similar.scale)), own


def world_points(found: Adjusted, rows: Rows) -> tuple[Array, Array]:
    """Places (N, 3) of some points and their derivatives (N, 3, 3) by (a, b, q)."""
    anchors, (a, b, q) = found.state.anchors[rows], found.state.points[rows].T
    if not (q > 0).all():
        raise DegenerateError("A point of the metric fact lies at infinity; choose a nearer one.")
    local = np.stack([a / q, b / q, 1.0 / q], 1)
    by = np.zeros((len(q), 3, 3))
    by[:, 0, 0] = by[:, 1, 1] = 1.0 / q
    by[:, :, 2] = -local / q[:, None]
    rotation = anchors[:, :3, :3]
    return np.einsum("nij,nj->ni", rotation, local) + anchors[:, :3, 3], rotation @ by


def _by_poses(found: Adjusted, by_centres: Array) -> Array:
    """Chain rule: the centre −Rᵀt moves by −Rᵀv with the left increment (v, w) of its pose."""
    out = np.zeros(len(found.system.b))
    turned = -np.einsum("kij,kj->ki", found.state.poses[:, :3, :3], by_centres)
    blocks = out[COUNT:].reshape(-1, POSE)
    blocks[:, :3] = turned
    return out
