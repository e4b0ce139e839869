# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.weak_texture CAMERA [--contrast 0.1]``: bias of depth by σ where noise is all there is.

CAMERA: a camera.yaml or a preset. Frames without noise of three rooms, tables and streets each are rendered with nine
rays a pixel; their contrast about an even grey is lowered to ``--contrast``. Each is decoded rounded to 8 bits, and in
16 bits with Gaussian noise of the same variance; with the whole contrast (1), rounded and with shot and read noise.
Printed are information-weighted means of the error of ρ_v (σ at the true depth), 1e-4, with what chance leaves of them
(from the scatter of blocks of 64 px).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from benchmarks.decode_accuracy import Looked, chance_of_mean, look, weighted_mean
from prism_vo.arrays import Array
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import load_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate import CATALOGUE, Renderer, SensorModel, build_scene, plan, preset_camera
from prism_vo.types import RawFrame

SCENES, SEEDS, POSES = ("room", "table", "street"), (21, 22, 23), (5, 20, 35, 50)
RAYS, APERTURE = 9, 0.75
GREY = 110.0  # about which contrast is lowered
WHITE_PERCENTILE = 99.0
ROUNDING = 12.0**-0.5  # grey levels: standard deviation of what rounding takes off
FULL_WELL, READ_NOISE, LEVEL = (
    10_000.0,
    10.0,
    0.9,
)  # electrons, and the factor that makes it the noise of ``table_60``


def rounded(light: Array, rng: np.random.Generator) -> Array:
    """8 bits."""
    return np.rint(light).clip(0, 255).astype(np.uint8)


def gaussian(light: Array, rng: np.random.Generator) -> Array:
    """As much noise as rounding leaves, but none of its order."""
    return ((light + rng.normal(0.0, ROUNDING, light.shape)) * 257.0).clip(0, 65535).astype(np.uint16)


def noisy(light: Array, rng: np.random.Generator) -> Array:
    """8 bits with shot and read noise."""
    electrons = light / 255.0 * FULL_WELL
    scatter = LEVEL * np.sqrt(electrons + READ_NOISE**2) * rng.standard_normal(light.shape)
    return rounded((electrons + scatter) / FULL_WELL * 255.0, rng)


def row(name: str, frames: list[Looked]) -> str:
    """Over all frames, and by fifths of σ."""
    error, sigma = (np.concatenate([getattr(f, key) for f in frames]) for key in ("error", "sigma_at_truth"))
    size = 1 + max(int(f.block.max()) for f in frames)
    block = np.concatenate([f.block + n * size for n, f in enumerate(frames)])
    fifth = np.digitize(sigma, np.quantile(sigma, [0.2, 0.4, 0.6, 0.8]))
    cells = []
    for part in (np.ones(len(error), bool), *(fifth == n for n in range(5))):
        mean, chance = (
            weighted_mean(error[part], sigma[part]),
            chance_of_mean(error[part], sigma[part], block[part]),
        )
        cells.append(f"{1e4 * mean:+.2f} ± {1e4 * chance:.2f}")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("camera")
    parser.add_argument("--contrast", type=float, default=0.1)
    given = parser.parse_args()
    is_file = given.camera.endswith(".yaml")
    calibration = load_calibration(given.camera) if is_file else preset_camera(given.camera)
    camera = PlenopticCamera.from_calibration(calibration)
    ways: dict[str, Callable[[Array, np.random.Generator], Array]] = (
        {"rounded": rounded, "noise of table_60": noisy}
        if given.contrast == 1.0
        else {"rounded": rounded, "Gaussian noise": gaussian}
    )
    print("| frames | all | most certain | 2nd | 3rd | 4th | least certain |\n|---|---|---|---|---|---|---|")
    found: dict[tuple[str, str], list[Looked]] = {}
    for scene in SCENES:
        for seed in SEEDS:
            renderer = Renderer(
                calibration,
                build_scene(scene, seed=seed),
                samples=RAYS,
                aperture=APERTURE,
                sensor=SensorModel(noise=0.0),
                seed=seed,
            )
            white = renderer.white()
            even = GREY * white.astype(np.float64) / np.percentile(white, WHITE_PERCENTILE)
            decoders = {way: Decoder(camera, white=white) for way in ways}
            poses = plan(CATALOGUE[scene].path, frames=max(POSES) + 10, seed=seed).poses
            for k in POSES:
                light = even + given.contrast * (renderer.raw(poses[k], frame=k) - even)
                depth, image = renderer.depth(poses[k], "central"), renderer.view_truth(poses[k], "central")
                for way, develop in ways.items():
                    raw = RawFrame(k, 0.0, develop(light, np.random.default_rng(k)))
                    seen = look(decoders[way], raw, depth, image.image)
                    found.setdefault((scene, way), []).append(seen)
        for way in ways:
            print(row(f"{scene}, {way}", found[scene, way]), flush=True)
    for way in ways:
        print(row(f"rooms and tables, {way}", found["room", way] + found["table", way]), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
