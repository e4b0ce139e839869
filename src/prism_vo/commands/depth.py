# SPDX-License-Identifier: Apache-2.0
"""``prism-vo depth``: raw images → focused images, virtual depth, its uncertainty, metric depth, previews."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from prism_vo.commands.quiet import Quiet, is_quiet

if TYPE_CHECKING:
    from prism_vo.commands.depth_folder import DepthFolder
    from prism_vo.commands.depth_images import Opened
    from prism_vo.lightfield import Decoder


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
    jobs: int = 1,
    scheduler: str | None = None,
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
        White image. Default: that of the recording, else vignetting is estimated from the first image that shows it.
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
    jobs
        Pieces of a long recording that are decoded at the same time, in processes of their own; the same bytes.
    scheduler
        Address of a Dask scheduler (tcp://host:8786): pieces go to its workers, which see the same files.
    """
    from prism_vo.commands.depth_folder import DepthFolder, facts_of
    from prism_vo.commands.depth_images import Request, open_images
    from prism_vo.commands.depth_pieces import decode_pieces
    from prism_vo.datasets.source import naming_white, notes_of
    from prism_vo.lightfield import Decoder
    from prism_vo.optics.nominal import metric_notice

    request = Request(raw, camera, white, near, far, view, start, frames, stride)
    opened = open_images(request)
    for note in notes_of(opened.part):
        print(f"note: {note}", file=sys.stderr)
    with naming_white(opened.part):
        decoder = Decoder(opened.part.camera, opened.config, opened.part.white)
    with DepthFolder(out, facts_of(*opened), opened.names) as folder:
        if jobs > 1 or scheduler is not None:
            done, problems = decode_pieces(request, opened, folder, decoder, jobs, scheduler)
        else:
            done, problems = _decode(opened, folder, decoder)
    for remark in decoder.remarks():
        print(f"note: {remark}", file=sys.stderr)
    for problem in problems:
        print(f"left out: {problem}", file=sys.stderr)
    print(f"{done} image{'s' if done > 1 else ''} decoded: {out}")
    notice = metric_notice(opened.part.camera.calibration)
    if notice is not None:
        print(f"note: {notice}")
    return 3 if problems else 0


def _decode(opened: Opened, folder: DepthFolder, decoder: Decoder) -> tuple[int, list[str]]:
    """One image after the other, from where the folder is."""
    from rich.console import Console
    from rich.progress import track

    from prism_vo.commands.depth_folder import decode_all
    from prism_vo.datasets.reading import frames_of

    folder.progress.put(decoder, opened.part)
    images = track(
        frames_of(opened.part, folder.progress.done),
        "decoding",
        len(opened.part),
        completed=folder.progress.done,
        console=Console(stderr=True),
        disable=is_quiet() or len(opened.part) < 2,
    )
    return decode_all(images, decoder, folder)
