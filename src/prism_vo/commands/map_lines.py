# SPDX-License-Identifier: Apache-2.0
"""What a map of ``prism-vo run --save-map`` holds, for ``prism-vo info`` and ``prism-vo view``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prism_vo.map_file import StoredMap


def map_line(path: Path, stored: StoredMap) -> str:
    """Keyframes, extent, points and size in one line."""
    import numpy as np

    size = " × ".join(f"{side:.2f}" for side in np.ptp(stored.trajectory().positions, axis=0))
    kilobytes = sum(k.nbytes for k in stored.keyframes) / len(stored.keyframes) / 1000
    return (
        f"{path}: {len(stored.keyframes)} keyframes in {size} m, {len(stored.cloud()):,} points, "
        f"{kilobytes:.0f} kB a keyframe."
    )


def map_lines(path: Path) -> list[str]:
    """With the version of the format and the camera whose frames find themselves in it."""
    from prism_vo.map_file import FIRST_LINE, read_map

    stored = read_map(path)
    view = stored.view
    return [
        map_line(path, stored),
        f"  format        {FIRST_LINE.decode().strip()}",
        f"  camera        focused images of {view.width}x{view.height} ({view.name} view), focal length "
        f"{view.focal_px:.2f} px",
        "  next          start in it: prism-vo run SEQUENCE --loops --map FILE; look at it: prism-vo view FILE --rerun",
    ]
