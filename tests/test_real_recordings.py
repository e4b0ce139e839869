# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.real``: its parts on motion and noise that are known, and all of it on a small simulation."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent / "calibrate"))
from benchmarks import real, real_recording
from benchmarks.repeatability import compare, spread
from benchmarks.turntable import agreement
from scenes import recording, wrong_start

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.calibrate import Grid
from prism_vo.optics.camera import FocusedView, PlenopticCamera
from prism_vo.optics.vendor import RaytrixGrid, RaytrixLensType
from prism_vo.simulate import preset_camera
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.write import simulate_sequence
from prism_vo.types import DecodedFrame


def _on_a_circle(angles: Array, axis: Array, path_axis: Array, radius: float = 0.7) -> Array:
    """Poses that turn about ``axis`` while they move on a circle about ``path_axis``."""
    arm = np.cross(path_axis, (0.3, -0.5, 0.8))
    arm *= radius / np.linalg.norm(arm)
    poses = np.tile(np.eye(4), (len(angles), 1, 1))
    for pose, angle in zip(poses, angles):
        pose[:3, :3] = se3.so3_exp(axis * angle)
        pose[:3, 3] = se3.so3_exp(path_axis * angle) @ arm + (1.0, 2.0, 3.0)
    return poses


def test_turntable_of_the_right_camera_agrees() -> None:
    axis = np.array([0.0, 0.6, 0.8])
    angles = np.radians([0, 0, 3, 2, 5, 9, 14, 20, 27, 33])
    found = agreement(_on_a_circle(angles, axis, axis))
    assert found is not None
    assert found.turned == pytest.approx(np.radians(33)) and found.radius == pytest.approx(0.7)
    assert found.plane_axis_angle < 1e-5 and abs(found.arc_excess) < 1e-5
    assert found.roundness < 1e-6 and found.unevenness < 1e-6 < found.bend


def test_turntable_shows_a_wrong_camera() -> None:
    axis, tilted = np.array([0.0, 0.6, 0.8]), np.array([0.0, 0.8, 0.6])
    angles = np.linspace(0, 0.6, 20)
    found = agreement(_on_a_circle(angles, axis, tilted))
    assert found is not None
    assert found.plane_axis_angle == pytest.approx(np.arccos(0.96), abs=1e-3)
    poses = _on_a_circle(angles, axis, axis)
    slow = _on_a_circle(0.9 * angles, axis, axis)
    poses[:, :3, 3] = slow[:, :3, 3]
    found = agreement(poses)
    assert found is not None and found.arc_excess == pytest.approx(-0.1, abs=1e-3)


def test_no_turntable() -> None:
    axis = np.array([0.0, 0.0, 1.0])
    assert agreement(_on_a_circle(np.linspace(0, 0.1, 20), axis, axis)) is None  # too short
    assert agreement(_on_a_circle(np.linspace(0, 0.6, 3), axis, axis)) is None  # too few
    straight = _on_a_circle(np.linspace(0, 0.6, 20), axis, axis)
    straight[:, :3, 3] = np.random.default_rng(0).normal(size=(20, 3))
    assert agreement(straight) is None


def _textured_plane(
    view: FocusedView, depth: float, shift: int, noise: float, seed: int, stated: float
) -> DecodedFrame:
    """A plane before the camera, moved by whole pixels, with noise in ρ_v and a stated σ that grows to the right."""
    rng = np.random.default_rng(5)
    texture = cv2.GaussianBlur(
        rng.normal(0, 1, (view.height, view.width + 40)).astype(np.float32), (0, 0), 1.5
    )
    texture = 128 + 40 * texture / texture.std()
    image = np.ascontiguousarray(texture[:, 20 + shift : 20 + shift + view.width])
    sigma = noise * (1.0 + np.arange(view.width, dtype=np.float32) / view.width) * np.ones_like(image)
    rho = float(view.inv_virtual_depth(view.inv_depth_of(depth)))
    measured = rho + sigma * np.random.default_rng(seed).normal(size=image.shape)
    variance = (stated * sigma) ** 2
    valid = np.ones(image.shape, bool)
    return DecodedFrame(
        seed, 0.0, view, image, measured.astype(np.float32), variance.astype(np.float32), valid
    )


@pytest.mark.parametrize("stated", [1.0, 0.7])
def test_repeatability_finds_how_good_sigma_is(stated: float) -> None:
    view = PlenopticCamera.from_calibration(preset_camera("mini")).view("central")
    depth, shift = 1.5, 4
    T_second_first = np.eye(4)
    T_second_first[0, 3] = -shift * (depth - view.z0) / view.focal_px
    T_second_first[2, 3] = 0.002
    first = _textured_plane(view, depth, 0, 0.003, 1, stated)
    second = _textured_plane(view, depth + 0.002, shift, 0.003, 2, stated)
    found = compare(first, second, T_second_first, view)
    assert found is not None
    for difference in (found.difference, found.difference - found.smooth):
        seen = spread(difference / found.sigma, found.sigma)
        assert seen.overall == pytest.approx(1 / stated, rel=0.03)
        assert np.allclose(seen.by_fifths, 1 / stated, rtol=0.06)
    assert abs(np.median(found.difference)) < 3e-4
    # a wrong camera leaves something smooth, which is no noise
    tilted = second.inv_virtual_depth + np.linspace(-0.02, 0.02, view.width, dtype=np.float32)
    wrong = DecodedFrame(2, 0.0, view, second.image, tilted, second.variance, second.valid)
    found = compare(first, wrong, T_second_first, view)
    assert found is not None
    assert spread(found.difference / found.sigma, found.sigma).overall > 1.5 / stated
    rest = (found.difference - found.smooth) / found.sigma
    assert spread(rest, found.sigma).overall == pytest.approx(1 / stated, rel=0.03)


def test_nothing_seen_twice() -> None:
    view = PlenopticCamera.from_calibration(preset_camera("mini")).view("central")
    frame = _textured_plane(view, 1.5, 0, 0.003, 1, 1.0)
    empty = DecodedFrame(
        1, 0.0, view, frame.image, frame.inv_virtual_depth, frame.variance, np.zeros_like(frame.valid)
    )
    assert compare(frame, empty, np.eye(4), view) is None


def test_frames_are_paired_by_their_numbers() -> None:
    assert real_recording.frame_numbers([Path("a_000.png"), Path("a_010.png"), Path("a_020.png")]) == [
        0,
        10,
        20,
    ]
    assert real_recording.frame_numbers([Path("a.png"), Path("b.png")]) == [0, 1]
    assert real.frame_pairs([0, 10, 20]) == [(0, 1), (1, 2)]
    assert real.frame_pairs(list(range(20))) == [(0, 9), (9, 18)]
    assert real.frame_pairs([0, 1, 2]) == []
    assert len(real.frame_pairs(list(range(0, 1000, 10)))) == real.MOST_PAIRS
    noise = np.random.default_rng(0).integers(0, 255, (8, 8), np.uint8)
    assert real.same_noise(noise, noise) and not real.same_noise(noise, noise + 1)


def test_lens_types_of_a_vendor_by_class() -> None:
    """Offsets in pitches, y down: one lens downwards is one step against an axis that points up."""
    types = tuple(
        RaytrixLensType(offset, depths)
        for offset, depths in (((0.0, 0.0), (1.0, 3.0)), ((0.0, 1.0), (2.0, 6.0)), ((0.0, -1.0), (4.0, 12.0)))
    )
    vendor = RaytrixGrid((0.0, 0.0), 20.0, 0.0, 1.0, (0.0, 1.0), (0.866, 0.5), types)
    grid = Grid.regular("hexagonal", 20.0, -np.pi / 2)
    assert np.allclose(real_recording.focus_by_class(vendor, grid), [1.5, 6.0, 3.0])


def test_folders_that_are_no_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "raw").mkdir()
    for argument in (tmp_path, tmp_path / "nothing"):
        sys.argv = ["real", str(argument)]
        assert real.main() == 2
        assert "neither it nor a folder in it" in capsys.readouterr().err


def test_whole_table_of_a_simulated_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "desk"
    simulate_sequence("table", folder, SimulateOptions(camera="mini", frames=12))
    shutil.rmtree(folder / "depth", ignore_errors=True)
    sys.argv = ["real", str(tmp_path)]
    assert real.main() == 0
    out = capsys.readouterr().out
    assert "## desk: 12 images" in out and "optics camera.yaml" in out
    assert "| frames tracked | 12 of 12, 1 segment(s) |" in out
    assert "points in 1 pairs of frames 9 or more apart" in out
    scatter = next(line for line in out.splitlines() if line.startswith("| scatter over σ, as it is"))
    assert 0.7 < float(scatter.split("|")[2].split(";")[0]) < 1.5
    assert out.count("turned by") == 0


def test_grid_of_a_vendor_is_corrected_and_optics_nominal(tmp_path: Path) -> None:
    truth, frames, white = recording("table")
    start = wrong_start(truth, white.shape, 0.4, -7e-4)
    (tmp_path / "raw").mkdir()
    for n, frame in enumerate(frames):
        cv2.imwrite(str(tmp_path / "raw" / f"{10 * n:06d}.png"), frame)
    x, y = start.origin - (np.array(white.shape[::-1]) / 2 - 0.5)
    kinds = "".join(
        f'<lens_type id="{k}"><offset><x>{k}</x><y>0</y></offset>'
        "<depth_range><min>2</min><max>4</max></depth_range></lens_type>"
        for k in range(3)
    )
    (tmp_path / "mla.xml").write_text(
        f"<RayCalibData><offset><x>{x}</x><y>{-y}</y></offset><diameter>{start.pitch}</diameter>"
        f"<rotation>{-start.rotation}</rotation><lens_border>1</lens_border><lens_base_x><x>1</x><y>0</y></lens_base_x>"
        f"<lens_base_y><x>0.5</x><y>0.8660254</y></lens_base_y>{kinds}</RayCalibData>"
    )
    assert real_recording.recordings(tmp_path) == [tmp_path]
    found = real_recording.open_recording(tmp_path, real_recording.NominalOptics(16.0, 15.3, 0.4, 20.0))
    assert found.numbers == [0, 10, 20, 30, 40] and found.optics.startswith("nominal")
    assert found.camera.calibration.mla.pitch_px == pytest.approx(truth.pitch, rel=5e-5)
    assert found.camera.f_L == 16.0 and len(found.camera.calibration.mla.lens_types) == 3
    assert 0.3 < np.nanmedian(np.hypot(*found.fit.start_offsets.T)) < 0.8
