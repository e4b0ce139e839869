# SPDX-License-Identifier: Apache-2.0
"""What ``import-calibration`` is given: two kinds of files, raw images or their size, numbers of a data sheet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_IMAGES = 12  # more hardly sharpen the grid and take longer


@dataclass(frozen=True)
class DataSheet:
    """What stands in for LiFCal's model."""

    lens_mm: float
    pixel_um: float
    f_number: float

    @classmethod
    def checked(
        cls, lens: float | None, pixel: float | None, f_number: float | None, model: Path | None
    ) -> DataSheet | None:
        """Refuse what is missing, contradictory or impossible; None with a LiFCal model, which has it all."""
        from prism_vo.errors import ConfigError
        from prism_vo.optics.vendor.optics_of import USUAL_F_NUMBER

        given = [
            n for n, v in (("--lens", lens), ("--pixel", pixel), ("--f-number", f_number)) if v is not None
        ]
        if model is not None:
            if given:
                raise ConfigError(f"{model} has the optics already; leave out {' and '.join(given)}.")
            return None
        if lens is None or pixel is None:
            raise ConfigError(
                "A micro-lens grid alone needs the main lens and the pixel size, such as --lens 16 (mm) --pixel 5.5 "
                "(µm); with a LiFCal CameraModel.xml it needs neither."
            )
        sheet = cls(lens, pixel, USUAL_F_NUMBER if f_number is None else f_number)
        if not all(0 < value < 1e6 for value in (sheet.lens_mm, sheet.pixel_um, sheet.f_number)):
            raise ConfigError("--lens (mm), --pixel (µm) and --f-number must be positive.")
        return sheet


def files_by_kind(first: Path, second: Path | None) -> tuple[Path, Path | None]:
    """(grid file, model file or None), whichever was named first."""
    from prism_vo.errors import CalibrationError
    from prism_vo.optics.vendor import GRID_ROOTS, MODEL_ROOT, root_name

    files = [first] if second is None else [first, second]
    grids = [path for path in files if root_name(path) in GRID_ROOTS]
    models = [path for path in files if root_name(path) == MODEL_ROOT]
    if len(grids) != 1 or len(grids) + len(models) != len(files):
        raise CalibrationError(
            f"{' and '.join(map(str, files))}: give one micro-lens grid (root {' or '.join(GRID_ROOTS)}) and, if you "
            f"have it, one LiFCal camera model (root {MODEL_ROOT})."
        )
    return grids[0], models[0] if models else None


def read_raw_images(paths: list[Path]) -> list[NDArray[Any]]:
    """The images themselves, of folders some that are spread evenly."""
    from prism_vo.datasets.images import list_images, read_image
    from prism_vo.errors import InputError

    files: list[Path] = []
    for path in paths:
        inside = list_images(path) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"{path}: no images in this folder.")
        files += inside
    if len(files) > MOST_IMAGES:
        files = [files[n * (len(files) - 1) // (MOST_IMAGES - 1)] for n in range(MOST_IMAGES)]
    images: list[NDArray[Any]] = [read_image(path) for path in files]
    for path, image in zip(files, images):
        if image.shape[:2] != images[0].shape[:2]:
            raise InputError(f"{path}: differs in size from {files[0]}; give raw images of one camera.")
    return images


def find_raw_size(text: str | None, images: list[NDArray[Any]]) -> tuple[int, int]:
    """Width and height, as stated or as the images have them."""
    from prism_vo.errors import ConfigError

    match = re.fullmatch(r"(\d+)[x×,](\d+)", text.strip()) if text is not None else None
    size = (int(match[1]), int(match[2])) if match is not None else None
    if images:
        height, width = images[0].shape[:2]
        if text is not None and size != (width, height):
            raise ConfigError(
                f"--raw-size is {text!r} and the raw image is {width}x{height}; leave out one of them."
            )
        return width, height
    if size is None:
        found = "is missing" if text is None else f"is {text!r}"
        raise ConfigError(
            f"The raw image size {found}; give --raw-size such as 2048x2048 or --raw-image FILE."
        )
    return size
