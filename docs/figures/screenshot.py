# SPDX-License-Identifier: Apache-2.0
"""Picture of a report for the documentation: ``python docs/figures/screenshot.py demo/results/report.html``."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2

OUT = Path(__file__).resolve().parent / "report.jpg"
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=4000"]
SIZE = (1240, 1290)  # sentence, 3-D view, tiles and errors


def main(report: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        sys.exit("No Chromium found; install it to take screenshots.")
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        command = [
            browser,
            *OPTIONS,
            f"--user-data-dir={folder}/profile",
            f"--window-size={SIZE[0]},{SIZE[1]}",
            f"--screenshot={shot}",
            report.resolve().as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        cv2.imwrite(str(OUT), cv2.imread(str(shot)), [cv2.IMWRITE_JPEG_QUALITY, 82])
    print(OUT)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
