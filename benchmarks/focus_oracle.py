# SPDX-License-Identifier: Apache-2.0
"""What could images know of the focus? Measured depth against exact distances that are known up to one factor.

python -m benchmarks.focus_oracle RECORDING … [--step 8]

RECORDING: folders with depth/. In every frame with a depth map ρ_v is measured at pixels ``--step`` apart (windows do
not overlap then), and the shift δ of the focus and one factor of all distances are fitted to it, as the odometry would
with perfect parallax. σ is that of independent measurements with their σ at the true depth. The last column: by how
much one micrometre changes the factor if the focus is believed instead (weighted as scale is).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from prism_vo import open_sequence
from prism_vo.arrays import Array
from prism_vo.evaluate.decoding import near_depth_edge
from prism_vo.lightfield import Decoder
from prism_vo.optics.focus import FocusModel

MICRO = 1e3  # µm per mm
STEP = 1e-4  # mm and relative, of numeric derivatives
LEAST_GRADIENT = 8.0  # grey levels: textured pixels
OUTLIER_SIGMAS = 3.0
ROUNDS = 4


def equations(decoder: Decoder, folder: Path, frame: int, step: int) -> tuple[Array, Array]:
    """Columns by (δ in µm, relative factor) and the error, in σ."""
    sequence = open_sequence(folder)
    depth = np.load(folder / "depth" / f"{frame:06d}.npy").astype(np.float64)
    found = decoder.dense(sequence[frame])
    assert found.valid is not None and found.inv_virtual_depth is not None and found.variance is not None
    gradient = np.hypot(*np.gradient(found.image.astype(np.float64)))
    use = found.valid & ~near_depth_edge(depth) & np.isfinite(depth) & (gradient > LEAST_GRADIENT)
    pixels = np.zeros_like(use)
    pixels[step // 2 :: step, step // 2 :: step] = True
    use &= pixels
    view, model = decoder.view, FocusModel(decoder.view, decoder.camera)
    q = view.inv_depth_of(depth[use])
    truth, measured = view.inv_virtual_depth(q), found.inv_virtual_depth[use].astype(np.float64)
    # σ grows as h²: what came out too near states a smaller one than it has at the truth
    longer = (view.alpha + view.beta * truth) / (view.alpha + view.beta * measured)
    sigma = np.sqrt(found.variance[use].astype(np.float64)) * longer**2
    moved = model.at(STEP).inv_virtual_depth(q) - truth
    scaled = view.inv_virtual_depth(view.inv_depth_of(depth[use] * (1.0 + STEP))) - truth
    columns = np.stack([moved / (STEP * MICRO), scaled / STEP], -1) / sigma[:, None]
    return columns, (measured - truth) / sigma


def fit(columns: Array, error: Array) -> tuple[Array, Array]:
    """Solution and covariance, without gross errors."""
    use = np.ones(len(error), bool)
    for _ in range(ROUNDS):
        normal = columns[use].T @ columns[use]
        answer = np.linalg.solve(normal, columns[use].T @ error[use])
        use = np.abs(error - columns @ answer) < OUTLIER_SIGMAS
    return answer, np.linalg.inv(normal)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--step", type=int, default=8)
    args = parser.parse_args()
    print(
        "| recording | frames | points | focus by frames, µm | σ of a frame, µm | all, µm | scale, % a µm |"
    )
    print("|---|---|---|---|---|---|---|")
    for folder in args.recordings:
        sequence = open_sequence(folder)
        decoder = Decoder(sequence.camera, white=sequence.white)
        frames = [int(path.stem) for path in sorted((folder / "depth").glob("*.npy"))]
        parts = [equations(decoder, folder, frame, args.step) for frame in frames]
        fits = [fit(*part) for part in parts]
        columns, error = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        answer, covariance = fit(columns, error)
        each = ", ".join(f"{a[0]:+.1f}" for a, _ in fits)
        sigma = np.mean([np.sqrt(c[0, 0]) for _, c in fits])
        per_micrometre = 100 * (columns[:, 0] @ columns[:, 1]) / (columns[:, 1] @ columns[:, 1])
        print(
            f"| {folder.name} | {len(frames)} | {len(error)} | {each} | {sigma:.2f} "
            f"| {answer[0]:+.2f} ± {np.sqrt(covariance[0, 0]):.2f} | {abs(per_micrometre):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
