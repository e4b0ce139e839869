# SPDX-License-Identifier: Apache-2.0
"""Writers of the vendors' XML files, from the description of their formats, and what those files mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np

GRID = {
    "offset": (3.7, -5.2),
    "diameter": 14.3,
    "rotation": 0.0123,
    "lens_border": 1.0,
    "lens_base_x": (1.0, 0.0),
    "lens_base_y": (0.5, 0.8660254),
    "sub_grid_base": (3.0, 1.7320508),
    "types": [(0, (0.0, 0.0), (2.0, 2.8)), (1, (1.0, 0.0), (2.6, 4.0)), (2, (-1.0, 0.0), (3.5, 6.0))],
    "distortion": "",
}
MODEL = {
    "size": (150, 130),
    "pixel": 0.0055,
    "principal": (74.3, 66.1),
    "f": 16.012345,
    "b0": 15.31,
    "B": 0.352,
    "radial": (1e-4, -2e-6),
    "tangential": (3e-5, -4e-5),
    "adjusted": True,
}
CORNERS = ("ltop", "rtop", "lbot", "rbot")


def _xy(name: str, pair: tuple[float, float], first: str = "x", second: str = "y") -> str:
    return f"<{name}><{first}>{pair[0]!r}</{first}><{second}>{pair[1]!r}</{second}></{name}>"


def grid_xml(**changes) -> str:
    """A Raytrix micro-lens calibration."""
    g = {**GRID, **changes}
    types = "".join(
        f'<lens_type id="{n}">{_xy("offset", offset)}{_xy("depth_range", span, "min", "max")}</lens_type>'
        for n, offset, span in g["types"]
    )
    return (
        f'<?xml version="1.0"?><RayCalibData version="1">{_xy("offset", g["offset"])}'
        f"<diameter>{g['diameter']!r}</diameter><rotation>{g['rotation']!r}</rotation>"
        f"<lens_border>{g['lens_border']!r}</lens_border><tcp>2.0</tcp>"
        f"{_xy('lens_base_x', g['lens_base_x'])}{_xy('lens_base_y', g['lens_base_y'])}"
        f"{_xy('sub_grid_base', g['sub_grid_base'])}{g['distortion']}{types}</RayCalibData>"
    )


def brown_xml(
    values: tuple[float, ...], centre: tuple[float, float] = (0.0, 0.0), units: str | None = None
) -> str:
    """The distortion element of a micro-lens calibration."""
    attribute = "" if units is None else f' units="{units}"'
    return (
        f'<distortion type="Brown"><function>brown</function><parameter count="{len(values)}"{attribute}>'
        f"{' '.join(map(repr, values))}</parameter>{_xy('offset', centre)}</distortion>"
    )


def corner_xml(diameter: float, rotation: float, corners) -> str:
    """A micro-lens calibration by the centres of the corner lenses."""
    centres = "".join(_xy(name, corner) for name, corner in zip(CORNERS, corners))
    return (
        f"<TSPCCalibData><diameter>{diameter!r}</diameter><rotation>{rotation!r}</rotation>"
        f"<centers>{centres}</centers></TSPCCalibData>"
    )


def model_xml(**changes) -> str:
    """A LiFCal camera model."""
    m = {**MODEL, **changes}
    return (
        '<?xml version="1.0" encoding="UTF-8"?><Root><CalibrationModel>Plenoptic</CalibrationModel>'
        f'<ImageSize units="pix"><Width>{m["size"][0]}</Width><Height>{m["size"][1]}</Height></ImageSize>'
        f'<PixelSize units="mm">{m["pixel"]!r}</PixelSize>{_xy("PrincipalPoint", m["principal"])}'
        f"<FocalLength>{m['f']!r}</FocalLength><MainLensMlaDistance>{m['b0']!r}</MainLensMlaDistance>"
        f"<SensorMlaDistance>{m['B']!r}</SensorMlaDistance>"
        f"{_xy('RadialDistortion', m['radial'], 'A0', 'A1')}"
        f"{_xy('TangentialDistortion', m['tangential'], 'B0', 'B1')}"
        f"<MicroLensCenterAdjustment>{str(m['adjusted']).lower()}</MicroLensCenterAdjustment></Root>"
    )


def write_vendor_files(folder: Path, grid: str | None = None, model: str | None = None) -> tuple[Path, Path]:
    """Both files in a folder: (grid, model)."""
    paths = folder / "mla.xml", folder / "CameraModel.xml"
    paths[0].write_text(grid or grid_xml())
    paths[1].write_text(model or model_xml())
    return paths


def vendor_centres(raw_size: tuple[int, int]) -> dict[tuple[float, float], int]:
    """All centres with their lens type, by the vendor's rule of two interleaved row grids."""
    d, rotation, (_, by) = GRID["diameter"], GRID["rotation"], GRID["lens_base_y"]
    x0, y0 = raw_size[0] / 2 - 0.5 + GRID["offset"][0], raw_size[1] / 2 - 0.5 - GRID["offset"][1]
    out = {}
    for i in range(-40, 41):
        for j in range(-40, 41):
            even = (i * d, 2 * j * by * d)
            odd = ((i + 1 + GRID["lens_base_y"][0]) * d, (2 * j + 1) * by * d)
            for x, y in (even, odd):
                px = x0 + x * np.cos(rotation) - y * np.sin(rotation)
                py = y0 - (x * np.sin(rotation) + y * np.cos(rotation))
                out[round(float(px), 6), round(float(py), 6)] = i % 3
    return out


def lenses_by_base_vectors(
    turn: float, raw_size: tuple[int, int], **changes
) -> tuple[np.ndarray, np.ndarray]:
    """Centres (N, 2) in pixels and type ids (N,) by the plain meaning of a file's elements.

    Every lens is a whole combination of the base vectors, y down, turned counter-clockwise. The pattern of types
    repeats with the two sides of ``sub_grid_base`` and holds each type twice, the second time in the middle of that
    cell.
    """
    g = {**GRID, **changes}
    n = np.arange(-40, 41)
    steps = np.stack(np.meshgrid(n, n), -1).reshape(-1, 2)
    places = steps @ np.array([g["lens_base_x"], g["lens_base_y"]])
    cell = np.abs(np.array(g["sub_grid_base"]))
    kinds = np.full(len(places), -1)
    for number, offset, _ in g["types"]:
        for middle in (0.0, 0.5):
            away = (places - offset) / cell - middle
            kinds[(np.abs(away - np.rint(away)) * cell < 1e-3).all(1)] = number
    c, s = np.cos(turn), np.sin(turn)
    x, y = g["diameter"] * np.array([[c, s], [-s, c]]) @ places.T
    x0, y0 = raw_size[0] / 2 - 0.5 + g["offset"][0], raw_size[1] / 2 - 0.5 - g["offset"][1]
    return np.stack([x0 + x, y0 + y], -1), kinds
