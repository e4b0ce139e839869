# SPDX-License-Identifier: Apache-2.0
"""``prism-vo depth``: raw images → focused images, virtual depth, its uncertainty, metric depth, previews."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from prism_vo.datasets import Sequence


def depth(
    *raw: Path,
    out: Path,
    camera: Path | None = None,
    white: Path | None = None,
    near: float = 0.2,
    far: float = float("inf"),
    view: Literal["central", "focal"] | None = None,
    start: int = 0,
    frames: int | None = None,
    stride: int = 1,
    quiet: Quiet = False,
) -> int:
    """Decode raw plenoptic images: focused image, virtual depth, its uncertainty, metric depth, a preview.

    Parameters
    ----------
    raw
        Raw images, folders of them, or one recording (anything `prism-vo run` takes).
    out
        Folder to write; must not exist or be empty. It can be read as a decoded recording afterwards. Called again with
        the same images and settings after an interruption, it goes on where it stopped.
    camera
        Calibration (camera.yaml). Default: the one of the recording, or in or above the images' folder.
    white
        White image. Default: that of the recording, else vignetting is estimated from the first image.
    near
        Nearest depth searched for, metres.
    far
        Farthest depth searched for, metres.
    view
        Focused view; default: the one named in the calibration.
    start
        First image, counted from 0.
    frames
        Stop after so many images.
    stride
        Take every so many-th image.
    """
    from rich.console import Console
    from rich.progress import track

    from prism_vo.commands.depth_folder import DepthFolder, decode_all, facts_of
    from prism_vo.config import DecodeConfig
    from prism_vo.config_file import check_config
    from prism_vo.datasets import part_of
    from prism_vo.datasets.reading import frames_of
    from prism_vo.datasets.source import notes_of
    from prism_vo.lightfield import Decoder
    from prism_vo.optics.nominal import metric_notice

    recording = _recording(raw, camera, white)
    part = part_of(recording.sequence, start, frames, stride)
    for note in notes_of(part):
        print(f"note: {note}", file=sys.stderr)
    config = DecodeConfig(near=near, far=far, view=view)
    check_config(config, "depth", "decode.")
    part_names = [recording.names[index] for index in part.indices]
    with DepthFolder(out, facts_of(part, config, part_names), part_names) as folder:
        decoder = Decoder(part.camera, config, part.white)
        folder.go_on(decoder, part)
        silent = len(part) < 2
        images = track(
            frames_of(part, folder.progress.done),
            "decoding",
            len(part),
            completed=folder.progress.done,
            console=Console(stderr=True),
            disable=silent,
        )
        done, problems = decode_all(images, decoder, folder)
    for problem in problems:
        print(f"left out: {problem}", file=sys.stderr)
    print(f"{done} image{'s' if done > 1 else ''} decoded: {out}")
    notice = metric_notice(part.camera.calibration)
    if notice is not None:
        print(f"note: {notice}")
    return 3 if problems else 0


class _Recording(NamedTuple):
    """Raw frames, and what the files made of each are called."""

    sequence: Sequence
    names: list[str]


def _recording(arguments: tuple[Path, ...], camera: Path | None, white: Path | None) -> _Recording:
    """One recording as ``run`` opens it, or the images that were named."""
    from prism_vo.datasets import FileSequence
    from prism_vo.errors import InputError

    if not arguments:
        raise InputError("No raw images given: name image files, a folder of them, or a recording.")
    for path in arguments:
        if not path.exists():
            raise InputError(f"{path}: no such file or folder.")
    sequence = _open_recording(arguments, camera, white) or _loose_images(arguments, camera, white)
    if sequence.is_decoded:
        raise InputError(f"{arguments[0]}: is decoded already; raw images are needed.")
    images = sequence.files.raw if isinstance(sequence, FileSequence) else ()
    return _Recording(sequence, _names(images, len(sequence)))


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
