# SPDX-License-Identifier: Apache-2.0
"""What ``report.html`` of a run says; ``templates/run.html`` lays it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import yaml

from prism_vo import __version__
from prism_vo.calibrate.words import check_rows
from prism_vo.config_file import config_to_dict
from prism_vo.notices import agreement_rows
from prism_vo.report import pictures as draw
from prism_vo.report.charts import Timeline, timeline
from prism_vo.report.curves import curves, eta_over_time, timings
from prism_vo.report.scene3d import map_words, scene_json, shown_cloud
from prism_vo.report.templating import render
from prism_vo.report.truth import own_alignment

if TYPE_CHECKING:
    from prism_vo.dense.densify import DenseMap
    from prism_vo.evaluate.metrics import AlignedError, TrajectoryMetrics
    from prism_vo.pipeline import RunResult
    from prism_vo.report.extremes import EtaExtremes

ALIGNMENTS = {"SE(3)": "SE(3): scale not fitted", "Sim(3)": "Sim(3): scale fitted"}
MOST_UNREADABLE = 20  # frames whose problem is told
STATES = ("keyframe", "ok", "recovered", "lost")


def render_page(
    result: RunResult,
    keyframes: list[dict[str, Any]],
    extremes: EtaExtremes,
    dense: DenseMap | None = None,
) -> str:
    """The whole page; ``dense``: a map that is shown instead of the odometry's own points."""
    own = own_alignment(result)
    config, camera = result.odometry.config, result.odometry.camera.calibration
    return render(
        "run.html",
        title=result.name,
        subtitle=f"prism-vo {__version__}, variant {config.variant}",
        sentence=sentence(result),
        map_words=map_words(shown_cloud(result) if dense is None else dense.cloud, dense is not None)
        + _other_worlds(result),
        tiles=_tiles(result, own, dense),
        toggles=_toggles(own),
        errors=_errors(result.metrics) if result.metrics is not None else None,
        refusal=result.metrics_refusal or "no ground truth",
        point_classes=_point_classes(),
        scales=_scales(),
        eta=eta_over_time(result, extremes),
        states=_states(result),
        recognised=None if result.recognition is None else result.recognition.sentence,
        notices=result.notices,
        check=[] if result.check is None else [*check_rows(result.check), *agreement_rows(result.reports)],
        unreadable=result.unreadable[:MOST_UNREADABLE],
        more_unreadable=max(len(result.unreadable) - MOST_UNREADABLE, 0),
        timings=timings(result),
        curves=curves(result),
        settings=yaml.safe_dump(config_to_dict(config), sort_keys=False),
        camera=yaml.safe_dump(camera.model_dump(mode="json"), sort_keys=False),
        data={
            "scene": scene_json(result, own, dense) if len(result.trajectory) else None,  # nothing to draw
            "keyframes": keyframes,
        },
    )


class Tile(NamedTuple):
    """One figure a reader wants first."""

    value: str
    meaning: str


def sentence(result: RunResult) -> str:
    """What the run came to, in one."""
    sigma = result.stated_scale_sigma
    scale = f", scale ± {100 * sigma:.2g} %" if np.isfinite(sigma) else ""
    if result.lost == 0:
        tracked = "every frame tracked" if result.segments == 1 else f"{result.segments} separate worlds"
    else:
        tracked = f"{result.lost} of {len(result.reports)} frames lost"
    rate = result.rate.per_second
    speed = "" if rate is None else f", {rate:.2g} frames/s" if rate < 10 else f", {rate:.0f} frames/s"
    return f"{result.trajectory.length:.2f} m path{scale}, {tracked}{speed}"


def _other_worlds(result: RunResult) -> str:
    """Said where a recording fell into parts whose places to each other are not known."""
    shown = result.odometry.keyframe_trajectory().largest_segment
    if shown is None:
        return ""
    return f" Segment {shown} is shown, the longest of {result.segments}; how worlds lie to each other is not known."


def _tiles(result: RunResult, own: AlignedError | None, dense: DenseMap | None) -> list[Tile]:
    rate = result.rate.per_second
    parts = f"{result.segments} segment{'' if result.segments == 1 else 's'}"
    apart = f", in {parts}" if result.segments > 1 else ""  # the view, and its words, show one of them
    tiles = [
        Tile(f"{len(result.reports)}", f"frames, {len(result.odometry.map.T_view_world)} keyframes"),
        Tile(f"{result.trajectory.length:.2f} m", "estimated path"),
        Tile(f"{len(result.odometry.cloud()):,}", f"points of the odometry{apart}"),
        *([] if dense is None else [_dense_tile(dense)]),
        Tile("–" if rate is None else f"{rate:.1f} / s", "frames, compiling left out"),
        Tile(f"{result.lost}", f"frames lost, {parts}"),
    ]
    if own is None or result.metrics is None:
        return tiles
    error = f"position error, {own.rmse_t_percent:.3f} % of the path, {own.alignment}"
    return [
        Tile(f"{1e3 * own.rmse_t:.2f} mm", error),
        Tile(f"{100 * result.metrics.scale_error:.2f} %", "scale error"),
        *tiles,
    ]


def _dense_tile(dense: DenseMap) -> Tile:
    mesh = dense.mesh
    return Tile(
        f"{len(mesh.vertices):,}", f"points of the dense map, median σ {1e3 * np.median(mesh.sigma):.2g} mm"
    )


class Toggle(NamedTuple):
    """A button that shows or hides one thing of the 3-D view."""

    name: str
    text: str
    colour: str | None = None  # a variable of style.css


def _toggles(own: AlignedError | None) -> list[Toggle]:
    truth = [] if own is None else [Toggle("truth", f"truth ({own.alignment})", "--truth")]
    return [
        Toggle("path", "path", "--accent"),
        *truth,
        Toggle("cloud", "map"),
        Toggle("cameras", "keyframes", "--accent"),
        Toggle("grid", "grid"),
    ]


class Errors(NamedTuple):
    """The errors of a run, one column an alignment."""

    columns: list[str]
    rows: list[tuple[str, ...]]
    note: str


def _errors(metrics: TrajectoryMetrics) -> Errors:
    columns = (metrics.se3, metrics.sim3)
    spread = (f"{1e3 * c.median_t:.2f} / {1e3 * c.max_t:.2f} mm" for c in columns)
    rows = [
        ("position error (RMSE)", *(f"{1e3 * c.rmse_t:.3f} mm" for c in columns)),
        ("in per cent of the path", *(f"{c.rmse_t_percent:.4f} %" for c in columns)),
        ("position error, median / largest", *spread),
        ("rotation error (RMSE)", *(f"{c.rmse_r_deg:.4f}°" for c in columns)),
        ("relative error per metre", *(_relative(c) for c in columns)),
    ]
    return Errors([ALIGNMENTS[c.alignment] for c in columns], rows, _note(metrics))


def _relative(error: AlignedError) -> str:
    if error.relative is None:
        return "–"
    return f"{1e3 * error.relative.translation:.2f} mm, {error.relative.rotation_deg:.3f}°"


def _note(m: TrajectoryMetrics) -> str:
    if m.drift is None:
        drift = f"drift not measured: {m.drift_refusal}"
    else:
        drift = (
            f"drift over the loop: d_s' {m.drift.d_s_prime:.4f}, e_s' {m.drift.e_s_prime:.4f}, "
            f"e_r {m.drift.e_r_deg:.3f}°, e_align {m.drift.e_align_percent:.3f} %"
        )
    return (
        f"True path {m.path_length:.3f} m; {m.matched} poses compared, {100 * m.covered:.1f} % of the truth covered; "
        f"scale factor to the truth {m.scale:.5f}; {drift}"
    )


class PointClass(NamedTuple):
    """What became of the depth of selected points, and the colour they are drawn in."""

    name: str
    text: str
    colour: str


def _point_classes() -> list[PointClass]:
    names = (("used", "depth used"), ("uncertain", "too uncertain or far"), ("none", "no depth"))
    return [PointClass(*name, _rgb(colour)) for name, colour in zip(names, draw.CLASS_COLORS.tolist())]


def _scales() -> dict[str, str]:
    """Colour scales under the pictures, and the values at their ends."""
    return {
        "depth": _stops(draw.depth_scale(np.zeros(0))),
        "sigma": _stops(draw.sigma_scale()),
        "residual": _stops(draw.residual_scale(1.0)),
        "largest_sigma": f"{draw.LARGEST_SIGMA:g}",
        "largest_grey": f"{draw.LARGEST_GREY:g}",
        "largest_sigmas": f"{draw.LARGEST_SIGMAS:g}",
    }


def _stops(scale: draw.Scale) -> str:
    return ",".join(_rgb(colour) for colour in scale.table[::15].tolist())


def _rgb(colour: list[int]) -> str:
    return f"rgb({','.join(map(str, colour))})"


class States(NamedTuple):
    """The state of every frame, and how often each occurred."""

    strip: Timeline
    counts: dict[str, int]


def _states(result: RunResult) -> States:
    states: list[str] = [r.status for r in result.reports]
    strip = timeline([r.index for r in result.reports], states)
    return States(strip, {name: states.count(name) for name in STATES})
