# SPDX-License-Identifier: Apache-2.0
"""The report of a calibration with a board: numbers, what is left over by zone and in micro-images, every picture."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array
from prism_vo.batch.numbers import NAMES
from prism_vo.board_fit.adjust import AdjustedBoard
from prism_vo.board_fit.fit import BoardFit
from prism_vo.board_fit.words import parameter_rows, verdict
from prism_vo.camera_fit.fit import correlation
from prism_vo.camera_fit.page import arrow_picture
from prism_vo.camera_fit.residuals import mean_shift
from prism_vo.report.pictures import jpeg_uri
from prism_vo.report.templating import render

RING = 1.0  # raw px between rings of a micro-image
FEWEST = 20  # corners that a ring's figure is made of
Row = tuple[str, ...]


def board_page(fit: BoardFit, name: str, size: tuple[int, int]) -> str:
    """HTML, everything inside; ``name``: what was calibrated, ``size``: width and height of the sensor."""
    shift = mean_shift(fit.adjusted.corners.xy, -fit.adjusted.residual, size)
    length = np.hypot(*shift.transpose(2, 0, 1))
    largest = float(np.nanmax(length)) if np.isfinite(length).any() else 0.0
    free = [k for k in range(len(NAMES)) if fit.sigma[k] > 0]
    related = correlation(fit.covariance)
    return render(
        "board.html",
        title=f"Calibration with a board: {name}",
        subtitle=f"{fit.adjusted.corners.frames} pictures, {len(fit.adjusted.corners)} corners in micro-images",
        verdict=[verdict(fit)],
        parameters=parameter_rows(fit),
        names=[NAMES[k] for k in free],
        correlations=[[f"{related[a, b]:+.2f}" for b in free] for a in free],
        rms=f"{fit.adjusted.rms:.3f}",
        largest=f"{largest:.3f}",
        arrows=jpeg_uri(arrow_picture(shift, largest)),
        rings=ring_rows(fit.every, fit.radius),
        pictures=picture_rows(fit),
    )


def ring_rows(found: AdjustedBoard, radius: float) -> list[Row]:
    """Corners by distance from the centre of the micro-image: number, RMS, pull towards the centre, used or not."""
    outward = found.corners.xy + found.residual - found.corners.centre  # where corners should be
    away = np.linalg.norm(outward, axis=1)
    missed = -found.residual  # seen less predicted
    inward = -(missed * outward).sum(1) / np.maximum(away, 1e-9)
    out: list[Row] = []
    for start in np.arange(0.0, float(away.max(initial=0.0)), RING):
        mine = (away >= start) & (away < start + RING)
        if mine.sum() >= FEWEST:
            rms = float(np.sqrt((missed[mine] ** 2).mean()))
            used = "used" if start + RING <= radius else ("partly" if start < radius else "left out")
            place = f"{start:g}–{start + RING:g} px"
            out.append((place, str(int(mine.sum())), f"{rms:.3f}", f"{inward[mine].mean():+.3f}", used))
    return out


def picture_rows(fit: BoardFit) -> list[Row]:
    """Each picture by the camera that has not seen it: distance, corners, RMS, size of its squares."""
    held, poses = fit.held_out, fit.adjusted.state.poses
    centre: Array = np.array([*fit.board.places.mean(0), 0.0, 1.0])
    far = np.linalg.norm((poses @ centre)[:, :3], axis=1)
    return [
        (
            str(k + 1),
            f"{far[k]:.3f} m",
            str(int(held.count[k])),
            f"{np.sqrt(held.squared[k]):.3f}",
            f"{100 * (held.size[k] - 1):+.2f} %",
        )
        for k in range(len(far))
    ]
