# SPDX-License-Identifier: Apache-2.0
"""A run on disk: its results folder and its checkpoint, together."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prism_vo.checkpoint.file import CHECKPOINT
from prism_vo.checkpoint.keeper import Keeper, stored_run
from prism_vo.checkpoint.records import RecordFile
from prism_vo.config_file import config_to_dict
from prism_vo.datasets.reading import frame_finder
from prism_vo.datasets.selection import SequencePart
from prism_vo.datasets.source import FrameSource
from prism_vo.errors import InputError, OutputError, PrismError
from prism_vo.interruption import uninterrupted
from prism_vo.odometry import FrameReport, Odometry
from prism_vo.recognition import mark_recognised
from prism_vo.results import ResultsFolder
from prism_vo.shelf import Shelf
from prism_vo.types import InputFrame
from prism_vo.withdrawal import withdraw


@dataclass
class KeptRun:
    """What a run writes while it goes; every step leaves the folder as something that can be gone on with."""

    folder: ResultsFolder
    keeper: Keeper | None  # None: frames of this source cannot be read again, so it cannot be resumed
    reports: Shelf[FrameReport]  # of the frames that are done
    records: RecordFile  # where older ones are, and what the map needs at its end

    @classmethod
    def begin(
        cls,
        out: Path,
        source: FrameSource,
        first: InputFrame,
        total: int | None,
        odometry: Odometry,
        parts: Sequence[object],
        force: bool,
        resume: bool,
        call: dict[str, Any] | None,
    ) -> KeptRun:
        """A new folder, or the state of an unfinished run put back; ``first``: the first frame that can be used."""
        finder = frame_finder(source)
        indices = source.indices if isinstance(source, SequencePart) else None
        facts = {"identity": _identity(source, first, odometry), "call": call}
        keeper = None if finder is None else Keeper(out, facts, odometry, parts)
        stored = stored_run(out) if resume else None
        path = getattr(source.whole if isinstance(source, SequencePart) else source, "path", None)
        if stored is None or keeper is None or finder is None:
            folder = ResultsFolder(
                out, source.name, total, odometry.config, force or resume, indices, source=path
            )
            if keeper is not None:
                keeper.begin()
            return cls._going_on(folder, keeper, Shelf(), RecordFile(out), odometry)
        header, state = stored
        if header.get("identity") != facts["identity"]:
            raise InputError(
                f"{out}: was a run of another recording or with other settings; go on with those, or choose another"
                " folder."
            )
        old = RecordFile(out, header.get("records", {})) if state else None
        reports = Shelf() if old is None else keeper.restore(state, finder, old)
        folder = ResultsFolder(
            out, source.name, total, odometry.config, False, indices, done=reports, source=path
        )
        # from here on nobody else writes in the folder
        if old is not None:
            old.cut()
        return cls._going_on(folder, keeper, reports, old or RecordFile(out), odometry)

    @classmethod
    def _going_on(
        cls,
        folder: ResultsFolder,
        keeper: Keeper | None,
        reports: Shelf[FrameReport],
        records: RecordFile,
        odometry: Odometry,
    ) -> KeptRun:
        """What is needed at the end alone goes to the records."""
        odometry.keep_in(records)
        reports.keep_in(records)
        if keeper is not None:
            keeper.records = records
        return cls(folder, keeper, reports, records)

    def add(self, report: FrameReport) -> None:
        """One frame has a pose or not: that is on disk at once."""
        self.folder.add(report)

    def keep(self, sensor_memory: object) -> None:
        """Everybody has seen the frame: now and then the whole state is written."""
        if self.keeper is not None:
            self.keeper.offer(self.reports, sensor_memory)

    def end_early(self, odometry: Odometry, error: BaseException) -> None:
        """Whatever ended the run: what is known is written, and where it can go on."""
        with uninterrupted():
            whole = isinstance(error, KeyboardInterrupt | PrismError) and self._is_whole()
            try:
                if whole and self.keeper is not None and not isinstance(error, OutputError):
                    self.keeper.save()
                odometry.finish()
                withdraw(odometry.map, self.reports)
                mark_recognised(odometry, self.reports)
                self.folder.close(odometry, self.reports)
            except OutputError as refusal:
                if not isinstance(error, OutputError):
                    error.add_note(str(refusal).rstrip("."))
            except Exception:
                if whole:  # else it was to be expected of a state that was left half-way
                    raise
            finally:
                self.folder.release()
        if isinstance(error, KeyboardInterrupt):
            error.add_note(self._where())
        if isinstance(error, OutputError):
            error.args = (f"{str(error).rstrip('.')}; {self._where()}.",)

    def _is_whole(self) -> bool:
        """Whether all that was begun for a frame was ended."""
        return self.keeper is None or self.keeper.position == len(self.reports)

    def _where(self) -> str:
        if not self.folder.path.is_dir():
            return "its folder is gone"
        path = shlex.quote(str(self.folder.path))
        again = f"; go on with: prism-vo run --resume {path}" if self.keeper is not None else ""
        return f"{len(self.reports)} frames are in {path}{again}"

    def close(self, odometry: Odometry) -> None:
        """All frames are done: the refined files."""
        try:
            self.folder.close(odometry, self.reports)
        except BaseException:
            self.folder.release()
            raise

    def finish(self, lost: int, segments: int, exit_code: int) -> None:
        """Everything is written: nothing is left to go on with."""
        self.folder.finish(lost, segments, exit_code)
        (self.folder.path / CHECKPOINT).unlink(missing_ok=True)
        self.records.forget()
        self.folder.release()


def _identity(source: FrameSource, first: InputFrame, odometry: Odometry) -> str:
    """Changes with what is recorded, its camera, the part taken of it, and the settings; not with where it lies or what
    its folder is called."""
    facts = {
        "first frame": [first.index, first.time, first.image.shape, str(first.image.dtype)],
        "image": hashlib.sha256(np.ascontiguousarray(first.image).tobytes()).hexdigest(),
        "camera": source.camera.calibration.model_dump(mode="json"),
        "first": source.indices.start if isinstance(source, SequencePart) else 0,
        "stride": source.indices.step if isinstance(source, SequencePart) else 1,
        "settings": config_to_dict(odometry.config),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
