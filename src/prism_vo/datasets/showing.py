# SPDX-License-Identifier: Apache-2.0
"""A recording in words and, for notebooks, in HTML."""

from __future__ import annotations

from prism_vo.datasets.source import Sequence, notes_of
from prism_vo.errors import PrismError
from prism_vo.notebook.html import card, thumbnail


def sequence_words(sequence: Sequence) -> str:
    """For ``repr``: no image is read."""
    kind = "focused" if sequence.is_decoded else "raw"
    sensor = sequence.camera.calibration.sensor
    size = "" if sequence.is_decoded else f" of {sensor.width} × {sensor.height}"
    truth = ", ground truth" if sequence.groundtruth is not None else ""
    return f"{type(sequence).__name__}({sequence.name!r}, {len(sequence)} {kind} images{size}{truth})"


def sequence_html(sequence: Sequence) -> str:
    """For notebooks: what it is, and the image in its middle."""
    times, truth = sequence.times, sequence.groundtruth
    rows = [
        ("frames", f"{len(sequence)} {'focused' if sequence.is_decoded else 'raw'} images"),
        ("camera", repr(sequence.camera)),
        ("time", f"{times[0]:g} to {times[-1]:g} s" if len(sequence) else "–"),
        ("ground truth", "none" if truth is None else f"{len(truth)} poses, {truth.length:.3f} m"),
        ("white image", "none" if sequence.white is None else "present"),
        *(("note", note) for note in notes_of(sequence)),
    ]
    try:
        picture = thumbnail(sequence[len(sequence) // 2].image) if len(sequence) else ""
    except PrismError as error:  # one damaged image does not spoil the rest
        rows.append(("problem", str(error)))
        picture = ""
    return card(sequence.name, rows, picture)
