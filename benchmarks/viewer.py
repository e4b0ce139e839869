# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.viewer REPORT.html``: how fast a report's 3-D view turns in Chromium without a graphics card.

The points of the report are repeated, a little beside themselves, until there are as many as a page can hold. Counted
is the time of drawing alone; the view is turned before every picture.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

POINTS = 300_000
PICTURES = 40
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--window-size=1280,900", "--dump-dom",
)  # fmt: skip
SCRIPT = """<script>window.addEventListener("load", () => {
  const viewer = window.prismViewer, c = viewer.cloud, count = %(points)d, own = c.count;
  const longer = (a, width) => a.constructor.from({ length: width * count }, (_, k) => a[k %% (width * own)]);
  for (const name of ["points", "rgb"]) c[name] = longer(c[name], 3);
  for (const name of ["sigma", "sizes"]) c[name] = longer(c[name], 1);
  for (let n = 3 * own; n < 3 * count; n++) c.points[n] += 2e-4 * viewer.scene.radius * Math.sin(n);
  [c.count, c.words] = [count, {}];
  viewer.reset();
  const time = (draw) => {
    const spent = [];
    for (let n = 0; n < %(pictures)d; n++) {
      viewer.yaw += 0.01;
      const start = performance.now();
      draw();
      spent.push(performance.now() - start);
    }
    return spent.slice(spent.length / 2).sort((a, b) => a - b)[Math.floor(spent.length / 4)];
  };
  const out = { width: viewer.width, height: viewer.height, still: time(() => viewer.draw()) };
  out.moving = time(() => viewer.drawMoving());
  out.stride = viewer.stride;
  const answer = document.createElement("pre");
  answer.id = "answer";
  answer.textContent = JSON.stringify(out);
  document.body.append(answer);
});</script>"""


def measured(browser: str, page: Path, ratio: int) -> dict[str, float]:
    """Milliseconds a picture, at ``ratio`` pixels of the screen to one of the page."""
    with tempfile.TemporaryDirectory() as work:
        copy = Path(work) / "page.html"
        script = SCRIPT % {"points": POINTS, "pictures": PICTURES}
        copy.write_text(
            page.read_text(encoding="utf-8").replace("</body>", script + "</body>", 1), encoding="utf-8"
        )
        options = [*OPTIONS, f"--user-data-dir={work}/profile", f"--force-device-scale-factor={ratio}"]
        done = subprocess.run([browser, *options, copy.as_uri()], capture_output=True, text=True, timeout=300)
    answer = done.stdout.split('<pre id="answer">')[1].split("</pre>")[0]
    return dict(json.loads(answer))


def main() -> None:
    """Both resolutions."""
    parser = argparse.ArgumentParser()
    parser.add_argument("report", type=Path)
    page = parser.parse_args().report
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise SystemExit("There is no Chromium on this machine (apt install chromium).")
    for ratio in (1, 2):
        m = measured(browser, page, ratio)
        still = (
            f"{POINTS:,} points on {m['width']} × {m['height']} px: all of them {m['still']:.0f} ms a picture"
        )
        rate = f"{1000 / m['moving']:.0f} pictures/s, thinned {m['stride']:.0f}-fold"
        print(f"{still}; while it moves {m['moving']:.0f} ms ({rate})", flush=True)


if __name__ == "__main__":
    main()
