# SPDX-License-Identifier: Apache-2.0
"""Pictures of the calibration guide, rendered: ``python docs/figures/calibration_pictures.py``."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.board_fit.detect import detect_corners
from prism_vo.simulate import CATALOGUE, Renderer, build_scene, plan, preset_camera
from prism_vo.simulate.scene import plane_scene
from prism_vo.types import RawFrame

HERE = Path(__file__).resolve().parent
SIDE, GAP, ZOOM = 250, 6, 4
GOOD, BAD, FOUND = (70, 140, 40), (40, 40, 190), (60, 60, 230)  # BGR
Picture = NDArray[np.uint8]


def framed(picture: Picture, colour: tuple[int, int, int], words: str) -> Picture:
    """A view with a coloured rim and a caption."""
    out = cv2.resize(picture[..., ::-1], (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    out = cv2.copyMakeBorder(out, 4, 34, 4, 4, cv2.BORDER_CONSTANT, value=colour)
    cv2.putText(out, words, (10, SIDE + 27), cv2.FONT_HERSHEY_SIMPLEX, 0.52, (255, 255, 255), 1, cv2.LINE_AA)
    return np.asarray(out, np.uint8)


def what_to_film() -> None:
    """Three views of a good film, and two scenes that are useless."""
    camera = preset_camera("small")
    table = Renderer(camera, build_scene("table"))
    poses = plan(CATALOGUE["table"].path, None, 0).poses
    words = ("near things, a far wall", "the same things, from aside", "and from nearer")
    views = [framed(table.color_view(poses[k]), GOOD, w) for k, w in zip((0, 45, 140), words)]
    wall = Renderer(camera, plane_scene(1.5)).color_view(np.eye(4))
    views.append(framed(wall, BAD, "a flat wall: refused"))
    turned = poses[0].copy()
    turned[:3, :3] = turned[:3, :3] @ cv2.Rodrigues(np.array([0.0, 0.25, 0.0]))[0]
    views.append(framed(table.color_view(turned), BAD, "only turned: refused"))
    gap = np.full((views[0].shape[0], GAP, 3), 255, np.uint8)
    row = np.concatenate([part for view in views for part in (view, gap)][:-1], 1)
    cv2.imwrite(str(HERE / "what-to-film.jpg"), row, [cv2.IMWRITE_JPEG_QUALITY, 82])


def board_corners() -> None:
    """Part of a raw picture with the corners found in its micro-images."""
    camera = preset_camera("small")
    renderer = Renderer(camera, build_scene("board"))
    poses = plan(CATALOGUE["board"].path, None, 0).poses[[0, 20]]
    frames = [RawFrame(k, float(k), renderer.raw(pose, frame=k)) for k, pose in enumerate(poses)]
    found = detect_corners(frames, camera, renderer.white().astype(np.float32), 0.03, (9, 6))
    places = found.corners.xy[found.corners.frame == 0]
    low = np.floor(np.median(places, axis=0)).astype(int) - (100, 60)
    crop = np.asarray(frames[0].image, np.float64)[low[1] : low[1] + 120, low[0] : low[0] + 200]
    grey = np.clip(crop * 1.5, 0, 255).astype(np.uint8)
    large = cv2.cvtColor(
        cv2.resize(grey, None, fx=ZOOM, fy=ZOOM, interpolation=cv2.INTER_NEAREST), cv2.COLOR_GRAY2BGR
    )
    for x, y in (places - low + 0.5) * ZOOM:
        cv2.circle(large, (round(x), round(y)), 7, FOUND, 2, cv2.LINE_AA)
    cv2.imwrite(str(HERE / "board-corners.jpg"), large, [cv2.IMWRITE_JPEG_QUALITY, 82])


if __name__ == "__main__":
    what_to_film()
    board_corners()
