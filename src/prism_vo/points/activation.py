# SPDX-License-Identifier: Apache-2.0
"""Which candidates may join the energy now, chosen so that points stay spread over the newest keyframe."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Mask
from prism_vo.compiled import njit
from prism_vo.optics.pinhole import Pinhole
from prism_vo.points.projection import project_into
from prism_vo.points.records import Candidates, HostFrames, Points

LONGEST_INTERVAL = 8.0  # px of parallax that a candidate's depth interval may span in the newest keyframe
MARGIN = 4  # px from the border of the newest keyframe: the pattern must fit


def choose_candidates(
    plane: Pinhole,
    hosts: HostFrames,
    c: Candidates,
    points: Points,
    spacing: int,
    quality: float,
    hidden: Mask | None = None,
) -> tuple[NDArray[np.intp], Mask]:
    """Candidates to activate now (those with depth first, ``spacing`` px apart), and which of all are kept waiting.

    ``hidden``: candidates (N,) that something covers in the newest keyframe; they wait.
    """
    newest = len(hosts) - 1
    projected, active = (project_into(plane, hosts, newest, each) for each in (c, points))
    seen, visible = projected.inside(plane, MARGIN), active.inside(plane, MARGIN)
    occupied = np.zeros((plane.height, plane.width), np.bool_)
    occupied[active.y[visible].astype(int), active.x[visible].astype(int)] = True
    older = c.host < newest
    ready = older & seen & _is_ready(plane, hosts, c, quality)
    order = np.flatnonzero(ready if hidden is None else ready & ~hidden)
    order = order[np.argsort(c.kind[order], kind="stable")]
    chosen = np.zeros(len(order), np.bool_)
    _spread(occupied, projected.x[order], projected.y[order], spacing, chosen)
    picked = order[chosen]
    stay = ~(older & ~seen)  # out of the newest keyframe's view: of no more use
    stay[picked] = False
    return picked, stay


def _is_ready(plane: Pinhole, hosts: HostFrames, c: Candidates, quality: float) -> Mask:
    """Depth known, its interval short in the image, and measured or matched without doubt."""
    newest = hosts.T_view_world[-1]
    shift = np.array([np.linalg.norm((newest @ se3.inverse(host))[:3, 3]) for host in hosts.T_view_world])
    with np.errstate(invalid="ignore"):
        interval = (c.high - c.low) * shift[c.host] * plane.focal
        sure = (c.quality > quality) | (c.information > 0)
        return np.isfinite(c.inv_depth) & (interval < LONGEST_INTERVAL) & sure & (c.failures == 0)


@njit(nogil=True, cache=True)
def _spread(occupied, x, y, reach, chosen):  # type: ignore[no-untyped-def]
    """Mark the points (in order) that keep ``reach`` px from all occupied pixels and from each other."""
    h, w = occupied.shape
    for n in range(x.shape[0]):
        cx, cy = int(x[n]), int(y[n])
        free = True
        for yy in range(max(cy - reach, 0), min(cy + reach + 1, h)):
            for xx in range(max(cx - reach, 0), min(cx + reach + 1, w)):
                if occupied[yy, xx]:
                    free = False
                    break
            if not free:
                break
        if free:
            occupied[cy, cx] = True
            chosen[n] = True
