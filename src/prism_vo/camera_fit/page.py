# SPDX-License-Identifier: Apache-2.0
"""The report of a calibration: one page with numbers, residuals by zone and lens type, depth before and after."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.batch.numbers import NAMES
from prism_vo.camera_fit.fit import CameraFit, correlation
from prism_vo.camera_fit.residuals import by_lens_type, by_zone, nearest_lens_types
from prism_vo.camera_fit.words import parameter_rows, verdict
from prism_vo.config import Config
from prism_vo.datasets.source import Sequence
from prism_vo.lightfield import Decoder
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.report.pictures import jpeg_uri
from prism_vo.report.templating import render
from prism_vo.types import RawFrame

Picture = NDArray[np.uint8]
SIDE = 420  # px of a picture
ARROW = 0.45  # of a zone's side: the longest arrow


def report_page(fit: CameraFit, recording: Sequence) -> str:
    """HTML, everything inside."""
    camera = PlenopticCamera(fit.calibration)
    size = fit.calibration.sensor.width, fit.calibration.sensor.height
    zones = by_zone(fit.adjusted, size)
    array = MicroLensArray.of(camera)
    kinds = len(fit.calibration.mla.lens_types)
    types = nearest_lens_types(fit.adjusted, array.image_centres, array.lens_type)
    free = [k for k in range(len(NAMES)) if fit.sigma[k] > 0]
    related = correlation(fit.covariance)
    largest = (
        float(np.nanmax(np.hypot(*zones.shift.transpose(2, 0, 1)))) if np.isfinite(zones.shift).any() else 0.0
    )
    return render(
        "calibration.html",
        title=f"Calibration: {recording.name}",
        subtitle=f"{len(fit.indices)} frames; metric fact: {fit.fact.words}",
        verdict=verdict(fit),
        parameters=parameter_rows(fit),
        names=[NAMES[k] for k in free],
        correlations=[[f"{related[a, b]:+.2f}" for b in free] for a in free],
        largest=f"{largest:.3f}",
        reprojection=f"{fit.reprojection_rms:.3f}",
        arrows=jpeg_uri(arrow_picture(zones.shift, largest)),
        slopes=[["–" if not np.isfinite(v) else f"{1e4 * v:+.1f}" for v in row] for row in zones.slope],
        lens_types=[
            (kind + 1, f"{rms:.3f}", f"{1e4 * slope:+.1f}")
            for kind, (rms, slope) in enumerate(by_lens_type(fit.adjusted, types, kinds))
        ],
        depths=_depth_pictures(fit, recording, camera),
    )


def arrow_picture(shift: Array, largest: float) -> Picture:
    """Mean residual of each zone as an arrow, the longest of a fixed length."""
    picture = np.full((SIDE, SIDE, 3), 250, np.uint8)
    rows, columns = shift.shape[:2]
    step = SIDE / rows
    for row in range(rows):
        for column in range(columns):
            start = np.array([(column + 0.5) * step, (row + 0.5) * step])
            cv2.circle(picture, _pixel(start), 2, (120, 120, 120), -1)
            if np.isfinite(shift[row, column]).all() and largest > 0:
                end = start + shift[row, column] / largest * ARROW * step
                cv2.arrowedLine(
                    picture, _pixel(start), _pixel(end), (11, 114, 133), 2, cv2.LINE_AA, tipLength=0.3
                )
    return picture


def _pixel(place: Array) -> tuple[int, int]:
    return round(float(place[0])), round(float(place[1]))


def _depth_pictures(fit: CameraFit, recording: Sequence, camera: PlenopticCamera) -> list[tuple[str, str]]:
    """Depth of the middle frame with the camera of the start and with the new one, in the same colours."""
    frame = recording[fit.indices[len(fit.indices) // 2]]
    if not isinstance(frame, RawFrame):
        return []
    maps = []
    for one in (PlenopticCamera(fit.start), camera):
        dense = Decoder(one, Config().decode, white=recording.white).dense(frame)
        assert dense.inv_virtual_depth is not None and dense.valid is not None
        q = dense.view.inv_depth_from_virtual(dense.inv_virtual_depth)
        maps.append(np.where(dense.valid, q, np.nan))
    known = maps[1][np.isfinite(maps[1])]
    low, high = np.percentile(known, [3, 97]) if len(known) else (0.0, 1.0)
    words = ("with the start", "with the new camera")
    return [(name, jpeg_uri(_coloured(m, float(low), float(high)))) for name, m in zip(words, maps)]


def _coloured(inv_depth: Array, low: float, high: float) -> Picture:
    with np.errstate(invalid="ignore"):
        level = np.clip((inv_depth - low) / max(high - low, 1e-9), 0, 1)
    grey = np.nan_to_num(255 * level).astype(np.uint8)
    colour = cv2.applyColorMap(grey, cv2.COLORMAP_TURBO)[..., ::-1].copy()
    colour[~np.isfinite(inv_depth)] = 235
    side = SIDE / max(colour.shape[:2])
    size = round(colour.shape[1] * side), round(colour.shape[0] * side)
    return np.asarray(cv2.resize(colour, size, interpolation=cv2.INTER_AREA), np.uint8)
