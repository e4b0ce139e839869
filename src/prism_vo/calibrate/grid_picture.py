# SPDX-License-Identifier: Apache-2.0
"""A picture of a fitted grid: crops with circles, and arrows by zone."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.calibrate.findings import GridFindings
from prism_vo.calibrate.fit import GridFit
from prism_vo.calibrate.grid import CLASS_COUNT
from prism_vo.calibrate.micro_image import MicroImageProfile
from prism_vo.optics.picture import GAP, LensCircles, circles_picture

CROP, CROP_LENSES = 400, 8  # px, a side of one crop, and the lenses across it
LINE_HEIGHT = 36  # px, of a line of words
LONGEST_ARROW = 0.6  # of the distance of neighbouring zones
DARKER = 0.55  # of the image under arrows
RESIDUAL_COLOR, START_COLOR, NO_ZONE_COLOR = (90, 220, 110), (250, 170, 50), (150, 150, 150)  # RGB
NUMBER_COLOR, FONT = (235, 235, 235), cv2.FONT_HERSHEY_SIMPLEX
Picture = NDArray[np.uint8]


def findings_picture(image: NDArray[Any], findings: GridFindings) -> Picture:
    """RGB picture: five crops of ``image`` (H, W) or (H, W, 3) with circles above one or two maps of arrows."""
    fit = findings.fit
    crops = circles_picture(image, _circles(findings), CROP, CROP_LENSES)
    width = crops.shape[1]
    side = (width - GAP) // 2
    left = _arrows(image, fit, fit.zones.offset, RESIDUAL_COLOR, side, "left over by the fit, single zones")
    if findings.from_start:
        right = _arrows(
            image, fit, fit.start_offsets, START_COLOR, side, "offsets of the given file, single zones"
        )
    else:
        right = _profile(findings.profile, fit.grid.pitch / 2, side, len(left))
    below = np.full((len(left), width, 3), 255, np.uint8)
    below[:, :side], below[:, width - side :] = left, right
    words = f"corners and middle; circles: {fit.grid.layout} grid, pitch {fit.grid.pitch:.4f} px"
    return np.concatenate([_line(words, width), crops, below], axis=0)


def mean_image(images: list[NDArray[Any]]) -> NDArray[np.float32]:
    """Mean of raw images: content fades, micro-images stay."""
    total = np.zeros(images[0].shape, np.float32)
    for image in images:
        total += image if image.shape == total.shape else 0
    return total / np.float32(len(images))


def _circles(findings: GridFindings) -> LensCircles:
    grid = findings.fit.grid
    lenses = grid.lenses(findings.fit.image_shape, -grid.pitch / 2)
    several = findings.kinds is not None and findings.kinds.kinds == CLASS_COUNT
    kind = np.mod(lenses.index[:, 0] - lenses.index[:, 1], CLASS_COUNT) if several else lenses.index[:, 0] * 0
    return LensCircles(lenses.centres, kind.astype(np.int32), grid.pitch, grid.pitch / 2 - findings.border)


def _arrows(
    image: NDArray[Any], fit: GridFit, vectors: Array, color: tuple[int, int, int], width: int, title: str
) -> Picture:
    """The whole image, darkened, with an exaggerated arrow a zone, under a line that names the scale."""
    height_px, width_px = fit.image_shape
    zoom = width / width_px
    grey = image if image.ndim == 2 else image.mean(-1)
    grey = grey.astype(np.float32) * np.float32(DARKER * 255.0 / max(float(grey.max()), 1.0))
    small = cv2.resize(grey, (width, round(height_px * zoom)), interpolation=cv2.INTER_AREA)
    canvas = np.repeat(small.astype(np.uint8)[..., None], 3, axis=2)
    rows, columns = fit.zones.shape
    room = LONGEST_ARROW * min(width_px / columns, height_px / rows)
    lengths = np.hypot(*vectors.T)
    times = round_scale(room / max(float(np.nanmax(lengths)), 1e-6))
    for z, vector in enumerate(vectors):
        if not np.isfinite(vector).all():
            row, column = divmod(z, columns)
            middle = ((column + 0.5) * width_px / columns, (row + 0.5) * height_px / rows)
            cv2.circle(canvas, _place(np.array(middle), zoom), 3, NO_ZONE_COLOR, 1, cv2.LINE_AA)
            continue
        start, end = fit.zones.centre[z], fit.zones.centre[z] + times * vector
        cv2.circle(canvas, _place(start, zoom), 3, color, -1, cv2.LINE_AA)
        cv2.arrowedLine(canvas, _place(start, zoom), _place(end, zoom), color, 2, cv2.LINE_AA, tipLength=0.25)
        x, y = _place(start, zoom)
        below = y + (18 if end[1] <= start[1] else -8)  # where the arrow is not
        cv2.putText(canvas, f"{lengths[z]:.3f}", (x - 22, below), FONT, 0.45, NUMBER_COLOR, 1, cv2.LINE_AA)
    words = f"{title}, px: at the most {np.nanmax(lengths):.3f}; arrows {times:g} x"
    return np.concatenate([_line(words, width), np.asarray(canvas, np.uint8)], axis=0)


def _profile(profile: MicroImageProfile, half_pitch: float, width: int, height: int) -> Picture:
    """Brightness over the distance from the centre of the micro-images, with half the pitch and the rim marked."""
    plot = np.full((height - LINE_HEIGHT, width, 3), 255, np.uint8)
    left, right, top, bottom = 70, width - 30, 20, len(plot) - 45
    across = (right - left) / float(profile.radii[-1])
    up = (bottom - top) / max(1.1, float(profile.brightness.max()))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = round(bottom - share * up)
        cv2.line(plot, (left, y), (right, y), (215, 215, 215), 1)
        _words(plot, f"{100 * share:.0f} %", (4, y + 6))
    marks = [(half_pitch, "half pitch", NO_ZONE_COLOR)]
    marks += [(profile.radius, "rim", START_COLOR)] if profile.radius is not None else []
    for row, (radius, name, color) in enumerate(marks):
        x = round(left + radius * across)
        cv2.line(plot, (x, top), (x, bottom), color, 2)
        label = f"{name} {radius:.2f} px"
        _words(plot, label, (x - 12 * len(label) - 4, bottom - 12 - 28 * row))
    curve = np.stack([left + profile.radii * across, bottom - profile.brightness * up], -1)
    cv2.polylines(plot, [np.rint(curve).astype(np.int32)], False, (40, 90, 200), 2, cv2.LINE_AA)
    _words(plot, "0 px", (left - 10, bottom + 30))
    _words(plot, f"{profile.radii[-1]:.1f} px", (right - 70, bottom + 30))
    return np.concatenate(
        [_line("light over the distance from the centre of a micro-image", width), plot], axis=0
    )


def round_scale(scale: float) -> float:
    """The largest of 1, 2, 5, 10, … that is not above ``scale``; at least 1."""
    power = 10.0 ** np.floor(np.log10(max(scale, 1.0)))
    return float(max(step * power for step in (1, 2, 5) if step * power <= max(scale, 1.0)))


def _place(point: Array, zoom: float) -> tuple[int, int]:
    x, y = np.rint((point + 0.5) * zoom - 0.5)
    return int(x), int(y)


def _line(words: str, width: int) -> Picture:
    strip = np.full((LINE_HEIGHT, width, 3), 255, np.uint8)
    _words(strip, words, (8, 25))
    return strip


def _words(canvas: Picture, words: str, at: tuple[int, int]) -> None:
    cv2.putText(canvas, words, at, FONT, 0.7, (20, 20, 20), 1, cv2.LINE_AA)
