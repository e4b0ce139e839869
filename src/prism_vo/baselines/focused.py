# SPDX-License-Identifier: Apache-2.0
"""Focused frames of any sequence: decoded from raw images, or as they were recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats
from prism_vo.config import DecodeConfig
from prism_vo.datasets import Sequence
from prism_vo.datasets.images import read_image
from prism_vo.errors import InputError
from prism_vo.optics.camera import FocusedView
from prism_vo.types import DecodedFrame, RawFrame
from prism_vo.yaml_files import StrictModel, parse_strict, read_yaml


@dataclass(frozen=True)
class FocusedFrame:
    """A focused image, and a way to get its depth that costs nothing until it is used."""

    frame: DecodedFrame
    measure: Callable[[], DecodedFrame]  # the same frame with depth everywhere


def focused_frames(
    sequence: Sequence, config: DecodeConfig | None = None, indices: Iterable[int] | None = None
) -> Iterator[FocusedFrame]:
    """One :class:`FocusedFrame` per frame of the sequence (or those of ``indices``), in order."""
    indices = range(len(sequence)) if indices is None else indices
    if sequence.is_decoded:
        for index in indices:
            ready = sequence[index]
            assert isinstance(ready, DecodedFrame)
            yield FocusedFrame(ready, lambda ready=ready: with_depth(ready))  # type: ignore[misc]
        return
    from prism_vo.lightfield import Decoder

    decoder = Decoder(sequence.camera, config or DecodeConfig(), sequence.white)
    for index in indices:
        raw = sequence[index]
        assert isinstance(raw, RawFrame)
        yield FocusedFrame(decoder.focus(raw), lambda raw=raw: decoder.dense(raw))  # type: ignore[misc]


def synchronised_frames(
    sequence: Sequence, indices: Iterable[int] | None = None
) -> tuple[Iterator[FocusedFrame], FocusedView]:
    """Images of the ordinary camera recorded beside the plenoptic one (``mono/`` and ``mono.yaml``), and its view."""
    folder = getattr(sequence, "path", None)
    if folder is None or not (folder / "mono.yaml").is_file():
        raise InputError(f"{sequence.name}: has no synchronised monocular images (mono/ and mono.yaml).")
    model = parse_strict(_MonoCamera, read_yaml(folder / "mono.yaml"), folder / "mono.yaml")
    view = replace(
        sequence.camera.view("central"),
        width=model.width,
        height=model.height,
        focal_px=model.fx,
        cx=model.cx,
        cy=model.cy,
    )

    def frames() -> Iterator[FocusedFrame]:
        for index in range(len(sequence)) if indices is None else indices:
            image = read_image(folder / "mono" / f"{index:06d}.png").astype(np.float32)
            exposure = None if sequence.exposures is None else float(sequence.exposures[index])
            frame = DecodedFrame(index, float(sequence.times[index]), view, image, None, None, None, exposure)
            yield FocusedFrame(frame, lambda frame=frame: with_depth(frame))  # type: ignore[misc]

    return frames(), view


class _MonoCamera(StrictModel):
    """``mono.yaml``: pinhole of the synchronised camera (square pixels), unit of the depth camera's images."""

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float
    depth_scale: float = 5000.0


def view_of(sequence: Sequence, config: DecodeConfig | None = None) -> FocusedView:
    """The view :func:`focused_frames` decodes to."""
    if sequence.is_decoded:
        first = sequence[0]
        assert isinstance(first, DecodedFrame)
        return first.view
    return sequence.camera.view((config or DecodeConfig()).view)


def with_depth(frame: DecodedFrame) -> DecodedFrame:
    """A ready-made frame, if it has depth and variance."""
    if frame.inv_virtual_depth is None or frame.variance is None or frame.valid is None:
        raise InputError(f"Frame {frame.index} has a focused image but no virtual depth with variance.")
    return frame


def metric_depth(frame: DecodedFrame) -> Floats:
    """z_C in metres on the focused grid; NaN where it was not measured or lies at or beyond infinity."""
    assert frame.inv_virtual_depth is not None and frame.valid is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        q = frame.view.inv_depth_from_virtual(frame.inv_virtual_depth)
        depth = frame.view.depth_of(q)
    return np.where(frame.valid & (q > 0), depth, np.nan).astype(np.float32)


def eight_bit(image: Floats) -> NDArray[np.uint8]:
    """Grey values 0–255 rounded to bytes."""
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)
