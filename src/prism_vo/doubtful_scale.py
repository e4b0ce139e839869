# SPDX-License-Identifier: Apache-2.0
"""Keyframes whose parallax and measured depth disagree about lengths by a factor, though the focus was looked for.

A map that begins while the camera does little but turn knows hardly any parallax, and what it makes of it may be false
several times over; a wrong focus is then found to explain it, and every frame fits. But distances by parallax and
measured ones keep lying on lines of different slope. With a focus that really is another one they agree as soon as it
has been found.
"""

from __future__ import annotations

from collections.abc import Iterable

from prism_vo.frame_report import FrameReport

SURE = 3.0  # σ: 2.0 at the most in clean runs, 1.4 once a wrong focus has been found, 4 to 19 where lengths were wrong
LEAST_KEYFRAMES = 2  # one alone may be chance


def doubtful_scale(reports: Iterable[FrameReport]) -> list[FrameReport]:
    """Those keyframes, segment by segment; none, if they are no more than chance."""
    doubtful: dict[int, list[FrameReport]] = {}
    explained: set[int] = set()
    for report in reports:
        mapping = report.mapping
        if mapping is None or report.status == "lost":
            continue
        found = doubtful.setdefault(report.segment, [])
        is_found = mapping.focus is not None and mapping.focus.verdict == "wrong from the start"
        if is_found and report.segment not in explained:
            explained.add(report.segment)
            found.clear()  # what contradicted it before; one that must be found twice explained nothing
        if mapping.agreement is not None and abs(mapping.agreement.slope_excess) > SURE:
            found.append(report)
    return [report for found in doubtful.values() if len(found) >= LEAST_KEYFRAMES for report in found]
