# SPDX-License-Identifier: Apache-2.0
"""The first time, kernels are compiled by two processes: the decoder's in the one that needs them first, those of
tracking and mapping in another, which follows a made-up scene and leaves what it compiled in the common cache."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from contextlib import suppress

import cv2
import numpy as np
from scipy.spatial import cKDTree

from prism_vo.calibrate.check import check_camera
from prism_vo.datasets import png
from prism_vo.errors import PrismError
from prism_vo.kernel_cache import PACKAGE, kernel_folder, settings
from prism_vo.lightfield import Decoder
from prism_vo.odometry import Odometry
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.pinhole import Intrinsics
from prism_vo.sensor import DecodedSensor
from prism_vo.simulate.cameras import preset_camera
from prism_vo.types import DecodedFrame, RawFrame
from prism_vo.window.terms.pairs import PairGeometry
from prism_vo.window.terms.photometric_kernel import Found, Limits, Patterns, Sums, accumulate_residuals

LAST_COMPILED = (
    PACKAGE / "window" / "terms" / "photometric_kernel.py"
)  # a kernel that takes long, for all of them
FRAMES = 20  # every second one is a keyframe: more than a window holds
SHIFT = 3  # px between frames
DISTANCE = 1.5  # m
SIGMA = 0.003  # of the depth of the made-up scene, ρ_v
BLUR = 1.5  # px of its texture
COLOUR = "colour"


def begin(colour: bool = False) -> None:
    """Start the other process, if there is something to compile, somewhere to keep it and a core to do it.

    ``colour``: also what colour sensors need, which a run compiles by itself.
    """
    if _is_compiled() or settings.DISABLE_JIT or _cores() < 2:
        return
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "prism_vo.compile_beside", *([COLOUR] if colour else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:  # then everything is compiled here
        return
    atexit.register(process.kill)


def _is_compiled() -> bool:
    """Whether kernels of this state of the program are kept, or none can be."""
    folder = kernel_folder(LAST_COMPILED)
    return folder is None or any(folder.rglob("*.nbi"))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def follow_a_wall() -> Odometry:
    """Textured, it moves sideways before the camera: kernels of tracking and mapping."""
    camera = PlenopticCamera(preset_camera("mini"))
    view = camera.view()
    h, w = view.height, view.width
    noise = np.random.default_rng(0).uniform(0, 255, (h, w + FRAMES * SHIFT)).astype(np.float32)
    wall = np.clip(128 + 4 * (cv2.GaussianBlur(noise, (0, 0), BLUR) - 128), 0, 255).astype(np.float32)
    depth = np.full((h, w), view.inv_virtual_depth(np.array(1.0 / DISTANCE)), np.float32)
    known, variance = np.ones((h, w), np.bool_), np.full((h, w), SIGMA**2, np.float32)
    odometry = Odometry(camera, sensor=DecodedSensor(view))
    for n in range(FRAMES):
        image = np.ascontiguousarray(wall[:, n * SHIFT : n * SHIFT + w])
        odometry(DecodedFrame(n, 0.1 * n, view, image, depth, variance, known))
    odometry.finish()
    return odometry


def sum_nothing() -> None:
    """The kernel of mapping that takes longest, for no points: a wall comes to it so late that a run does it again."""
    pair = PairGeometry.of(np.eye(4)[None], np.zeros((1, 2)), np.ones(1))
    none, some = np.empty(0, np.float32), np.empty((0, 8), np.float32)
    points = Patterns(np.empty(0, np.int32), none, none, np.empty(0), some, some)
    found = Found(np.empty((0, 1), np.int8), np.empty((0, 1), np.float32))
    images, slots, one = np.zeros((1, 4, 4), np.float32), np.zeros(1, np.int32), np.float32(1)
    limits, sums = Limits(one, np.ones(1, np.float32)), Sums.zeros(1, np.zeros((0, 8)))
    accumulate_residuals(images, slots, Intrinsics(one, one, one), pair, pair, points, limits, found, sums)


def decode_noise(colour: bool) -> None:
    """Kernels of image files, of the decoder and of the check of the camera; those of colour sensors on request."""
    calibration = preset_camera("mini")
    size = calibration.sensor.height, calibration.sensor.width
    lenses = MicroLensArray.of(PlenopticCamera(calibration))
    noise = np.random.default_rng(1).integers(40, 255, size, np.uint8)
    rows, columns = np.indices(size)
    distance, _ = cKDTree(lenses.image_centres).query(np.stack([columns, rows], -1))
    frame = RawFrame(0, 0.0, np.where(distance < lenses.usable_radius, noise, 0).astype(np.uint8))
    png.pixels(cv2.imencode(".png", frame.image)[1].tobytes())
    with suppress(PrismError):
        check_camera(PlenopticCamera(calibration), [frame.image, frame.image])
    mosaic = calibration.model_copy(
        update={"sensor": calibration.sensor.model_copy(update={"bayer": "RGGB"})}
    )
    for camera in (PlenopticCamera(c) for c in ([calibration, mosaic] if colour else [calibration])):
        decoder = Decoder(camera)
        decoder.focus(frame)
        decoder.measure(frame, np.array([[decoder.view.width / 2, decoder.view.height / 2]]))
        decoder.dense(frame)


if __name__ == "__main__":
    sum_nothing()
    follow_a_wall()
    decode_noise(COLOUR in sys.argv[1:])
