# SPDX-License-Identifier: Apache-2.0
"""What ``calibrate grid`` says about the grid it found."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array
from prism_vo.calibrate.findings import GridFindings, by_parts
from prism_vo.calibrate.micro_image import rim_beyond_lens

ROW_NAMES = ("top", "middle", "bottom")
COLUMN_NAMES = ("left", "centre", "right")
MUCH_MORE = 3.0  # residuals over what chance leaves: the grid is not quite regular
FITS_PX = 0.25  # a start whose centres are nearer than this in nine of ten zones fits


def grid_lines(findings: GridFindings, used: int, given: int, start_types: int | None) -> list[str]:
    """All of it; ``start_types``: how many lens types the start has, None where it does not say."""
    lines = [*_found(findings, used, given), *_lenses(findings, start_types), *_certainty(findings)]
    fit = findings.fit
    lines += [
        "",
        "left over by the fit, px (right, down), by parts of the sensor:",
        *parts_table(by_parts(fit, fit.zones.offset)),
    ]
    if findings.from_start:
        lines += ["", *_start(findings)]
    return lines


def _found(findings: GridFindings, used: int, given: int) -> list[str]:
    fit, grid = findings.fit, findings.fit.grid
    height, width = fit.image_shape
    many = "1 image" if used == 1 else f"{used} images" + (f" of {given}" if given > used else "")
    shown = "dark gaps between micro-images" if fit.feature == "light" else "edges where micro-images meet"
    sigma_origin = float(fit.lattice.centre_sigma(grid.origin[None])[0])
    turn = f"{with_sigma(grid.rotation, fit.rotation_sigma)} rad ({np.degrees(grid.rotation):.3f} degrees)"
    return [
        f"{grid.layout} micro-lens grid in {many} of {width}x{height}, seen by the {shown}",
        f"  pitch         {with_sigma(grid.pitch, fit.pitch_sigma)} px",
        f"  rotation      {turn}",
        f"  origin        {grid.origin[0]:.3f}, {with_sigma(grid.origin[1], max(sigma_origin, 0.001))} px",
    ]


def with_sigma(value: float, sigma: float) -> str:
    """A number and its standard deviation, both to the second digit of the latter."""
    digits = int(np.clip(1 - np.floor(np.log10(max(sigma, 1e-9))), 0, 7))
    return f"{value:.{digits}f} ± {sigma:.{digits}f}"


def _lenses(findings: GridFindings, start_types: int | None) -> list[str]:
    profile, half = findings.profile, findings.fit.grid.pitch / 2
    if profile.radius is None:
        light = "no rim shows: vignetting is weak or was removed"
    else:
        rim, inner = (
            100 * np.interp(r * profile.radius, profile.radii, profile.brightness) for r in (0.9, 0.5)
        )
        light = (
            f"radius {profile.radius:.2f} px of {half:.2f} px half pitch; light {inner:.0f} % half-way to the rim, "
            f"{rim:.0f} % near it"
        )
    lines = [
        f"  micro-images  {light}",
        f"  border        {findings.border:.2f} px inside half the pitch are left out",
    ]
    beyond = rim_beyond_lens(profile, findings.fit.grid)
    if beyond is not None:
        lines.append(f"  !             {beyond}")
    return [*lines, *_kinds(findings, start_types)]


def _kinds(findings: GridFindings, start_types: int | None) -> list[str]:
    seen = findings.kinds
    if seen is None:
        return ["  lens types    one (rectangular grids have no more)"]
    if seen.kinds is None:
        text = "these images cannot tell; it takes several with texture and unlike depths"
    elif seen.kinds == 1:
        text = "one: all lenses are equally sharp"
    else:
        shares = ", ".join(f"{100 * (s - 1):+.1f}" for s in seen.sharpness)
        sigma = 100 * float(seen.sigma.max())
        text = f"three: sharpness {shares} ± {sigma:.1f} % from the mean on sub-lattices 0, 1, 2"
    lines = [f"  lens types    {text}"]
    if start_types is not None and seen.kinds is not None and seen.kinds != start_types:
        lines.append(f"                the start has {start_types}: look at mla.lens_types")
    if start_types is not None and start_types > 1 and not findings.types_certain:
        lines.append(
            f"                the start's origin is {findings.origin_shift:.1f} px from the nearest lens: its order of "
            "types may be another one"
        )
    return lines


def _certainty(findings: GridFindings) -> list[str]:
    fit = findings.fit
    lengths = np.hypot(*fit.zones.offset.T)
    known = int(np.isfinite(lengths).sum())
    lines = [
        f"  certainty     centres known to {fit.centre_sigma:.3f} px (1 sigma, whole sensor); recognised in "
        f"{100 * fit.recognised:.0f} % of the lenses, {known} of {len(lengths)} zones",
        f"  left over     {fit.residual_rms:.3f} px (root mean square of zones), at most {np.nanmax(lengths):.3f} px",
    ]
    if fit.lattice.excess > MUCH_MORE:
        lines.append(
            f"                {fit.lattice.excess:.1f} times what chance leaves, which the stated sigmas include: "
            "strong content, or a grid that is not quite regular"
        )
    return lines


def _start(findings: GridFindings) -> list[str]:
    fit = findings.fit
    vectors = fit.start_offsets
    lengths = np.hypot(*vectors.T)
    size = "large" if fit.pitch_error > 0 else "small"
    most = float(np.nanpercentile(lengths, 90))
    verdict = "fits" if most < FITS_PX else "is off"
    return [
        f"the start {verdict}: pitch {100 * abs(fit.pitch_error):.3f} % too {size}, turned by "
        f"{1e3 * fit.rotation_error:+.3f} mrad; centres off by {np.nanmedian(lengths):.2f} px (median of zones),",
        f"{most:.2f} px (nine of ten zones below), {np.nanmax(lengths):.2f} px (largest)",
        "micro-images from where the start has them, px (right, down), by parts of the sensor:",
        *parts_table(by_parts(fit, vectors)),
    ]


def parts_table(parts: Array) -> list[str]:
    """Vectors (3, 3, 2) in three rows."""
    lines = ["            " + "".join(f"{name:>18}" for name in COLUMN_NAMES)]
    for name, row in zip(ROW_NAMES, parts):
        cells = [f"{x:+.3f}, {y:+.3f}" if np.isfinite(x) else "nothing seen" for x, y in row]
        lines.append(f"  {name:<10}" + "".join(f"{cell:>18}" for cell in cells))
    return lines
