# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.decode``: accuracy of the decoder, time of its stages, growth with the image.

Accuracy needs no other data than our simulator; ``--recording FOLDER …`` adds recordings with exact depth and
reference images (folders ``depth/`` and ``reference/``), ``--no-simulated`` leaves our own rows out. Times are the
least of several runs.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import cv2
import numpy as np

from benchmarks.decode_accuracy import HEADER, recorded_rows, simulated_rows, with_mosaic
from benchmarks.workload import Workload
from prism_vo.config import DecodeConfig
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.visibility import owner_maps
from prism_vo.types import RawFrame

SIDES = (512, 1024, 2048, 4096)
POINTS = 2000
REPEATS = 9


def camera_of(side: int, mosaic: bool = False) -> PlenopticCamera:
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
    calibration = Calibration.model_validate(data)
    return PlenopticCamera.from_calibration(with_mosaic(calibration) if mosaic else calibration)


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


def stages(side: int, threads: int = 2, mosaic: bool = False) -> Iterator[tuple[str, Callable[[], object]]]:
    """The three speeds and what they are made of."""
    camera = camera_of(side, mosaic)
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


def copy_milliseconds(side: int) -> float:
    """Reading and writing the image once: what memory allows."""
    source = np.zeros((side, side), np.float32)
    target = np.empty_like(source)
    return Workload("copy", lambda: np.copyto(target, source)).milliseconds()


def print_times(sides: tuple[int, ...], threads: int, mosaic: bool) -> None:
    print("\n| raw image | stage | wall ms | processor ms | ns per TF pixel (wall) |\n|---|---|---|---|---|")
    for side in sides:
        for name, run in stages(side, threads, mosaic):
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
    parser.add_argument("--recording", type=Path, nargs="+", default=[])
    parser.add_argument("--no-simulated", action="store_true")
    parser.add_argument("--only", default="", help="simulated rows whose name has this in it")
    parser.add_argument("--sides", type=int, nargs="*", default=SIDES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--mosaic", action="store_true", help="times behind a colour sensor")
    parser.add_argument("--no-accuracy", action="store_true")
    arguments = parser.parse_args()
    if not arguments.no_accuracy:
        print(HEADER + "\n|" + "---|" * 10)
        recorded = chain.from_iterable(map(recorded_rows, arguments.recording))
        for row in chain(recorded, () if arguments.no_simulated else simulated_rows(arguments.only)):
            print(row, flush=True)
    if arguments.sides:
        print_times(tuple(arguments.sides), arguments.threads, arguments.mosaic)


if __name__ == "__main__":
    main()
