# SPDX-License-Identifier: Apache-2.0
"""``python tools/keyframe_path.py``: the way of one keyframe through the source, as it is really called.

Simulates a few frames with the smallest camera and follows, on the main thread, every call inside the package while a
frame becomes a keyframe. Prints the files in the order they are first entered, how often control passes from one file
to another, and how often a file calls something that stands above it in the package (a way back up).
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import prism_vo
from prism_vo import Odometry, PlenopticCamera, RawFrame

ROOT = Path(prism_vo.__file__).resolve().parent


class Follower:
    """Remembers which files of the package are entered from which."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.calls: list[tuple[str, str]] = []

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """For sys.setprofile."""
        if event != "call":
            return
        here, caller = _file(frame), _file(frame.f_back)
        if here is None:
            return
        if here not in self.files:
            self.files.append(here)
        if caller is not None and caller != here:
            self.calls.append((caller, here))


def _file(frame: FrameType | None) -> str | None:
    if frame is None:
        return None
    path = Path(frame.f_code.co_filename)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None


def keyframe_path(frames: int = 12) -> Follower:
    """Follow the last keyframe of a short simulated sweep."""
    from prism_vo.simulate import CATALOGUE, Renderer, build_scene, plan, preset_camera

    calibration = preset_camera("mini")
    renderer = Renderer(calibration, build_scene("table", seed=0), seed=0)
    odometry = Odometry(PlenopticCamera.from_calibration(calibration), threads=False)
    follower = Follower()
    for index, pose in enumerate(plan(CATALOGUE["table"].path, frames=frames, seed=0).poses[:frames]):
        raw = RawFrame(index, 0.1 * index, renderer.raw(pose, frame=index, time=0.1 * index))
        attempt = Follower()
        sys.setprofile(attempt)
        report = odometry(raw)
        sys.setprofile(None)
        if report.mapping is not None:
            follower = attempt
    return follower


def main() -> None:
    """Print the path."""
    found = keyframe_path()
    for name in found.files:
        print(name)
    print(f"\n{len(found.files)} files, {len(found.calls)} calls from one file into another")
    back = {(a, b) for a, b in found.calls if (b, a) in set(found.calls)}
    for a, b in sorted(back):
        if a < b:
            print(f"in both directions: {a} and {b}")


if __name__ == "__main__":
    main()
