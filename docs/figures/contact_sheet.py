# SPDX-License-Identifier: Apache-2.0
"""Four keyframes of a report side by side: ``python docs/figures/contact_sheet.py demo/results/report.html``."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import cv2
import numpy as np

OUT = Path(__file__).resolve().parent / "keyframes.jpg"
ROWS = ("image", "classes", "depth", "sigma", "photometric", "residual")
COLUMNS, SIDE, GAP = 4, 250, 6


def main(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    start = text.index('id="data">') + len('id="data">')
    keyframes = json.loads(text[start : text.index("</script>", start)])["keyframes"]
    # the first keyframe has no residuals yet
    chosen = [keyframes[k] for k in np.linspace(1, len(keyframes) - 1, COLUMNS).round().astype(int)]
    sheet = np.full((len(ROWS) * (SIDE + GAP) - GAP, COLUMNS * (SIDE + GAP) - GAP, 3), 255, np.uint8)
    for column, keyframe in enumerate(chosen):
        for row, name in enumerate(ROWS):
            data = base64.b64decode(keyframe["pictures"][name].split(",", 1)[1])
            picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
            y, x = row * (SIDE + GAP), column * (SIDE + GAP)
            sheet[y : y + SIDE, x : x + SIDE] = cv2.resize(
                picture, (SIDE, SIDE), interpolation=cv2.INTER_AREA
            )
    cv2.imwrite(str(OUT), sheet, [cv2.IMWRITE_JPEG_QUALITY, 82])
    print(OUT)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
