# SPDX-License-Identifier: Apache-2.0
"""Group axioms of SE(3) and Sim(3), small and near-π angles, SciPy as the judge; alignment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from prism_vo import se3
from prism_vo.errors import DegenerateError

ANGLES = st.one_of(
    st.just(0.0),
    st.floats(1e-12, 1e-3),
    st.floats(1e-3, np.pi - 1e-3),
    st.floats(1e-12, 1e-3).map(lambda d: np.pi - d),
)


@st.composite
def rotation_vectors(draw):
    axis = np.array([draw(st.floats(-1, 1)) for _ in range(3)])
    length = np.linalg.norm(axis)
    axis = axis / length if length > 1e-3 else np.array([0.6, 0.0, 0.8])
    return axis * draw(ANGLES)


@st.composite
def tangents(draw):
    return np.concatenate([[draw(st.floats(-10, 10)) for _ in range(3)], draw(rotation_vectors())])


poses = tangents().map(se3.exp)


@st.composite
def similarities(draw):
    pose = draw(poses)
    return se3.Similarity(draw(st.floats(0.05, 20)), pose[:3, :3], pose[:3, 3])


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max()))


@given(tangents())
def test_exp_is_the_matrix_exponential(xi):
    generator = np.zeros((4, 4))
    generator[:3, :3], generator[:3, 3] = se3.hat(xi[3:]), xi[:3]
    close(se3.exp(xi), expm(generator), 1e-12)


@given(tangents())
def test_log_undoes_exp(xi):
    # at π the axis may flip, so compare the motions there and the vectors elsewhere
    close(se3.exp(se3.log(se3.exp(xi))), se3.exp(xi), 1e-11)
    if np.linalg.norm(xi[3:]) < np.pi - 1e-4:
        close(se3.log(se3.exp(xi)), xi, 1e-10)


@given(rotation_vectors())
def test_rotation_vector_and_quaternion_agree_with_scipy(w):
    r = se3.so3_exp(w)
    judge = Rotation.from_rotvec(w)
    close(r, judge.as_matrix(), 1e-14)
    q = se3.rotation_to_quaternion(r)
    close(se3.quaternion_to_rotation(q), r, 1e-14)
    assert abs(q @ judge.as_quat()) == pytest.approx(1.0, abs=1e-14) and q[3] >= 0
    assert se3.rotation_angle(r) == pytest.approx(np.linalg.norm(w), abs=1e-11)


@given(poses, poses, poses)
def test_group_axioms(a, b, c):
    close((a @ b) @ c, a @ (b @ c))
    close(a @ se3.inverse(a), np.eye(4))
    close(se3.inverse(a) @ a, np.eye(4))
    close(se3.inverse(a @ b), se3.inverse(b) @ se3.inverse(a), 1e-11)
    close(a[:3, :3] @ a[:3, :3].T, np.eye(3), 1e-13)


@given(poses, st.integers(0, 50))
def test_renormalising_restores_the_rotation(t, seed):
    off = t.copy()
    off[:3, :3] += np.random.default_rng(seed).normal(scale=1e-6, size=(3, 3))
    fixed = se3.renormalised(off)
    close(fixed[:3, :3] @ fixed[:3, :3].T, np.eye(3), 1e-10)
    assert np.abs(fixed - off).max() < 1e-5 and (fixed[:, 3] == t[:, 3]).all()


@given(poses, tangents())
def test_adjoint_carries_increments_across(t, xi):
    close(t @ se3.exp(xi) @ se3.inverse(t), se3.exp(se3.adjoint(t) @ xi), 1e-9)


@given(poses, st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_transform_applies_the_matrix(t, point):
    close(se3.transform(t, np.array([point]))[0], (t @ [*point, 1.0])[:3])


def test_hat_is_the_cross_product():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 0.5, 4.0])
    close(se3.hat(a) @ b, np.cross(a, b))


@given(similarities(), similarities(), similarities())
def test_similarity_axioms(a, b, c):
    points = np.array([[0.3, -1.0, 2.0], [1.0, 1.0, -1.0]])
    left, right = a.compose(b).compose(c), a.compose(b.compose(c))
    size = 1.0 + np.abs(left.apply(points)).max()
    np.testing.assert_allclose(left.apply(points), right.apply(points), atol=1e-11 * size)
    np.testing.assert_allclose(a.compose(b).apply(points), a.apply(b.apply(points)), atol=1e-11 * size)
    np.testing.assert_allclose(a.inverse().apply(a.apply(points)), points, atol=1e-9)
    assert a.compose(b).scale == pytest.approx(a.scale * b.scale)


@given(similarities(), st.integers(0, 50), st.booleans())
def test_alignment_recovers_a_similarity(truth, seed, flat):
    source = np.random.default_rng(seed).normal(size=(12, 3))
    source[:, 2] *= 0.0 if flat else 1.0  # a planar path determines the rotation too
    found = se3.align(source, truth.apply(source), with_scale=True)
    assert found.scale == pytest.approx(truth.scale, rel=1e-9)
    close(found.rotation, truth.rotation, 1e-8)
    close(found.translation, truth.translation, 1e-8)


def test_alignment_without_scale_keeps_lengths():
    rng = np.random.default_rng(0)
    source = rng.normal(size=(30, 3))
    truth = se3.Similarity(1.7, se3.so3_exp(np.array([0.3, -0.8, 0.2])), np.array([1.0, 2.0, 3.0]))
    found = se3.align(source, truth.apply(source), with_scale=False)
    assert found.scale == 1.0
    close(found.rotation, truth.rotation, 1e-12)


def test_alignment_is_the_least_squares_one():
    rng = np.random.default_rng(4)
    source = rng.normal(size=(40, 3))
    target = 2.0 * source + rng.normal(scale=0.1, size=(40, 3))
    best = se3.align(source, target, with_scale=True)

    def cost(s):
        return float(((s.apply(source) - target) ** 2).sum())

    for k in range(7):
        xi = np.zeros(7)
        xi[k] = 1e-4
        step = se3.exp(xi[:6])
        for sign in (1, -1):
            nudged = se3.Similarity(np.exp(sign * xi[6]), step[:3, :3], sign * step[:3, 3])
            assert cost(nudged.compose(best)) >= cost(best)


def test_alignment_never_mirrors():
    source = np.random.default_rng(1).normal(size=(10, 3))
    found = se3.align(source, source * [1, 1, -1], with_scale=True)
    assert np.linalg.det(found.rotation) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "source, words",
    [
        (np.zeros((2, 3)), "at least 3"),
        (np.linspace(0, 1, 9)[:, None] * [1.0, 2.0, 3.0], "line"),
        (np.zeros((9, 3)), "line"),
        (np.full((9, 3), np.nan), "finite"),
    ],
)
def test_degenerate_alignments_are_refused(source, words):
    with pytest.raises(DegenerateError, match=words):
        se3.align(source, source, with_scale=True)
