# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.odometry``: accuracy from oracle stages to the raw image, ablation, memory.

Without arguments it simulates its own short sweep; ``--recording FOLDER`` uses a recording with ground truth. With
``--gate`` the figures of the simulated sweep are compared with ``baseline.json`` and the exit code says whether any
became worse by half (``benchmarks.speed`` compares times). ``--update`` writes the baseline.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from prism_vo import pipeline, se3
from prism_vo.arrays import Floats
from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.datasets.source import Sequence
from prism_vo.evaluate.metrics import TrajectoryMetrics, evaluate_trajectory
from prism_vo.lightfield import Decoder
from prism_vo.odometry import Odometry
from prism_vo.optics.camera import FocusedView, PlenopticCamera
from prism_vo.sensor import Sensor
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.render import ViewTruth
from prism_vo.simulate.write import Simulation, simulate_sequence
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame, PointDepth

BASELINE = Path(__file__).with_name("baseline.json")
FRAMES = 40
LARGER = 1.6  # 640² → 1024² raw pixels
HEADER = (
    "| images | depth | variant | ATE % (SE(3)) | rotation ° | scale error % | shape % (Sim(3)) | lost |\n"
    + "|---" * 8
    + "|"
)


class ExactSensor(Sensor):
    """Depth looked up in exact maps, with Gaussian noise of a given σ(ρ_v); images are given."""

    def __init__(self, view: FocusedView, depth: list[Floats], sigma: float) -> None:
        self.view, self._depth, self._sigma = view, depth, sigma
        self._rng = np.random.default_rng(3)

    def focus(self, frame: DecodedFrame) -> DecodedFrame:
        """The frame itself."""
        return frame

    def measure(self, frame: DecodedFrame, points: Floats) -> PointDepth:
        """Exact ρ_v plus noise."""
        z = self._depth[frame.index][points[:, 1].astype(int), points[:, 0].astype(int)].astype(np.float64)
        valid = np.isfinite(z)
        rho = self.view.inv_virtual_depth(self.view.inv_depth_of(np.where(valid, z, 1.0)))
        rho = rho + self._sigma * self._rng.normal(size=len(rho))
        variance = np.where(valid, max(self._sigma, 2e-4) ** 2, np.inf)
        return PointDepth(np.where(valid, rho, np.nan).astype(np.float32), variance.astype(np.float32), valid)


def row(images: str, depth: str, variant: str, m: TrajectoryMetrics, lost: int) -> str:
    """One line of the accuracy table."""
    errors = (m.se3.rmse_t_percent, m.se3.rmse_r_deg, 100 * (m.scale - 1), m.sim3.rmse_t_percent)
    figures = " | ".join(f"{e:+.3f}" if k == 2 else f"{e:.4f}" for k, e in enumerate(errors))
    return f"| {images} | {depth} | {variant} | {figures} | {lost} |"


def run_recording(sequence: Sequence, config: Config) -> pipeline.RunResult:
    """The whole chain, single-threaded decoding ahead switched off so that stage times add up."""
    return pipeline.run(sequence, config, threads=False)


def oracle_stage(
    simulation: Simulation, truths: list[ViewTruth], sigma: float, noise: float
) -> tuple[TrajectoryMetrics, int]:
    """Exact totally focused images (plus noise) and exact depth (plus noise): what the odometry alone loses."""
    camera = PlenopticCamera.from_calibration(simulation.calibration)
    view = camera.view("central")
    rng = np.random.default_rng(9)
    odometry = Odometry(camera, Config(), ExactSensor(view, [t.depth for t in truths], sigma))
    lost = 0
    for i, truth in enumerate(truths):
        image = (truth.image + noise * rng.normal(size=truth.image.shape)).astype(np.float32)
        lost += odometry(DecodedFrame(i, simulation.time(i), view, image, None, None, None)).status == "lost"
    odometry.finish()
    times = np.array([simulation.time(i) for i in range(len(truths))])
    return evaluate_trajectory(odometry.trajectory(), Trajectory(times, simulation.track.poses)), lost


def oracles(simulation: Simulation | None) -> tuple[Simulation, ...]:
    """The same sweep at 512² (the size of the independent recording) and as it is decoded below."""
    if simulation is None:
        return ()
    larger = replace(simulation.options, scale=LARGER)
    return Simulation.prepare(simulation.name, larger), simulation


def accuracy(sequence: Sequence, simulation: Simulation | None) -> dict[str, float]:
    """Print the table; return the figures that the gate compares."""
    print(HEADER)
    for oracle in oracles(simulation):
        renderer = oracle.renderer()
        truths = [renderer.view_truth(pose, "central") for pose in oracle.track.poses]
        for sigma, noise in ((0.0, 0.0), (0.0025, 0.0), (0.0025, 2.0)):
            metrics, lost = oracle_stage(oracle, truths, sigma, noise)
            images = f"exact, {len(truths[0].image)}²" + (f" + noise {noise:g}" if noise else "")
            print(
                row(images, "exact" if sigma == 0 else f"exact + noise {sigma:g}", "full", metrics, lost),
                flush=True,
            )
    figures: dict[str, float] = {}
    for variant in ("full", "plenoptic", "pinhole"):
        result = run_recording(sequence, replace(Config(), variant=variant))
        if result.metrics is None:
            print(f"| decoded | measured | {variant} | {result.metrics_refusal} |")
            continue
        print(row("decoded", "measured", variant, result.metrics, result.lost), flush=True)
        if variant == "full":
            m = result.metrics
            assert sequence.groundtruth is not None
            figures = {
                "ate_percent": m.se3.rmse_t_percent,
                "rotation_deg": rotation_from_start(result.trajectory, sequence.groundtruth),
                "scale_error_percent": 100 * m.scale_error,
                "shape_percent": m.sim3.rmse_t_percent,
                "lost": result.lost,
            }
    return figures


def rotation_from_start(estimate: Trajectory, truth: Trajectory) -> float:
    """Root mean square angle (degrees) by which poses are turned, seen from the first one.

    After an alignment by positions the angle is that of the alignment: this path is 46 mm long (rms), but 12 and 5 mm
    wide, and 0.07 mm of position turn it by ten times what the poses themselves are turned.
    """
    nearest = np.abs(truth.times[None] - estimate.times[:, None]).argmin(1)
    found, true = (se3.inverse(t[0]) @ t for t in (estimate.poses, truth.poses[nearest]))
    apart = np.swapaxes(true[:, :3, :3], 1, 2) @ found[:, :3, :3]
    angles = np.arccos(np.clip((np.trace(apart, axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0))
    return float(np.degrees(np.sqrt((angles**2).mean())))


def eta_ablation(sequence: Sequence) -> None:
    """Fixed η against the adaptive one."""
    print("\n| η | ATE % (SE(3)) | scale error % | shape % (Sim(3)) |\n|---|---|---|---|")
    for mode, factor in (("fixed", 0.25), ("fixed", 1.0), ("fixed", 4.0), ("adaptive", 1.0)):
        window = replace(Config().window, eta=mode, eta_factor=factor)
        m = run_recording(sequence, replace(Config(), window=window)).metrics
        if m is not None:
            name = "adaptive" if mode == "adaptive" else f"{factor:g} η0"
            print(
                f"| {name} | {m.se3.rmse_t_percent:.4f} | {100 * (m.scale - 1):+.3f} | {m.sim3.rmse_t_percent:.4f} |",
                flush=True,
            )


def memory(sequence: Sequence, frames: int) -> None:
    """Peak memory at intervals of a long run: the recording played to and fro."""
    odometry = Odometry(
        sequence.camera, Config(), Decoder(sequence.camera, Config().decode, white=sequence.white)
    )
    raws = [sequence[i] for i in range(len(sequence))]
    order = [*range(len(raws)), *range(len(raws) - 2, 0, -1)]
    print("\n| frames | peak memory MB |\n|---|---|")
    for n in range(frames):
        raw = raws[order[n % len(order)]]
        odometry(replace(raw, index=n, time=0.1 * n))
        if (n + 1) in (100, frames // 2, frames):
            print(
                f"| {n + 1} | {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} |", flush=True
            )


def gate(figures: dict[str, float]) -> bool:
    """Whether no figure is worse than the baseline by half (with a floor below which differences are noise)."""
    floors = {
        "ate_percent": 0.05,
        "rotation_deg": 0.05,
        "scale_error_percent": 0.3,
        "shape_percent": 0.03,
        "lost": 0,
    }
    worst = json.loads(BASELINE.read_text())["figures"]
    ok = True
    for name, value in figures.items():
        limit = max(1.5 * worst[name], worst[name] + floors[name] / 2)
        good = value <= limit
        ok = ok and good
        print(
            f"{'ok  ' if good else 'WORSE'} {name}: {value:.4f} (baseline {worst[name]:.4f}, limit {limit:.4f})"
        )
    return ok


def main() -> int:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recording", type=Path)
    parser.add_argument("--eta", action="store_true", help="fixed against adaptive η")
    parser.add_argument("--memory", type=int, metavar="FRAMES", help="peak memory over so many frames")
    parser.add_argument("--no-accuracy", action="store_true")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        simulation = None
        path = args.recording
        if path is None:
            options = SimulateOptions(camera="small", frames=FRAMES)
            simulation = Simulation.prepare("table", options)
            path = Path(folder) / "table"
            simulate_sequence("table", path, options)
        sequence = open_sequence(path)
        figures = {} if args.no_accuracy else accuracy(sequence, simulation)
        if args.eta:
            eta_ablation(sequence)
        if args.memory:
            memory(sequence, args.memory)
    if args.update:
        BASELINE.write_text(
            json.dumps({"sweep": "table, small camera", "frames": FRAMES, "figures": figures}, indent=2)
            + "\n"
        )
    return 0 if not args.gate or gate(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
