# SPDX-License-Identifier: Apache-2.0
"""The grid of a camera nothing is known about: layouts, angles, pitches, lens types; never a guess."""

import numpy as np
import pytest
from micro_images import Look, raw_image
from scenes import centre_rms, recording

from prism_vo.calibrate import Grid, GridUncertainError, find_grid

CASES = [
    ("hexagonal", 9.2, 0.1, Look(shape=(320, 320))),
    ("hexagonal", 16.3, np.pi / 2 + 0.002, Look(shape=(400, 400))),
    ("hexagonal", 23.4, 0.35, Look(shape=(480, 480), contrast=0.0, rim_radius=0.5)),
    ("hexagonal", 23.4, -0.2, Look(shape=(480, 480), vignetting="none")),
    ("hexagonal", 19.1, 0.01, Look(shape=(480, 480), radius_by_type=(1.0, 0.93, 0.87))),
    ("hexagonal", 15.2, 0.2, Look(shape=(480, 480), vignetting="none", blur_by_type=(0.0, 1.0, 2.0))),
    ("hexagonal", 70.2, 0.01, Look(shape=(700, 700), contrast=0.0)),
    ("rectangular", 13.7, 0.05, Look(shape=(400, 400))),
    ("rectangular", 23.4, 0.7, Look(shape=(480, 480), contrast=0.0)),
    ("rectangular", 23.4, 0.7, Look(shape=(640, 640), vignetting="none")),
    ("rectangular", 70.2, 0.003, Look(shape=(700, 700))),
]


@pytest.mark.parametrize(("layout", "pitch", "rotation", "look"), CASES)
def test_finds(layout: str, pitch: float, rotation: float, look: Look) -> None:
    truth = Grid.regular(layout, pitch, rotation, (160.3, 152.8))  # type: ignore[arg-type]
    fit = find_grid(raw_image(truth, look))
    assert fit.grid.layout == layout
    assert abs(fit.grid.rotation) < (0.53 if layout == "hexagonal" else 0.79)
    assert centre_rms(fit.grid, truth, look.shape) < max(0.1, 3 * fit.centre_sigma)


@pytest.mark.parametrize("vignetting", [True, False])
def test_simulated_recording(vignetting: bool) -> None:
    truth, frames, white = recording("street", vignetting)
    assert centre_rms(find_grid(frames).grid, truth, white.shape) <= (0.1 if vignetting else 0.2)
    assert centre_rms(find_grid(white).grid, truth, white.shape) <= 0.03


def test_refuses_instead_of_guessing() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(120, 20, (320, 320)).clip(0, 255).astype(np.uint8)
    blocks = np.kron(rng.integers(60, 200, (40, 40)), np.ones((8, 8), int)).astype(np.uint8)
    flat = np.full((320, 320), 200, np.uint8)
    for image in (noise, blocks, flat, flat[:30, :30]):
        with pytest.raises(GridUncertainError):
            find_grid(image)
