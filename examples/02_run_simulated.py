# SPDX-License-Identifier: Apache-2.0
"""Simulate a recording, track it frame by frame, compare with the truth.

python examples/02_run_simulated.py [--frames N] [--out FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

from prism_vo import Odometry, evaluate_trajectory, open_sequence
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.write import simulate_sequence


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args(arguments)
    folder = options.out or Path(tempfile.mkdtemp()) / "table"
    simulate_sequence("table", folder, SimulateOptions(camera="mini", frames=options.frames, truth_every=0))

    sequence = open_sequence(folder)
    vo = Odometry(sequence.camera, white=sequence.white)
    for frame in sequence:
        report = vo(frame)
        x, y, z = report.T_world_cam[:3, 3]
        print(f"frame {report.index}: {report.status:9s} camera at ({x:+.4f}, {y:+.4f}, {z:+.4f}) m")

    metrics = evaluate_trajectory(vo.trajectory(), sequence.groundtruth)
    error = metrics.se3  # SE(3): position and orientation are aligned, the scale is not
    print(f"error {1e3 * error.rmse_t:.2f} mm = {error.rmse_t_percent:.3f} % of {metrics.path_length:.3f} m")
    print(f"scale error {100 * metrics.scale_error:.2f} %, map of {len(vo.cloud())} points")


if __name__ == "__main__":
    main()
