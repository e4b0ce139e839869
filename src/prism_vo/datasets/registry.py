# SPDX-License-Identifier: Apache-2.0
"""Which loader opens a path: the built-in ones and third parties' (entry points ``prism_vo.datasets``)."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

from prism_vo.datasets.folder import FolderLoader
from prism_vo.datasets.lifcal import LifcalLoader
from prism_vo.datasets.manifest import ManifestLoader
from prism_vo.datasets.rosbag import RosbagLoader
from prism_vo.datasets.source import Sequence
from prism_vo.errors import InputError, expect

ENTRY_POINTS = "prism_vo.datasets"


class Loader(Protocol):
    """What a third-party package registers: an object, or a class without arguments."""

    name: str

    def recognises(self, path: Path) -> bool:
        """Cheaply decide whether ``open`` understands the path."""
        ...

    def open(self, path: Path) -> Sequence:
        """Open the sequence."""
        ...


def open_sequence(path: Path | str, loader: str | None = None, camera: Path | str | None = None) -> Sequence:
    """Open a recording with the loader that recognises it (or the one named).

    ``camera``: a camera.yaml for images or a video that have none, or instead of theirs.
    """
    expect(path, (str, Path), "path of a recording")
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder.")
    chosen = loader_named(loader) if loader is not None else _recognising(path)
    if camera is None:
        return chosen.open(path)
    if not isinstance(chosen, FolderLoader | LifcalLoader):
        raise InputError(f"{path}: names its camera itself; a camera file beside it cannot be used.")
    return chosen.open(path, Path(camera))


def _recognising(path: Path) -> Loader:
    for candidate in _loaders():
        if candidate.recognises(path):
            return candidate
    if path.is_dir() and not any(path.iterdir()):
        raise InputError(f"{path}: the folder is empty.")
    raise InputError(
        f"{path}: not a sequence; it needs camera.yaml and raw/, or a sequence.yaml that names its parts."
    )


def loader_named(name: str) -> Loader:
    """The loader with this name, or one sentence saying which exist."""
    known = {known.name: known for known in _loaders()}
    if name not in known:
        raise InputError(f"No loader {name!r}; there are: {', '.join(sorted(known))}.")
    return known[name]


def _loaders() -> list[Loader]:
    """The user's manifest or bag description decides first, then third parties (more special than ours), then ours."""
    return [ManifestLoader(), RosbagLoader(), *_third_party(), LifcalLoader(), FolderLoader()]


def _third_party() -> list[Loader]:
    loaders: list[Loader] = []
    for point in entry_points(group=ENTRY_POINTS):
        try:
            loaded = point.load()
            loaders.append(loaded() if isinstance(loaded, type) else loaded)
        except Exception as error:  # a broken plug-in must be named, not be a traceback of ours
            raise InputError(
                f"The installed dataset loader {point.value!r} cannot be loaded: {error}."
            ) from error
    return loaders
