# SPDX-License-Identifier: Apache-2.0
"""What ``prism-vo run`` was asked to do, as its checkpoint remembers it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from prism_vo.errors import ConfigError, InputError

if TYPE_CHECKING:
    from prism_vo.config import Config
    from prism_vo.datasets.source import FrameSource


@dataclass(frozen=True)
class Call:
    """Which part of which recording, with which settings."""

    sequence: Path | None
    camera: Path | None = None
    config: Path | None = None
    variant: Literal["full", "plenoptic", "pinhole"] | None = None
    calibrate: Literal["off", "focus", "all"] | None = None
    seed: int | None = None
    loops: bool | None = None
    start: int = 0
    frames: int | None = None
    stride: int = 1
    follow: float | None = None
    known_map: Path | None = None
    save_map: Path | None = None
    dense: bool = False
    stored: Config | None = None  # the settings of the run that is resumed

    def record(self) -> dict[str, Any]:
        """For the checkpoint; paths from the root, so that it does not matter where one stands."""
        from prism_vo.config_file import config_to_dict

        return {
            "sequence": None if self.sequence is None else str(self.sequence.resolve()),
            "camera": None if self.camera is None else str(self.camera.resolve()),
            "start": self.start,
            "frames": self.frames,
            "stride": self.stride,
            "follow": self.follow,
            "map": None if self.known_map is None else str(self.known_map.resolve()),
            "save_map": None if self.save_map is None else str(self.save_map.resolve()),
            "dense": self.dense,
            "settings": config_to_dict(self.settings()),
        }

    def completed(self, folder: Path) -> Call:
        """The call of the unfinished run in ``folder``; a sequence that is named again may have moved."""
        from prism_vo.checkpoint.keeper import stored_run
        from prism_vo.config_file import config_from_dict

        if not folder.is_dir() and self.sequence is None:
            raise InputError(f"{folder}: no such folder; there is nothing to go on with.")
        stored = stored_run(folder)
        if stored is None:
            if self.sequence is None:
                raise InputError(
                    f"{folder}: holds no checkpoint; name the sequence to begin from its first frame."
                )
            return self
        call = _recorded(stored[0].get("call"), folder)
        if self._says_more():
            raise ConfigError(
                "With --resume, settings and the part of the recording are those of the unfinished run."
            )
        return Call(
            self.sequence or _path(call, "sequence"),
            self.camera or _path(call, "camera"),
            start=call.get("start", 0),
            frames=call.get("frames"),
            stride=call.get("stride", 1),
            follow=call.get("follow"),
            known_map=_path(call, "map"),
            save_map=self.save_map or _path(call, "save_map"),
            dense=self.dense or bool(call.get("dense")),
            stored=config_from_dict(call.get("settings", {}), folder / "checkpoint.bin"),
        )

    def _says_more(self) -> bool:
        part = (self.start, self.frames, self.stride, self.follow) != (0, None, 1, None)
        settings = (self.config, self.variant, self.calibrate, self.seed, self.loops, self.known_map)
        return part or settings != (None,) * len(settings)

    def settings(self) -> Config:
        """All settings, checked."""
        from prism_vo.config import Config
        from prism_vo.config_file import check_config, load_config

        if self.stored is not None:
            return self.stored
        settings = load_config(self.config) if self.config is not None else Config()
        if self.variant is not None:
            settings = replace(settings, variant=self.variant)
        if self.calibrate is not None:
            settings = replace(settings, calibrate=self.calibrate)
        if self.seed is not None:
            settings = replace(settings, seed=self.seed)
        if self.loops is not None:
            settings = replace(settings, loops=self.loops)
        check_config(settings)
        return settings

    def open(self) -> FrameSource:
        """The recording, or the part of it that was asked for."""
        from prism_vo.datasets import open_sequence, part_of
        from prism_vo.datasets.follow import FollowedSequence
        from prism_vo.datasets.selection import check_part

        if self.sequence is None:
            raise ConfigError("Name a sequence, or an unfinished run with --resume. Try: prism-vo run --help")
        check_part(self.start, self.frames, self.stride)
        if self.follow is None:
            recording = open_sequence(self.sequence, camera=self.camera)
            whole = self.start == 0 and self.frames is None and self.stride == 1
            return recording if whole else part_of(recording, self.start, self.frames, self.stride)
        if self.camera is not None:
            raise ConfigError(
                "--camera cannot be combined with --follow; put camera.yaml into the growing folder."
            )
        return FollowedSequence(self.sequence, self.follow, self.start, self.stride)


_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("sequence", "camera", "map", "save_map"), str),
    **dict.fromkeys(("start", "frames", "stride"), int),
    "follow": (int, float),
    "dense": bool,
    "settings": dict,
}


def _recorded(call: Any, folder: Path) -> dict[str, Any]:
    """What :meth:`Call.record` wrote, without what was None; anything else is refused."""
    if not isinstance(call, dict):
        raise InputError(f"{folder}: its checkpoint was not written by `prism-vo run`.")
    given = {key: value for key, value in call.items() if value is not None}
    for key, value in given.items():
        odd = key not in _KINDS or not isinstance(value, _KINDS[key])
        odd = odd or isinstance(value, bool) is not (_KINDS[key] is bool)  # a bool is an int, too
        if odd or (isinstance(value, str) and "\0" in value):
            raise InputError(f"{folder}: its checkpoint is damaged; begin again with --force.")
    return given


def _path(call: dict[str, Any], key: str) -> Path | None:
    return Path(call[key]) if key in call else None


def finished_before(folder: Path) -> int | None:
    """The exit code of a run that came to its end; None: it did not."""
    from prism_vo.output_folder import read_marker

    marker = read_marker(folder)
    if marker is None or marker.get("state") != "finished":
        return None
    incomplete = bool(marker.get("lost")) or marker.get("segments") != 1  # all that older versions noted
    return 3 if marker.get("exit_code", 3 if incomplete else 0) != 0 else 0
