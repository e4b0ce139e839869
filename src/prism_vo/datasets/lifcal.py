# SPDX-License-Identifier: Apache-2.0
"""Processed LiFCal / Raytrix folders: focused images, 16-bit virtual depth, XML calibration."""

from __future__ import annotations

from pathlib import Path

from prism_vo.datasets.decoded import DecodedFormat, load_decoded_format
from prism_vo.datasets.images import IMAGE_SUFFIXES, list_images, read_image
from prism_vo.datasets.parts import assemble
from prism_vo.datasets.sequence import FileSequence, SequenceFiles
from prism_vo.errors import InputError
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.vendor import (
    MLA_ROOT,
    calibration_from_vendor,
    read_lifcal_model,
    read_raytrix_grid,
    root_name,
)

MODEL = "CameraModel.xml"
USUAL_SCALE = 2  # raw pixels per focused pixel when no raw image tells
FOCUSED = ("focused", "totalfocus", "totalfocusimages", "totallyfocused")
DEPTH = ("virtualdepth", "virtualdepthimages", "depth", "depthmap", "depthmaps")
SIGMA = ("virtualdepthsigma", "sigma", "depthsigma")


class LifcalLoader:
    """Recognises a folder with LiFCal's ``CameraModel.xml``."""

    name = "lifcal"

    def recognises(self, path: Path) -> bool:
        """A folder holding a LiFCal camera model."""
        return path.is_dir() and (path / MODEL).is_file()

    def open(self, path: Path) -> FileSequence:
        """Open the folder; images are read later, one at a time."""
        files = SequenceFiles(
            focused=_folder_images(path, FOCUSED),
            virtual_depth=_folder_images(path, DEPTH, (*IMAGE_SUFFIXES, ".npy")),
            virtual_depth_sigma=_folder_images(path, SIGMA, (*IMAGE_SUFFIXES, ".npy")),
        )
        if not files.focused:
            raise InputError(
                f"{path}: no focused images; expected them in a folder 'focused' or 'totalFocus'."
            )
        description = path / "decoded.yaml"
        if not description.is_file():
            raise InputError(
                f"{path}: decoded.yaml is missing; write `{{view: focal, convention: true}}` into it, or "
                "`convention: micro-image` if the depth maps come from the camera vendor's software."
            )
        times, truth = path / "times.txt", path / "groundtruth.txt"
        return assemble(
            path,
            _calibration(path),
            files,
            times if times.is_file() else None,
            truth if truth.is_file() else None,
            _format(description),
        )


def _format(description: Path) -> DecodedFormat:
    """Ready-made focused images carry the lens distortion unless the description says otherwise."""
    form = load_decoded_format(description)
    return form if "distorted" in form.model_fields_set else form.model_copy(update={"distorted": True})


def _calibration(path: Path) -> Calibration:
    model = read_lifcal_model(path / MODEL)
    grids = [p for p in sorted(path.glob("*.xml")) if p.name != MODEL and root_name(p) == MLA_ROOT]
    if not grids:
        raise InputError(f"{path}: the micro-lens calibration (an XML file with root {MLA_ROOT}) is missing.")
    raw = _folder_images(path, ("raw",))
    if raw:
        height, width = read_image(raw[0]).shape[:2]
    else:
        width, height = (USUAL_SCALE * side for side in model.tf_size)
    return calibration_from_vendor(read_raytrix_grid(grids[0]), model, (width, height), view="focal")


def _folder_images(
    path: Path, names: tuple[str, ...], suffixes: tuple[str, ...] = IMAGE_SUFFIXES
) -> tuple[Path, ...]:
    """Images of the sub-folder whose name, without case and separators, is one of ``names``."""
    for folder in sorted(p for p in path.iterdir() if p.is_dir()):
        if folder.name.lower().replace("_", "").replace("-", "") in names:
            return tuple(list_images(folder, suffixes))
    return ()
