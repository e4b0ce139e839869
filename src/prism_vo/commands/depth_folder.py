# SPDX-License-Identifier: Apache-2.0
"""The folder ``prism-vo depth`` writes: whole images are not decoded again, and the others come out the same."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.atomic import output_named, remove_leftovers, write_bytes_atomically, write_text_atomically
from prism_vo.errors import ConfigError, InputError
from prism_vo.lightfield.learning import Asked
from prism_vo.lightfield.preview import depth_preview
from prism_vo.optics.calibration import save_calibration
from prism_vo.output_folder import OutputFolder, read_marker
from prism_vo.types import RawFrame, UnreadableFrame

if TYPE_CHECKING:
    from prism_vo.config import DecodeConfig
    from prism_vo.datasets import SequencePart
    from prism_vo.lightfield import Decoder
    from prism_vo.types import DecodedFrame, SourceFrame

FILES = {
    "depth": ".npy",
    "virtual_depth": ".png",
    "virtual_depth_sigma": ".tiff",
    "preview": ".png",
    "focused": ".png",
}


def facts_of(part: SequencePart, config: DecodeConfig, names: list[str]) -> str:
    """Changes with the images, their camera and the settings."""
    white = part.white
    facts = {
        "names": names,
        "first": part.indices.start,
        "stride": part.indices.step,
        "camera": part.camera.calibration.model_dump(mode="json"),
        "settings": [config.near, str(config.far), config.view],
        "white": None if white is None else hashlib.sha256(np.ascontiguousarray(white).tobytes()).hexdigest(),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def asked_in(marker: dict[Any, Any]) -> dict[int, Asked]:
    """As JSON has it."""
    return {
        int(kind): Asked(int(first), int(newest), bool(known))
        for kind, (first, newest, known) in marker.items()
    }


@dataclass
class Progress:
    """How far the images are done, as the marker of the folder notes it."""

    done: int = 0
    left_out: list[int] = field(default_factory=list)  # positions
    problems: list[str] = field(default_factory=list)  # of those left out
    learnt: list[int] = field(default_factory=list)  # frames the decoder learnt something from
    kinds: list[int] = field(default_factory=list)  # dimensions of those seen
    asked: dict[int, Asked] = field(default_factory=dict)  # frames that were to show the light
    memory: tuple[float, int | None, float] | None = None  # of the decoder

    @classmethod
    def of(cls, marker: dict[str, Any], names: list[str], out: Path) -> Progress:
        """What a marker says, if the files are there."""
        try:
            slope, looked, matches = marker["memory"]
            found = cls(
                int(marker["done"]),
                [int(k) for k in marker["left_out"]],
                [str(p) for p in marker["problems"]],
                [int(k) for k in marker["learnt"]],
                [int(k) for k in marker["kinds"]],
                asked_in(marker["asked"]),
                (float(slope), None if looked is None else int(looked), float(matches)),
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            return cls()
        whole = [name for k, name in enumerate(names[: found.done]) if k not in found.left_out]
        files = (out / folder / f"{name}{end}" for name in whole for folder, end in FILES.items())
        return found if all(path.is_file() for path in files) else cls()

    def outcome(self) -> tuple[int, list[str]]:
        """How many images are decoded, and why others are not."""
        whole = self.done - len(self.problems)
        if whole == 0:
            first = self.problems[0]
            raise InputError(first if len(self.problems) == 1 else f"No image can be read: {first}")
        return whole, self.problems

    def saw(self, frame: RawFrame, decoder: Decoder) -> None:
        """The decoder learns noise from the first image of each kind, and light from the first that shows it."""
        new = set(decoder.light_learning.frames)
        if frame.image.ndim not in self.kinds:
            self.kinds.append(frame.image.ndim)
            new.add(frame.index)
        self.learnt = sorted({*self.learnt, *new})
        self.asked = dict(decoder.light_learning.asked)

    def missed(self, frame: UnreadableFrame) -> None:
        """One image that cannot be read."""
        self.problems.append(frame.reason)
        self.left_out.append(self.done)

    def put(self, decoder: Decoder, part: SequencePart) -> None:
        """Bring a decoder to where it was after the last whole image."""
        if self.memory is None:
            return
        for index in self.learnt:  # what it learnt once, it learns again from the same images
            frame = part.whole[index]
            assert isinstance(frame, RawFrame)
            decoder.vignetting(frame)
            decoder.noise(frame)
        decoder.light_learning.asked = dict(self.asked)
        decoder.remember(self.memory, decoder.learned())


class DepthFolder:
    """``with DepthFolder(out, facts, names) as folder``; it appears, locked, with the first image."""

    def __init__(self, out: Path, facts: str, names: list[str]) -> None:
        self.out, self.facts, self.names = out, facts, names
        marker = read_marker(out) or {}
        ours = marker.get("facts") == facts
        if out.exists() and not ours and (not out.is_dir() or any(out.iterdir())):
            raise ConfigError(
                f"{out}: holds files already; name another folder with --out, nothing was overwritten."
            )
        self.progress = Progress.of(marker, names, out) if ours else Progress()
        self._folder: OutputFolder | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.close()

    def prepare(self, decoder: Decoder) -> None:
        """Make and lock the folder, if that has not been done."""
        if self._folder is None:
            self._folder = self._prepared(decoder)

    def add(self, frame: RawFrame, decoder: Decoder) -> None:
        """Decode one image and write all its files, then the note that they are there."""
        decoded = decoder.dense(frame)
        self.prepare(decoder)
        self.progress.saw(frame, decoder)
        write_image(self.out, self.names[self.progress.done], decoder, decoded)
        self._note(decoder)

    def finish(self, progress: Progress) -> None:
        """Others have written all images."""
        assert self._folder is not None
        self.progress = progress
        self._folder.mark("finished", facts=self.facts, **asdict(progress))

    def leave_out(self, frame: UnreadableFrame, decoder: Decoder) -> None:
        """One image that cannot be read."""
        self.progress.missed(frame)
        self._note(decoder)

    def _prepared(self, decoder: Decoder) -> OutputFolder:
        """Folders and descriptions."""
        folder = OutputFolder(self.out, "depth", resume=True)
        for name in FILES:
            with output_named(self.out / name, "nothing was written"):
                (self.out / name).mkdir(parents=True, exist_ok=True)
            remove_leftovers(self.out / name)
        folder.mark("running", facts=self.facts)
        save_calibration(decoder.camera.calibration, self.out / "camera.yaml")
        write_text_atomically(self.out / "decoded.yaml", _format(decoder.view.name))
        return folder

    def _note(self, decoder: Decoder) -> None:
        self.progress.done += 1
        self.progress.memory = decoder.memory()
        if self._folder is not None:
            state = "finished" if self.progress.done == len(self.names) else "running"
            self._folder.mark(state, facts=self.facts, **asdict(self.progress))


def decode_all(images: Iterable[SourceFrame], decoder: Decoder, folder: DepthFolder) -> tuple[int, list[str]]:
    """How many images are decoded and written by now, and why others are not."""
    for frame in images:
        if isinstance(frame, UnreadableFrame):
            folder.leave_out(frame, decoder)
            continue
        assert isinstance(frame, RawFrame)  # decoded ones are refused before
        folder.add(frame, decoder)
    return folder.progress.outcome()


def _format(view: str) -> str:
    return f"view: {view}\nconvention: 'true'\nvirtual_depth: lifcal16\nsigma: float32\n"


def write_image(out: Path, name: str, decoder: Decoder, frame: DecodedFrame) -> None:
    """All files of one image."""
    assert frame.inv_virtual_depth is not None and frame.variance is not None and frame.valid is not None
    rho, valid = frame.inv_virtual_depth.astype(np.float64), frame.valid
    with np.errstate(divide="ignore", invalid="ignore"):
        metric = np.where(valid, 1.0 / decoder.camera.inv_depth(rho), np.nan)
        metric = np.where(metric > 0, metric, np.where(valid, np.inf, np.nan)).astype(np.float32)
    code = np.where(valid, np.clip(np.rint((1.0 - rho) * 65535.0), 1, 65535), 0).astype(np.uint16)
    sigma = np.where(valid, np.sqrt(frame.variance), np.float32(np.nan)).astype(np.float32)
    focused = frame.color[..., ::-1] if frame.color is not None else np.clip(np.rint(frame.image), 0, 255)
    preview = depth_preview(frame, metric)
    buffer = io.BytesIO()
    np.save(buffer, metric)
    write_bytes_atomically(out / "depth" / f"{name}.npy", buffer.getvalue())
    _save(out / "virtual_depth" / f"{name}.png", code)
    _save(out / "virtual_depth_sigma" / f"{name}.tiff", sigma)
    _save(out / "preview" / f"{name}.png", preview[..., ::-1])
    _save(out / "focused" / f"{name}.png", focused.astype(np.uint8))


def _save(path: Path, image: NDArray[Any]) -> None:
    done, data = cv2.imencode(path.suffix, image)
    if not done:
        raise InputError(f"{path}: the image could not be encoded.")
    write_bytes_atomically(path, data.tobytes())
