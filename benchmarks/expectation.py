# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.expectation``: how well the geometry of a recording determines a camera, without rendering it.

Points before a camera on a path, seen with the errors that observations of real recordings have; from the normal
equations follow σ of F and w_∞ when only images are used, and from a bias of the decoder that grows with virtual depth
what that does to them. Paths: the first 40 frames of a sweep, 40 of the whole sweep, and turntables. The last row
has the optics, depths and errors of the real one, with distortion and field to be found, too.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.batch.adjust import adjust, camera_prior
from prism_vo.batch.covariance import normal_covariance, variables_moved_by
from prism_vo.batch.numbers import FOCAL, CameraNumbers, W
from prism_vo.batch.priors import loose_prior
from prism_vo.batch.projection import project
from prism_vo.batch.records import BatchState, Observations
from prism_vo.simulate import CATALOGUE, plan

POINTS, KEYFRAMES = 400, 40
POSITION_SIGMA, SLOPE_SIGMA = 0.2, 2e-3  # raw px; of h: what is left over in rendered recordings
# what calibrations of the real turntable find: a 25-mm lens focused near, virtual depths from 2.7 to 4.3
REAL_OPTICS, REAL_DISTANCE, REAL_DEPTHS = (24.35, 24.48, 0.38), 0.43, (0.34, 0.52)
REAL_ERRORS, REAL_TURN = (0.4, 6e-3), 54.0  # raw px and of h; degrees
BIAS = 3e-4  # of h between the nearest and the farthest points: what the decoder is off by


@dataclass(frozen=True)
class Geometry:
    """A camera (f_L, b_L0, B in mm, pixels a side, pixel in mm), a path and the depths it sees (m)."""

    name: str
    optics: tuple[float, float, float]
    size: int
    pixel: float
    poses: Array  # (K, 4, 4) T_world_cam
    depths: tuple[float, float]
    errors: tuple[float, float] = (POSITION_SIGMA, SLOPE_SIGMA)
    is_real: bool = False  # distortion and field are not known beforehand


def main() -> int:
    """Print the table."""
    print(
        "| geometry | σ of F | σ of w_∞ | F, with the decoder's bias | w_∞, with it | path beside distance |"
    )
    print("|---|---|---|---|---|---|")
    for geometry in geometries():
        report(geometry)
    return 0


def geometries() -> list[Geometry]:
    """Optics of the calibration benchmark, and a turntable before three lenses."""
    out = []
    for name, scene, optics, depths in (
        ("16 mm", "table", (16.0, 15.0, 0.42), (0.66, 2.5)),
        ("35 mm", "table", (35.0, 34.1, 0.42), (0.74, 2.5)),
        ("array behind the focal plane", "03_books", (45.03, 45.2, 0.42), (1.0, 1.71)),
    ):
        sweep = plan(CATALOGUE[scene].path, None, 0).poses
        whole = sweep[np.linspace(0, len(sweep) - 1, KEYFRAMES).astype(int)]
        for words, poses in (("first 40 frames", sweep[:KEYFRAMES]), ("whole sweep", whole)):
            out.append(Geometry(f"{name}, {words}", optics, 640, 0.016, poses, depths))
    for focal in (16.0, 25.0, 35.0):
        for degrees in (34.0, 120.0):
            optics = (focal, focal - 0.86, 0.38)
            name = f"turntable of {degrees:g}°, {focal:g} mm"
            out.append(Geometry(name, optics, 2048, 0.0055, turntable(np.deg2rad(degrees)), (0.4, 0.6)))
    near = turntable(np.deg2rad(REAL_TURN), REAL_DISTANCE)
    name = f"turntable of {REAL_TURN:g}°, as the real one"
    out.append(Geometry(name, REAL_OPTICS, 2048, 0.0055, near, REAL_DEPTHS, REAL_ERRORS, is_real=True))
    return out


def turntable(angle: float, distance: float = 0.5) -> Array:
    """The camera as things on the table see it: on an arc, looking down on its middle by 20°."""
    out = []
    down = se3.exp(np.array([0.0, 0.0, 0.0, -0.35, 0.0, 0.0]))
    for turn in np.linspace(-angle / 2, angle / 2, 30):
        about = se3.exp(np.array([0.0, 0.0, 0.0, 0.0, turn, 0.0]))
        back = np.eye(4)
        back[2, 3] = -distance
        out.append(about @ down @ back)
    return np.array(out)


def report(geometry: Geometry) -> None:
    """One row."""
    truth, seen = world(geometry)
    size = (geometry.size, geometry.size)
    loose = loose_prior(truth.camera, size, "radial" if geometry.is_real else "none", geometry.is_real)
    found = adjust(truth, seen, camera_prior(loose.mean, loose.sigma), rounds=1)
    sigma = np.sqrt(np.diag(normal_covariance(found)))
    v = 1.0 / found.seen.slope
    low, high = np.percentile(v, [2, 98])
    moved = variables_moved_by(found, BIAS * np.clip((v - low) / (high - low), 0, 1))
    focal = truth.camera.values[FOCAL]
    centres = truth.centres
    across = np.linalg.norm(centres - centres.mean(0), axis=1).max() / np.mean(geometry.depths)
    f_sigma, f_moved = 100 * sigma[FOCAL] / focal, 100 * moved[FOCAL] / focal
    numbers = f"{f_sigma:.3f} % | {sigma[W]:.4f} | {f_moved:+.3f} % | {moved[W]:+.4f} | {100 * across:.0f} %"
    print(f"| {geometry.name} | {numbers} |", flush=True)


def world(geometry: Geometry) -> tuple[BatchState, Observations]:
    """Points in view of single keyframes, seen in all keyframes that have them in view."""
    f, b, B = geometry.optics
    focal = (b + B) / geometry.pixel
    middle = geometry.size / 2 - 0.5
    values = [focal, middle, middle, 0, 0, 0, 0, (b + B) * (f - b) / (B * f), 0, 0, 0, b * (b + B) / B * 1e-3]
    numbers = CameraNumbers(np.array(values, np.float64), geometry.pixel)
    rng = np.random.default_rng(0)
    to_camera = np.array([se3.inverse(pose) for pose in geometry.poses])
    host = rng.integers(0, len(to_camera), POINTS)
    rays = rng.uniform(-0.45, 0.45, (POINTS, 2)) * geometry.size / focal
    inverse = rng.uniform(1 / geometry.depths[1], 1 / geometry.depths[0], POINTS)
    state = BatchState(numbers, to_camera, geometry.poses[host], np.column_stack([rays, inverse]))
    count = len(to_camera)
    point, keyframe = np.repeat(np.arange(POINTS), count), np.tile(np.arange(count), POINTS)
    rows = len(point)
    position, slope = geometry.errors
    whitening = np.repeat(np.eye(2)[None] / position, rows, 0)
    blank = Observations(
        point, keyframe, np.zeros((rows, 2)), whitening, np.zeros(rows), np.full(rows, slope)
    )
    exact = project(state, blank)
    inside = ((exact.predicted[:, :2] > 0) & (exact.predicted[:, :2] < geometry.size - 1)).all(1)
    noise = rng.normal(size=(rows, 3)) * [position, position, slope]
    noisy = exact.predicted + noise
    seen = Observations(point, keyframe, noisy[:, :2], whitening, noisy[:, 2], np.full(rows, slope))
    return state, seen.take(inside & (exact.depth_sign > 0))


if __name__ == "__main__":
    sys.exit(main())
