# SPDX-License-Identifier: Apache-2.0
"""Is what a run says about its own errors true? Recordings of many scenes, with drawn noise and calibration errors.

python -m benchmarks.consistency [--scenes table seq_001 …] [--draws 7] [--frames 40] [--camera small] [--plot FILE]

Each scene is rendered once without noise, with so many rays that pixels gather all their light; every draw adds noise
of its own and gives the run a camera file whose focus is wrong by a draw from the σ that the file states. Printed: NEES
of position and rotation (3 is ideal) against the first frame at a quarter, half, three quarters and the end of each
recording; how often the true scale and the true focus lie within 1 and 2 σ (68 and 95 % are ideal), and map points
within 1 and 2 of their σ.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prism_vo import Config, Odometry, se3
from prism_vo.arrays import Array, Floats
from prism_vo.evaluate.metrics import evaluate_trajectory
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.focus import FocusModel
from prism_vo.simulate import CATALOGUE, Renderer, SensorModel, build_scene, plan, preset_camera
from prism_vo.simulate.sensor import develop
from prism_vo.trajectory import Trajectory
from prism_vo.types import RawFrame

SCENES = (
    *("table", "seq_001", "seq_002", "seq_003", "seq_004", "seq_006", "seq_008", "seq_009"),
    *("seq_005", "seq_007", "seq_010", "seq_011"),
)
STATED_SIGMA = 2e-3  # mm of focus, as a good calibration would state
QUARTERS = (0.25, 0.5, 0.75, 1.0)
STEP = 0.1  # s


@dataclass(frozen=True)
class Outcome:
    """Errors of one recording in units of what was stated."""

    position: Array  # (4,) NEES at the quarters
    rotation: Array  # (4,)
    scale: float  # in σ
    focus: float  # in σ
    points: Array  # (N,) in σ


def recordings(
    scene: str, camera: Calibration, frames: int, seed: int, samples: int
) -> tuple[list[Floats], Trajectory, Renderer]:
    """Light on the sensor without noise, and the true path."""
    renderer = Renderer(camera, build_scene(scene, seed=seed), samples=samples, threads=2, seed=seed)
    poses = plan(CATALOGUE[scene].path, frames=None, seed=seed).poses[:frames]
    lights = [renderer.irradiance(pose, frame=k) for k, pose in enumerate(poses)]
    return lights, Trajectory(STEP * np.arange(len(lights)), np.array(poses)), renderer


def wrong_file(camera: Calibration, shift: float) -> PlenopticCamera:
    """A file whose focus is wrong by −shift (mm) and which states how well it knows it."""
    exact = PlenopticCamera.from_calibration(camera)
    model = FocusModel.of(exact.view("central"), exact)
    return PlenopticCamera.from_calibration(model.refined(-shift, STATED_SIGMA))


def judge(lights: list[Floats], truth: Trajectory, renderer: Renderer, draw: int, points: bool) -> Outcome:
    """Track one draw of noise and calibration error."""
    rng = np.random.default_rng((draw, 77))
    shift, sensor = float(rng.normal(0.0, STATED_SIGMA)), SensorModel()
    camera = wrong_file(renderer.calibration, shift)
    odometry = Odometry(camera, Config(), white=renderer.white())
    scale_sigma = np.nan
    for k, light in enumerate(lights):
        image = develop(light, sensor, renderer.calibration.response.gamma, 1.0, (1000 + draw, k))
        report = odometry(RawFrame(k, float(truth.times[k]), image))
        scale_sigma = scale_sigma if report.mapping is None else report.mapping.scale_sigma
    odometry.finish()
    seen = odometry.window.focus_report()
    assert seen is not None
    found = evaluate_trajectory(odometry.trajectory(), truth, max_difference=0.5 * STEP)
    position, rotation = nees(odometry, truth)
    return Outcome(
        position,
        rotation,
        float(np.log(found.scale)) / scale_sigma,
        (seen.shift - shift) / seen.sigma,
        point_errors(odometry, truth, renderer) if points else np.zeros(0),
    )


def nees(odometry: Odometry, truth: Trajectory) -> tuple[Array, Array]:
    """Squared errors over covariances of the poses at the quarters, relative to the first frame."""
    ours, covariances = odometry.trajectory(), odometry.pose_covariances()
    to_ours = ours.poses[0] @ se3.inverse(truth.poses[0])
    position, rotation = [], []
    for share in QUARTERS:
        n = min(round(share * len(truth)), len(ours)) - 1
        true = to_ours @ truth.poses[int(np.argmin(np.abs(truth.times - ours.times[n])))]
        e_p = ours.poses[n][:3, 3] - true[:3, 3]
        e_r = se3.so3_log(ours.poses[n][:3, :3] @ true[:3, :3].T)
        c = covariances[n]
        position.append(float(e_p @ np.linalg.solve(c[:3, :3], e_p)))
        rotation.append(float(e_r @ np.linalg.solve(c[3:, 3:], e_r)))
    return np.array(position), np.array(rotation)


def point_errors(odometry: Odometry, truth: Trajectory, renderer: Renderer) -> Array:
    """Error of inverse depth over its σ, of finished points away from depth edges."""
    from prism_vo.evaluate.decoding import near_depth_edge

    view, out = odometry.view, []
    times = odometry.map.keyframe_times
    for part in odometry.map.points:
        for host in np.unique(part.keyframe):
            index = int(np.argmin(np.abs(truth.times - times[int(host)])))
            depth = renderer.view_truth(truth.poses[index], "central").depth
            mine = part.keyframe == host
            x, y = part.u[mine].astype(int), part.v[mine].astype(int)
            usable = ~near_depth_edge(depth)[y, x] & np.isfinite(depth[y, x])
            error = part.inv_depth[mine] - view.inv_depth_of(depth[y, x])
            out.append((error / np.sqrt(part.variance[mine]))[usable])
    return np.concatenate(out) if out else np.zeros(0)


def outcomes(
    scenes: list[str], draws: int, frames: int, camera: Calibration, samples: int
) -> Iterator[tuple[str, Outcome]]:
    """All recordings, one after the other."""
    for number, scene in enumerate(scenes):
        lights, truth, renderer = recordings(scene, camera, frames, number, samples)
        for draw in range(draws):
            yield scene, judge(lights, truth, renderer, 100 * number + draw, points=draw == 0)


def inside(values: Array, sigmas: float) -> str:
    """Share of standardised errors within so many σ."""
    return f"{100 * float(np.mean(np.abs(values) < sigmas)):.0f} %"


def table(found: list[tuple[str, Outcome]]) -> str:
    """The figures of all recordings."""
    position, rotation = (np.array([getattr(o, name) for _, o in found]) for name in ("position", "rotation"))
    lines = [f"{len(found)} recordings", "", "| | at ¼ | ½ | ¾ | the end |", "|---|---|---|---|---|"]
    for name, values in (("position", position), ("rotation", rotation)):
        lines.append(f"| NEES of {name}, mean | " + " | ".join(f"{v:.1f}" for v in values.mean(0)) + " |")
        lines.append("| median (ideal 2.4) | " + " | ".join(f"{v:.1f}" for v in np.median(values, 0)) + " |")
    lines += ["", "| | within 1 σ | within 2 σ |", "|---|---|---|"]
    scale, focus = (np.array([getattr(o, name) for _, o in found]) for name in ("scale", "focus"))
    points = np.concatenate([o.points for _, o in found])
    for name, values in (("scale", scale), ("focus", focus), (f"{len(points)} map points", points)):
        lines.append(f"| {name} | {inside(values, 1.0)} | {inside(values, 2.0)} |")
    return "\n".join(lines)


def draw_plot(found: list[tuple[str, Outcome]], path: Path) -> None:
    """NEES of every recording at its end, by scene, with the ideal."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    scenes = list(dict.fromkeys(name for name, _ in found))
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
    for axis, name in zip(axes, ("position", "rotation")):
        for n, scene in enumerate(scenes):
            values = [getattr(o, name)[-1] for s, o in found if s == scene]
            axis.plot(np.full(len(values), n), values, "o", ms=4, alpha=0.6)
        axis.axhline(3.0, color="black", lw=1)
        axis.set(yscale="log", title=f"NEES of {name} at the end", xticks=range(len(scenes)))
        axis.set_xticklabels(scenes, rotation=30, ha="right", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Print a line a recording, then the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", nargs="+", default=list(SCENES), choices=list(CATALOGUE))
    parser.add_argument("--draws", type=int, default=7)
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--camera", default="small")
    parser.add_argument("--samples", type=int, default=16, help="rays a raw pixel")
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    found = []
    camera = preset_camera(arguments.camera)
    for scene, outcome in outcomes(
        arguments.scenes, arguments.draws, arguments.frames, camera, arguments.samples
    ):
        found.append((scene, outcome))
        print(
            f"{scene:10s} NEES {outcome.position[-1]:6.1f} {outcome.rotation[-1]:6.1f}  "
            f"scale {outcome.scale:+.1f} σ  focus {outcome.focus:+.1f} σ",
            flush=True,
        )
    print(table(found))
    if arguments.plot is not None:
        draw_plot(found, arguments.plot)


if __name__ == "__main__":
    main()
