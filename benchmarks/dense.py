# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.dense RECORDING … [--results FOLDER]``: how true and how complete dense maps are.

Each recording is tracked, its dense map is made with the run's own poses and looked at from the frames whose true depth
is known (``depth/``), through the run's own pose of each. Counted are pixels with texture (a gradient of at least 8
grey levels a pixel); beside the map stands the plenoptic depth of that single frame. ``--results``: keep the runs there
and use those that are there.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from prism_vo import open_sequence, se3
from prism_vo.cloud import read_ply
from prism_vo.datasets.source import Sequence
from prism_vo.dense.densify import DenseMap
from prism_vo.dense_run import FinishedRun, write_dense
from prism_vo.evaluate.decoding import TEXTURE_GRADIENT, gradient_magnitude
from prism_vo.evaluate.surface import DepthErrors, depth_errors, seen_depth
from prism_vo.lightfield import Decoder
from prism_vo.pipeline import run
from prism_vo.results import KEYFRAMES, POINTS, TRAJECTORY
from prism_vo.trajectory import read_trajectory

COLUMNS = (
    "| recording | frame | depth of | median error mm | of the distance | bias | covered | right to 1 % "
    "| off by > 5 % |"
)


def line(name: str, frame: str, of: str, e: DepthErrors) -> str:
    """One row of the table."""
    return (
        f"| {name} | {frame} | {of} | {e.median_mm:.2f} | {e.median_percent:.3f} % | {e.bias_percent:+.3f} % "
        f"| {100 * e.covered:.1f} % | {100 * e.within_1:.1f} % | {100 * e.wrong:.1f} % |"
    )


def truths(folder: Path) -> dict[int, Path]:
    """Frames whose true depth is known."""
    return {int(path.stem): path for path in sorted((folder / "depth").glob("*.npy"))}


def compare(
    folder: Path, sequence: Sequence, found: DenseMap, results: Path
) -> list[tuple[DepthErrors, DepthErrors]]:
    """Single image and map at each frame with truth; prints a line each."""
    decoder, out = Decoder(sequence.camera, white=sequence.white), []
    path = read_trajectory(results / TRAJECTORY)
    for frame, file in truths(folder).items():
        at = int(np.argmin(np.abs(path.times - sequence.times[frame])))
        if abs(path.times[at] - sequence.times[frame]) > 1e-6:
            continue  # it was lost, or not part of the run
        truth, raw = np.load(file), sequence[frame]
        assert not sequence.is_decoded
        decoded = decoder.dense(raw)  # type: ignore[arg-type]
        textured = gradient_magnitude(decoded.image) >= TEXTURE_GRADIENT
        assert decoded.inv_virtual_depth is not None
        single = decoder.view.depth_of(decoder.view.inv_depth_from_virtual(decoded.inv_virtual_depth))
        single[~np.asarray(decoded.valid)] = np.nan
        view = FinishedRun.read(results).view(sequence, decoder.view)
        seen = seen_depth(found.mesh.vertices, found.mesh.triangles, se3.inverse(path.poses[at]), view)
        pair = depth_errors(single, truth, textured), depth_errors(seen, truth, textured)
        print(line(folder.name, str(frame), "single image", pair[0]))
        print(line(folder.name, str(frame), "dense map", pair[1]), flush=True)
        out.append(pair)
    return out


def measure(folder: Path, results: Path) -> None:
    """One recording."""
    sequence = open_sequence(folder)
    if not (results / KEYFRAMES).is_file():
        run(sequence, out=results)
    start, clock = time.perf_counter(), time.process_time()
    found = FinishedRun.read(results).dense(sequence)
    wall, spent = time.perf_counter() - start, time.process_time() - clock
    write_dense(found, results)
    pairs = compare(folder, sequence, found, results)
    if pairs:
        for k, of in enumerate(("single image", "dense map")):
            numbers = [
                [getattr(pair[k], name) for name in DepthErrors.__dataclass_fields__] for pair in pairs
            ]
            print(line(folder.name, "all", of, DepthErrors(*np.mean(numbers, 0).tolist())))
    keyframes = len(read_trajectory(results / KEYFRAMES))
    print(
        f"{folder.name}: {keyframes} keyframes, {len(found.mesh.vertices):,} points "
        f"({len(read_ply(results / POINTS)):,} of the odometry), {len(found.mesh.triangles):,} triangles, "
        f"{spent / keyframes:.2f} s of processor time a keyframe, {wall:.0f} s in all, compiling included",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    print(COLUMNS + "\n" + "|---" * 9 + "|")
    with tempfile.TemporaryDirectory() as scratch:
        for folder in arguments.recordings:
            measure(folder, (arguments.results or Path(scratch)) / folder.name)


if __name__ == "__main__":
    main()
