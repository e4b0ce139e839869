# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: it loads without errors, draws in 3-D, and its controls do what they say."""

from __future__ import annotations

from pathlib import Path

import chromium
import pytest

from prism_vo.pipeline import RunResult

pytestmark = pytest.mark.skipif(
    chromium.EXECUTABLE is None, reason="no Chromium on this machine (apt install chromium)"
)

SCRIPT = """
const viewer = window.prismViewer, canvas = document.getElementById("space");
const copy = document.createElement("canvas");
[copy.width, copy.height] = [canvas.width, canvas.height];
const pixels = copy.getContext("2d", { willReadFrequently: true });
const count = (test) => {
  pixels.clearRect(0, 0, copy.width, copy.height);
  pixels.drawImage(canvas, 0, 0);
  const data = pixels.getImageData(0, 0, copy.width, copy.height).data;
  let n = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 128 && test(data[i], data[i + 1], data[i + 2])) n++;
  return n;
};
const any = () => true, orange = (r, g, b) => r > 180 && g < 120 && b < 80, blue = (r, g, b) => b > 150 && r < 90;
const signature = () => canvas.toDataURL();
const press = async (selector) => { document.querySelector(selector).click(); viewer.draw(); };
document.documentElement.dataset.theme = "light";
viewer.draw();
const out = { points: viewer.drawnPoints, all: count(any), path: count(orange), truth: count(blue) };
const first = signature();
viewer.turn(80, 10); viewer.draw();
out.turned = signature() !== first;
viewer.reset("path"); viewer.draw();
out.closeUp = count(orange);
viewer.reset(); viewer.draw();
await press('[data-show="path"]'); await press('[data-show="cameras"]');
out.pathHidden = count(orange);
await press('[data-show="truth"]'); out.truthHidden = count(blue);
await press('[data-show="cloud"]'); out.cloudHidden = viewer.drawnPoints;
await press('[data-show="grid"]'); out.gridHidden = count(any);
await press('[data-show="cloud"]'); viewer.reset(); viewer.draw();
document.getElementById("ruler").click();
const box = canvas.getBoundingClientRect(), b = viewer.basis(), say = document.getElementById("measure");
out.asked = say.textContent;
const inside = (q) => q[2] > 0 && q[0] > 20 && q[1] > 20 && q[0] < viewer.width - 20 && q[1] < viewer.height - 20;
const cloud = viewer.cloud, on = (p) => viewer.project(p, b), ends = [];
const apart = (n, m) => Math.hypot(...cloud.at(n).map((v, k) => v - cloud.at(m)[k]));
for (let n = 0; n < cloud.count && ends.length < 2; n++) {
  const q = on(cloud.at(n)), found = cloud.nearest(on, q[0], q[1], 10);
  if (inside(q) && found === n && (ends.length === 0 || apart(n, ends[0]) > 0.2)) ends.push(n);
}
for (const n of ends) {
  const [x, y] = on(cloud.at(n));
  const at = { clientX: box.left + x / viewer.ratio, clientY: box.top + y / viewer.ratio, pointerId: 1 };
  for (const kind of ["pointerdown", "pointerup"]) canvas.dispatchEvent(new PointerEvent(kind, at));
}
out.measured = say.textContent;
out.between = apart(...ends);
viewer.draw();
out.rulerInk = count((r, g, b) => r > 110 && r < 160 && g < 80 && b > 130);
const slider = document.getElementById("slider"), pictures = [...document.querySelectorAll(".pictures img")];
const look = () => pictures.map((p) => p.src);
slider.value = 0; slider.dispatchEvent(new Event("input")); await wait();
const before = look(), title = document.getElementById("which").textContent;
slider.value = slider.max; slider.dispatchEvent(new Event("input")); await wait();
const after = look();
await wait();
out.changed = before.map((s, k) => s !== after[k]);
out.titleChanged = title !== document.getElementById("which").textContent;
out.loaded = pictures.map((p) => p.naturalWidth);
await press("#theme"); out.theme = document.documentElement.dataset.theme;
const addresses = [...document.querySelectorAll("[src],[href]")].map((e) => e.src || e.href);
out.outside = addresses.filter((u) => u && !u.startsWith("data:"));
return out;
"""


@pytest.fixture(scope="module")
def seen(reported: RunResult, tmp_path_factory: pytest.TempPathFactory) -> dict:  # type: ignore[type-arg]
    assert reported.out is not None
    found, errors, console = chromium.probe(
        reported.out / "report.html", SCRIPT, tmp_path_factory.mktemp("browser")
    )
    return {**(found or {}), "errors": errors, "console": console}


def test_loads_without_errors_and_without_the_network(seen: dict) -> None:  # type: ignore[type-arg]
    assert seen["errors"] == []
    assert seen["console"] == []
    assert seen["outside"] == []


def test_draws_cloud_path_and_truth(seen: dict, reported: RunResult) -> None:  # type: ignore[type-arg]
    assert seen["points"] > 0.5 * len(reported.odometry.cloud())
    assert seen["all"] > 3000
    assert seen["path"] > 50
    assert seen["truth"] > 10
    assert seen["turned"]
    assert seen["closeUp"] > 2 * seen["path"]


def test_toggles_hide_what_they_name(seen: dict) -> None:  # type: ignore[type-arg]
    assert seen["pathHidden"] == 0
    assert seen["truthHidden"] == 0
    assert seen["cloudHidden"] == 0
    assert seen["gridHidden"] < 0.2 * seen["all"]  # the scale bar stays


def test_ruler_measures_between_two_points(seen: dict) -> None:  # type: ignore[type-arg]
    assert seen["asked"] == "click two points of the map"
    words = seen["measured"].split()
    assert words[0] == "distance"
    assert words[2] == "±"
    unit = {"m": 1.0, "cm": 0.01}[words[4]]
    assert abs(float(words[1]) * unit - seen["between"]) <= 0.006 + float(words[3]) * unit
    assert 0 < float(words[3]) * unit < 0.2 * seen["between"]
    assert seen["rulerInk"] > 100


def test_slider_changes_every_picture(seen: dict) -> None:  # type: ignore[type-arg]
    assert len(seen["changed"]) == 6
    assert all(seen["changed"])
    assert seen["titleChanged"]
    assert min(seen["loaded"]) >= 400
    assert seen["theme"] == "dark"


def test_the_page_is_small_enough_to_mail(reported: RunResult) -> None:
    assert isinstance(reported.out, Path)
    assert (reported.out / "report.html").stat().st_size < 15e6
