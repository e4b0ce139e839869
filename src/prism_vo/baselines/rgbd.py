# SPDX-License-Identifier: Apache-2.0
"""``rgbd``: the focused image and its metric depth given to an ordinary RGB-D odometry, frame to keyframe.

This is what one would do with a plenoptic camera's depth maps otherwise. OpenCV's odometry is used where this
OpenCV has it, else the alignment of this package without any depth filtering.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import cv2
import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.baselines import alignment
from prism_vo.baselines.sampling import image_pyramid
from prism_vo.baselines.spo import light_field_depth
from prism_vo.optics.camera import FocusedView
from prism_vo.types import DecodedFrame


@dataclass(frozen=True)
class RgbdConfig:
    """Settings of the baseline."""

    max_relative_sigma: float = 0.3  # of a depth that takes part
    depth_difference: float = 0.1  # of the median depth: two frames may disagree by so much at a pixel
    keyframe_translation: float = 0.05  # of the median depth: motion that asks for a new keyframe
    keyframe_rotation: float = 0.05  # rad
    noise: float = 3.0  # grey values


class _Engine(Protocol):
    """Pairwise odometry: prepare a frame once, then compare two prepared frames."""

    name: str

    def prepare(self, image: Floats, depth: Array, variance: Array) -> Any:
        """A frame ready for comparison; ``depth`` along the view's axis, NaN where there is none."""

    def compare(self, key: Any, frame: Any, guess: Array) -> Array | None:
        """``T_frame_key`` in view frames, or None. ``guess``: that of the frame before."""


class _OpenCv:
    name = "OpenCV RGB-D odometry"

    def __init__(self, view: FocusedView, median_depth: float, depth_difference: float) -> None:
        settings = cv2.OdometrySettings()
        settings.setCameraMatrix(view.pinhole.astype(np.float32))
        settings.setMinDepth(0.02)
        settings.setMaxDepth(1000.0)
        settings.setMaxDepthDiff(depth_difference)
        settings.setMaxTranslation(0.5)
        self._unit = median_depth  # its solver refuses far scenes in metres (a determinant below 1e-6)
        settings.setMaxRotation(30.0)
        settings.setMaxPointsPart(0.5)
        # photometric: the ICP term of the RGB-D type fits the noise of plenoptic depth and gets lost
        self._odometry = cv2.Odometry(cv2.OdometryType_RGB, settings, cv2.OdometryAlgoType_COMMON)

    def prepare(self, image: Floats, depth: Array, variance: Array) -> Any:
        grey = np.clip(np.rint(image), 0, 255).astype(np.uint8)
        frame = cv2.OdometryFrame(
            (depth / self._unit).astype(np.float32), cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR)
        )
        self._odometry.prepareFrame(frame)
        return frame

    def compare(self, key: Any, frame: Any, guess: Array) -> Array | None:
        found, motion = self._odometry.compute(key, frame)
        if not found:
            return None
        pose = alignment.nearest_pose(np.asarray(motion, np.float64))
        pose[:3, 3] *= self._unit
        return pose


class _Own:
    name = "semi-dense alignment"

    def __init__(self, view: FocusedView, noise: float) -> None:
        self._view, self._noise, self._levels = view, noise, alignment.level_count(view)

    def prepare(self, image: Floats, depth: Array, variance: Array) -> Any:
        q = np.where(np.isfinite(depth), 1.0 / depth, 0.0)
        usable = np.where(np.isfinite(depth), variance, np.inf)
        levels = alignment.keyframe_levels(self._view, image, q, usable, self._levels)
        return levels, image_pyramid(image, self._levels)

    def compare(self, key: Any, frame: Any, guess: Array) -> Array | None:
        result = alignment.align(key[0], frame[1], guess, self._noise)
        return result.T_frame_key if result.ok else None


class RgbdOdometry:
    """Frame by frame: ``odometry(frame)`` on a densely decoded frame returns ``T_world_cam`` and success."""

    def __init__(
        self, view: FocusedView, config: RgbdConfig | None = None, opencv: bool | None = None
    ) -> None:
        self.view = view
        self.config = config or RgbdConfig()
        self.keyframes = 0
        self._use_opencv = hasattr(cv2, "Odometry") if opencv is None else opencv
        self._engine: _Engine | None = None
        self._key: Any = None
        self._T_world_key = np.eye(4)
        self._previous: tuple[Any, Array] | None = None
        self._last = np.eye(4)
        self._median_depth = 1.0

    @property
    def engine_name(self) -> str:
        """Which odometry does the work (known after the first frame)."""
        return self._engine.name if self._engine else "none yet"

    def __call__(self, frame: DecodedFrame) -> tuple[Array, bool]:
        """Track one frame decoded with depth."""
        depth, variance = self._metric(frame)
        if self._engine is None:
            self._median_depth = float(np.nanmedian(depth)) if np.isfinite(depth).any() else 1.0
            engine: _Engine = (
                _OpenCv(self.view, self._median_depth, self.config.depth_difference)
                if self._use_opencv
                else _Own(self.view, self.config.noise)
            )
            self._engine = engine
        prepared = self._engine.prepare(frame.image, depth, variance)
        if self._key is None:
            self._make_keyframe(prepared, np.eye(4))
            return np.eye(4), True
        motion = self._engine.compare(self._key, prepared, self._last)
        if motion is None and self._previous is not None:  # too far from the keyframe: try the frame before
            self._make_keyframe(*self._previous)
            motion = self._engine.compare(self._key, prepared, self._last)
        if motion is None:
            self._make_keyframe(prepared, self._T_world_key)
            return alignment.from_view(self._T_world_key, self.view), False
        T_world = self._T_world_key @ se3.inverse(motion)
        self._last = motion
        if self._far_from_keyframe(motion):
            self._make_keyframe(prepared, T_world)
        self._previous = prepared, T_world
        return alignment.from_view(T_world, self.view), True

    def _metric(self, frame: DecodedFrame) -> tuple[Array, Array]:
        """Depth along the view's axis in metres (NaN where uncertain), and the variance of its inverse."""
        measured = light_field_depth(frame)
        q = measured.inv_depth
        with np.errstate(divide="ignore", invalid="ignore"):
            good = measured.valid & (np.sqrt(measured.variance) < self.config.max_relative_sigma * q)
            return np.where(good, 1.0 / q, np.nan), measured.variance

    def _far_from_keyframe(self, motion: Array) -> bool:
        moved = float(np.linalg.norm(motion[:3, 3]))
        turned = se3.rotation_angle(motion[:3, :3])
        limits = self.config
        return moved > limits.keyframe_translation * self._median_depth or turned > limits.keyframe_rotation

    def _make_keyframe(self, prepared: Any, T_world: Array) -> None:
        self._key, self._T_world_key = prepared, T_world
        self._previous, self._last = None, np.eye(4)
        self.keyframes += 1
