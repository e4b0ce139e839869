# SPDX-License-Identifier: Apache-2.0
"""From a raw image to a map, side by side: ``python docs/figures/steps.py demo/table demo/results``."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial import cKDTree

from prism_vo import open_sequence
from prism_vo.arrays import Array
from prism_vo.cloud import PointCloud, read_ply
from prism_vo.lightfield import Decoder
from prism_vo.report.pictures import Image, depth_scale
from prism_vo.report.scene3d import best_side
from prism_vo.trajectory import Trajectory, read_trajectory

OUT = Path(__file__).resolve().parent / "steps.jpg"
SIDE, GAP, FOOT = 420, 10, 34
FRAME = 30
LENS = 0.42  # of the side: the enlarged part of the raw image
LARGEST = 14  # px of a point
SUPER = 2  # the map is drawn larger and reduced, which smooths its points
PATH = (217, 72, 15)


def raw_tile(image: Image) -> Image:
    """The raw image, with a part enlarged so that its micro-images can be seen."""
    whole = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    height, width = image.shape[:2]
    around = 50  # px to each side
    y, x = int(0.62 * height), int(0.45 * width)
    part = image[y - around : y + around, x - around : x + around]
    size = int(LENS * SIDE)
    enlarged = cv2.resize(part, (size, size), interpolation=cv2.INTER_NEAREST)
    tile = np.repeat(whole[..., None], 3, 2) if whole.ndim == 2 else whole.copy()
    tile[-size:, -size:] = np.repeat(enlarged[..., None], 3, 2) if enlarged.ndim == 2 else enlarged
    cv2.rectangle(tile, (SIDE - size, SIDE - size), (SIDE - 1, SIDE - 1), (255, 255, 255), 2)
    return tile


def map_tile(cloud: PointCloud, keyframes: Trajectory) -> Image:
    """The map from where the report opens, with the path."""
    yaw, pitch = best_side(keyframes)
    forward = np.array([-np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)])
    right = np.array([np.cos(yaw), 0.0, np.sin(yaw)])
    turn = np.stack([right, np.cross(forward, right), forward])
    points, path = cloud.points @ turn.T, keyframes.positions @ turn.T
    low, high = np.quantile(np.concatenate([points, path]), [0.01, 0.99], axis=0)
    low, high = np.minimum(low, path.min(0)), np.maximum(high, path.max(0))
    distance = 1.8 * float(np.linalg.norm(high - low))
    middle, side = (low + high) / 2, SUPER * SIDE
    focal = 0.8 * side * distance / max(high[0] - low[0], high[1] - low[1])
    picture = np.full((side, side, 3), 255, np.uint8)

    def project(p: Array) -> tuple[Array, Array]:
        z = p[:, 2] - middle[2] + distance
        return (p[:, :2] - middle[:2]) * (focal / z)[:, None] + side / 2, z

    where, z = project(points)
    assert cloud.colors is not None
    near = cKDTree(cloud.points).query(cloud.points, k=3)[0][:, 2]
    size = np.clip(np.ceil(1.7 * near * focal / z), 1, LARGEST).astype(int)
    inside = ((where > 0) & (where < side - LARGEST)).all(1)
    for far, near_end in pairwise(np.quantile(z, np.linspace(1, 0, 60))):  # from the back to the front
        for wide in range(1, LARGEST + 1):
            some = inside & (z <= far) & (z >= near_end) & (size == wide)
            x, y = where[some].astype(int).T - wide // 2
            for dy in range(wide):
                for dx in range(wide):
                    picture[np.maximum(y + dy, 0), np.maximum(x + dx, 0)] = cloud.colors[some]
    line = (project(path)[0]).astype(np.int32)
    cv2.polylines(picture, [line], False, PATH, 2 * SUPER, cv2.LINE_AA)
    for corner in line:
        cv2.circle(picture, corner.tolist(), 3 * SUPER, PATH, -1, cv2.LINE_AA)
    return np.asarray(cv2.resize(picture, (SIDE, SIDE), interpolation=cv2.INTER_AREA), np.uint8)


def main(recording: Path, results: Path) -> None:
    sequence = open_sequence(recording)
    raw = sequence[min(FRAME, len(sequence) - 1)]
    decoder = Decoder(sequence.camera, white=sequence.white)
    decoded = decoder.dense(raw)  # type: ignore[arg-type]
    rho = np.where(np.asarray(decoded.valid), decoded.inv_virtual_depth, np.nan)
    depth = depth_scale(rho).colors(rho)
    depth[~np.isfinite(rho)] = 40
    grey = np.repeat(np.clip(decoded.image, 0, 255).astype(np.uint8)[..., None], 3, 2)
    focused = decoded.color if decoded.color is not None else grey
    keyframes = read_trajectory(results / "keyframes.txt")
    tiles = {
        "raw image": raw_tile(np.asarray(raw.image, np.uint8)),  # type: ignore[union-attr]
        "totally focused": cv2.resize(focused, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC),
        "depth of that image": cv2.resize(depth, (SIDE, SIDE), interpolation=cv2.INTER_NEAREST),
        "dense map of the run, metric": map_tile(read_ply(results / "map.ply"), keyframes),
    }
    sheet = np.full((SIDE + FOOT, len(tiles) * (SIDE + GAP) - GAP, 3), 255, np.uint8)
    for n, (words, tile) in enumerate(tiles.items()):
        x = n * (SIDE + GAP)
        sheet[:SIDE, x : x + SIDE] = tile
        cv2.putText(
            sheet, words, (x + 4, SIDE + 24), cv2.FONT_HERSHEY_SIMPLEX, 0.62, (50, 57, 63), 1, cv2.LINE_AA
        )
    cv2.imwrite(str(OUT), sheet[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 86])
    print(OUT)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
