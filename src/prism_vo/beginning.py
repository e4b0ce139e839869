# SPDX-License-Identifier: Apache-2.0
"""The first frames of a run, kept until its focus is settled, so that it can begin again with a better one.

A map that began with a wrong focus cannot be put right by a factor: which points it has was decided while depth and
parallax contradicted each other, and those that agreed with the wrong focus by chance are the ones that stayed. They
hold back a tenth of the error, which is 2 to 3 % of scale in a street.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from prism_vo.types import Frame

MOST_FRAMES = 64
MOST_BYTES = 128 << 20  # of raw and focused images


@dataclass
class Beginning:
    """All frames so far, or none, once nobody will ask for them."""

    frames: list[Frame] = field(default_factory=list)  # without their pyramids
    is_whole: bool = True
    size: int = 0  # bytes

    def add(self, frame: Frame) -> None:
        """One more; with too many of them the run cannot begin again."""
        if not self.is_whole:
            return
        self.frames.append(replace(frame, pyramid=[]))
        self.size += frame.source.image.nbytes + frame.focused.image.nbytes
        if len(self.frames) > MOST_FRAMES or self.size > MOST_BYTES:
            self.close()

    def close(self) -> None:
        """The focus is settled, or the run cannot begin again."""
        self.frames, self.is_whole, self.size = [], False, 0

    def taken(self) -> list[Frame]:
        """The frames as they came, but for their pyramids; nothing is kept any longer."""
        frames = self.frames
        self.close()
        return frames
