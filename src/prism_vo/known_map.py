# SPDX-License-Identifier: Apache-2.0
"""The map that a run starts in, and the one that it leaves."""

from __future__ import annotations

from pathlib import Path

from prism_vo.config import Config
from prism_vo.errors import ConfigError
from prism_vo.map_file import StoredMap, check_map_target, check_view, read_map
from prism_vo.odometry import Odometry
from prism_vo.optics.camera import FocusedView
from prism_vo.places.places import KnownPlaces
from prism_vo.variants import VARIANTS


def check_maps(config: Config, known: Path | None, save_map: Path | None, force: bool, resume: bool) -> None:
    """Before anything is done: whether places are recognised at all, and the new map can be written."""
    if known is None and save_map is None:
        return
    if not VARIANTS[config.variant].measures_depth:
        raise ConfigError(
            f"The variant {config.variant} recognises no places, so it can neither use nor save a map."
        )
    if not config.loops:
        raise ConfigError(
            "A map needs recognised places, which are off by default; add --loops (loops: true)."
        )
    if save_map is not None:
        check_map_target(save_map, force, known, resume)


def known_places(path: Path, view: FocusedView) -> KnownPlaces:
    """The keyframes of a map of the same camera."""
    stored = read_map(path)
    check_view(stored, view, path)
    return KnownPlaces(stored.keyframes, stored.poses)


def map_of(odometry: Odometry) -> StoredMap:
    """The keyframes of a finished run that hang together with its first one, and those of the map it started in."""
    places = odometry.places
    if places is None:
        raise ConfigError(
            "Without recognised places (loops: off, or the pinhole variant) there is no map to save."
        )
    poses = {**places.loaded, **odometry.map.poses()}
    first = next((part for part in places.joints.parts(sorted(poses))), [])
    keyframes = [places.finder.keyframes[k] for k in first if k in places.finder.keyframes]
    return StoredMap(odometry.view, keyframes, {k.id: poses[k.id] for k in keyframes})
