# SPDX-License-Identifier: Apache-2.0
"""``prism-vo import-calibration``: Raytrix micro-lens XML + LiFCal ``CameraModel.xml`` → ``camera.yaml``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal


def import_calibration(
    first: Path,
    second: Path,
    /,
    *,
    raw_size: str | None = None,
    raw_image: Path | None = None,
    out: Path = Path("camera.yaml"),
    view: Literal["central", "focal"] = "central",
    force: bool = False,
) -> None:
    """Make camera.yaml of a Raytrix micro-lens XML and a LiFCal CameraModel.xml (in either order).

    Parameters
    ----------
    first, second
        The two XML files.
    raw_size
        Size of the raw images, such as 2048x2048; neither XML file has it.
    raw_image
        A raw image to take the size from instead.
    out
        The file to write.
    view
        The totally focused view to decode.
    force
        Replace an existing file.
    """
    from prism_vo.errors import CalibrationError, InputError
    from prism_vo.optics.calibration import save_calibration
    from prism_vo.optics.vendor import (
        MLA_ROOT,
        MODEL_ROOT,
        calibration_from_vendor,
        read_lifcal_model,
        read_raytrix_grid,
        root_name,
    )

    if out.exists() and not force:
        raise InputError(f"{out}: exists already; give another --out or --force.")
    by_root = {root_name(path): path for path in (first, second)}
    if set(by_root) != {MLA_ROOT, MODEL_ROOT}:
        raise CalibrationError(
            f"{first} and {second}: one must be a Raytrix micro-lens calibration (root {MLA_ROOT}) and one a "
            f"LiFCal camera model (root {MODEL_ROOT})."
        )
    model = read_lifcal_model(by_root[MODEL_ROOT])
    grid = read_raytrix_grid(by_root[MLA_ROOT])
    save_calibration(calibration_from_vendor(grid, model, _raw_size(raw_size, raw_image), view), out)
    if not model.centres_adjusted:
        print(
            f"note: {by_root[MODEL_ROOT]} was calibrated without micro-lens centre adjustment, "
            "which biases metric depth; run LiFCal again with it if you can."
        )
    print(f"wrote {out}")


def _raw_size(text: str | None, image: Path | None) -> tuple[int, int]:
    from prism_vo.datasets.images import read_image
    from prism_vo.errors import ConfigError

    if image is not None:
        height, width = read_image(image).shape[:2]
        return width, height
    match = re.fullmatch(r"(\d+)[x×,](\d+)", text.strip()) if text is not None else None
    if match is None:
        found = "is missing" if text is None else f"is {text!r}"
        raise ConfigError(
            f"The raw image size {found}; give --raw-size such as 2048x2048 or --raw-image FILE."
        )
    return int(match[1]), int(match[2])
