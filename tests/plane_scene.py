# SPDX-License-Identifier: Apache-2.0
"""Exact pinhole images of a textured relief: trackers can be tested without rendering a light field."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import yaml

from prism_vo import se3
from prism_vo.optics.camera import FocusedView
from prism_vo.trajectory import Trajectory, write_trajectory
from prism_vo.types import DecodedFrame


def pinhole_view(size: int = 160) -> FocusedView:
    """A central view of a small plenoptic camera (f 16 mm, b_L0 15.3 mm, B 0.35 mm)."""
    f, b, B = 16.0, 15.3, 0.35
    lam = b / (b + B)
    centre = (size - 1) / 2
    kappa = b * (b + B) / B * 1e-3
    w_infinity = (b + B) * (f - b) / (B * f)
    return FocusedView(
        "central", size, size, 1.4 * size, centre, centre, 0.0, w_infinity, kappa, 1 - lam, lam
    )


class Relief:
    """Two textured planes, z = 1.5 m with a step to 1.1 m for x > 0.05 m, seen by a pinhole camera."""

    def __init__(self, seed: int = 3) -> None:
        rng = np.random.default_rng(seed)
        texture = sum(
            cv2.GaussianBlur(rng.normal(0, 1, (1024, 1024)), (0, 0), s) * s for s in (5.0, 12.0, 30.0)
        )
        self.texture = np.clip(120 + 45 * texture / np.std(texture), 0, 255).astype(np.float32)

    def render(self, view: FocusedView, T_world_cam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(image float32, depth z_C float64) of the relief."""
        y, x = np.mgrid[: view.height, : view.width].astype(np.float64)
        rays = np.stack([(x - view.cx) / view.focal_px, (y - view.cy) / view.focal_px, np.ones_like(x)], -1)
        directions = rays @ T_world_cam[:3, :3].T
        origin = T_world_cam[:3, 3]
        depth = np.full(x.shape, np.inf)
        image = np.zeros(x.shape, np.float32)
        for plane_z, right_side in ((1.5, False), (1.1, True)):
            t = (plane_z - origin[2]) / directions[..., 2]
            hit = origin + t[..., None] * directions
            here = ((hit[..., 0] > 0.05) if right_side else np.ones_like(t, bool)) & (t > 0) & (t < depth)
            u = (hit[..., 0] * 300 + 512 + 90 * right_side).astype(np.float32)
            v = (hit[..., 1] * 300 + 512).astype(np.float32)
            grey = cv2.remap(self.texture, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
            image[here], depth[here] = grey[here], t[here]
        return image, depth


def arc(count: int, radius: float = 0.12) -> np.ndarray:
    """Poses on an arc in front of the relief with a little rotation."""
    out = []
    for s in np.linspace(0, 1, count):
        pose = se3.exp(np.array([0, 0, 0, 0.03 * np.sin(4 * s), 0.08 * s, 0.04 * s]))
        pose[:3, 3] = radius * np.array([np.sin(2 * s), 1 - np.cos(2 * s), 0.5 * np.sin(3 * s)])
        out.append(pose)
    return np.stack(out)


def near_depth_edge(depth: np.ndarray, reach: int = 3) -> np.ndarray:
    """Pixels within ``reach`` of a jump in depth, where a decoder gives no depth either."""
    jump = cv2.morphologyEx(depth, cv2.MORPH_GRADIENT, np.ones((3, 3))) > 0.1
    return cv2.dilate(jump.astype(np.uint8), np.ones((2 * reach + 1, 2 * reach + 1))) > 0


def decoded(
    view: FocusedView, image: np.ndarray, depth: np.ndarray, rng: np.random.Generator, sigma: float = 2e-3
) -> DecodedFrame:
    """What a decoder would give: inverse virtual depth with noise of σ(ρ_v), none at depth edges."""
    rho = view.inv_virtual_depth(view.inv_depth_of(depth)) + rng.normal(0, sigma, depth.shape)
    valid = ~near_depth_edge(depth)
    variance = np.where(valid, sigma**2, np.inf).astype(np.float32)
    return DecodedFrame(0, 0.0, view, image, rho.astype(np.float32), variance, valid)


def write_decoded_sequence(folder: Path, count: int = 24, size: int = 160) -> np.ndarray:
    """A native folder of ready-made focused images and depth of the relief; returns the true poses."""
    view, scene, rng, poses = pinhole_view(size), Relief(), np.random.default_rng(0), arc(count)
    for name in ("focused", "virtual_depth", "virtual_depth_sigma"):
        (folder / name).mkdir(parents=True)
    calibration = {
        "format": "prism-vo/camera/1",
        "sensor": {"width": 2 * size, "height": 2 * size, "pixel_size_um": 15.65 / view.focal_px / 2 * 1000},
        "main_lens": {
            "focal_length_mm": 16.0,
            "mla_distance_mm": 15.3,
            "principal_point_px": [size - 0.5, size - 0.5],
        },
        "mla": {
            "sensor_distance_mm": 0.35,
            "layout": "hexagonal",
            "pitch_px": 23.4,
            "rotation_rad": 0.0,
            "origin_px": [size - 0.5, size - 0.5],
            "lens_types": [{"focus_virtual_depth": 3.0}],
        },
    }
    (folder / "camera.yaml").write_text(yaml.safe_dump(calibration))
    form = {"view": "central", "convention": "true", "virtual_depth": "float32", "sigma": "float32"}
    (folder / "decoded.yaml").write_text(yaml.safe_dump(form))
    for index, pose in enumerate(poses):
        image, depth = scene.render(view, pose)
        frame = decoded(view, image, depth, rng)
        cv2.imwrite(
            str(folder / f"focused/{index:06d}.png"), np.clip(np.rint(image), 0, 255).astype(np.uint8)
        )
        rho = np.where(frame.valid, frame.inv_virtual_depth, np.nan).astype(np.float32)
        np.save(folder / f"virtual_depth/{index:06d}.npy", rho)
        np.save(folder / f"virtual_depth_sigma/{index:06d}.npy", np.sqrt(frame.variance))
    write_trajectory(Trajectory(0.1 * np.arange(count), poses), folder / "groundtruth.txt")
    return poses
