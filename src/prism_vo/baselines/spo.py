# SPDX-License-Identifier: Apache-2.0
"""``spo``: the previous plenoptic odometry, written after its published description (Zeller et al., 2018).

Semi-dense and direct: each frame is aligned to the newest keyframe, refines that keyframe's depth by motion
stereo, and a new keyframe takes the depth over. The light field gives the first depth, fills new pixels, and
measures the map's scale at each keyframe; that scale is filtered over the keyframes. There is no bundle
adjustment: poses and depths are never revised. It works on the focused image instead of micro-images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.baselines import alignment
from prism_vo.baselines.depth_filter import DepthMap, combine, observe, propagate, regularised, without_edges
from prism_vo.baselines.sampling import gradients, image_pyramid
from prism_vo.baselines.scale_filter import ScaleFilter, measure_scale
from prism_vo.optics.camera import FocusedView
from prism_vo.types import DecodedFrame


@dataclass(frozen=True)
class SpoConfig:
    """Settings of the baseline."""

    min_gradient: float = 6.0  # grey values per px: pixels below carry no depth
    noise: float = 3.0  # grey values
    keyframe_flow: float = 0.05  # of the image width: mean flow that asks for a new keyframe
    keyframe_visible: float = 0.75  # share of the points that must stay in view
    keyframe_inliers: float = 0.6


def light_field_depth(frame: DecodedFrame) -> DepthMap:
    """The decoder's inverse virtual depth as inverse depth of the view, with variance."""
    if frame.inv_virtual_depth is None or frame.variance is None or frame.valid is None:
        raise ValueError("the frame was decoded without depth")
    view = frame.view
    with np.errstate(invalid="ignore", divide="ignore"):
        q = view.inv_depth_from_virtual(frame.inv_virtual_depth)
        variance = frame.variance / view.inv_virtual_depth_slope(q) ** 2
    usable = frame.valid & np.isfinite(q) & np.isfinite(variance) & (variance > 0)
    return DepthMap(np.where(usable, q, 0.0), np.where(usable, variance, np.inf))


@dataclass
class _Keyframe:
    image: Floats
    T_world_key: Array  # view frames
    depth: DepthMap
    levels: list[alignment.Level]


class SpoOdometry:
    """Frame by frame: ``odometry(image, measure)`` returns ``T_world_cam`` and whether the frame was tracked.

    ``measure`` decodes the depth of that same frame; it is called for keyframes only.
    """

    def __init__(self, view: FocusedView, config: SpoConfig | None = None) -> None:
        self.view = view
        self.config = config or SpoConfig()
        self.scale = ScaleFilter()
        self.keyframes = 0
        self._levels = alignment.level_count(view)
        self._key: _Keyframe | None = None
        self._last = np.eye(4)  # T_key_frame of the previous frame
        self._motion = np.eye(4)  # previous frame → this frame

    def __call__(self, image: Floats, measure: Callable[[], DecodedFrame]) -> tuple[Array, bool]:
        """Track one focused image (h, w), grey 0–255."""
        if self._key is None:
            self._start(image, light_field_depth(measure()), np.eye(4))
            return np.eye(4), True
        key = self._key
        pyramid = image_pyramid(image, self._levels)
        result = self._track(key, pyramid)
        if not result.ok:
            T_world = key.T_world_key @ self._last @ self._motion
            self._start(image, light_field_depth(measure()), T_world)
            return alignment.from_view(T_world, self.view), False
        T_key_frame = se3.inverse(result.T_frame_key)
        self._motion = se3.inverse(self._last) @ T_key_frame
        self._last = T_key_frame
        level_image = ((image - result.bias) / result.gain).astype(np.float32)
        key.depth = observe(
            key.depth, key.image, level_image, result.T_frame_key, self.view, self.config.noise
        )
        T_world = key.T_world_key @ T_key_frame
        if self._wants_keyframe(key, result):
            self._hand_over(key, image, light_field_depth(measure()), result.T_frame_key, T_world)
        else:
            key.levels = self._pyramid_of(key.image, key.depth)
        return alignment.from_view(T_world, self.view), True

    def _track(self, key: _Keyframe, pyramid: list[Floats]) -> alignment.Alignment:
        """The best of a few motion hypotheses; the first that works well ends the search."""
        best: alignment.Alignment | None = None
        for guess in (self._last @ self._motion, self._last, np.eye(4)):
            result = alignment.align(key.levels, pyramid, se3.inverse(guess), self.config.noise)
            if best is None or result.inliers > best.inliers:
                best = result
            if best.inliers > self.config.keyframe_inliers:
                break
        assert best is not None
        return best

    def _wants_keyframe(self, key: _Keyframe, result: alignment.Alignment) -> bool:
        coarse = key.levels[-1]
        moved = coarse.rays @ result.T_frame_key[:3, :3].T
        moved = moved + coarse.inv_depth[:, None] * result.T_frame_key[:3, 3]
        flow = np.linalg.norm(moved[:, :2] / moved[:, 2:] - coarse.rays[:, :2], axis=1).mean()
        limits = self.config
        return bool(
            flow * self.view.focal_px > limits.keyframe_flow * self.view.width
            or result.visible < limits.keyframe_visible
            or result.inliers < limits.keyframe_inliers
        )

    def _hand_over(
        self, key: _Keyframe, image: Floats, measured: DepthMap, T_frame_key: Array, T_world: Array
    ) -> None:
        """Depth of the old keyframe moves to the new one, its scale is corrected, new pixels are filled."""
        carried = propagate(key.depth, T_frame_key, self.view)
        factor = self.scale.update(measure_scale(carried, measured))
        self._motion = self._motion.copy()
        self._motion[:3, 3] /= factor  # the next motion is predicted in the corrected scale
        self._start(image, combine(carried.scaled(factor), measured), T_world)

    def _start(self, image: Floats, depth: DepthMap, T_world: Array) -> None:
        gx, gy = gradients(image)
        textured = np.hypot(gx, gy) >= self.config.min_gradient
        depth = regularised(without_edges(depth))
        depth = DepthMap(depth.inv_depth, np.where(textured, depth.variance, np.inf))
        self._key = _Keyframe(image, T_world, depth, self._pyramid_of(image, depth))
        self._last = np.eye(4)
        self.keyframes += 1

    def _pyramid_of(self, image: Floats, depth: DepthMap) -> list[alignment.Level]:
        return alignment.keyframe_levels(self.view, image, depth.inv_depth, depth.variance, self._levels)
