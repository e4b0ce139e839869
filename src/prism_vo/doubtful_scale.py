# SPDX-License-Identifier: Apache-2.0
"""Keyframes whose parallax and measured depth disagree about lengths by a factor, though the focus was looked for.

A map that begins while the camera does little but turn knows hardly any parallax, and what it makes of it may be false
several times over; a wrong focus is then found to explain it, and every frame fits. But distances by parallax and
measured ones keep lying on lines of different slope. With a focus that really is another one they agree as soon as it
has been found. And where the slope was hardly known, as in a beginning before a wall, what is known later decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from prism_vo.frame_report import FrameReport

SURE = 3.0  # σ: 2.0 at the most in clean runs, 1.4 once a wrong focus has been found, 4 to 19 where lengths were wrong
LEAST_KEYFRAMES = 2  # one alone may be chance
# σ of a slope that errors of parallax bend, however sure it calls itself: a clean room began with −0.6 ± 0.3, and had
# 1.0 ± 0.1 from its 22nd frame on
HARDLY_KNOWN = 0.2


def doubtful_scale(reports: Iterable[FrameReport]) -> list[FrameReport]:
    """Those keyframes, segment by segment; none, if they are no more than chance."""
    doubtful: dict[int, list[FrameReport]] = {}
    explained: set[int] = set()
    well_known: dict[int, int] = {}  # keyframes of a segment that agree, and surely
    for report in reports:
        mapping = report.mapping
        if mapping is None or report.status == "lost":
            continue
        found = doubtful.setdefault(report.segment, [])
        is_found = mapping.focus is not None and mapping.focus.verdict == "wrong from the start"
        if is_found and report.segment not in explained:
            explained.add(report.segment)
            found.clear()  # what contradicted it before; one that must be found twice explained nothing
        if mapping.agreement is None:
            continue
        if abs(mapping.agreement.slope_excess) > SURE:
            found.append(report)
        elif mapping.agreement.slope_ratio_sigma < 0.5 * HARDLY_KNOWN:
            agreeing = well_known[report.segment] = well_known.get(report.segment, 0) + 1
            if agreeing >= LEAST_KEYFRAMES:
                found[:] = [r for r in found if not _is_hardly_known(r)]
    return [report for found in doubtful.values() if len(found) >= LEAST_KEYFRAMES for report in found]


def _is_hardly_known(report: FrameReport) -> bool:
    agreement = None if report.mapping is None else report.mapping.agreement
    return agreement is not None and agreement.slope_ratio_sigma > HARDLY_KNOWN
