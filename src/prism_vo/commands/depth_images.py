# SPDX-License-Identifier: Apache-2.0
"""The images ``prism-vo depth`` is asked for: a recording, folders or files, and the part of them that is wanted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from prism_vo.config import DecodeConfig
    from prism_vo.datasets import Sequence, SequencePart


@dataclass(frozen=True)
class Request:
    """What the command was told."""

    raw: tuple[Path, ...]
    camera: Path | None
    white: Path | None
    near: float
    far: float
    view: str | None
    start: int
    frames: int | None
    stride: int

    def plain(self) -> dict[str, Any]:
        """For a file that a worker elsewhere reads; infinity has no JSON."""
        paths = {
            "raw": [str(p.resolve()) for p in self.raw],
            "camera": None if self.camera is None else str(self.camera.resolve()),
            "white": None if self.white is None else str(self.white.resolve()),
        }
        return asdict(self) | paths | {"far": str(self.far)}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Request:
        """What :meth:`plain` made of one."""
        paths = {key: None if plain[key] is None else Path(plain[key]) for key in ("camera", "white")}
        raw = tuple(Path(p) for p in plain["raw"])
        return cls(**(plain | paths | {"raw": raw, "far": float(plain["far"])}))


class Opened(NamedTuple):
    """The frames, how to decode them, and what the files made of each are called."""

    part: SequencePart
    config: DecodeConfig
    names: list[str]


def open_images(request: Request) -> Opened:
    """One recording as ``run`` opens it, or the images that were named."""
    from prism_vo.config import DecodeConfig
    from prism_vo.config_file import check_config
    from prism_vo.datasets import FileSequence, part_of
    from prism_vo.errors import InputError

    arguments = request.raw
    if not arguments:
        raise InputError("No raw images given: name image files, a folder of them, or a recording.")
    for path in arguments:
        if not path.exists():
            raise InputError(f"{path}: no such file or folder.")
    where = arguments, request.camera, request.white
    sequence = _open_recording(*where) or _loose_images(*where)
    if sequence.is_decoded:
        raise InputError(f"{arguments[0]}: is decoded already; raw images are needed.")
    images = sequence.files.raw if isinstance(sequence, FileSequence) else ()
    names = _names(images, len(sequence))
    part = part_of(sequence, request.start, request.frames, request.stride)
    config = DecodeConfig(near=request.near, far=request.far, view=request.view)  # type: ignore[arg-type]
    check_config(config, "depth", "decode.")
    return Opened(part, config, [names[index] for index in part.indices])


def _open_recording(arguments: tuple[Path, ...], camera: Path | None, white: Path | None) -> Sequence | None:
    """The recording a single argument names; None if it is an image or a folder of them."""
    from dataclasses import replace

    from prism_vo.datasets import FileSequence, open_sequence
    from prism_vo.datasets.images import IMAGE_SUFFIXES
    from prism_vo.datasets.missing_camera import MissingCameraError

    if len(arguments) > 1 or arguments[0].suffix.lower() in IMAGE_SUFFIXES:
        return None
    try:
        sequence = open_sequence(arguments[0], camera=camera)
    except MissingCameraError as error:
        if error.video is not None:
            raise
        return None  # the camera may be described in a folder above
    if white is not None and isinstance(sequence, FileSequence):
        return replace(sequence, files=replace(sequence.files, white=white))
    return sequence


def _loose_images(arguments: tuple[Path, ...], camera: Path | None, white: Path | None) -> Sequence:
    """Image files and folders of them as a recording without times."""
    from prism_vo.datasets.images import list_images
    from prism_vo.datasets.parts import assemble
    from prism_vo.datasets.sequence import SequenceFiles
    from prism_vo.errors import InputError
    from prism_vo.optics.calibration import load_calibration

    found: list[Path] = []
    for path in arguments:
        inner = path / "raw" if (path / "raw").is_dir() else path
        found.extend(list_images(inner) if inner.is_dir() else [inner])
    if not found:
        raise InputError("No raw images given: name image files, a folder of them, or a recording.")
    camera = camera or _beside(arguments, "camera.yaml")
    if camera is None:
        raise InputError(
            "No camera file: name one with --camera camera.yaml, or give a recording that holds one."
        )
    files = SequenceFiles(raw=tuple(found), white=white or _beside(arguments, "white.png"))
    return assemble(arguments[0], load_calibration(camera), files, None, None, None)


def _beside(arguments: tuple[Path, ...], name: str) -> Path | None:
    """A file of the recording the images belong to."""
    for path in arguments:
        for folder in (path, path.parent, path.parent.parent):
            if (folder / name).is_file():
                return folder / name
    return None


def _names(images: tuple[Path, ...], count: int) -> list[str]:
    """File stems, numbered when two images share one and in a video."""
    stems = [path.stem for path in images]
    return stems if len(set(stems)) == count else [f"{n:06d}" for n in range(count)]
