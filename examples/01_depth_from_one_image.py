# SPDX-License-Identifier: Apache-2.0
"""Depth from one raw image: decode it, print depth at some pixels, write pictures.

    python examples/01_depth_from_one_image.py [SEQUENCE] [--out FOLDER]

Without a sequence a table is rendered with a tiny camera.
"""

import argparse
import tempfile
from pathlib import Path

import cv2
import numpy as np

from prism_vo import Decoder, open_sequence
from prism_vo.report.pictures import depth_scale
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.write import simulate_sequence


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sequence", nargs="?", type=Path)
    parser.add_argument("--out", type=Path, default=Path("depth_example"))
    options = parser.parse_args(arguments)
    path = options.sequence or simulate_sequence(
        "table", Path(tempfile.mkdtemp()) / "table", SimulateOptions(camera="mini", frames=2, truth_every=0)
    )

    sequence = open_sequence(path)
    decoder = Decoder(sequence.camera, white=sequence.white)
    frame = decoder.dense(sequence[0])  # image, inverse virtual depth ρ_v and its variance, on one grid
    view = decoder.view

    inv_depth = view.inv_depth_from_virtual(frame.inv_virtual_depth)  # 1/m, NaN where nothing was measured
    depth = view.depth_of(np.where(inv_depth > 1e-3, inv_depth, np.nan))  # metres
    slope = view.inv_virtual_depth_slope(inv_depth)
    sigma = depth**2 * np.sqrt(frame.variance) / np.abs(slope)  # metres

    height, width = depth.shape
    print(f"{width}×{height} pixels, depth at {100 * np.isfinite(depth).mean():.0f} % of them")
    for y in (height // 4, height // 2, 3 * height // 4):
        x = width // 2
        print(f"pixel ({x}, {y}): {depth[y, x]:.3f} m ± {sigma[y, x]:.3f} m")

    options.out.mkdir(parents=True, exist_ok=True)
    colors = depth_scale(frame.inv_virtual_depth).colors(frame.inv_virtual_depth)
    colors[~frame.valid] = 0
    cv2.imwrite(str(options.out / "focused.png"), frame.image)
    cv2.imwrite(str(options.out / "depth.png"), colors[..., ::-1])
    print(f"pictures in {options.out}")


if __name__ == "__main__":
    main()
