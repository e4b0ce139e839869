# SPDX-License-Identifier: Apache-2.0
"""What the report's pictures need from disk: recordings, and the files jobs left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.baselines.alignment import to_view
from prism_vo.baselines.depth_filter import observe, without_edges
from prism_vo.baselines.focused import focused_frames, metric_depth, view_of
from prism_vo.baselines.spo import light_field_depth
from prism_vo.bench.methods import PRISM_OUTPUT
from prism_vo.bench.plan import BenchSequence
from prism_vo.bench.results import E_ALIGN, Record, Results
from prism_vo.bench.scene_figures import DepthView, LoopEnds, map_points
from prism_vo.bounded.json_text import read_json_lines
from prism_vo.datasets import Sequence, open_sequence
from prism_vo.datasets.images import read_image, read_map
from prism_vo.errors import PrismError
from prism_vo.evaluate.metrics import TrajectoryMetrics, evaluate_trajectory
from prism_vo.trajectory import Trajectory, read_trajectory

RGBD_UNITS = 5000.0  # of the simulator's depth camera, per metre
FRAMES_AN_END = 8
IMAGE_NOISE = 3.0  # grey values, with interpolation
DRAWN_METHODS = ("prism", "spo")


def read_stats(results: Results, method: str, sequence: str) -> list[dict[str, Any]]:
    """Per-frame statistics of run 0 of our odometry; empty if there are none."""
    for record in results.select(method, sequence):
        path = Path(record["job"]["folder"]) / PRISM_OUTPUT / "stats.jsonl"
        if record["job"]["run"] == 0 and path.is_file():
            return list(read_json_lines(path))
    return []


def _first_run(results: Results, method: str, sequence: str) -> Record | None:
    records = [r for r in results.select(method, sequence) if r["job"]["run"] == 0 and r["status"] == "ok"]
    return records[0] if records else None


def _estimate(record: Record) -> Trajectory:
    return read_trajectory(Path(record["job"]["folder"]) / "trajectory.txt")


def _measured(record: Record, truth: Trajectory) -> tuple[Trajectory, TrajectoryMetrics]:
    estimate = _estimate(record)
    return estimate, evaluate_trajectory(estimate, truth, segment_share=record["job"]["segment_share"])


def loop_ends(
    results: Results, sequences: tuple[BenchSequence, ...]
) -> tuple[str, dict[str, LoopEnds], Array] | None:
    """Both ends of the loop with the middle drift (neither the best nor the worst), by each drawn method."""
    methods = [m for m in DRAWN_METHODS if m in results.methods]
    candidates = [s for s in sequences if methods and _first_run(results, methods[0], s.name) is not None]
    if not candidates:
        return None
    drift = [min(results.values(E_ALIGN, methods[0], s.name)) for s in candidates]
    chosen = candidates[int(np.argsort(drift, kind="stable")[len(drift) // 2])]
    recording = open_sequence(chosen.path)
    truth = recording.groundtruth
    assert truth is not None
    ends: dict[str, LoopEnds] = {}
    for method in methods:
        record = _first_run(results, method, chosen.name)
        if record is None:
            continue
        estimate, metrics = _measured(record, truth)
        if metrics.drift is None:
            continue
        moved = metrics.drift.start.apply(estimate.positions)
        clouds = [metrics.drift.start.apply(_cloud(recording, estimate, part)) for part in (1, -1)]
        ends[method] = LoopEnds(clouds[0], clouds[1], moved)
    return (chosen.name, ends, truth.positions) if ends else None


def _cloud(recording: Sequence, path: Trajectory, part: int) -> Array:
    """Points seen at one end (1: start, -1: end) of an estimated path, in the estimate's world.

    Light-field depth of one frame, sharpened by motion stereo in its neighbours with the estimated poses: single
    light fields are too uncertain beyond a metre or two to show a drift of centimetres.
    """
    steps = np.unique(np.linspace(0, max(1, len(path) // 5), FRAMES_AN_END).astype(int))
    chosen = steps if part > 0 else len(path) - 1 - steps
    frames = [int(np.argmin(np.abs(recording.times - path.times[k]))) for k in chosen]
    items = list(focused_frames(recording, indices=frames))
    view = items[0].frame.view
    clouds = []
    for reference in (0, FRAMES_AN_END // 2):
        depth = without_edges(light_field_depth(items[reference].measure()))
        image = items[reference].frame.image
        for k, item in zip(chosen, items):
            motion = se3.inverse(path.poses[k]) @ path.poses[chosen[reference]]
            if k != chosen[reference]:
                depth = observe(depth, image, item.frame.image, to_view(motion, view), view, IMAGE_NOISE)
        clouds.append(map_points(depth, view, path.poses[chosen[reference]]))
    return np.concatenate(clouds)


def depth_view(sequences: tuple[BenchSequence, ...]) -> tuple[str, int, DepthView] | None:
    """The first frame with true depth and, if recorded, an RGB-D-like depth."""
    with_rgbd = [s for s in sequences if (s.path / "rgbd").is_dir()]
    for sequence in [*with_rgbd, *sequences]:
        for path in sorted((sequence.path / "depth").glob("*.npy"))[1:]:
            recording = open_sequence(sequence.path)
            if view_of(recording).name != "central":
                continue
            index = int(path.stem)
            frame = next(iter(focused_frames(recording, indices=[index]))).measure()
            other = sequence.path / "rgbd" / f"{path.stem}.png"
            rgbd = None
            if other.is_file():
                metres = read_image(other).astype(np.float32) / np.float32(RGBD_UNITS)
                rgbd = np.where(metres > 0, metres, np.nan).astype(np.float32)
            truth = np.asarray(read_map(path), np.float32)
            return sequence.name, index, DepthView(frame.image, metric_depth(frame), rgbd, truth)
    return None


def fan_pictures(sequence: BenchSequence) -> tuple[list[Floats], list[str]]:
    """A few focused frames spread over a recording."""
    recording = open_sequence(sequence.path)
    indices = np.unique(np.linspace(0, len(recording) - 1, 4).astype(int)).tolist()
    images = [item.frame.image for item in focused_frames(recording, indices=indices)]
    return images, [f"frame {k}" for k in indices]


def paths_of(results: Results, sequence: BenchSequence) -> tuple[dict[str, Array], Array] | None:
    """Aligned positions of run 0 of each method, and the true ones."""
    truth = open_sequence(sequence.path).groundtruth
    if truth is None:
        return None
    paths: dict[str, Array] = {}
    for method in results.methods:
        record = _first_run(results, method, sequence.name)
        if record is None:
            continue
        try:
            estimate, metrics = _measured(record, truth)
        except PrismError:
            continue
        transform = metrics.aligned(record["alignment"]).transform
        paths[method] = transform.apply(estimate.positions)
    return (paths, truth.positions) if paths else None
