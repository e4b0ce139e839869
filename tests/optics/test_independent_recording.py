# SPDX-License-Identifier: Apache-2.0
"""The model against a recording rendered by another program: grid, views, raw pixels of known points."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from camera_model import raw_from_virtual

from prism_vo.datasets import open_sequence
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.visibility import lenses_seeing, owner_maps

DATA = Path(os.environ.get("PRISM_VO_DATA", Path(__file__).parents[3] / "shared" / "data")) / "table_60"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="table_60 is not on this machine")


@pytest.fixture(scope="module")
def sequence():
    return open_sequence(DATA)


def bilinear(image, xy):
    x, y = (np.ascontiguousarray(xy[..., i], np.float32).reshape(1, -1) for i in (0, 1))
    return cv2.remap(np.asarray(image, np.float32), x, y, cv2.INTER_LINEAR).ravel()


def test_micro_images_of_the_white_image_lie_on_the_grid(sequence):
    array = MicroLensArray.of(sequence.camera)
    white = sequence.white.astype(np.float64)
    maps = owner_maps(array, 1024, 1024)
    yy, xx = np.mgrid[0:1024, 0:1024]
    inside = maps.owner >= 0
    rows, weight = maps.owner[inside], white[inside]
    total = np.maximum(np.bincount(rows, weight, len(array)), 1.0)
    centroid = np.stack([np.bincount(rows, weight * c[inside], len(array)) / total for c in (xx, yy)], -1)
    whole = ((array.image_centres > 20) & (array.image_centres < 1003)).all(1)
    offset = centroid[whole] - array.image_centres[whole]
    assert np.abs(np.median(offset, 0)).max() < 0.05 and np.abs(offset).max() < 0.5


def test_the_two_views_tell_the_same_depth(sequence):
    central, focal = sequence.camera.view("central"), sequence.camera.view("focal")
    depth = np.load(DATA / "depth" / "000000.npy")
    other = np.load(DATA / "depth_focal" / "000000.npy")
    yy, xx = np.mgrid[30:482:3, 30:482:3]
    pixels = np.stack([xx, yy], -1).reshape(-1, 2).astype(np.float64)
    z = depth[yy, xx].ravel().astype(np.float64)
    found = bilinear(other, focal.project(central.unproject(pixels, z)))
    assert np.median(np.abs(found / z - 1)) < 1e-4


def test_all_lenses_show_a_point_alike_where_the_model_puts_it(sequence):
    """Raw pixels predicted with exact depth agree between lenses; with c_I in place of c_ML they do not."""
    camera, array = sequence.camera, MicroLensArray.of(sequence.camera)
    raw = sequence[0].image.astype(np.float64) / np.maximum(sequence.white / 200.0, 0.2)
    depth = np.load(DATA / "depth" / "000000.npy")
    rng = np.random.default_rng(0)
    pixels = rng.integers(60, 452, (3000, 2))
    z = depth[pixels[:, 1], pixels[:, 0]].astype(np.float64)
    x_v, v = camera.project_virtual(camera.view("central").unproject(pixels.astype(np.float64), z))
    seen = lenses_seeing(camera, array, x_v, v)
    point = np.repeat(np.arange(len(v)), np.diff(seen.starts))

    def spread(centres):
        at = raw_from_virtual(x_v[point], 1 / v[point], centres[seen.rows])
        value = bilinear(raw, at)
        mean = np.bincount(point, value) / np.bincount(point)
        return np.sqrt(np.mean((value - mean[point]) ** 2))

    assert spread(array.lens_centres) < 0.3 * spread(array.image_centres)
