# SPDX-License-Identifier: Apache-2.0
"""Speed of the simulator: end-to-end rays a second beside embree alone on the very same rays.

python -m benchmarks.simulate [--camera r5] [--scene table] [--threads 2] [--repeat 3]
python -m benchmarks.simulate --light SCENE …   by how much few rays miss the light of a pixel
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from prism_vo.simulate import CATALOGUE, PRESETS, Renderer, build_scene, plan, preset_camera, render, trace
from prism_vo.simulate.scene import Geometry, Hits

FEW_RAYS, MANY_RAYS = (4, 9, 16), 256
MIDDLE = 40  # frames of a path, in the middle of which it is looked
LIT = 0.3  # share of the light that a pixel receives, at least


def best_of(repeat: int, work: Callable[[], object]) -> float:
    """Shortest of several runs, s."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def only_embree(renderer: Renderer, pose: np.ndarray) -> tuple[Callable[[], None], int]:
    """The frame's rays, recorded once, and a run that does nothing but intersect them (in the same bands)."""
    batches: list[tuple[np.ndarray, np.ndarray]] = []
    geometry = renderer.scene.geometry()

    class Recorder(Geometry):
        def __init__(self) -> None:
            self.__dict__.update(geometry.__dict__)

        def intersect(self, origin: np.ndarray, direction: np.ndarray) -> Hits:
            batches.append((origin.copy(), direction.copy()))
            return super().intersect(origin, direction)

    recorder = Recorder()
    original, renderer.scene.geometry = renderer.scene.geometry, lambda time=0.0: recorder  # type: ignore[method-assign]
    renderer.irradiance(pose)
    renderer.scene.geometry = original  # type: ignore[method-assign]

    def run() -> None:
        renderer._bands(lambda k, _: geometry.intersect(*batches[k]) and None, len(batches), render.BAND_RAYS)

    return run, sum(len(o) for o, _ in batches)


def light_missed(name: str, camera: str, threads: int) -> None:
    """Print by how much few rays miss the light that falls on a pixel (grey levels), as many rays tell."""
    scene, pose = build_scene(name), plan(CATALOGUE[name].path, MIDDLE, 0).poses[MIDDLE // 2]
    calibration = preset_camera(camera)
    exact = Renderer(calibration, scene, samples=MANY_RAYS, threads=threads, seed=1)
    truth, lit = exact.irradiance(pose), exact.vignetting > LIT
    for samples in FEW_RAYS:
        light = Renderer(calibration, scene, samples=samples, threads=threads).irradiance(pose)
        error = np.abs(light - truth)[lit] * 255.0
        print(
            f"| {name} | {samples} | {np.median(error):.2f} | {np.sqrt(np.mean(error**2)):.2f} |", flush=True
        )


def main() -> None:
    """Print one table line a camera."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--camera", nargs="*", default=["mini", "small", "r5"], choices=list(PRESETS))
    parser.add_argument("--scene", default="table", choices=list(CATALOGUE))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--light", nargs="+", metavar="SCENE", choices=list(CATALOGUE))
    a = parser.parse_args()
    if a.light:
        print("| scene | rays a pixel | median | root mean square |\n|---|---|---|---|")
        for name in a.light:
            light_missed(name, "mini", a.threads)
        return
    scene, pose = build_scene(a.scene), plan(CATALOGUE[a.scene].path, None, 0).poses[0]
    print(
        f"scene {a.scene}, {a.samples} samples a pixel, {a.threads} threads, best of {a.repeat}, "
        f"at most {trace.MAX_BOUNCES} bounces"
    )
    print("camera     s/frame   Mray   Mray/s   embree alone Mray/s   ratio")
    for name in a.camera:
        renderer = Renderer(preset_camera(name), scene, samples=a.samples, threads=a.threads)
        renderer.raw(pose)
        embree, rays = only_embree(renderer, pose)
        frame, alone = best_of(a.repeat, lambda r=renderer: r.raw(pose)), best_of(a.repeat, embree)
        print(
            f"{name:9s} {frame:8.3f} {rays / 1e6:6.2f} {rays / frame / 1e6:8.2f} {rays / alone / 1e6:21.2f} "
            f"{alone / frame:7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
