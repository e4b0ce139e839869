# SPDX-License-Identifier: Apache-2.0
"""A contact sheet: views along the path and the path from above, before hours of rendering."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.simulate.cameras import scaled_camera
from prism_vo.simulate.render import Renderer
from prism_vo.simulate.write import Simulation

CELL = 256  # px, width of a view
COLUMNS, VIEWS = 4, 11


def contact_sheet(simulation: Simulation, threads: int = 2) -> NDArray[np.uint8]:
    """Eleven central views in colour (BGR, as OpenCV writes) with their frame numbers, and a map of the path."""
    calibration = simulation.calibration
    scale = min(1.0, 2.0 * CELL / calibration.sensor.width)
    renderer = Renderer(scaled_camera(calibration, scale), simulation.scene, samples=1, threads=threads)
    cells = []
    for frame in np.unique(np.linspace(0, len(simulation) - 1, VIEWS).astype(int)):
        view = renderer.color_view(
            simulation.track.poses[frame], time=simulation.time(float(frame)), samples=4
        )
        cell = cv2.resize(view[..., ::-1], (CELL, round(CELL * view.shape[0] / view.shape[1])))
        cv2.putText(cell, f"{frame}", (6, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (255, 255, 255), 2, cv2.LINE_AA)
        cells.append(cell)
    cells.append(_map(simulation, cells[0].shape[0]))
    while len(cells) % COLUMNS:
        cells.append(np.zeros_like(cells[0]))
    rows = [np.hstack(cells[k : k + COLUMNS]) for k in range(0, len(cells), COLUMNS)]
    return np.ascontiguousarray(np.vstack(rows), np.uint8)


def _map(simulation: Simulation, height: int) -> NDArray[np.uint8]:
    """The path seen from above, start marked."""
    canvas = np.full((height, CELL, 3), 30, np.uint8)
    xz = simulation.track.poses[:, [0, 2], 3]
    span = max(float(np.ptp(xz, axis=0).max()), 1e-3)
    middle = (xz.min(0) + xz.max(0)) / 2
    scaled = (xz - middle) / span * 0.8 * min(height, CELL) * np.array([1, -1]) + np.array(
        [CELL / 2, height / 2]
    )
    cv2.polylines(canvas, [scaled.round().astype(np.int32)], False, (90, 200, 255), 1, cv2.LINE_AA)
    cv2.circle(canvas, tuple(int(v) for v in scaled[0]), 4, (80, 255, 80), -1, cv2.LINE_AA)
    label = f"{simulation.track.length:.1f} m"
    cv2.putText(canvas, label, (6, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
    return canvas
