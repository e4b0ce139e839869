# SPDX-License-Identifier: Apache-2.0
"""``prism-vo export``: focused images in another program's layout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def export(
    sequence: Path,
    *,
    form: Annotated[Literal["mono", "rgbd", "dso", "orbslam3", "tum", "colmap"], Parameter(name="--as")],
    images: Literal["focused", "mono"] = "focused",
    out: Path | None = None,
    first: int = 0,
    last: int | None = None,
) -> None:
    """Write the focused (central perspective) images of a sequence for another program.

    Parameters
    ----------
    sequence
        Folder of a recording, or its sequence.yaml.
    form
        mono: images, intrinsics.txt, times.txt. rgbd: the same with 16-bit depth in millimetres. dso:
        camera.txt and times.txt as DSO reads them. orbslam3: TUM folder and settings file. tum: layout of the
        TUM RGB-D benchmark. colmap: images and a text model with the known poses.
    images
        focused: made from the plenoptic images. mono: of the ordinary camera recorded beside it, if there is one.
    out
        Folder to write; must not exist or be empty. Default: <sequence>_<form> in the current folder.
    first
        First frame.
    last
        Last frame (default: the last of the sequence).
    """
    from rich.markup import escape
    from rich.progress import track

    from prism_vo.baselines.export import export_sequence
    from prism_vo.baselines.focused import focused_frames, synchronised_frames, view_of
    from prism_vo.config import DecodeConfig
    from prism_vo.datasets import open_sequence
    from prism_vo.errors import ConfigError

    recording = open_sequence(sequence)
    stop = len(recording) if last is None else min(last + 1, len(recording))
    if not 0 <= first < stop:
        raise ConfigError(f"--first and --last must name frames between 0 and {len(recording) - 1}.")
    out = out or Path(f"{recording.name}_{form}")
    central = DecodeConfig(view="central")
    chosen = range(first, stop)
    if images == "mono":
        frames, view = synchronised_frames(recording, chosen)
    else:
        frames, view = focused_frames(recording, central, chosen), view_of(recording, central)
    shown = track(frames, escape(f"{recording.name} as {form}"), total=stop - first)
    exported = export_sequence(shown, view, recording.groundtruth, form, out)
    print(
        f"{len(exported.times)} images of {view.width} × {view.height}, focal length {view.focal_px:.2f} px, "
        f"principal point ({view.cx:.2f}, {view.cy:.2f}): {out}"
    )
