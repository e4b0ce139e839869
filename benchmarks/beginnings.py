# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.beginnings [--scenes room table] [--seeds 3] [--every 5] [--frames 25] [--keep FOLDER]``

Clean frames of the small recordings that ``benchmarks.faults`` puts faults into, begun at every fifth frame: some begin
before a bare wall, where depths of one image are coarse and going aside looks like turning. Printed are those that end
wrong by more than 0.3 % of the path, lose a frame, or end with another exit code than 0.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.faults import SCENES, Recording, segment_error, simulated
from prism_vo import Config, pipeline
from prism_vo.datasets.source import Stream
from prism_vo.types import RawFrame

LATEST = 40  # frame of sixty to begin with
LARGEST_ERROR = 0.3  # %


def begun_at(recording: Recording, first: int, frames: int) -> tuple[float, str]:
    """Error in per cent of the path, and what is wrong with the run; nothing: empty."""
    assert recording.poses is not None
    part = slice(first, first + frames)
    images, poses = recording.clean.images[part], recording.poses[part]
    times = np.arange(len(images)) / recording.rate
    raws = [RawFrame(n, float(times[n]), image) for n, image in enumerate(images)]
    result = pipeline.run(Stream(raws, recording.camera, recording.name, white=recording.white), Config())
    error = segment_error(result, times, poses)
    if error <= LARGEST_ERROR and result.lost == 0 and result.exit_code == 0:
        return error, ""
    return error, f"{error:.3f} %, {result.lost} lost, exit code {result.exit_code}"


def main() -> int:
    """Print what is wrong, and how many are right."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", nargs="+", default=list(SCENES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--frames", type=int, default=25)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    errors, wrong = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        for scene in given.scenes:
            for seed in range(given.seeds):
                recording = simulated(scene, seed, given.keep or Path(temporary))
                for first in range(0, LATEST, given.every):
                    error, words = begun_at(recording, first, given.frames)
                    errors.append(error)
                    wrong += bool(words)
                    if words:
                        print(f"{recording.name} from frame {first}: {words}", flush=True)
    print(
        f"{len(errors) - wrong} of {len(errors)} as they should be; error {np.median(errors):.3f} % in the middle"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
