# SPDX-License-Identifier: Apache-2.0
"""Draws the figures of the documentation: ``python docs/figures/draw.py``. Without dependencies; always the same."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
INK, MUTED, NEAR, FAR, LENS = "#33393f", "#8a939b", "#d9480f", "#1971c2", "#0b7285"


class Drawing:
    """An SVG that is readable on light and dark pages."""

    def __init__(self, width: int, height: int) -> None:
        self.size = width, height
        self.parts = [f'<rect width="{width}" height="{height}" rx="8" fill="#fcfcfa"/>']

    def line(
        self,
        *points: tuple[float, float],
        color: str = INK,
        width: float = 1.4,
        dash: str = "",
        arrow: bool = False,
    ) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        extra = (f' stroke-dasharray="{dash}"' if dash else "") + (' marker-end="url(#tip)"' if arrow else "")
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"{extra}/>'
        )

    def text(
        self, x: float, y: float, words: str, color: str = INK, anchor: str = "middle", size: int = 14
    ) -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" font-size="{size}" text-anchor="{anchor}">{words}</text>'
        )

    def lens(self, x: float, y: float, half: float, bulge: float, color: str = LENS) -> None:
        self.parts.append(
            f'<path d="M{x} {y - half} Q{x + bulge} {y} {x} {y + half} Q{x - bulge} {y} {x} {y - half}" '
            f'fill="{color}" fill-opacity="0.18" stroke="{color}" stroke-width="1.3"/>'
        )

    def dot(self, x: float, y: float, color: str) -> None:
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>')

    def box(self, x: float, y: float, w: float, h: float, title: str, detail: str, color: str = LENS) -> None:
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="7" '
            f'fill="{color}" fill-opacity="0.09" stroke="{color}"/>'
        )
        self.text(x + w / 2, y + 22, title, size=14)
        self.text(x + w / 2, y + 40, detail, MUTED, size=11)

    def save(self, name: str) -> None:
        (HERE / name).write_text(str(self), encoding="utf-8")

    def __str__(self) -> str:
        w, h = self.size
        tip = (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{INK}"/></marker></defs>'
        )
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" font-family="system-ui, sans-serif">'
        return head + tip + "\n".join(self.parts) + "</svg>\n"


def camera_figure() -> Drawing:
    """Main lens, micro-lens array, sensor; a point, its virtual image behind the sensor, and the rays between."""
    d = Drawing(860, 345)
    axis, lens, array, sensor, image = 150, 300, 520, 580, 730
    d.line((20, axis), (840, axis), color=MUTED, width=0.8, dash="5 4")
    point = (60.0, 110.0)
    # the ray through the lens centre is straight
    virtual = (float(image), axis + (axis - point[1]) * (image - lens) / (lens - point[0]))
    d.lens(lens, axis, 105, 26)
    for k in range(-5, 6):
        d.lens(array, axis + 18 * k, 9, 9, color=FAR)
    d.line((sensor, axis - 105), (sensor, axis + 105), width=3)
    for aim in (-80.0, 0.0, 45.0, 85.0):
        through = (float(lens), axis + aim)
        meets = through[1] + (virtual[1] - through[1]) * (array - lens) / (virtual[0] - lens)
        d.line(point, through, (float(array), meets), color=NEAR, width=1.1)
        d.line((float(array), meets), virtual, color=NEAR, width=0.9, dash="4 4")
        nearest = axis + 18 * round((meets - axis) / 18)
        slope = (virtual[1] - nearest) / (virtual[0] - array)
        d.line(
            (float(array), nearest), (float(sensor), nearest + slope * (sensor - array)), color=FAR, width=1.5
        )
    d.dot(*point, NEAR)
    d.dot(*virtual, NEAR)
    d.text(24, 76, "point at depth z_C", NEAR, "start")
    d.text(image, 246, "virtual image", NEAR)
    d.text(lens, 30, "main lens, f_L")
    d.text(array - 4, 30, "micro-lenses", FAR)
    d.text(sensor + 6, 30, "sensor", anchor="start")
    for y, a, b, words in (
        (272, lens, array, "b_L0"),
        (272, array, sensor, "B"),
        (322, lens, image, "b_L"),
        (296, array, image, "b = v · B"),
    ):
        d.line((a, y), (b, y), color=MUTED, width=1)
        for x in (a, b):
            d.line((x, y - 5), (x, y + 5), color=MUTED, width=1)
        beside = words == "b = v · B"
        d.text(
            b + 8 if beside else (a + b) / 2,
            y + 4 if beside else y - 5,
            words,
            anchor="start" if beside else "middle",
            size=13,
        )
    return d


def flow_figure() -> Drawing:
    """How a frame passes through the program."""
    d = Drawing(900, 300)
    top = [
        (20, "datasets/", "raw image, time", "#5f3dc4"),
        (195, "lightfield/", "focus: TF image", LENS),
        (370, "tracking/", "pose of the frame", LENS),
        (545, "odometry.py", "keyframe?", NEAR),
        (720, "results.py", "path, map, report", "#5f3dc4"),
    ]
    for x, title, detail, color in top:
        d.box(x, 30, 150, 54, title, detail, color)
    for x in (170, 345, 520, 695):
        d.line((x + 2, 57), (x + 22, 57), arrow=True)
    low = [
        (195, "measure", "ρ_v and σ at points"),
        (370, "points/select", "pixels become candidates"),
        (545, "window/window", "photo + depth terms"),
        (720, "marginalise", "prior of what left"),
    ]
    for x, title, detail in low:
        d.box(x, 180, 150, 54, title, detail)
    d.line((620, 84), (620, 178), arrow=True)
    d.text(632, 135, "every keyframe", MUTED, "start", 12)
    d.line((368, 207), (347, 207), arrow=True)
    d.line((345, 222), (368, 222), arrow=True)
    d.line((520, 207), (543, 207), arrow=True)
    d.line((695, 207), (718, 207), arrow=True)
    d.line((600, 180), (600, 130), (445, 130), (445, 86), arrow=True)
    d.text(520, 122, "reference depth", MUTED, "middle", 12)
    d.line((95, 84), (95, 207), (193, 207), arrow=True)
    d.text(106, 150, "the same raw image", MUTED, "start", 12)
    d.text(
        450,
        275,
        "optics/ (the camera) · se3.py · config.py · types.py are used by all; "
        "evaluate/, report/ and view/ only look on",
        MUTED,
        size=13,
    )
    return d


FIGURES = {"camera.svg": camera_figure, "data-flow.svg": flow_figure}

if __name__ == "__main__":
    for name, make in FIGURES.items():
        make().save(name)
