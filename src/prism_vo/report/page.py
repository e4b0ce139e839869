# SPDX-License-Identifier: Apache-2.0
"""The sections of ``report.html`` and the page around them."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from prism_vo import __version__
from prism_vo.config_file import config_to_dict
from prism_vo.report import pictures as draw
from prism_vo.report.charts import timeline
from prism_vo.report.curves import curves, eta_section, timing_section
from prism_vo.report.scene3d import scene_json

if TYPE_CHECKING:
    from prism_vo.evaluate.metrics import AlignedError, TrajectoryMetrics
    from prism_vo.pipeline import RunResult
    from prism_vo.report.extremes import EtaExtremes

ALIGNMENTS = {"SE(3)": "SE(3): scale not fitted", "Sim(3)": "Sim(3): scale fitted"}


def render_page(result: RunResult, keyframes: list[dict[str, Any]], extremes: EtaExtremes) -> str:
    """The whole page."""
    own = own_alignment(result)
    body = [
        _tiles(result, own), _space(result, own), _metrics(result.metrics, result.metrics_refusal),
        _keyframes(keyframes), eta_section(result, extremes), _states(result), timing_section(result), curves(result),
        _settings(result),
    ]  # fmt: skip
    data = {"scene": scene_json(result, own), "keyframes": keyframes}
    assets = files("prism_vo.report") / "assets"
    parts = {
        "title": escape(result.name), "subtitle": escape(_subtitle(result)), "body": "\n".join(body),
        # a "</script>" inside the data would end it
        "data": json.dumps(data, separators=(",", ":")).replace("</", "<\\/"),
        "style": (assets / "style.css").read_text("utf-8"), "viewer": (assets / "viewer.js").read_text("utf-8"),
        "page": (assets / "page.js").read_text("utf-8"),
    }  # fmt: skip
    out = (assets / "page.html").read_text("utf-8")
    for name, text in parts.items():
        out = out.replace("{{" + name + "}}", text)
    return out


def own_alignment(result: RunResult) -> AlignedError | None:
    """The alignment a method is judged by: a metric one may not fit the scale."""
    if result.metrics is None:
        return None
    return result.metrics.sim3 if result.odometry.config.variant == "pinhole" else result.metrics.se3


def _subtitle(result: RunResult) -> str:
    return f"prism-vo {__version__}, variant {result.odometry.config.variant}"


def _tiles(result: RunResult, own: AlignedError | None) -> str:
    rate = len(result.reports) / max(result.seconds, 1e-9)
    tiles = [
        (f"{len(result.reports)}", f"frames, {len(result.odometry.map.T_view_world)} keyframes"),
        (f"{result.trajectory.length:.2f} m", "estimated path"),
        (f"{len(result.odometry.cloud()):,}", "map points"),
        (f"{rate:.1f} / s", "frames, this run"),
        (f"{result.lost}", f"frames lost, {result.segments} segment{'s' if result.segments > 1 else ''}"),
    ]
    if own is not None and result.metrics is not None:
        tiles.insert(
            0,
            (
                f"{1e3 * own.rmse_t:.2f} mm",
                f"position error, {own.rmse_t_percent:.3f} % of the path, {own.alignment}",
            ),
        )
        tiles.insert(1, (f"{100 * result.metrics.scale_error:.2f} %", "scale error"))
    cells = "".join(f'<div class="tile"><b>{escape(a)}</b><span>{escape(b)}</span></div>' for a, b in tiles)
    return f'<div class="tiles">{cells}</div>'


def _space(result: RunResult, own: AlignedError | None) -> str:
    toggles = [
        ("path", "path", "--accent"),
        ("cloud", "cloud", None),
        ("cameras", "keyframes", "--accent"),
        ("grid", "grid", None),
    ]
    if own is not None:
        toggles.insert(1, ("truth", f"truth ({own.alignment})", "--truth"))
    buttons = "".join(
        f'<button data-show="{name}" aria-pressed="true">'
        + (f'<i class="dot" style="background:var({color})"></i>' if color else "")
        + f"{escape(text)}</button>"
        for name, text, color in toggles
    )
    views = "".join(
        f'<button data-view="{v}">{v}</button>' for v in ("free", "top", "side", "front", "close-up")
    )
    return (
        f'<h2>Path and map</h2><div class="panel"><div class="bar">{buttons}<span class="push"></span>'
        '<select id="coloring" aria-label="colour of the cloud"><option value="image">colour: image</option>'
        '<option value="height">colour: height</option><option value="depth">colour: σ / distance, 0–5 %</option>'
        f"</select>{views}</div>"
        '<canvas id="space" tabindex="0" role="img" aria-label="camera path and point cloud in 3-D"></canvas>'
        '<div class="quiet noprint">drag: turn · wheel: zoom · shift-drag: move · arrow keys, + and −</div></div>'
    )


def _metrics(metrics: TrajectoryMetrics | None, refusal: str | None) -> str:
    if metrics is None:
        return f'<h2>Errors</h2><p class="quiet">Not measured: {escape(refusal or "no ground truth")}</p>'
    columns = (metrics.se3, metrics.sim3)
    rows = [
        ("position error (RMSE)", *(f"{1e3 * c.rmse_t:.3f} mm" for c in columns)),
        ("in per cent of the path", *(f"{c.rmse_t_percent:.4f} %" for c in columns)),
        (
            "position error, median / largest",
            *(f"{1e3 * c.median_t:.2f} / {1e3 * c.max_t:.2f} mm" for c in columns),
        ),
        ("rotation error (RMSE)", *(f"{c.rmse_r_deg:.4f}°" for c in columns)),
        ("relative error per metre", *(_relative(c) for c in columns)),
    ]
    head = "".join(f"<th>{escape(ALIGNMENTS[c.alignment])}</th>" for c in columns)
    table = "".join("<tr>" + "".join(f"<td>{escape(v)}</td>" for v in row) + "</tr>" for row in rows)
    return (
        f'<h2>Errors against ground truth</h2><div class="panel"><table><tr><th></th>{head}</tr>{table}</table>'
        f'<p class="quiet">{escape(_metric_notes(metrics))}</p></div>'
    )


def _relative(error: AlignedError) -> str:
    return (
        "–"
        if error.relative is None
        else f"{1e3 * error.relative.translation:.2f} mm, {error.relative.rotation_deg:.3f}°"
    )


def _metric_notes(m: TrajectoryMetrics) -> str:
    drift = (
        f"drift over the loop: d_s' {m.drift.d_s_prime:.4f}, e_s' {m.drift.e_s_prime:.4f}, e_r {m.drift.e_r_deg:.3f}°, "
        f"e_align {m.drift.e_align_percent:.3f} %"
        if m.drift is not None
        else f"drift not measured: {m.drift_refusal}"
    )
    return (
        f"True path {m.path_length:.3f} m; {m.matched} poses compared, {100 * m.covered:.1f} % of the truth covered; "
        f"scale factor to the truth {m.scale:.5f}; {drift}"
    )


def _keyframes(keyframes: list[dict[str, Any]]) -> str:
    if not keyframes:
        return ""
    red, green = draw.residual_scale(1.0), draw.sigma_scale()
    depth = draw.depth_scale(np.zeros(0))
    kinds = "".join(
        f'<i class="swatch" style="background:rgb({",".join(map(str, c))})"></i>{name} (<span id="count-{key}"></span>)'
        for c, name, key in zip(
            draw.CLASS_COLORS.tolist(),
            ("depth used", "too uncertain or far", "no depth"),
            ("used", "uncertain", "none"),
        )
    )
    figures = [
        _figure("image", "<b>Totally focused image</b>", ""),
        _figure("classes", f"<b>Selected points</b><br>{kinds}", ""),
        _figure("depth", '<b>Virtual depth v</b>, measured <span id="depth-where"></span>',
                _bar(depth, '<span id="depth-far"></span>', '<span id="depth-near"></span>')),
        _figure("sigma", '<b>σ of 1/v</b>, <span id="sigma-where"></span>',
                _bar(green, "0", f"{draw.LARGEST_SIGMA:g}")),
        _figure("photometric", '<b>Photometric residual</b>: <span id="photometric-note"></span>',
                _bar(red, f"−{draw.LARGEST_GREY:g} grey", f"+{draw.LARGEST_GREY:g} grey")),
        _figure("residual", '<b>Depth residual</b>: <span id="residual-note"></span>',
                _bar(red, f"−{draw.LARGEST_SIGMAS:g} σ", f"+{draw.LARGEST_SIGMAS:g} σ")),
    ]  # fmt: skip
    return (
        '<h2>Keyframes</h2><div class="panel"><div class="bar"><label for="slider">keyframe</label>'
        f'<input type="range" id="slider" min="0" max="{len(keyframes) - 1}" value="{len(keyframes) // 2}">'
        f'<output id="which" for="slider"></output></div><div class="pictures">{"".join(figures)}</div></div>'
    )


def _figure(name: str, caption: str, below: str) -> str:
    return f'<figure><img id="picture-{name}" alt="{name}">{below}<figcaption>{caption}</figcaption></figure>'


def _bar(scale: draw.Scale, low: str, high: str) -> str:
    stops = ",".join(f"rgb({r},{g},{b})" for r, g, b in scale.table[::15].tolist())
    return (
        f'<div class="scale" style="background:linear-gradient(90deg,{stops})"></div>'
        f'<div class="ends"><span>{low}</span><span>{high}</span></div>'
    )


def _states(result: RunResult) -> str:
    names = ("keyframe", "ok", "recovered", "lost")
    counts = {name: sum(r.status == name for r in result.reports) for name in names}
    legend = "".join(f'<i class="swatch b-{n}"></i>{n} ({counts[n]})' for n in names)
    strip = timeline([r.index for r in result.reports], [r.status for r in result.reports])
    return f'<h2>Tracking states</h2><div class="panel">{strip}<div class="legend">{legend}</div></div>'


def _settings(result: RunResult) -> str:
    settings = yaml.safe_dump(config_to_dict(result.odometry.config), sort_keys=False)
    camera = yaml.safe_dump(result.sequence.camera.calibration.model_dump(mode="json"), sort_keys=False)
    return (
        '<h2>Settings</h2><div class="panel"><details><summary>settings of the run</summary>'
        f"<pre>{escape(settings)}</pre></details><details><summary>camera</summary><pre>{escape(camera)}</pre></details></div>"
    )
