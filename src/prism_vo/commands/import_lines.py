# SPDX-License-Identifier: Apache-2.0
"""What ``import-calibration`` says about a grid, its distortion and nominal optics."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prism_vo.calibrate.lens_order import LensOrder
    from prism_vo.calibrate.reading import SeenReading
    from prism_vo.optics.vendor import GridReading, Optics
    from prism_vo.optics.vendor.brown import LensDistortion


def grid_lines(
    path: Path, reading: GridReading, chosen: bool, seen: SeenReading | None, keep: bool
) -> list[str]:
    """How the file was read, and how far it lies from what the images show."""
    kinds = (
        f", lens types {' '.join(map(str, reading.type_order))} by class" if len(reading.focus) > 1 else ""
    )
    lines = [
        f"{path}: {reading.layout} grid, pitch {reading.pitch:.4f} px, turned by "
        f"{math.degrees(reading.rotation):.3f} degrees{kinds}"
    ]
    if reading.misfit > 0:
        lines.append(f"  lens centres  {reading.misfit:.1f} px (RMS) beside a regular grid through them")
    if chosen:
        lines.append(f"  read as       {reading.meaning}" + ("" if seen is None else "; seen in the images"))
    if seen is None:
        return [
            *lines,
            "  checked       no: give raw images with --raw-image to see whether the grid lies on them",
        ]
    size = "small" if seen.pitch_error < 0 else "large"
    lines += [
        f"  file is off   {seen.before.median:.2f} px (median), {seen.before.largest:.2f} px (largest of the zones); "
        f"pitch {100 * abs(seen.pitch_error):.3f} % too {size}, rotation {1e3 * seen.rotation_error:+.2f} mrad off",
        f"  corrected     {seen.after.median:.2f} px (median), {seen.after.largest:.2f} px (largest) remain"
        + ("; not written, as --keep-grid says" if keep else f"; pitch {seen.corrected.pitch:.4f} px"),
    ]
    return lines


def type_lines(focus: tuple[float, ...], order: LensOrder | None, seen: SeenReading) -> list[str]:
    """Whether the lens types of the file are those the images show."""
    if order is None or not order.clear:
        lines = ["  lens types    as in the file; the images do not show which lenses have which focus"]
        if not seen.types_certain:
            lines.append(
                f"note: the file's origin lies {seen.origin_shift:.1f} px from the nearest lens, so the lens types may "
                "be in the wrong order; is it the file of this camera?"
            )
        return lines
    shown = order.focus_by_class(focus)
    how = f"({order.certainty:.0f} standard deviations)"
    if shown == focus:
        return [f"  lens types    as in the file, and so the images show them {how}"]
    words = ", ".join(f"{f:.2f}" for f in shown)
    return [
        f"  lens types    not as in the file: the images show focus at virtual depths {words} by class {how}"
    ]


def optics_line(optics: Optics, f_number: float) -> str:
    """The nominal optics, and by which rule they were made."""
    return (
        f"  optics        nominal: main lens {optics.focal_length_mm:g} mm, array {optics.mla_distance_mm:.3f} mm "
        f"behind it (focused at infinity), sensor {optics.sensor_distance_mm:.3f} mm on (f/{f_number:g})"
    )


def distortion_line(bent: LensDistortion) -> str:
    """How a Brown distortion was read, and how much it does."""
    lost = f", {bent.residual:.2f} px of it lost with its third radial term" if bent.residual > 0 else ""
    return (
        f"  distortion    Brown, coefficients read per {bent.unit}, centre "
        f"({bent.centre_px[0]:.1f}, {bent.centre_px[1]:.1f}) px, at most {bent.largest_shift:.2f} px{lost}"
    )
