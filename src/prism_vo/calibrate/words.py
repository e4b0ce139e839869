# SPDX-License-Identifier: Apache-2.0
"""A check of a camera against its images in plain words: (what was looked at, what was found)."""

from __future__ import annotations

from prism_vo.calibrate.check import CameraCheck
from prism_vo.calibrate.grid import CLASS_COUNT

MILLI = 1e3


def check_rows(check: CameraCheck) -> list[tuple[str, str]]:
    """One row for each thing looked at; problems are told apart from it."""
    grid = check.grid
    if grid is None:
        return [("grid", f"not found: {check.refusal}")]
    rows = [
        (
            "grid offset",
            f"{check.offset_rms:.3f} px RMS over {len(check.offsets)} zones, at the most "
            f"{check.largest_offset:.3f} px; centres known to {grid.centre_sigma:.3f} px, "
            f"seen by {_SEEN[grid.feature]}",
        ),
        (
            "pitch",
            f"{grid.grid.pitch:.4f} ± {grid.pitch_sigma:.4f} px; the file's is {100 * grid.pitch_error:+.4f} % off",
        ),
        (
            "rotation",
            f"the file's is {MILLI * grid.rotation_error:+.3f} ± {MILLI * grid.rotation_sigma:.3f} mrad off",
        ),
    ]
    return [*rows, *_lens_rows(check), *_slope_rows(check)]


_SEEN = {
    "light": "the dark gaps between micro-images",
    "edges": "content that breaks off between micro-images",
}


def _lens_rows(check: CameraCheck) -> list[tuple[str, str]]:
    rows = []
    if check.kinds is not None:
        words = {1: "one kind", 3: "three kinds", None: "cannot be told from these images"}[check.kinds.kinds]
        if check.types_seen is not None:
            words += ", in another order than in the file"
        elif check.types_agree:
            words += ", in the order of the file"
        elif check.kinds.kinds == CLASS_COUNT:
            words += "; which has which focus cannot be told from these images"
        rows.append(("lens types", words))
    if check.profile is not None:
        radius = check.profile.radius
        found = "no rim: vignetting was removed" if radius is None else f"micro-images end at {radius:.2f} px"
        rows.append(("rim", f"{found}; the file uses {check.usable_radius:.2f} px"))
    return rows


def _slope_rows(check: CameraCheck) -> list[tuple[str, str]]:
    if check.slopes is None:
        return [("slopes", "too little texture to match micro-images")]
    share, beyond = 100 * check.slopes.matched, 100 * check.slopes.beyond
    return [
        (
            "slopes",
            f"{share:.0f} % of the points looked at can be matched, {beyond:.1f} % lie beyond infinity",
        )
    ]
