# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.decode``: accuracy of the decoder, time of its stages, growth with the image.

Accuracy needs no other data than our simulator; ``--recording FOLDER`` adds a recording with exact depth and
reference images (folders ``depth/`` and ``reference/``). Times are the least of several runs.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.workload import Workload
from prism_vo.arrays import Array
from prism_vo.config import DecodeConfig
from prism_vo.datasets.images import read_image
from prism_vo.evaluate.decoding import DecodingMetrics, decoding_metrics, near_depth_edge, psnr
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import Calibration, load_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.visibility import owner_maps
from prism_vo.simulate import (
    CATALOGUE,
    Renderer,
    SensorModel,
    build_scene,
    plan,
    preset_camera,
    scaled_camera,
)
from prism_vo.types import RawFrame

SIDES = (512, 1024, 2048, 4096)
POINTS = 2000
REPEATS = 9
TUNED_ON = (
    ("table", 1.0, 1.0),
    ("room", 1.0, 1.0),
    ("street", 1.0, 1.0),
    ("table", 3.0, 1.0),
    ("table", 1.0, 0.5),
)
HELD_OUT = ("seq_001", "seq_004", "seq_007", "seq_010", "02_tools", "05_wires", "fan")
HELD_OUT_SEED = 7  # of scene, path and noise: no constant was chosen with these images in view
POSES = tuple(range(2, 60, 5))  # of the sixty along a scene's path
WINDOW_PIXELS = 50  # TF pixels that share one matching window: divides the count of independent errors
OUTLIER_SIGMAS = 5.0  # beyond, an error is counted as gross and not averaged
HEADER = (
    "| data | bias 1e-4 | weighted mean, σ as stated / at the truth | by fifths of σ at the truth "
    "| error 1e-3 | gross % | coverage % | honesty | near / middle / far | TF PSNR dB |"
)


def camera_of(side: int) -> PlenopticCamera:
    """A Raytrix-like camera with side² raw pixels; micro-images keep their 14.3 pixels."""
    data = {
        "sensor": {"width": side, "height": side, "pixel_size_um": 11264.0 / side},
        "main_lens": {
            "focal_length_mm": 16.0,
            "mla_distance_mm": 15.05,
            "principal_point_px": (side / 2, side / 2),
        },
        "mla": {
            "sensor_distance_mm": 0.38,
            "pitch_px": 14.3,
            "rotation_rad": 0.006,
            "origin_px": (side / 2, side / 2),
            "lens_types": [{"focus_virtual_depth": v} for v in (2.2, 3.0, 4.2)],
        },
    }
    return PlenopticCamera.from_calibration(Calibration.model_validate(data))


def textured_raw(camera: PlenopticCamera) -> RawFrame:
    """A wavy textured surface in virtual image space, seen by every lens, with noise: quick to make at any size."""
    side = camera.calibration.sensor.width
    array = MicroLensArray.of(camera)
    owner, _ = owner_maps(array, side, side)
    centre = array.lens_centres.astype(np.float32)[owner]
    y, x = np.mgrid[:side, :side].astype(np.float32)
    rho = np.float32(0.33) + np.float32(0.04) * np.sin(x / 310) * np.cos(y / 270)
    rng = np.random.default_rng(0)
    texture = cv2.GaussianBlur(rng.normal(0, 1, (1024, 1024)).astype(np.float32), (0, 0), 2.5)
    texture = np.clip(120 + 45 * texture / texture.std(), 5, 240)
    u, v = (c + (p - c) / rho for c, p in ((centre[..., 0], x), (centre[..., 1], y)))
    image = cv2.remap(texture, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
    return RawFrame(0, 0.0, np.clip(image + rng.normal(0, 1.5, image.shape), 0, 255).astype(np.uint8))


def stages(side: int, threads: int = 2) -> Iterator[tuple[str, Callable[[], object]]]:
    """The three speeds and what they are made of."""
    camera = camera_of(side)
    raw = textured_raw(camera)
    decoder = Decoder(camera, DecodeConfig(threads=threads))
    decoder.dense(raw)
    points = np.random.default_rng(1).uniform(8, side // 2 - 8, (POINTS, 2))

    def fresh() -> RawFrame:
        return RawFrame(0, 0.0, raw.image)

    yield "prepare", lambda: decoder.prepare(fresh())
    yield "focus, with prepare", lambda: decoder.focus(fresh())
    yield f"measure {POINTS} points", lambda: decoder.measure(raw, points)
    yield "dense, with prepare", lambda: decoder.dense(fresh())


def workloads() -> Iterator[Workload]:
    """For ``python -m benchmarks``."""
    for name, run in stages(1024):
        yield Workload(f"decode 1024² raw: {name}", run)


@dataclass(frozen=True)
class Looked:
    """One decoded frame against its truth."""

    metrics: DecodingMetrics
    psnr: float
    error: Array  # (N,): of ρ_v, at valid pixels away from depth edges
    sigma: Array  # (N,): as stated
    sigma_at_truth: (
        Array  # (N,): σ grows as a power of the slope, and the estimate's slope is as wrong as ρ_v
    )


def look(decoder: Decoder, raw: RawFrame, depth: NDArray[np.floating], reference: NDArray) -> Looked:
    frame = decoder.dense(raw)
    truth = decoder.camera.inv_virtual_depth(1.0 / depth.astype(np.float64))
    metrics = decoding_metrics(frame.inv_virtual_depth, frame.variance, truth, depth, reference)
    assert frame.inv_virtual_depth is not None and frame.variance is not None
    good = np.isfinite(frame.inv_virtual_depth) & np.isfinite(truth) & ~near_depth_edge(depth)
    estimate, exact = frame.inv_virtual_depth[good].astype(np.float64), truth[good]
    sigma = np.sqrt(frame.variance[good].astype(np.float64))
    wrong = decoder.geometry.slope(exact) / decoder.geometry.slope(estimate)
    at_truth = sigma * wrong ** (decoder.variance_power / 2)
    return Looked(metrics, psnr(frame.image, reference), estimate - exact, sigma, at_truth)


def weighted_mean(error: Array, sigma: Array) -> float:
    """What a scale made of all depths sees."""
    weight = np.where(np.abs(error) < OUTLIER_SIGMAS * sigma, sigma**-2, 0.0)
    return float((weight @ error) / weight.sum())


def bias_cells(frames: list[Looked]) -> str:
    """Information-weighted means of the error, 1e-4: over all pixels with either σ, and in each fifth by σ."""
    error, stated, sigma = (
        np.concatenate([getattr(f, key) for f in frames]) for key in ("error", "sigma", "sigma_at_truth")
    )
    fifth = np.digitize(sigma, np.quantile(sigma, [0.2, 0.4, 0.6, 0.8]))
    fifths = " ".join(f"{1e4 * weighted_mean(error[fifth == i], sigma[fifth == i]):+.1f}" for i in range(5))
    return f"{1e4 * weighted_mean(error, stated):+.2f} / {1e4 * weighted_mean(error, sigma):+.2f} | {fifths}"


def accuracy_row(name: str, frames: list[Looked]) -> str:
    """Means over the frames; ± is the standard deviation of the mean bias."""
    m = [f.metrics for f in frames]
    medians = [1.25 * x.error / np.sqrt(max(x.count / WINDOW_PIXELS, 1.0)) for x in m]
    uncertain = float(np.sqrt(np.sum(np.square(medians)))) / len(m)
    bias, error, gross, coverage, honesty = (
        float(np.mean([getattr(x, key) for x in m]))
        for key in ("bias", "error", "gross", "coverage", "honesty")
    )
    thirds = " / ".join(f"{h:.2f}" for h in np.mean([x.honesty_by_depth for x in m], axis=0))
    return (
        f"| {name} | {bias * 1e4:+.2f} ± {uncertain * 1e4:.1f} | {bias_cells(frames)} "
        f"| {error * 1e3:.2f} | {gross * 100:.2f} | {coverage * 100:.1f} | {honesty:.2f} | {thirds} "
        f"| {np.mean([f.psnr for f in frames]):.1f} |"
    )


def simulated_rows() -> Iterator[str]:
    """Scenes the constants of the variance model were chosen on, then scenes they were not."""
    cameras = {"small": preset_camera("small"), "r5 × 0.4": scaled_camera(preset_camera("r5"), 0.4)}
    for label, calibration in cameras.items():
        for scene, noise, exposure in TUNED_ON:
            name = f"{label}, {scene}" + (f", noise × {noise:g}" if noise != 1 else "")
            name += f", exposure × {exposure:g}" if exposure != 1 else ""
            yield simulated_row(name, calibration, scene, POSES, noise, exposure)
    for label, calibration in cameras.items():
        for scene in HELD_OUT:
            yield simulated_row(f"held out: {label}, {scene}", calibration, scene, POSES, seed=HELD_OUT_SEED)


def simulated_row(
    name: str,
    calibration: Calibration,
    scene: str,
    poses: tuple[int, ...],
    noise: float = 1.0,
    exposure: float = 1.0,
    seed: int = 0,
) -> str:
    """Several places along the path of a scene."""
    renderer = Renderer(
        calibration,
        build_scene(scene, seed=seed),
        samples=4,
        aperture=0.75,
        sensor=SensorModel(noise=noise),
        seed=seed,
    )
    track = plan(CATALOGUE[scene].path, frames=60, seed=seed).poses
    decoder = Decoder(PlenopticCamera.from_calibration(calibration), white=renderer.white())
    frames = []
    for k in poses:
        raw = RawFrame(k, 0.0, renderer.raw(track[k], frame=k, exposure=exposure))
        truth = renderer.view_truth(track[k], "central")
        frames.append(look(decoder, raw, truth.depth, truth.image * np.float32(exposure)))
    return accuracy_row(name, frames)


def recorded_rows(folder: Path) -> Iterator[str]:
    decoder = Decoder(
        PlenopticCamera.from_calibration(load_calibration(folder / "camera.yaml")),
        white=read_image(folder / "white.png"),
    )
    for path in sorted((folder / "depth").glob("*.npy")):
        raw = RawFrame(int(path.stem), 0.0, read_image(folder / "raw" / f"{path.stem}.png"))
        reference = read_image(folder / "reference" / f"{path.stem}.png")
        yield accuracy_row(f"{folder.name} {path.stem}", [look(decoder, raw, np.load(path), reference)])


def copy_milliseconds(side: int) -> float:
    """Reading and writing the image once: what memory allows."""
    source = np.zeros((side, side), np.float32)
    target = np.empty_like(source)
    return Workload("copy", lambda: np.copyto(target, source)).milliseconds()


def print_times(sides: tuple[int, ...], threads: int) -> None:
    print("\n| raw image | stage | wall ms | processor ms | ns per TF pixel (wall) |\n|---|---|---|---|---|")
    for side in sides:
        for name, run in stages(side, threads):
            run()
            walls, processors = [], []
            for _ in range(REPEATS):
                wall, processor = time.perf_counter(), time.process_time()
                run()
                walls.append(time.perf_counter() - wall)
                processors.append(time.process_time() - processor)
            wall, processor = min(walls), min(processors)
            print(
                f"| {side}² | {name} | {wall * 1e3:.1f} | {processor * 1e3:.1f} | {wall * 1e9 / (side / 2) ** 2:.0f} |",
                flush=True,
            )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"| {side}² | copy of the image; peak memory so far {peak:.0f} MB | {copy_milliseconds(side):.1f} | | |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recording", type=Path)
    parser.add_argument("--sides", type=int, nargs="*", default=SIDES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-accuracy", action="store_true")
    arguments = parser.parse_args()
    if not arguments.no_accuracy:
        print(HEADER + "\n|" + "---|" * 10)
        rows = recorded_rows(arguments.recording) if arguments.recording else iter(())
        for row in chain(rows, simulated_rows()):
            print(row, flush=True)
    if arguments.sides:
        print_times(tuple(arguments.sides), arguments.threads)


if __name__ == "__main__":
    main()
