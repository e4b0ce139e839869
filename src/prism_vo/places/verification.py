# SPDX-License-Identifier: Apache-2.0
"""Whether two keyframes show one place: features, images in both directions and both depth maps must say so.

Each of these alone can be deceived: repeated structure matches features, dark walls match images. A false pose
contradicts metric depth at once, whichever side's depth is taken, and no other camera has that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.linear.scaling import damped_step, inverse, jacobi_scale, scaled
from prism_vo.optics.camera import FocusedView
from prism_vo.places.alignment import Aligned, Aligner, Posable, start_gain
from prism_vo.places.geometry import MatchedPose, pose_of_matches
from prism_vo.places.keyframe import CompactKeyframe

LEAST_FEATURES = 15  # that agree on the pose
LEAST_FEATURE_SHARE = 0.5  # of the distinct matches
LEAST_VISIBLE = 0.3  # share of either side's points that the other sees
LEAST_INLIERS = 0.85  # share of those that fit, in the worse direction
LEAST_CORRELATION = 0.85  # of the images, whatever gain and offset
LARGEST_FLOW = 0.0012  # of the image width, between the poses of the two directions
LEAST_DEPTH_SHARE = 0.8  # of points seen by both sides whose distances agree
LARGEST_DEPTH_RATIO = 0.05  # |median log ratio| of the two sides' distances
DEPTH_SIGMAS = 3.0
DEPTH_TOLERANCE = 0.03  # relative, what neighbouring points may differ by
LEAST_COMMON = 20  # points seen by both sides, for their distances to mean anything
NEAR = 0.012  # of the image width: points this close show the same surface
OUT_OF_REACH = 1e9
SCALE_SIGMA = 0.02  # relative, of one side's depths
MOST_SCALE = 0.03  # relative, by which they may differ
PROBE = 1e-3  # relative step of a numeric derivative by that factor
# of photometric σ: neighbouring pixels share depth, noise and interpolation, neighbouring keyframes most of that too
INFLATION = 6.7


@dataclass(frozen=True)
class Verification:
    """All that was found out about a pair; ``refusal`` is empty for one place seen twice."""

    refusal: str
    T_b_a: Array | None = None
    information: Array | None = None  # (6, 6) of T_b_a, left tangent
    features: int = 0
    feature_share: float = 0.0
    visible: float = 0.0
    inliers: float = 0.0
    correlation: float = 0.0
    rms: float = np.inf  # grey levels
    flow: float = OUT_OF_REACH  # of the image width
    depth_share: float = 0.0
    depth_ratio: float = OUT_OF_REACH  # log
    common: int = 0

    @property
    def ok(self) -> bool:
        """One place."""
        return not self.refusal


def verify(
    aligner: Aligner,
    a: CompactKeyframe,
    b: CompactKeyframe,
    finer: list[Floats] | None = None,
    prior: Array | None = None,
) -> Verification:
    """Compare keyframe ``b`` with ``a``.

    ``finer``: levels of b's image above the one it keeps, if somebody has them; ``prior``: a guess of T_b_a from
    elsewhere, tried beside that of features.
    """
    matched = pose_of_matches(aligner.view, a.features, b.features)
    if matched is None:
        return Verification("too few features agree on one pose")
    share = len(matched.rows_a) / matched.matches
    if len(matched.rows_a) < LEAST_FEATURES or share < LEAST_FEATURE_SHARE:
        return Verification(
            "too few features agree on one pose", features=len(matched.rows_a), feature_share=share
        )
    forward, backward = _both_ways(aligner, aligner.ready(a), aligner.ready(b, finer), matched, prior)
    return _judged(aligner.view, a, b, matched, forward, backward)


def _both_ways(
    aligner: Aligner, a: Posable, b: Posable, matched: MatchedPose, prior: Array | None
) -> tuple[Aligned, Aligned]:
    """Points of a in b, points of b in a; where one direction went astray it is tried again from the other's end."""
    gain = start_gain(
        a.keyframe,
        b.keyframe,
        a.keyframe.features.xy[matched.rows_a],
        b.keyframe.features.xy[matched.rows_b],
    )
    guesses = matched.guesses() if prior is None else [prior, matched.T_b_a]
    forward = aligner.align(a, b, guesses, gain)
    backward = aligner.align(b, a, [se3.inverse(g) for g in guesses], 1.0 / gain)
    apart = flow_between(
        aligner.view, a.keyframe, forward.T_image_points, se3.inverse(backward.T_image_points)
    )
    if apart > LARGEST_FLOW:
        again = aligner.align(a, b, [se3.inverse(backward.T_image_points)], gain)
        other = aligner.align(b, a, [se3.inverse(forward.T_image_points)], 1.0 / gain)
        forward = again if again.score < forward.score else forward
        backward = other if other.score < backward.score else backward
    return forward, backward


def _judged(
    view: FocusedView,
    a: CompactKeyframe,
    b: CompactKeyframe,
    matched: MatchedPose,
    forward: Aligned,
    backward: Aligned,
) -> Verification:
    if not (np.isfinite(forward.noise) and np.isfinite(backward.noise)):
        return Verification("too little is seen by both", features=len(matched.rows_a))
    T_b_a, information = fused_pose(forward, backward)
    flow = flow_between(view, a, forward.T_image_points, se3.inverse(backward.T_image_points))
    common, share, ratio = depth_agreement(view, a, b, T_b_a)
    found = {
        "T_b_a": T_b_a,
        "information": information,
        "features": len(matched.rows_a),
        "feature_share": len(matched.rows_a) / matched.matches,
        "visible": min(forward.visible, backward.visible),
        "inliers": min(forward.inliers, backward.inliers),
        "correlation": min(forward.correlation, backward.correlation),
        "rms": max(forward.rms, backward.rms),
        "flow": flow,
        "depth_share": share,
        "depth_ratio": ratio,
        "common": common,
    }
    seen = Verification("", **found)  # type: ignore[arg-type]
    return Verification(_refusal(seen), **found)  # type: ignore[arg-type]


def _refusal(v: Verification) -> str:
    """The first reason not to believe it."""
    if v.visible < LEAST_VISIBLE:
        return "too little is seen by both"
    if v.inliers < LEAST_INLIERS or v.correlation < LEAST_CORRELATION:
        return "the images do not fit"
    if v.flow > LARGEST_FLOW:
        return "the two directions give different poses"
    if v.common < LEAST_COMMON:
        return "too few points are seen by both"
    if v.depth_share < LEAST_DEPTH_SHARE or abs(v.depth_ratio) > LARGEST_DEPTH_RATIO:
        return "the measured distances do not agree"
    return ""


def fused_pose(forward: Aligned, backward: Aligned) -> tuple[Array, Array]:
    """T_b_a and its information from both directions, weighted by their covariances."""
    T, other = forward.T_image_points, se3.inverse(backward.T_image_points)
    # exp(ξ) T_a_b is T_b_a exp(−ξ) = exp(−Ad ξ) T_b_a
    turned = se3.adjoint(other)
    first = inverse(covariance_of(forward))
    second = inverse(turned @ covariance_of(backward) @ turned.T)
    if first is None or second is None:
        return T, np.zeros((6, 6))
    difference = se3.log(se3.renormalised(other @ se3.inverse(T)))
    step = damped_step(first + second, -second @ difference, 0.0)
    return (T if step is None else se3.renormalised(se3.exp(step) @ T)), first + second


def covariance_of(aligned: Aligned) -> Array:
    """(6, 6) of T_image_points, left tangent.

    Residuals of neighbouring pixels are not independent, and the depths of one side are wrong together, by a factor:
    that is an error of the translation by the same factor.
    """
    scale = jacobi_scale(aligned.hessian)
    h = scaled(aligned.hessian, scale) + 1e-9 * np.eye(6)
    photometric = scaled(np.asarray(np.linalg.inv(h), np.float64), scale) * (INFLATION * aligned.noise) ** 2
    along = np.concatenate([aligned.T_image_points[:3, 3], np.zeros(3)])
    return np.asarray(photometric + SCALE_SIGMA**2 * np.outer(along, along))


def flow_between(view: FocusedView, keyframe: CompactKeyframe, one: Array, other: Array) -> float:
    """RMS distance of a keyframe's points in another image under two poses, in widths of the image.

    Translations may differ by a small factor: each direction has its own side's depths, and with them its own scale.
    """
    points = keyframe.points(view)
    at = [
        np.stack(view.image_plane.project(se3.transform(t, points)), -1) for t in (one, _longer(one), other)
    ]
    seen = np.isfinite(np.hstack(at)).all(1)
    if not seen.any():
        return OUT_OF_REACH
    change, d = (at[1] - at[0])[seen] / PROBE, (at[2] - at[0])[seen]
    factor = float(np.clip((change * d).sum() / max((change**2).sum(), 1e-12), -MOST_SCALE, MOST_SCALE))
    return float(np.sqrt(((d - factor * change) ** 2).sum(1).mean()) / view.width)


def _longer(t: Array) -> Array:
    out = t.copy()
    out[:3, 3] *= 1.0 + PROBE
    return out


def depth_agreement(
    view: FocusedView, a: CompactKeyframe, b: CompactKeyframe, T_b_a: Array
) -> tuple[int, float, float]:
    """Points of a that lie near one of b in its image: how many, the share that is as far away, log median ratio."""
    moved = se3.transform(T_b_a, a.points(view))
    x, y = view.image_plane.project(moved)
    ahead = (moved[:, 2] > 1e-3) & view.image_plane.contains(x, y, 0.0)
    if not ahead.any() or len(b.pixels) == 0:
        return 0, 0.0, OUT_OF_REACH
    rows = np.flatnonzero(ahead)
    distance, near = cKDTree(b.pixels.astype(np.float64)).query(np.stack([x[rows], y[rows]], -1))
    close = distance < NEAR * view.width
    rows, near = rows[close], near[close]
    if len(rows) == 0:
        return 0, 0.0, OUT_OF_REACH
    expected = 1.0 / moved[rows, 2]
    relative = a.sigma[rows].astype(np.float64)
    q, sigma = b.inv_depth[near].astype(np.float64), np.sqrt(b.variance[near].astype(np.float64))
    limit = DEPTH_SIGMAS * np.hypot(sigma, relative * expected) + DEPTH_TOLERANCE * expected
    share = float(np.mean(np.abs(q - expected) < limit))
    return len(rows), share, float(np.median(np.log(q / expected)))
