# SPDX-License-Identifier: Apache-2.0
"""Sentences a user should read beside the result of a run: what does not fit, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from prism_vo.doubtful_scale import doubtful_scale
from prism_vo.frame_report import FrameReport, usual_depth
from prism_vo.lightfield.grid_watch import is_shaded_otherwise
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.focus import FocusModel
from prism_vo.poor_frames import COVERED_PART, poor_frames
from prism_vo.window.agreement import middle_excess, most_certain
from prism_vo.window.report import FocusReport
from prism_vo.withdrawal import is_forgotten, is_frozen, is_repeated

SURE = 3.0  # standard deviations
LEAST_KEYFRAMES = 3  # that must agree before anything is said
MICRO = 1e3  # µm per mm
# partly covered or poor frames among so many in a row, from which on it is said: clean recordings have none, but for
# deep scenes, whose near things hide the far ones (6)
LEAST_FRAMES, IN_A_ROW = 8, 30
# share of an image's pixels that fit: clean ones 0.97 and more, real ones with guessed optics and wide steps 0.71;
# noise of 30 grey levels leaves 0.74 and poses that are right within their σ, 40 leave 0.59 and poses far outside of it
LEAST_INLIERS = 0.65
LAMP_SHARE = 0.2  # of the frames that must have bands
VAGUE = 0.05  # relative σ of distances beyond which it is said that the images do not show the focus


def focus_notices(reports: Iterable[FrameReport], camera: PlenopticCamera) -> list[str]:
    """A sentence for every focus that is not the one of the camera file; what to do about it if nothing was done."""
    reports = list(reports)
    followed = [
        (r.index, r.mapping.focus) for r in reports if r.mapping is not None and r.mapping.focus is not None
    ]
    if not followed:
        sentence = contradiction(reports, camera)
        return [] if sentence is None else [sentence]
    depth = usual_depth(reports)
    model, sentences, before = FocusModel.of(camera.view("central"), camera), [], 0.0
    changes = [n for n, (_, focus) in enumerate(followed) if focus.verdict == "has changed"]
    ends = [*changes, len(followed)]
    for start, end in zip([0, *changes], ends):
        if start == end:
            continue
        index, last = followed[start][0], followed[end - 1][1]
        moved = last.shift - before
        if abs(moved) > SURE * last.sigma and (start in changes or last.shift != 0.0):
            when = (
                f"moved at about frame {index}" if start in changes else "is not the one of the camera file"
            )
            sentences.append(
                f"The focus {when}, by {MICRO * moved:+.1f} ± {MICRO * last.sigma:.1f} µm: "
                f"{_consequence(model, before, last.shift, depth)}; camera_refined.yaml has the new focus."
            )
        before = last.shift
    return sentences + _vague(model, followed[-1][1], depth)


def _vague(model: FocusModel, last: FocusReport, depth: float) -> list[str]:
    """A sentence if images neither confirm nor contradict the focus of the camera file, and distances hang on it."""
    relative = abs(model.slopes(0.0).w_infinity) * last.sigma * depth / model.view.kappa
    if last.shift != 0.0 or relative < VAGUE:
        return []
    return [
        f"The images do not show well whether the focus is that of the camera file (± {MICRO * last.sigma:.1f} µm), so "
        f"distances near {depth:.2g} m are known to {100 * relative:.0f} % only: record something nearer, or calibrate "
        "and let the file state its uncertainty."
    ]


def lens_notices(reports: Iterable[FrameReport], camera: PlenopticCamera) -> list[str]:
    """A sentence if focal length or principal point are not those of the camera file."""
    found = [r.mapping.lens for r in reports if r.mapping is not None and r.mapping.lens is not None]
    if not found or not (np.abs(found[-1].numbers) > SURE * found[-1].sigma).any():
        return []
    scale = np.array([100.0, camera.tf_scale, camera.tf_scale])  # %, raw px
    (focal, x, y), (s_focal, s_x, s_y) = scale * found[-1].numbers, scale * found[-1].sigma
    return [
        f"The lens is not the one of the camera file: focal length {focal:+.2f} ± {s_focal:.2f} %, principal point "
        f"{x:+.1f} ± {s_x:.1f} and {y:+.1f} ± {s_y:.1f} px (raw); camera_refined.yaml has it."
    ]


def doubts(reports: Iterable[FrameReport]) -> list[str]:
    """Sentences on what may have drawn poses aside though every frame has one: exit code 3."""
    reports = list(reports)
    return [
        *covered_notices(reports),
        *poor_notices(reports),
        *misfit_notices(reports),
        *scale_notices(reports),
        *shading_notices(reports),
        *withdrawn_notices(reports),
    ]


def covered_notices(reports: Iterable[FrameReport]) -> list[str]:
    """A sentence if parts of several images show something else than the map."""
    reports = list(reports)
    numbers = [n for n, r in enumerate(reports) if r.covered > COVERED_PART]
    if not _are_many(numbers):
        return []
    covered = [reports[n] for n in numbers]
    first, last, share = covered[0].index, covered[-1].index, np.mean([r.covered for r in covered])
    return [
        f"In {len(covered)} of {len(reports)} frames ({first} to {last}) a part of the image, {100 * share:.0f} % in "
        "the mean, shows something else than the map (covered, moving, reflected or torn in time): their poses rest on "
        "the other parts, and may be drawn aside; see covered in stats.jsonl."
    ]


def poor_notices(reports: Iterable[FrameReport]) -> list[str]:
    """A sentence if several images suddenly fit the map far worse than those before, or have no depth."""
    reports = list(reports)
    numbers = poor_frames(reports)
    if not _are_many(numbers):
        return []
    first, last = reports[numbers[0]].index, reports[numbers[-1]].index
    return [
        f"{len(numbers)} of {len(reports)} frames ({first} to {last}) suddenly fit the map far worse than those before "
        "them, have no depth, or hang on one that does, or that is mostly covered: their poses may be drawn aside."
    ]


def misfit_notices(reports: Iterable[FrameReport]) -> list[str]:
    """A sentence if many pixels of several images fit nowhere, though nothing covers them."""
    reports = list(reports)
    tracked = [
        (n, r, r.track) for n, r in enumerate(reports) if r.status != "lost" and r.covered <= COVERED_PART
    ]
    found = [(n, r.index, t.inliers) for n, r, t in tracked if t is not None and t.inliers < LEAST_INLIERS]
    if not _are_many([n for n, _, _ in found]):
        return []
    share = 100 * (1.0 - float(np.median([inliers for _, _, inliers in found])))
    return [
        f"In {len(found)} of {len(reports)} frames ({found[0][1]} to {found[-1][1]}) {share:.0f} % of the pixels do "
        "not fit the map, all over the image (noise, compression?): poses may be far more wrong than their σ; give "
        "the images more light."
    ]


def scale_notices(reports: Iterable[FrameReport]) -> list[str]:
    """A sentence if measured depth and parallax disagree about lengths, whatever the focus."""
    found = doubtful_scale(reports)
    if not found:
        return []
    first, last = found[0].index, found[-1].index
    was_sought = any(report.mapping is not None and report.mapping.focus is not None for report in found)
    why = (
        "and no focus explains it: lengths may be wrong several times over (a camera that only turned at first, images "
        "whose parts do not belong together, a wrong camera file?)."
        if was_sought
        else "and no other focus was looked for: lengths may be wrong; --calibrate focus tells whether one explains it."
    )
    return [
        f"At {len(found)} keyframes ({first} to {last}) lengths by parallax and by measured depth differ by a factor, "
        + why
    ]


def shading_notices(reports: Iterable[FrameReport]) -> list[str]:
    """A sentence if light falls off inside the micro-images of several frames unlike in the first ones."""
    reports = list(reports)
    numbers = [n for n, r in enumerate(reports) if r.status != "lost" and is_shaded_otherwise(r.shading)]
    if not _are_many(numbers):
        return []
    other = [reports[n] for n in numbers]
    middle = 100 * (float(np.median([r.shading for r in other])) - 1.0)
    return [
        f"In {len(other)} of {len(reports)} frames ({other[0].index} to {other[-1].index}) micro-images are shaded "
        f"otherwise than in the first ones (by {middle:+.0f} %): response curve, black level or aperture have changed, "
        "or something lies over the image; depths measured in them are biased and count less, lengths may be wrong."
    ]


def _are_many(numbers: list[int]) -> bool:
    """Whether so many of them lie so close together that it is no chance."""
    return any(last - first < IN_A_ROW for first, last in zip(numbers, numbers[LEAST_FRAMES - 1 :]))


def withdrawn_notices(reports: Iterable[FrameReport]) -> list[str]:
    """A sentence on poses that were taken back at the end: the camera delivered one image again and again while it went
    on, or a segment is made of images that were no good."""
    reports, sentences = list(reports), []
    if frozen := [report.index for report in reports if is_frozen(report)]:
        many = f"{len(frozen)} frames ({frozen[0]} to {frozen[-1]}) are copies"
        which = many if len(frozen) > 1 else f"Frame {frozen[0]} is a copy"
        sentences.append(
            f"{which}, to the last bit, of the frame before, while the camera went on or may have: no pose is known."
        )
    if again := [report.index for report in reports if is_repeated(report)]:
        sentences.append(
            f"{len(again)} frames ({again[0]} to {again[-1]}) show what the frame before them showed, though not to "
            "the last bit, while the camera went on or may have: no pose is known."
        )
    if poor := [report.index for report in reports if is_forgotten(report)]:
        many = f"{len(poor)} frames ({poor[0]} to {poor[-1]}) belong"
        which = many if len(poor) > 1 else f"Frame {poor[0]} belongs"
        sentences.append(
            f"{which} to maps that nothing joins to the others and that have far less depth, fewer than three "
            "keyframes, or depths that contradict parallax (out of focus, fog, uneven light?): no pose is known."
        )
    return sentences


def no_pose_notices(reports: Iterable[FrameReport]) -> list[str]:
    """A sentence if no frame has a pose: what was wrong with most of them, and what to look at."""
    reports = list(reports)
    if not reports or any(report.status != "lost" for report in reports):
        return []
    why = [report.problem or (report.verdict and report.verdict.contradiction) for report in reports]
    reasons = Counter(reason for reason in why if reason)
    look = "Look at the images (light, sharpness, distance); prism-vo info checks whether the camera file fits them."
    if not reasons:
        return [f"No frame has a pose. {look}"]
    reason, count = reasons.most_common(1)[0]
    return [f"No frame has a pose. In {count} of {len(reports)} frames: {reason} {look}"]


def lamp_notices(banded: int, frames: int) -> list[str]:
    """A sentence if many frames had the bands of a lamp; a few may be of something else."""
    if banded <= LAMP_SHARE * frames:
        return []
    return [
        "Bands of a flickering lamp wander over the rows: they were taken out, but poses and depth are less sure for "
        "it; expose for a multiple of the lamp's period (10 ms at 50 Hz)."
    ]


def _consequence(model: FocusModel, before: float, now: float, depth: float) -> str:
    """What another focus (shifts in mm) means for distances, in words."""
    change = abs(_change_of_distance(model, before, now, depth))
    if change <= 1.0:
        return f"distances near {depth:.2g} m are corrected by {100.0 * change:.1f} %"
    # what seemed twice as near and more: per cents of what is next to infinity say nothing
    old, new = model.at(before), model.at(now)
    infinity = old.kappa / abs(new.w_infinity - old.w_infinity)
    return f"without the correction all that is far away would seem to lie {infinity:.2g} m away"


def _change_of_distance(model: FocusModel, before: float, now: float, depth: float) -> float:
    """Relative change of the distance of what is measured at ``depth`` (m), from one shift (mm) to another."""
    old, new = model.at(before), model.at(now)
    w = old.w_infinity + old.kappa / depth
    return new.kappa / (w - new.w_infinity) / depth - 1.0


def contradiction(reports: Iterable[FrameReport], camera: PlenopticCamera) -> str | None:
    """One sentence if measured depth and parallax contradict each other by more than chance."""
    found = [
        r.mapping.agreement for r in reports if r.mapping is not None and r.mapping.agreement is not None
    ]
    if len(found) < LEAST_KEYFRAMES:
        return None
    best = most_certain(found)
    excess, sigma = middle_excess(found)
    if abs(excess) < SURE * sigma:
        return None
    disagree = f"Measured depth and parallax disagree ({abs(excess) / sigma:.0f} σ)"
    if camera.calibration.nominal:
        expected = best[0].expected_intercept
        return (
            f"{disagree}: the nominal optics do not fit these images; the virtual depth at infinity is about "
            f"{expected + excess:.3f}, not {expected:.3f}."
        )
    moved = MICRO * excess / FocusModel(camera.view("central"), camera).slopes(0.0).w_infinity
    depth = 1.0 / float(np.median([a.median_inv_depth for a in best]))
    wrong = 100.0 * excess * depth / camera.view("central").kappa
    return (
        f"{disagree}: the focus seems to have moved by about {moved:+.0f} µm since the calibration, so distances "
        f"near {depth:.2g} m are about {abs(wrong):.0f} % too "
        f"{'small' if wrong > 0 else 'large'}."
    )


def agreement_rows(reports: Iterable[FrameReport]) -> list[tuple[str, str]]:
    """The comparison of measured depth and parallax in plain words."""
    found = [
        r.mapping.agreement for r in reports if r.mapping is not None and r.mapping.agreement is not None
    ]
    if not found:
        return []
    best = most_certain(found)
    sigma = float(np.median([a.intercept_sigma for a in best]))
    excess = float(np.median([a.excess for a in best]))
    words = f"virtual depth at infinity {best[0].expected_intercept + excess:.4f} ± {sigma:.4f}"
    return [("depth and parallax", f"{words}; the file's is {best[0].expected_intercept:.4f}")]
