# SPDX-License-Identifier: Apache-2.0
"""How a live run goes: frames that came, frames that were lost and where, and how late poses are."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

RECENT = 200  # frames the shown latency is of
KEPT = 100_000  # latencies the final words are of


@dataclass
class LiveCounts:
    """Numbers that grow while frames come."""

    arrived: int = 0
    dropped: int = 0  # the queue was full: tracking is slower than the camera
    missed: int = 0  # never came: lost by the camera, the cable or the network
    damaged: int = 0  # came with holes
    _latencies: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))

    def tracked(self, latency: float) -> None:
        """A frame has its pose, ``latency`` seconds after it arrived."""
        self._latencies.append(latency)

    def words(self) -> str:
        """For the line of progress."""
        late = f"latency {1e3 * self._quantile(0.5, RECENT):.0f} ms" if self._latencies else ""
        lost = self.dropped + self.missed + self.damaged
        return ", ".join(filter(None, [late, f"{lost} lost" if lost else ""]))

    def sentences(self) -> list[str]:
        """For the summary, the report and ``notices``."""
        total = self.arrived + self.missed
        if not total:
            return []
        found = []
        if self._latencies:
            found.append(
                f"The camera made {total} frames; each was done {1e3 * self._quantile(0.5):.0f} ms after it arrived"
                f" (median; 95 %: {1e3 * self._quantile(0.95):.0f} ms)."
            )
        reasons = (
            (self.dropped, "dropped, because tracking is slower than the camera"),
            (self.missed, "never delivered by the camera, cable or network"),
            (self.damaged, "delivered with holes"),
        )
        lost = [
            f"{count} of {total} frames ({100 * count / total:.1f} %) were {why}."
            for count, why in reasons
            if count
        ]
        return [*found, *lost]

    def _quantile(self, share: float, recent: int | None = None) -> float:
        values = list(self._latencies)
        return float(np.quantile(values[-recent:] if recent else values, share))
