# SPDX-License-Identifier: Apache-2.0
"""``report.html``: looks on while a run goes, writes one self-contained page at its end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.atomic import write_text_atomically
from prism_vo.report import pictures as draw
from prism_vo.report.extremes import EtaExtremes
from prism_vo.report.page import render_page
from prism_vo.report.snapshots import Snapshot, SnapshotAlbum
from prism_vo.results import REPORT

if TYPE_CHECKING:
    from prism_vo.dense_run import DenseSink
    from prism_vo.odometry import FrameReport, Odometry
    from prism_vo.optics.camera import FocusedView
    from prism_vo.pipeline import RunResult
    from prism_vo.types import DecodedFrame, InputFrame

DENSE_SECONDS = 15.0  # spent on dense depth maps; later keyframes show depth at their points alone


class ReportSink:
    """Collects a bounded number of keyframe pictures; writes ``folder/report.html``."""

    def __init__(self, folder: Path | str, dense: DenseSink | None = None) -> None:
        """``dense``: who makes a dense map before this page is drawn."""
        self.path = Path(folder) / REPORT
        self.dense = dense
        self.album = SnapshotAlbum()
        self.extremes = EtaExtremes()

    def on_frame(self, report: FrameReport, frame: DecodedFrame, odometry: Odometry) -> None:
        """Look at keyframes."""
        if report.status in ("keyframe", "recovered"):
            self.album.offer(report, frame, odometry)
            self.extremes.offer(report, frame)

    def memory(self) -> object:
        """The pictures so far; part of a checkpoint."""
        return self.album, self.extremes

    def remember(self, memory: tuple[SnapshotAlbum, EtaExtremes]) -> None:
        """Go on with these pictures."""
        self.album, self.extremes = memory

    def on_end(self, result: RunResult) -> None:
        """Draw and write."""
        keyframes = keyframe_pictures(result, self.album.kept)
        dense = None if self.dense is None else self.dense.map
        write_text_atomically(self.path, render_page(result, keyframes, self.extremes, dense))


def keyframe_pictures(result: RunResult, snapshots: list[Snapshot]) -> list[dict[str, Any]]:
    """Five pictures and their captions for each snapshot."""
    dense = DenseMaps(result)
    return [_pictures(s, dense.of(s.source), result.odometry.view) for s in snapshots]


class DenseMaps:
    """Dense depth of single frames, decoded again from their raw images while the time for it lasts."""

    def __init__(self, result: RunResult) -> None:
        self.result = result
        self.left = DENSE_SECONDS
        self._warm = False  # the first map may have to compile, which is not counted

    def of(self, frame: InputFrame) -> tuple[Floats, Floats] | None:
        """ρ_v and σ (h, w), NaN where invalid; None when there is no more time or no depth."""
        if self.left <= 0 or not self.result.odometry.variant.measures_depth:
            return None
        start = time.perf_counter()
        decoded = self.result.odometry.sensor.dense(frame)
        self.left -= time.perf_counter() - start if self._warm else 0.0
        self._warm = True
        if decoded.inv_virtual_depth is None or decoded.variance is None:
            return None
        valid = np.isfinite(decoded.inv_virtual_depth) & np.isfinite(decoded.variance)
        if decoded.valid is not None:
            valid &= decoded.valid
        nothing = np.float32(np.nan)
        rho = np.where(valid, decoded.inv_virtual_depth, nothing)
        return rho, np.sqrt(np.where(valid, decoded.variance, nothing))


def _pictures(snapshot: Snapshot, dense: tuple[Floats, Floats] | None, view: FocusedView) -> dict[str, Any]:
    canvas = draw.Canvas.of(snapshot.image)
    points, residuals = snapshot.points, snapshot.residuals
    scale = draw.depth_scale(points.measured if dense is None else dense[0])
    if dense is None:
        depth = draw.sparse_depth_picture(canvas, points, scale)
        sigma = draw.sparse_sigma_picture(canvas, points)
    else:
        depth = draw.dense_picture(canvas, dense[0], scale)
        sigma = draw.dense_picture(canvas, dense[1], draw.sigma_scale())
    out = {
        "image": canvas.background,
        "classes": draw.classes_picture(canvas, points),
        "depth": depth,
        "sigma": sigma,
        "photometric": draw.photometric_picture(canvas, residuals),
        "residual": draw.depth_residual_picture(canvas, residuals),
    }
    return {
        "title": f"frame {snapshot.frame}, {snapshot.time:.2f} s, keyframe {snapshot.keyframe}",
        "pictures": {name: draw.jpeg_uri(picture) for name, picture in out.items()},
        "captions": _captions(snapshot, dense, scale, view),
    }


def _captions(
    snapshot: Snapshot, dense: tuple[Floats, Floats] | None, scale: draw.Scale, view: FocusedView
) -> dict[str, str]:
    counts = [int((snapshot.points.kind == k).sum()) for k in range(3)]
    measured = dense is not None or bool(np.isfinite(snapshot.points.measured).any())
    near, far = (_depth_text(view, rho) if measured else "" for rho in (scale.high, scale.low))
    r = snapshot.residuals
    inside, terms = r.grey[np.isfinite(r.grey)], r.sigmas[np.isfinite(r.sigmas)]
    outliers = len(r.grey) - len(inside)
    where = "everywhere" if dense is not None else "at the selected points" if measured else "nowhere"
    return {
        "count-used": str(counts[0]),
        "count-uncertain": str(counts[1]),
        "count-none": str(counts[2]),
        "depth-where": where,
        "sigma-where": where,
        "depth-far": far,
        "depth-near": near,
        "photometric-note": f"{len(inside)} points, median |r| {_median(inside)} grey, {outliers} outliers (yellow)",
        "residual-note": f"{len(terms)} depth terms, median |r| {_median(terms)} σ",
    }


def _depth_text(view: FocusedView, rho: float) -> str:
    q = float(view.inv_depth_from_virtual(rho))
    return f"v {1.0 / rho:.2f} ({f'{float(view.depth_of(q)):.2f} m' if q > 1e-3 else '∞'})"


def _median(values: np.ndarray[Any, Any]) -> str:
    return f"{np.median(np.abs(values)):.2f}" if len(values) else "–"
