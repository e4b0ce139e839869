# SPDX-License-Identifier: Apache-2.0
"""A lens that really moves in the middle of a recording: both halves are rendered, each with its own focus.

python -m benchmarks.focus_jump [--camera mini] [--scene table] [--seed 5] [--moved -10 0 10] [--keep FOLDER] …

``benchmarks.focus --jump`` changes measured depths alone. Here the raw images themselves are those of the moved lens:
they are magnified a little, too, and the micro-images lie elsewhere by hundredths of a pixel. The camera file is that
of the first half. ``--keep``: the renderings stay there and are used again.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.focus import MICRO, with_focus
from prism_vo import open_sequence, pipeline
from prism_vo.config import Config
from prism_vo.datasets.source import Stream
from prism_vo.evaluate.metrics import evaluate_trajectory
from prism_vo.optics.calibration import save_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate.cameras import preset_camera
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.write import simulate_sequence
from prism_vo.types import RawFrame


def rendered(scene: str, options: SimulateOptions, micrometres: float, folder: Path) -> Path:
    """The recording with another focus; one that is there already is left alone."""
    out = folder / f"{scene}_{options.camera}_{options.seed}_{micrometres:+g}"
    if out.is_dir():
        return out
    own = PlenopticCamera.from_calibration(preset_camera(options.camera))
    camera = out.with_suffix(".yaml")
    save_calibration(with_focus(own, micrometres / MICRO).calibration, camera)
    unfinished = out.with_suffix(".unfinished")
    simulate_sequence(scene, unfinished, replace(options, camera=str(camera)))
    return unfinished.rename(out)


def row(first: Path, second: Path, micrometres: float) -> str:
    """Track the first half of one recording and the second of another."""
    before, after = open_sequence(first), open_sequence(second)
    middle = len(before) // 2
    images = [np.asarray((before if k < middle else after)[k].image) for k in range(len(before))]
    times = np.asarray(before.times)
    frames = [RawFrame(k, t, image) for k, (t, image) in enumerate(zip(times.tolist(), images))]
    result = pipeline.run(Stream(frames, before.camera, first.name, white=before.white), Config())
    path, truth = result.trajectory, before.groundtruth
    said = [k for k, r in enumerate(result.reports) if r.mapping and r.mapping.focus is not None]
    said = [k for k in said if result.reports[k].mapping.focus.verdict != "as it was"]  # type: ignore[union-attr]
    begin = max(middle, said[0]) if said else middle
    parts = path, path[:middle], path[begin:]
    found = [evaluate_trajectory(part, truth, max_difference=0.02) for part in parts]
    scales = [f"{100 * (1 / each.scale - 1):+.2f}" for each in found]
    way = np.linalg.norm(np.diff(truth.positions[middle : begin + 1], axis=0), axis=1).sum() if said else 0.0
    told = f"after {begin - middle} frames, {way:.2f} m" if said else "–"
    cells = [first.name, f"{micrometres:+.0f}", told, *scales, f"{found[0].sim3.rmse_t_percent:.4f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table as it is made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--camera", default="mini")
    parser.add_argument("--scene", default="table")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--moved", nargs="+", type=float, default=[-10.0, 0.0, 10.0], help="µm")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    options = SimulateOptions(camera=given.camera, frames=given.frames, seed=given.seed, truth_every=0)
    print(
        "| recording | moved by, µm | said | path too long by, % | before, % | from there on, % | shape, % |"
    )
    print("|---" * 7 + "|")
    with tempfile.TemporaryDirectory() as temporary:
        keep = given.keep or Path(temporary)
        keep.mkdir(parents=True, exist_ok=True)
        exact = rendered(given.scene, options, 0.0, keep)
        for micrometres in given.moved:
            print(row(exact, rendered(given.scene, options, micrometres, keep), micrometres), flush=True)


if __name__ == "__main__":
    main()
