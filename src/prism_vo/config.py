# SPDX-License-Identifier: Apache-2.0
"""All settings: one frozen dataclass a stage. ``prism-vo config`` prints them with these comments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class DecodeConfig:
    """Raw image → totally focused image, inverse virtual depth and variance."""

    near: float = 0.2  # m, nearest depth searched for
    far: float = float("inf")  # m, farthest depth searched for
    view: Literal["central", "focal"] | None = None  # totally focused view; None: the one of the camera file
    window: int | None = None  # nodes of 1.5 raw px to each side of the matching window; None: 2
    max_sigma: float = 0.02  # measurements of inverse virtual depth less certain than this are invalid
    threads: int = 2  # row bands decoded at the same time; results do not depend on it


@dataclass(frozen=True)
class SelectConfig:
    """Which pixels of a keyframe become points."""

    first_candidates: int = 2000  # of the first keyframe of a segment
    candidates: int = 1000  # of each later keyframe
    oversample: float = 1.2  # pixels looked at for each one kept: those with depth are preferred
    depth_bonus: float = 2.0  # w_d: weight of a pixel with usable depth against one without
    largest_sigma: float = 0.015  # of ρ_v; a depth less certain than this is not used
    matching_window: int = 9  # TF px; depths closer together than this count as one measurement


@dataclass(frozen=True)
class TrackConfig:
    """Pose of a new frame by direct alignment with the newest keyframe."""

    huber: float = 9.0  # grey levels
    cutoff: float = 20.0  # grey levels; larger residuals are saturated
    image_sigma: float = 4.0  # grey levels, photometric error of a warped pixel (noise and interpolation)
    least_area: int = 5000  # px of the coarsest level
    iterations: int = 30  # a level, at the most
    least_visible: float = 0.3  # share of the reference that must stay in view
    least_inliers: float = 0.5  # share of visible points that must not be saturated
    patience: int = 5  # frames without a pose after which a new segment is started
    keyframe_flow: float = 9.0  # px RMS flow at 512 px width that asks for a keyframe
    keyframe_visible: float = 0.7  # a keyframe is forced when fewer points stay visible
    keyframe_rms_growth: float = 2.0  # or when the residual grows beyond this factor


@dataclass(frozen=True)
class WindowConfig:
    """Sliding-window photometric plenoptic bundle adjustment."""

    keyframes: int = 7  # in the window, at the most
    points: int = 2000  # active, about
    huber: float = 9.0  # grey levels
    contrast: float = 50.0  # grey levels per px: gradient at which a pixel's weight has fallen to a half
    depth_huber: float = 2.5  # σ, Huber bound of the depth residuals
    iterations: int = 6  # a keyframe, at the most
    eta: Literal["adaptive", "fixed"] = "adaptive"  # weight of the depth terms
    eta_factor: float = 1.0  # multiplies the statistically consistent η0 (both modes)
    eta_smoothing: float = 0.1  # α of the log-domain smoothing
    eta_balance: float = 0.0025  # c: depth information wanted per unit of photometric information
    # prior of a about its tracked value (single pixels are biased: see tracking/brightness.py)
    sigma_gain: float = 2e-4
    sigma_offset: float = 0.02  # prior of b about its tracked value, grey levels
    trace_longest: float = 0.027  # of width + height: longest epipolar search
    quality: float = 3.0  # second best / best matching energy needed to activate a point without depth
    nearest: float = 0.1  # m, nearest depth of an epipolar search


@dataclass(frozen=True)
class Config:
    """Settings of a whole run."""

    # full: with depth terms; plenoptic: depth only to start; pinhole: no depth
    variant: Literal["full", "plenoptic", "pinhole"] = "full"
    # focus: the focus of the day is estimated with everything else; all: focal length and principal point, too, where
    # images know them better than the camera file; off: the file is taken as exact
    calibrate: Literal["off", "focus", "all"] = "focus"
    # on: places seen before are recognised, so that loops are closed, tracking is found again anywhere, segments are
    # joined, for a fifth more processor time; off: odometry alone, as in the paper's drift protocol
    loops: bool = False
    decode: DecodeConfig = field(default_factory=DecodeConfig)
    select: SelectConfig = field(default_factory=SelectConfig)
    track: TrackConfig = field(default_factory=TrackConfig)
    window: WindowConfig = field(default_factory=WindowConfig)
    seed: int = 0  # of the random directions in point selection
