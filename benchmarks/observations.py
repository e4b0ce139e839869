# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.observations RECORDING …``: which observations keep a calibration from the true camera?

Points are observed with the true camera and the true poses, so nothing but the observations can be wrong. Then places,
slopes or both are replaced by exact ones with errors of the stated σ, and each set is adjusted: what it finds, the σ
of the normal equations and the σ that counts each part of the scene once. Also printed: the decoder's error by virtual
depth, against points placed by parallax alone.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.batch.adjust import adjust, camera_prior, judged_by_point, spread, without_outliers
from prism_vo.batch.covariance import grouped_covariance, normal_covariance
from prism_vo.batch.numbers import A0, FOCAL, W
from prism_vo.batch.observe import in_full_view, observe
from prism_vo.batch.priors import loose_prior
from prism_vo.batch.projection import project
from prism_vo.batch.records import BatchState, Observations
from prism_vo.batch.schur import inverted_blocks
from prism_vo.batch.system import CameraPrior, linearize
from prism_vo.camera_fit.fit import groups
from prism_vo.camera_fit.frames import Chosen, images_of
from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.lightfield import Decoder

KEYFRAMES, ROUNDS, STEPS = 40, 3, 6
DEPTH_STEP, LEAST_INV_DEPTH = 0.5, 0.02  # of the inverse depth, or of a share of the median one
BINS = 8


def main() -> int:
    """Print both tables of every recording."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recordings", type=Path, nargs="+")
    for path in parser.parse_args().recordings:
        report(path)
    return 0


def report(path: Path) -> None:
    """What one recording's observations come to."""
    state, every, size = observed(path)
    exact, kept = with_exact_points(state, every)
    print(f"\n{path.name}\n")
    print("| observations | F | σ | σ, grouped | w_∞ | σ | σ, grouped |\n|---|---|---|---|---|---|---|")
    print(row("measured, at all virtual depths", exact, kept, size), flush=True)
    seen = in_full_view(state, every)
    exact, kept = with_exact_points(state, seen)
    random = np.random.default_rng(0)
    for name, places, slopes in (
        ("measured", False, False),
        ("exact places, measured slopes", True, False),
        ("measured places, exact slopes", False, True),
        ("exact, with errors of the stated σ", True, True),
    ):
        print(row(name, exact, with_errors(exact, kept, random, places, slopes), size), flush=True)
    print("\n| virtual depth | slopes off by (median), 10⁻⁴ | sightings |\n|---|---|---|")
    by_parallax, rows = with_exact_points(state, replace(every, slope=np.full(len(every), np.nan)))
    slope = {(p, k): s for p, k, s in zip(every.point, every.keyframe, every.slope)}
    measured = np.array([slope[p, k] for p, k in zip(rows.point, rows.keyframe)])
    expected = project(by_parallax, rows).predicted[:, 2]
    known = np.isfinite(measured)
    ends = np.percentile(1.0 / expected[known], np.linspace(0, 100, BINS + 1))
    for low, high in pairwise(ends):
        mine = known & (1.0 / expected >= low) & (1.0 / expected <= high)
        off = np.median(measured[mine] - expected[mine])
        print(f"| {low:.2f}–{high:.2f} | {1e4 * off:+.1f} | {mine.sum()} |")


def observed(path: Path) -> tuple[BatchState, Observations, tuple[int, int]]:
    """As the true camera on its true path sees it."""
    recording = open_sequence(path)
    truth = recording.groundtruth
    assert truth is not None
    chosen = np.unique(np.linspace(0, len(recording) - 1, KEYFRAMES).astype(int))
    poses = np.array([se3.inverse(truth.poses[k]) @ truth.poses[chosen[0]] for k in chosen])
    decoder = Decoder(recording.camera, replace(Config().decode, view="central"), white=recording.white)
    frames = Chosen([int(k) for k in chosen], poses)
    images = images_of(recording, frames, decoder, lambda words, done, of: None)
    found = observe(images, poses, recording.camera, decoder, least_virtual_depth=0.0)
    sensor = recording.camera.calibration.sensor
    return found.state, found.seen, (sensor.width, sensor.height)


def with_exact_points(state: BatchState, seen: Observations) -> tuple[BatchState, Observations]:
    """Points where camera and poses, both true, let them be; sightings without outliers, with σ that holds."""
    prior = CameraPrior.held(state.camera.values)
    for turn in range(ROUNDS):
        for _ in range(STEPS):
            at = linearize(state, seen, prior)
            step = -np.einsum("pij,pj->pi", inverted_blocks(at.h_points, 1e-9), at.b_points)
            q = np.abs(state.points[:, 2])
            limit = DEPTH_STEP * np.maximum(q, LEAST_INV_DEPTH * np.median(q))
            step[:, 2] = np.clip(step[:, 2], -limit, limit)
            state = replace(state, points=state.points + step)
        seen = seen.rescaled(*spread(at, seen))
        if turn + 1 < ROUNDS:
            seen = judged_by_point(state, without_outliers(state, seen))
    return state, seen


def with_errors(
    state: BatchState, seen: Observations, random: np.random.Generator, places: bool, slopes: bool
) -> Observations:
    """Places or slopes as they should be, with errors of the stated σ."""
    exact = project(state, seen).predicted
    if places:
        errors: Array = random.normal(size=(len(seen), 2, 1))
        seen = replace(seen, xy=exact[:, :2] + np.linalg.solve(seen.whitening, errors)[:, :, 0])
    if slopes:
        new = exact[:, 2] + seen.slope_sigma * random.normal(size=len(seen))
        seen = replace(seen, slope=np.where(np.isfinite(seen.slope), new, np.nan))
    return seen


def row(name: str, truth: BatchState, seen: Observations, size: tuple[int, int]) -> str:
    """Camera, poses and points adjusted together, from the truth."""
    values = truth.camera.values
    loose = loose_prior(truth.camera, size, "radial" if values[A0] else "none")
    found = adjust(truth, seen, camera_prior(loose.mean, loose.sigma), rounds=1)
    error = found.state.camera.values - values
    covariances = normal_covariance(found), grouped_covariance(found, groups(found))
    sigma, grouped = (np.sqrt(np.diag(c)) for c in covariances)
    focal = 100 / values[FOCAL]
    return (
        f"| {name} | {focal * error[FOCAL]:+.3f} % | {focal * sigma[FOCAL]:.3f} % | {focal * grouped[FOCAL]:.3f} % | "
        f"{error[W]:+.4f} | {sigma[W]:.4f} | {grouped[W]:.4f} |"
    )


if __name__ == "__main__":
    sys.exit(main())
