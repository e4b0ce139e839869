# SPDX-License-Identifier: Apache-2.0
"""What happened to the window when a keyframe came in."""

from __future__ import annotations

from dataclasses import dataclass

from prism_vo.arrays import Array, Mask
from prism_vo.points.finished import FinishedPoints
from prism_vo.tracking.reference import KeyframeDepth
from prism_vo.window.agreement import DepthAgreement
from prism_vo.window.conditional import ConditionalPoses
from prism_vo.window.focus_watch import Verdict
from prism_vo.window.refocus import Rescaling


@dataclass(frozen=True)
class FocusReport:
    """The focus that distances are computed with from now on."""

    shift: float  # mm that the main lens stands farther from the micro-lenses than the camera file says
    sigma: float  # mm, with what the file says about itself
    verdict: Verdict


@dataclass(frozen=True)
class LensReport:
    """Focal length and principal point as they are used from now on: log F over the file's, px of the focused view."""

    numbers: Array  # (3,)
    sigma: Array  # (3,), with what the file says about itself
    free: Mask  # (3,): those that the images know better than the file; the others are held


@dataclass(frozen=True)
class MappingReport:
    """What one keyframe's mapping did."""

    energies: list[float]  # of the accepted states
    photometric_residuals: int
    depth_residuals: int
    active: int
    candidates: int
    activated: int
    marginalised_points: int
    left: list[int]  # ids of the keyframes that left
    eta: float  # weight of the depth terms; 0 without them
    noise: float  # grey levels
    healthy: bool
    scale_sigma: float  # relative, 1σ
    agreement: DepthAgreement | None  # of measured depth and parallax; None: nothing to compare
    focus: FocusReport | None = None  # None: it is taken as it stands in the camera file
    lens: LensReport | None = None  # the same


@dataclass(frozen=True)
class WindowChange:
    """What left the window, for the map to take over, and the report."""

    report: MappingReport
    finished: FinishedPoints | None
    conditional: ConditionalPoses | None
    departed: list[
        KeyframeDepth
    ]  # keyframes that left, with all that was known about their depth; if asked for
    step_covariance: Array | None  # (6, 6) of the new keyframe relative to the one before it; if asked for
    rescaling: Rescaling | None  # before anything left
