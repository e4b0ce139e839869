# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.planes``: bias of the decoder on slanted planes of several textures, near and far.

Slanted, because a plane square to the axis has one disparity, and one disparity has one bias of its own: that of its
pixel phases.
"""

from __future__ import annotations

import numpy as np

from prism_vo.evaluate.decoding import TEXTURE_GRADIENT, gradient_magnitude, robust_std
from prism_vo.lightfield import Decoder
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate import Renderer, preset_camera
from prism_vo.simulate.mesh import Material, MeshBuilder
from prism_vo.simulate.scene import Scene
from prism_vo.simulate.textures import atlas_for
from prism_vo.types import RawFrame

TEXTURES = ("cells", "clutter", "fabric", "posters", "print")
TILES = (0.6, 1.2)  # size of a texture's tile over the mean depth
RANGES = {"near": (0.7, 2.2, 1.3), "far": (3.0, 10.0, 6.0)}  # depth left, right and between, m
FRAMES = 3
WINDOW_PIXELS = 50  # that share one matching window


def slanted_plane(left: float, right: float, texture: str, tile: float) -> Scene:
    """Nearer on the left, filling the view."""
    x0, x1 = -0.45 * left, 0.45 * right
    start = np.array([x0 - 0.12 * (x1 - x0), -1.2 * right, left - 0.12 * (right - left)])
    end = np.array([x1 + 0.3 * (x1 - x0), -1.2 * right, right + 0.3 * (right - left)])
    builder = MeshBuilder()
    across, down = tuple(map(float, end - start)), (0.0, 2.4 * right, 0.0)
    builder.quad(tuple(map(float, start)), across, down, Material(texture, tile, macro=0.0))
    return Scene("slanted plane", builder, atlas_for({texture}))


def bias(texture: str, tile: float, left: float, right: float, between: float) -> tuple[float, float]:
    """Median error of ρ_v and its standard deviation."""
    calibration = preset_camera("small")
    scene = slanted_plane(left, right, texture, tile * between)
    renderer = Renderer(calibration, scene, samples=4, aperture=0.75, seed=0)
    camera = PlenopticCamera.from_calibration(calibration)
    decoder = Decoder(camera, white=renderer.white())
    errors = []
    for k in range(FRAMES):
        pose = np.eye(4)
        pose[:2, 3] = 0.03 * between * k, 0.023 * between * k
        truth = renderer.view_truth(pose, "central")
        frame = decoder.dense(RawFrame(k, 0.0, renderer.raw(pose, frame=k)))
        assert frame.inv_virtual_depth is not None and frame.valid is not None
        good = frame.valid & (gradient_magnitude(truth.image) >= TEXTURE_GRADIENT)
        exact = camera.inv_virtual_depth(1.0 / truth.depth.astype(np.float64))
        errors.append((frame.inv_virtual_depth - exact)[good])
    e = np.concatenate(errors)
    return float(np.median(e)), 1.25 * robust_std(e) / np.sqrt(len(e) / WINDOW_PIXELS)


def main() -> None:
    print("| texture | tile | near: bias 1e-4 | far: bias 1e-4 |\n|---|---|---|---|")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in RANGES}
    for texture in TEXTURES:
        for tile in TILES:
            for name, depths in RANGES.items():
                found[name].append(bias(texture, tile, *depths))
            cells = " | ".join(f"{b * 1e4:+.1f} ± {u * 1e4:.1f}" for b, u in (f[-1] for f in found.values()))
            print(f"| {texture} | {tile:g} | {cells} |", flush=True)
    means = []
    for rows in found.values():
        value, spread = np.array(rows).T
        weight = spread**-2
        means.append(f"{1e4 * (weight @ value) / weight.sum():+.2f} ± {1e4 / np.sqrt(weight.sum()):.2f}")
    print("| mean | | " + " | ".join(means) + " |")


if __name__ == "__main__":
    main()
