# SPDX-License-Identifier: Apache-2.0
"""A long recording decoded in pieces, each in a process of its own: the same bytes as one image after the other.

What a frame depends on of those before it is little: at which depth the image is focused, looked at every few frames,
and what was learnt of noise and light from the first images that show them. One quick pass over the recording finds
both for the beginning of every piece; a worker starts from there. A piece that is whole is noted, not decoded again.
"""

from __future__ import annotations

import copy
import json
import shutil
import sys
from dataclasses import asdict, dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from prism_vo.workers.processes import Workers
from prism_vo.workers.program import Ended, call_program

if TYPE_CHECKING:
    from prism_vo.commands.depth_folder import DepthFolder, Progress
    from prism_vo.commands.depth_images import Opened, Request
    from prism_vo.lightfield import Decoder

PIECE = 32  # images: ten seconds or more of work against two to start a process
PIECES, PLAN = ".pieces", "plan.json"


@dataclass(frozen=True)
class Piece:
    """Images first … last − 1 of the folder that is being written."""

    out: str
    first: int
    last: int

    @property
    def title(self) -> str:
        return f"images {self.first} to {self.last - 1}"

    @property
    def note(self) -> Path:
        """Is there when the piece is whole."""
        return Path(self.out) / PIECES / f"{self.first:08d}-{self.last:08d}"


def decode_pieces(
    request: Request, opened: Opened, folder: DepthFolder, decoder: Decoder, jobs: int, scheduler: str | None
) -> tuple[int, list[str]]:
    """How many images are decoded and written, and why others are not."""
    from prism_vo.commands.many import FAILED, carry_out
    from prism_vo.errors import OutputError

    starts = _starts(opened, folder.progress, decoder)
    end = starts.pop()
    end.outcome()  # a recording without a single image ends here
    folder.prepare(decoder)
    notes = folder.out / PIECES
    plan = {"facts": folder.facts, "request": request.plain(), "starts": [asdict(p) for p in starts]}
    text = json.dumps(plan)
    if not (notes / PLAN).is_file() or (notes / PLAN).read_text(encoding="utf-8") != text:
        shutil.rmtree(notes, ignore_errors=True)
        notes.mkdir()
        (notes / PLAN).write_text(text, encoding="utf-8")
    edges = [p.done for p in starts] + [end.done]
    pieces = [Piece(str(folder.out.resolve()), a, b) for a, b in pairwise(edges)]
    missing = [piece for piece in pieces if not piece.note.is_file()]
    if carry_out(decode_piece, missing, jobs, scheduler) == FAILED:
        raise OutputError(
            f"{folder.out}: not all pieces could be decoded; the same call goes on with those that are missing."
        )
    folder.finish(end)
    shutil.rmtree(notes, ignore_errors=True)
    return end.outcome()


def _starts(opened: Opened, progress: Progress, decoder: Decoder) -> list[Progress]:
    """What is known before each piece, and after the last one."""
    from prism_vo.datasets.reading import frames_of
    from prism_vo.types import RawFrame, UnreadableFrame

    now = copy.deepcopy(progress)
    now.put(decoder, opened.part)
    starts: list[Progress] = []
    for frame in frames_of(opened.part, now.done):
        if (now.done - progress.done) % PIECE == 0:
            starts.append(copy.deepcopy(now))
        if isinstance(frame, UnreadableFrame):
            now.missed(frame)
        else:
            assert isinstance(frame, RawFrame)
            decoder.look(frame)
            now.saw(frame, decoder)
        now.done, now.memory = now.done + 1, decoder.memory()
    return [*starts, now]


def decode_piece(task: Piece, workers: Workers | None) -> Ended:
    """In a process of its own, on whatever machine this is."""
    log = task.note.with_suffix(".log")
    return call_program([task.out, str(task.first), str(task.last)], log, workers, module=__name__)


def main(out: Path, first: int, last: int) -> int:
    """In a worker's process: decode the images of one piece and note that they are there."""
    from prism_vo.atomic import write_text_atomically
    from prism_vo.commands.depth_folder import Progress, asked_in, facts_of, write_image
    from prism_vo.commands.depth_images import Request, open_images
    from prism_vo.datasets.reading import frames_of
    from prism_vo.errors import InputError
    from prism_vo.lightfield import Decoder
    from prism_vo.types import RawFrame

    plan = json.loads((out / PIECES / PLAN).read_text(encoding="utf-8"))
    opened = open_images(Request.of(plan["request"]))
    if facts_of(*opened) != plan["facts"]:
        raise InputError(
            f"{opened.part.name}: the images or the camera are not those that the pieces were made for."
        )
    known = next(known for known in plan["starts"] if known["done"] == first)
    start = Progress(**{**known, "asked": asked_in(known["asked"])})
    decoder = Decoder(opened.part.camera, opened.config, opened.part.white)
    start.put(decoder, opened.part)
    for name, frame in zip(
        opened.names[first:last], islice(frames_of(opened.part, first), last - first), strict=True
    ):
        if isinstance(frame, RawFrame):
            write_image(out, name, decoder, decoder.dense(frame))
    write_text_atomically(Piece(str(out), first, last).note, "")
    return 0


if __name__ == "__main__":
    from prism_vo.errors import PrismError

    try:
        raise SystemExit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
    except PrismError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
