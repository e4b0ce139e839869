# SPDX-License-Identifier: Apache-2.0
"""``prism-vo depth``: raw images → focused images, virtual depth, its uncertainty, metric depth, previews."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from prism_vo.datasets import Sequence
    from prism_vo.lightfield import Decoder
    from prism_vo.types import DecodedFrame, SourceFrame

FOLDERS = ("focused", "virtual_depth", "virtual_depth_sigma", "depth", "preview")


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
) -> int:
    """Decode raw plenoptic images: focused image, virtual depth, its uncertainty, metric depth, a preview.

    Parameters
    ----------
    raw
        Raw images, folders of them, or one recording (anything `prism-vo run` takes).
    out
        Folder to write; must not exist or be empty. It can be read as a decoded recording afterwards.
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

    from prism_vo.config import DecodeConfig
    from prism_vo.datasets import part_of
    from prism_vo.datasets.reading import frames_of
    from prism_vo.datasets.source import notes_of
    from prism_vo.errors import ConfigError
    from prism_vo.lightfield import Decoder
    from prism_vo.optics.nominal import metric_notice

    recording = _recording(raw, camera, white)
    part = part_of(recording.sequence, start, frames, stride)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(
            f"{out}: holds files already; name another folder with --out, nothing was overwritten."
        )
    for note in notes_of(part):
        print(f"note: {note}", file=sys.stderr)
    decoder = Decoder(part.camera, DecodeConfig(near=near, far=far, view=view), part.white)
    silent = len(part) < 2
    images = track(frames_of(part), "decoding", len(part), console=Console(stderr=True), disable=silent)
    done, problems = _decode_all(images, decoder, recording.names, out)
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


def _decode_all(
    images: Iterable[SourceFrame], decoder: Decoder, names: list[str], out: Path
) -> tuple[int, list[str]]:
    """How many images were decoded and written, and why others were not."""
    from prism_vo.errors import InputError
    from prism_vo.optics.calibration import save_calibration
    from prism_vo.types import RawFrame, UnreadableFrame

    done, problems = 0, list[str]()
    for frame in images:
        if isinstance(frame, UnreadableFrame):
            problems.append(frame.reason)
            continue
        assert isinstance(frame, RawFrame)  # _recording refuses decoded ones
        decoded = decoder.dense(frame)
        if done == 0:
            for folder in FOLDERS:
                (out / folder).mkdir(parents=True, exist_ok=True)
            save_calibration(decoder.camera.calibration, out / "camera.yaml")
            (out / "decoded.yaml").write_text(_format(decoder.view.name), encoding="utf-8")
        _write(out, names[frame.index], decoder, decoded)
        done += 1
    if done == 0:
        raise InputError(problems[0] if len(problems) == 1 else f"No image can be read: {problems[0]}")
    return done, problems


def _format(view: str) -> str:
    return f"view: {view}\nconvention: 'true'\nvirtual_depth: lifcal16\nsigma: float32\n"


def _write(out: Path, name: str, decoder: Decoder, frame: DecodedFrame) -> None:
    import cv2
    import numpy as np

    from prism_vo.lightfield.preview import depth_preview

    assert frame.inv_virtual_depth is not None and frame.variance is not None and frame.valid is not None
    rho, valid = frame.inv_virtual_depth.astype(np.float64), frame.valid
    with np.errstate(divide="ignore", invalid="ignore"):
        metric = np.where(valid, 1.0 / decoder.camera.inv_depth(rho), np.nan)
        metric = np.where(metric > 0, metric, np.where(valid, np.inf, np.nan)).astype(np.float32)
    code = np.where(valid, np.clip(np.rint((1.0 - rho) * 65535.0), 1, 65535), 0).astype(np.uint16)
    sigma = np.where(valid, np.sqrt(frame.variance), np.float32(np.nan)).astype(np.float32)
    focused = frame.color[..., ::-1] if frame.color is not None else np.clip(np.rint(frame.image), 0, 255)
    preview = depth_preview(frame, metric)
    np.save(out / "depth" / f"{name}.npy", metric)
    _save(out / "focused" / f"{name}.png", focused.astype(np.uint8), cv2)
    _save(out / "virtual_depth" / f"{name}.png", code, cv2)
    _save(out / "virtual_depth_sigma" / f"{name}.tiff", sigma, cv2)
    _save(out / "preview" / f"{name}.png", preview[..., ::-1], cv2)


def _save(path: Path, image: NDArray[np.generic], cv2: Any) -> None:
    from prism_vo.atomic import write_bytes_atomically
    from prism_vo.errors import InputError

    done, data = cv2.imencode(path.suffix, image)
    if not done:
        raise InputError(f"{path}: the image could not be encoded.")
    write_bytes_atomically(path, data.tobytes())
