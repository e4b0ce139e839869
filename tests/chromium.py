# SPDX-License-Identifier: Apache-2.0
"""Opens a page in headless Chromium with a probe script added, and returns what the probe wrote."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

EXECUTABLE = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1280,900",
    "--virtual-time-budget=6000",
    "--enable-logging=stderr",
)
ERRORS = "<script>window.pageErrors=[];window.onerror=(m)=>{window.pageErrors.push(String(m))};</script>"
REPORT = """<script>window.addEventListener("load", async () => {
  const wait = () => new Promise((done) => setTimeout(done, 60));
  await wait();
  let found = null;
  try { found = await (async () => { %s })(); } catch (e) { window.pageErrors.push(String(e)); }
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = btoa(unescape(encodeURIComponent(JSON.stringify({found, errors: window.pageErrors}))));
  document.body.append(out);
});</script>"""


def probe(page: Path, script: str, folder: Path) -> tuple[Any, list[str], list[str]]:
    """Result of the script (body of an async function), errors of the page, console lines of the browser."""
    assert EXECUTABLE is not None
    text = page.read_text(encoding="utf-8").replace("<head>", "<head>" + ERRORS, 1)
    copy = folder / "probed.html"
    copy.write_text(text.replace("</body>", REPORT % script + "</body>", 1), encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [EXECUTABLE, *OPTIONS, profile, "--dump-dom", copy.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    start = done.stdout.index('<pre id="probe">') + len('<pre id="probe">')
    answer = json.loads(base64.b64decode(done.stdout[start : done.stdout.index("</pre>", start)]))
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return answer["found"], answer["errors"], console
