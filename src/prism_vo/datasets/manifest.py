# SPDX-License-Identifier: Apache-2.0
"""``sequence.yaml``: maps globs of a dataset's own layout to roles, without code or copies."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import model_validator

from prism_vo.bounded.files import shown
from prism_vo.bounded.folder import inside
from prism_vo.datasets.decoded import DecodedFormat
from prism_vo.datasets.numbering import natural_key
from prism_vo.datasets.parts import assemble
from prism_vo.datasets.sequence import FileSequence, SequenceFiles
from prism_vo.datasets.video import is_video
from prism_vo.errors import InputError
from prism_vo.optics.calibration import load_calibration
from prism_vo.yaml_files import StrictModel, parse_strict, read_yaml

MANIFEST = "sequence.yaml"


class Manifest(StrictModel):
    """The whole ``sequence.yaml``; paths and globs are relative to its folder."""

    format: Literal["prism-vo/sequence/1"]
    camera: str
    raw: str | None = None
    focused: str | None = None
    virtual_depth: str | None = None
    virtual_depth_sigma: str | None = None
    decoded: DecodedFormat | None = None
    white: str | None = None
    times: str | None = None
    groundtruth: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Manifest:
        if self.raw is None and self.focused is None:
            raise ValueError("one of the keys 'raw' and 'focused' is needed")
        if self.raw is None and self.decoded is None:
            raise ValueError("focused images need the key 'decoded' ({view: …, convention: …})")
        return self


class ManifestLoader:
    """Recognises a ``sequence.yaml`` or a folder holding one."""

    name = "manifest"

    def recognises(self, path: Path) -> bool:
        """A manifest file itself, or its folder."""
        return (path / MANIFEST).is_file() or (path.is_file() and path.name == MANIFEST)

    def open(self, path: Path) -> FileSequence:
        """Resolve the globs; images are read later, one at a time. Files outside its folder: see ``inside``."""
        source = path if path.is_file() else path / MANIFEST
        manifest = parse_strict(Manifest, _with_words(read_yaml(source)), source)
        folder = source.parent
        raw, video = _raw(source, manifest.raw)
        files = SequenceFiles(
            raw=raw,
            video=video,
            focused=_glob(source, "focused", manifest.focused),
            virtual_depth=_glob(source, "virtual_depth", manifest.virtual_depth),
            virtual_depth_sigma=_glob(source, "virtual_depth_sigma", manifest.virtual_depth_sigma),
            white=_file(source, "white", manifest.white),
        )
        calibration = load_calibration(inside(source, "camera", manifest.camera))
        times, truth = (
            _file(source, "times", manifest.times),
            _file(source, "groundtruth", manifest.groundtruth),
        )
        return assemble(folder, calibration, files, times, truth, manifest.decoded)


def _with_words(data: object) -> object:
    """A bare ``convention: true`` is a truth value to YAML; here it is the word."""
    decoded = data.get("decoded") if isinstance(data, dict) else None
    if isinstance(data, dict) and isinstance(decoded, dict) and decoded.get("convention") is True:
        return {**data, "decoded": {**decoded, "convention": "true"}}
    return data


def _raw(source: Path, pattern: str | None) -> tuple[tuple[Path, ...], Path | None]:
    """Raw images, or the one video that holds them."""
    found = _glob(source, "raw", pattern)
    videos = [path for path in found if is_video(path)]
    if not videos:
        return found, None
    if len(found) > 1:
        raise InputError(
            f"{source}: key 'raw': {pattern!r} must match images or one video, not {len(found)} files."
        )
    return (), videos[0]


def _glob(source: Path, key: str, pattern: str | None) -> tuple[Path, ...]:
    if pattern is None:
        return ()
    inside(source, key, pattern)
    base, relative = source.parent, pattern
    while relative.startswith("../"):
        base, relative = base / "..", relative.removeprefix("../")
    try:
        found = sorted((p for p in base.glob(relative) if p.is_file()), key=natural_key)
    except (NotImplementedError, ValueError, IndexError, RecursionError) as error:
        raise InputError(f"{source}: key {key!r}: {shown(pattern)} is not a relative glob.") from error
    if not found:
        raise InputError(f"{source}: key {key!r}: no file matches {pattern!r}.")
    return tuple(found)


def _file(source: Path, key: str, name: str | None) -> Path | None:
    if name is None:
        return None
    path = inside(source, key, name)
    if not path.is_file():
        raise InputError(f"{source}: key {key!r}: {path} does not exist.")
    return path
