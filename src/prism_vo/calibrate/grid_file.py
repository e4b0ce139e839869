# SPDX-License-Identifier: Apache-2.0
"""What is written of a grid: a corrected camera.yaml, or, where the optics are unknown, a file with the grid alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import Field

from prism_vo.atomic import write_text_atomically
from prism_vo.calibrate.findings import GridFindings
from prism_vo.calibrate.grid import Grid, Layout
from prism_vo.errors import CalibrationError
from prism_vo.optics.calibration import Calibration, Place
from prism_vo.yaml_files import StrictModel, parse_strict, read_yaml

GRID_FORMAT: Final = "prism-vo/grid/1"
CLEARLY_LARGER = 0.25  # px: rims are no sharper than that
_HEADER = """\
# A micro-lens grid measured in images by prism-vo calibrate grid. No optics: this is not a camera.yaml yet.
# The keys of mla: can be copied into one; prism-vo calibrate grid --start takes this file as it is.
"""


class SensorSize(StrictModel):
    width: int = Field(ge=16, le=65536)
    height: int = Field(ge=16, le=65536)


class MeasuredGrid(StrictModel):
    layout: Layout
    pitch_px: float = Field(gt=3, le=10_000)
    rotation_rad: float = Field(ge=-7, le=7)
    origin_px: tuple[Place, Place]
    border_px: float = Field(ge=0, le=10_000)


class GridFile(StrictModel):
    """The whole file."""

    format: Literal["prism-vo/grid/1"] = GRID_FORMAT
    sensor: SensorSize
    mla: MeasuredGrid
    uncertainty: dict[str, Any] | None = None

    @property
    def grid(self) -> Grid:
        """As a start for another fit."""
        return Grid.regular(self.mla.layout, self.mla.pitch_px, self.mla.rotation_rad, self.mla.origin_px)


def load_grid_file(path: Path) -> GridFile:
    """Read and check a grid file."""
    return parse_strict(GridFile, read_yaml(path), path, CalibrationError)


def save_grid_file(findings: GridFindings, path: Path) -> None:
    """Write the grid alone, with a comment that says what it is."""
    height, width = findings.fit.image_shape
    mla = {"layout": findings.fit.grid.layout, **_measured(findings), "border_px": round(findings.border, 2)}
    content = {
        "format": GRID_FORMAT,
        "sensor": {"width": width, "height": height},
        "mla": mla,
        "uncertainty": grid_uncertainty(findings),
    }
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=110)
    write_text_atomically(path, _HEADER + text)


def corrected_calibration(calibration: Calibration, findings: GridFindings) -> Calibration:
    """The camera with the grid that images show; everything else as it was.

    The border only ever grows, and only by what can be seen: a larger usable circle is a choice, dark pixels inside
    it are a fault.
    """
    border = calibration.mla.border_px
    if findings.profile.radius is not None and findings.border > border + CLEARLY_LARGER:
        border = round(findings.border, 2)
    x, y = (float(c) for c in findings.fit.grid.origin)
    changes = {**_measured(findings), "origin_px": (x, y), "border_px": border}
    notes = {**(calibration.uncertainty or {}), **grid_uncertainty(findings)}
    return calibration.model_copy(
        update={"mla": calibration.mla.model_copy(update=changes), "uncertainty": notes}
    )


def grid_uncertainty(findings: GridFindings) -> dict[str, Any]:
    """Standard deviations, for the key ``uncertainty`` of both files."""
    fit = findings.fit
    numbers = {
        "pitch_px": float(f"{fit.pitch_sigma:.2g}"),
        "rotation_rad": float(f"{fit.rotation_sigma:.2g}"),
        "centres_px": float(f"{fit.centre_sigma:.2g}"),
        "residual_px": float(f"{fit.residual_rms:.2g}"),
    }
    return {"grid": numbers}


def _measured(findings: GridFindings) -> dict[str, Any]:
    grid = findings.fit.grid
    return {
        "pitch_px": grid.pitch,
        "rotation_rad": grid.rotation,
        "origin_px": [float(c) for c in grid.origin],
    }
