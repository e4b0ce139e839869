# SPDX-License-Identifier: Apache-2.0
"""The native sequence folder: ``camera.yaml`` with ``raw/``, a video, or ``focused/`` + ``virtual_depth/``."""

from __future__ import annotations

from pathlib import Path

from prism_vo.datasets.decoded import load_decoded_format
from prism_vo.datasets.images import IMAGE_SUFFIXES, list_images
from prism_vo.datasets.missing_camera import MissingCameraError
from prism_vo.datasets.parts import assemble
from prism_vo.datasets.sequence import FileSequence, SequenceFiles
from prism_vo.datasets.video import is_video
from prism_vo.errors import InputError
from prism_vo.optics.calibration import load_calibration

CAMERA = "camera.yaml"
WHITE = ("white.png", "white.tif", "white.tiff")
MAP_SUFFIXES = (*IMAGE_SUFFIXES, ".npy")


class FolderLoader:
    """Recognises a folder that holds ``camera.yaml`` or images, and a video file."""

    name = "folder"

    def recognises(self, path: Path) -> bool:
        """A native folder, complete or not: incomplete ones deserve a message of their own."""
        if not path.is_dir():
            return is_video(path)
        return (path / CAMERA).is_file() or bool(_raw_images(path) or _videos(path))

    def open(self, path: Path, camera: Path | None = None) -> FileSequence:
        """Open the folder; images are read later, one at a time. ``camera``: a file instead of its camera.yaml."""
        folder = path if path.is_dir() else path.parent
        source = camera or folder / CAMERA
        raw = () if is_video(path) else _raw_images(folder)
        files = SequenceFiles(
            raw=raw,
            video=path if is_video(path) else None if raw else _only_video(folder),
            focused=_images(folder / "focused"),
            virtual_depth=_images(folder / "virtual_depth", MAP_SUFFIXES),
            virtual_depth_sigma=_images(folder / "virtual_depth_sigma", MAP_SUFFIXES),
            white=_first_existing(folder, *WHITE),
        )
        if camera is None and not source.is_file() and source.exists():
            what = "a folder" if source.is_dir() else "no regular file"
            raise InputError(f"{source}: is {what}; it must be the file that describes the camera.")
        if not source.is_file() and camera is None:
            raise MissingCameraError(path, files.raw, files.video)
        calibration = load_calibration(source)
        if not files.raw and not files.focused and files.video is None:
            raise InputError(f"{path}: no images in raw/ (or focused/), and no video; nothing to work on.")
        description = folder / "decoded.yaml"
        decoded = load_decoded_format(description) if files.focused and description.is_file() else None
        times, truth = (_first_existing(folder, name) for name in ("times.txt", "groundtruth.txt"))
        return assemble(path, calibration, files, times, truth, decoded)


def _raw_images(folder: Path) -> tuple[Path, ...]:
    """Those of ``raw/``; without decoded ones, too, the images that lie in the folder itself but the white one."""
    if (folder / "raw").is_dir() or (folder / "focused").is_dir():
        return _images(folder / "raw")
    return tuple(path for path in _images(folder) if path.stem.lower() != "white")


def _videos(folder: Path) -> list[Path]:
    """Videos in ``raw/`` and in the folder itself."""
    places = [place for place in (folder / "raw", folder) if place.is_dir()]
    found = [path for place in places for path in sorted(place.iterdir()) if is_video(path)]
    return [path for path in found if not path.name.startswith(".")]


def _only_video(folder: Path) -> Path | None:
    found = _videos(folder)
    if len(found) > 1:
        names = ", ".join(path.name for path in found[:4])
        raise InputError(
            f"{folder}: more than one video ({names}); name the one to use, or remove the others."
        )
    return found[0] if found else None


def _images(folder: Path, suffixes: tuple[str, ...] = IMAGE_SUFFIXES) -> tuple[Path, ...]:
    return tuple(list_images(folder, suffixes)) if folder.is_dir() else ()


def _first_existing(folder: Path, *names: str) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)
