# SPDX-License-Identifier: Apache-2.0
"""LiFCal / Raytrix folders as they are: raw or focused images, 16-bit virtual depth, XML calibration."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from prism_vo.datasets.decoded import DecodedFormat, load_decoded_format
from prism_vo.datasets.folder import CAMERA
from prism_vo.datasets.images import IMAGE_SUFFIXES, list_images, read_image
from prism_vo.datasets.missing_camera import MissingCameraError
from prism_vo.datasets.parts import assemble
from prism_vo.datasets.sequence import FileSequence, SequenceFiles
from prism_vo.errors import InputError
from prism_vo.optics.calibration import Calibration, load_calibration
from prism_vo.optics.vendor import (
    MLA_ROOT,
    LifcalModel,
    calibration_from_vendor,
    read_lifcal_model,
    read_raytrix_grid,
    root_name,
)

MODEL = "CameraModel.xml"
USUAL_SCALE = 2  # raw pixels per focused pixel when no raw image tells
# names of sub-folders without case and separators; LiFCal's examples call them Images_Raw_Processed and so on
RAW = ("imagesrawprocessed", "raw")
FOCUSED = ("imagesfocused", "focused", "totalfocus", "totalfocusimages", "totallyfocused")
DEPTH = (
    *("imagesdepthfilled", "imagesdepth", "virtualdepth", "virtualdepthimages"),
    *("depth", "depthmap", "depthmaps"),
)
SIGMA = ("virtualdepthsigma", "sigma", "depthsigma")


class LifcalLoader:
    """Recognises LiFCal's folders: by its ``CameraModel.xml``, or by the sub-folders of its examples."""

    name = "lifcal"

    def recognises(self, path: Path) -> bool:
        """A folder holding a LiFCal camera model, or images as LiFCal's examples name them."""
        if not path.is_dir():
            return False
        if _sub_folder(path, (RAW[0], FOCUSED[0])) is not None:
            return True
        return (path / MODEL).is_file() and not (path / CAMERA).is_file()

    def open(self, path: Path, camera: Path | None = None) -> FileSequence:
        """Open the folder, raw images if there are any; images are read later, one at a time."""
        maps = (*IMAGE_SUFFIXES, ".npy")
        raw = _folder_images(path, RAW)
        decoded = not raw
        files = SequenceFiles(
            raw=raw,
            focused=_folder_images(path, FOCUSED) if decoded else (),
            virtual_depth=_folder_images(path, DEPTH, maps) if decoded else (),
            virtual_depth_sigma=_folder_images(path, SIGMA, maps) if decoded else (),
        )
        if not raw and not files.focused:
            raise InputError(
                f"{path}: no raw and no focused images; expected them in Images_Raw_Processed/, raw/, "
                "Images_Focused/ or totalFocus/."
            )
        times, truth = path / "times.txt", path / "groundtruth.txt"
        return assemble(
            path,
            _calibration(path, files, camera),
            files,
            times if times.is_file() else None,
            truth if truth.is_file() else None,
            _format(path) if decoded else None,
        )


def _format(path: Path) -> DecodedFormat:
    """Ready-made focused images carry the lens distortion unless the description says otherwise."""
    description = path / "decoded.yaml"
    if not description.is_file():
        raise InputError(
            f"{path}: decoded.yaml is missing; write `{{view: focal, convention: true}}` into it, or "
            "`convention: micro-image` if the depth maps come from the camera vendor's software."
        )
    form = load_decoded_format(description)
    return form if "distorted" in form.model_fields_set else form.model_copy(update={"distorted": True})


def _calibration(path: Path, files: SequenceFiles, camera: Path | None) -> Calibration:
    """Of the file named, of camera.yaml, or of LiFCal's and the vendor's XML files."""
    described = camera or path / CAMERA
    if camera is not None or described.is_file():
        return load_calibration(described)
    models = [
        path / MODEL,
        *sorted(path.glob(f"*/{MODEL}")),
    ]  # LiFCal's output may lie in a folder of its own
    found = next((p for p in models if p.is_file()), None)
    if found is None:
        raise MissingCameraError(path, files.raw or files.focused, lacking=f"LiFCal's {MODEL}")
    model = read_lifcal_model(found)
    grids = [p for p in sorted(path.glob("*.xml")) if p.name != MODEL and root_name(p) == MLA_ROOT]
    if not grids:
        raise InputError(f"{path}: the micro-lens calibration (an XML file with root {MLA_ROOT}) is missing.")
    view = "central" if files.raw else "focal"
    return calibration_from_vendor(read_raytrix_grid(grids[0]), model, _raw_size(files, model), view)


def _raw_size(files: SequenceFiles, model: LifcalModel) -> tuple[int, int]:
    """Of the first raw image that can be read; without raw images the usual multiple of the focused size."""
    for path in files.raw:
        with suppress(InputError):
            height, width = read_image(path).shape[:2]
            return width, height
    if files.raw:
        raise InputError(f"{files.raw[0].parent}: none of its images can be read.")
    return USUAL_SCALE * model.tf_size[0], USUAL_SCALE * model.tf_size[1]


def _sub_folder(path: Path, names: tuple[str, ...]) -> Path | None:
    """The sub-folder whose name, without case and separators, is one of ``names``."""
    for folder in sorted(p for p in path.iterdir() if p.is_dir()):
        if folder.name.lower().replace("_", "").replace("-", "") in names:
            return folder
    return None


def _folder_images(
    path: Path, names: tuple[str, ...], suffixes: tuple[str, ...] = IMAGE_SUFFIXES
) -> tuple[Path, ...]:
    folder = _sub_folder(path, names)
    return () if folder is None else tuple(list_images(folder, suffixes))
