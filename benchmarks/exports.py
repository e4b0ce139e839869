# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.exports RESULTS …``: how well exported poses, points and images agree, as COLMAP sees them.

Points are followed by their patches in the exported images; the distance of what is found from the projection of the
point is the reprojection error. Where pycolmap is installed it reads the model back, adjusts all of it (focal lengths,
too) by what was seen, and the last columns say how far that moves the cameras, after a similarity.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from prism_vo.arrays import Array
from prism_vo.evaluate.metrics import evaluate_trajectory
from prism_vo.export.colmap import Model, write_colmap
from prism_vo.export.finished_run import FinishedRun
from prism_vo.export.pictures import pictures
from prism_vo.trajectory import Trajectory

WIDTH = 11


def row(*cells: object) -> str:
    """One line of the table."""
    return "".join(f"{cell:>{WIDTH}}" for cell in cells)


def measured(model: Model) -> list[str]:
    """Of the positions found by following patches."""
    error = model.seen.error[model.seen.followed]
    return [
        str(model.images),
        str(model.points),
        str(len(error)),
        f"{np.median(error):.3f}",
        f"{np.sqrt((error**2).mean()):.3f}",
        f"{100 * (error <= 0.5).mean():.0f} %",
    ]


def adjusted(folder: Path) -> list[str]:
    """Mean error that pycolmap reads back, and what its bundle adjustment makes of the model."""
    try:
        import pycolmap
    except ImportError:
        return ["–", "–", "–"]
    model = pycolmap.Reconstruction(str(folder))
    mean, before = model.compute_mean_reprojection_error(), centres(model)
    focal = next(iter(model.cameras.values())).params[0]
    options = pycolmap.BundleAdjustmentOptions()
    options.refine_principal_point = False
    pycolmap.bundle_adjustment(model, options)
    times = np.arange(len(before), dtype=np.float64)
    after = evaluate_trajectory(trajectory(times, centres(model)), trajectory(times, before))
    found = next(iter(model.cameras.values())).params[0]
    return [f"{mean:.3f}", f"{1e3 * after.sim3.rmse_t:.2f}", f"{100 * (found / focal - 1):+.2f} %"]


def centres(model: Any) -> Array:
    """Of the cameras, by their names."""
    return np.array([i.projection_center() for i in sorted(model.images.values(), key=lambda i: i.name)])


def trajectory(times: Array, positions: Array) -> Trajectory:
    """Positions as poses that are not turned."""
    poses = np.tile(np.eye(4), (len(times), 1, 1))
    poses[:, :3, 3] = positions
    return Trajectory(times, poses)


def main() -> None:
    """One line a results folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", nargs="+", type=Path)
    print(row("run", "images", "points", "seen again", "median px", "rms px", "≤ 0.5 px"), end="")
    print(row("COLMAP px", "moved mm", "focal"))
    for folder in parser.parse_args().results:
        run = FinishedRun.read(folder)
        with tempfile.TemporaryDirectory() as work:
            first = run.worlds()[0]
            model = write_colmap(run, [(first, pictures(first, first.keyframes))], Path(work) / "colmap")[0]
            cells = [*measured(model), *adjusted(Path(work) / "colmap" / "sparse" / "0")]
        print(row(run.name[: WIDTH - 1], *cells), flush=True)


if __name__ == "__main__":
    main()
