# SPDX-License-Identifier: Apache-2.0
"""The native sequence folder: ``camera.yaml`` with ``raw/`` or ``focused/`` + ``virtual_depth/``."""

from __future__ import annotations

from pathlib import Path

from prism_vo.datasets.decoded import load_decoded_format
from prism_vo.datasets.images import IMAGE_SUFFIXES, list_images
from prism_vo.datasets.parts import assemble
from prism_vo.datasets.sequence import FileSequence, SequenceFiles
from prism_vo.errors import InputError
from prism_vo.optics.calibration import load_calibration

MAP_SUFFIXES = (*IMAGE_SUFFIXES, ".npy")


class FolderLoader:
    """Recognises a folder that holds ``camera.yaml`` and frames in the native layout."""

    name = "folder"

    def recognises(self, path: Path) -> bool:
        """A native folder, complete or not: incomplete ones deserve a message of their own."""
        return path.is_dir() and (
            (path / "camera.yaml").is_file() or ((path / "raw").is_dir() and not any(path.glob("*.xml")))
        )

    def open(self, path: Path) -> FileSequence:
        """Open the folder; images are read later, one at a time."""
        if not (path / "camera.yaml").is_file():
            raise InputError(
                f"{path}: camera.yaml is missing; make one of the vendor's files with "
                "`prism-vo import-calibration`, or write it by hand."
            )
        calibration = load_calibration(path / "camera.yaml")
        files = SequenceFiles(
            raw=_images(path / "raw"),
            focused=_images(path / "focused"),
            virtual_depth=_images(path / "virtual_depth", MAP_SUFFIXES),
            virtual_depth_sigma=_images(path / "virtual_depth_sigma", MAP_SUFFIXES),
            white=_first_existing(path, "white.png", "white.tif", "white.tiff"),
        )
        if not files.raw and not files.focused:
            raise InputError(f"{path}: no images in raw/ (or focused/); nothing to work on.")
        description = path / "decoded.yaml"
        decoded = load_decoded_format(description) if files.focused and description.is_file() else None
        return assemble(
            path,
            calibration,
            files,
            _first_existing(path, "times.txt"),
            _first_existing(path, "groundtruth.txt"),
            decoded,
        )


def _images(folder: Path, suffixes: tuple[str, ...] = IMAGE_SUFFIXES) -> tuple[Path, ...]:
    return tuple(list_images(folder, suffixes)) if folder.is_dir() else ()


def _first_existing(folder: Path, *names: str) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)
