# SPDX-License-Identifier: Apache-2.0
"""Compact keyframes: their size; places found by appearance; pairs of one place and of two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scene import VIEW, camera_at, keyframe_at, true_pose

from prism_vo import se3
from prism_vo.config import TrackConfig
from prism_vo.places.alignment import Aligner
from prism_vo.places.features import LARGEST_AREA
from prism_vo.places.finder import Finder
from prism_vo.places.index import TAIL, PlaceIndex
from prism_vo.places.keyframe import MOST_BYTES, CompactKeyframe, kept_level
from prism_vo.places.verification import verify
from prism_vo.tracking.reference import KeyframeDepth

ALIGNER = Aligner(VIEW, TrackConfig())
HERE, BESIDE = camera_at(0.0), camera_at(0.08, 0.03, 0.02, 0.02)


@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_one_place_from_two_sides(gain: float) -> None:
    (_, a), (_, b) = keyframe_at(HERE), keyframe_at(BESIDE, gain=gain)
    found = verify(ALIGNER, a, b)
    assert found.ok, found.refusal
    error = se3.log(found.T_b_a @ se3.inverse(true_pose(HERE, BESIDE)))
    assert np.linalg.norm(error[:3]) < 0.004 and np.linalg.norm(error[3:]) < 0.003
    assert error @ found.information @ error < 22  # χ² of six numbers


def test_two_places() -> None:
    _, a = keyframe_at(HERE)
    for seed in (11, 12, 13):
        assert not verify(ALIGNER, a, keyframe_at(HERE, seed)[1]).ok


def test_the_same_picture_at_another_distance_is_another_place() -> None:
    """A photograph of a wall: features and images fit, metric depth does not."""
    _, a = keyframe_at(HERE)
    far = replace(
        a,
        inv_depth=(a.inv_depth * 0.7).astype(np.float32),
        features=replace(a.features, inv_depth=(a.features.inv_depth * 0.7).astype(np.float32)),
    )
    assert not verify(ALIGNER, a, far).ok


def test_nothing_to_see_is_no_place() -> None:
    _, a = keyframe_at(HERE)
    none = np.zeros(0, int)
    blind = replace(
        a,
        image=np.zeros_like(a.image),
        features=replace(
            a.features,
            xy=a.features.xy[none],
            descriptors=a.features.descriptors[none],
            inv_depth=a.features.inv_depth[none],
            sigma=a.features.sigma[none],
        ),
    )
    assert not verify(ALIGNER, a, blind).ok and not verify(ALIGNER, blind, a).ok
    assert Finder(VIEW, TrackConfig()).find(blind, [], set(), lambda _: None) is None


def test_finder_knows_which_of_many() -> None:
    finder = Finder(VIEW, TrackConfig())
    for k, seed in enumerate((3, 21, 22, 23, 24)):
        finder.add(replace(keyframe_at(HERE, seed)[1], id=k))
    frame, seen = keyframe_at(BESIDE)
    found = finder.find(seen, frame.pyramid[: seen.level], set(), lambda _: None)
    assert found is not None and found.keyframe == 0
    assert finder.find(seen, [], {0}, lambda _: None) is None


def test_index_before_and_after_merging_its_tail() -> None:
    rng = np.random.default_rng(0)
    descriptors = [rng.integers(0, 256, (60, 32), np.uint8) for _ in range(2 * TAIL + 5)]
    index = PlaceIndex()
    for k, own in enumerate(descriptors):
        index.add(100 + k, own)
        noise = np.packbits(rng.random((60, 256)) < 0.1, axis=1)
        assert index.find(own ^ noise, 1) == [100 + k]
    query = descriptors[3]
    assert index.find(query, 3)[0] == 103
    allowed = np.array([k != 103 for k in index.ids])
    assert 103 not in index.find(query, 3, allowed)


@pytest.mark.parametrize("size", [(192, 192), (320, 320), (1024, 1024), (2426, 3232)])
def test_a_keyframe_of_any_camera_is_small(size: tuple[int, int]) -> None:
    h, w = size
    pyramid = [np.zeros((h >> k, w >> k), np.float32) for k in range(6)]
    _, like = keyframe_at(HERE)
    many = np.resize(np.arange(len(like.features)), 400)
    f = like.features
    features = replace(
        f, xy=f.xy[many], descriptors=f.descriptors[many], inv_depth=f.inv_depth[many], sigma=f.sigma[many]
    )
    depth = np.full(size, 0.5, np.float32)
    kept = CompactKeyframe.of(
        KeyframeDepth(0, np.eye(4), np.zeros(2), 1.0, VIEW.image_plane, pyramid[0], depth, 1e-4 * depth),
        pyramid,
        features,
        0,
        0.0,
    )
    assert kept.nbytes <= MOST_BYTES
    assert kept.image.size <= LARGEST_AREA and kept.level == kept_level(pyramid)
    assert kept.patches.shape[0] == kept.level
