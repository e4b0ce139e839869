# SPDX-License-Identifier: Apache-2.0
"""Ready-made focused images and depth maps, in every convention, end as true inverse virtual depths."""

from __future__ import annotations

import numpy as np
import pytest
from sequence_files import CALIBRATION, HEIGHT, WIDTH, images, write_decoded_sequence, write_image

from prism_vo.datasets import open_sequence
from prism_vo.datasets.undistort import undistorted_frame
from prism_vo.errors import InputError
from prism_vo.optics.calibration import Calibration, save_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import DecodedFrame

TF = (WIDTH // 2, HEIGHT // 2)
CAMERA = PlenopticCamera(CALIBRATION)


def true_map(seed=0):
    """Inverse virtual depths of points between 0.3 and 5 m."""
    z = np.random.default_rng(seed).uniform(0.3, 5.0, (TF[1], TF[0]))
    return CAMERA.inv_virtual_depth(1 / z)


def lifcal16(rho):
    return np.round((1 - rho) * 65535).astype(np.uint16)


def focused(count=1, dtype=np.uint8, channels=0):
    return images(count, dtype, channels, size=TF)


def test_sixteen_bit_maps(tmp_path):
    rho = true_map()
    stored = lifcal16(rho)
    stored[3, 4] = 0
    folder = write_decoded_sequence(tmp_path, focused(), [stored])
    sequence = open_sequence(folder)
    frame = sequence[0]
    assert sequence.is_decoded and isinstance(frame, DecodedFrame) and frame.view == CAMERA.view("central")
    assert (
        not frame.valid[3, 4]
        and np.isnan(frame.inv_virtual_depth[3, 4])
        and frame.valid.sum() == rho.size - 1
    )
    np.testing.assert_allclose(
        frame.inv_virtual_depth[frame.valid], rho[frame.valid], atol=0.51 / 65535 + 1e-7
    )


@pytest.mark.parametrize("view", ["focal", "central"])
def test_the_vendors_convention_becomes_the_true_one(tmp_path, view):
    """A map of 1/v_n, read with the convention named, gives back metric depth; λ also scales its sigma."""
    rho = true_map()
    naive = (1 - CAMERA.lam) + CAMERA.lam * rho
    sigma = np.full(rho.shape, 0.003, np.float32)
    sigma[0, 0] = np.nan
    text = f"{{view: {view}, convention: micro-image, virtual_depth: float32, sigma: float32}}"
    folder = write_decoded_sequence(tmp_path, focused(), [naive.astype(np.float32)], [sigma], text)
    frame = open_sequence(folder)[0]
    assert frame.view.name == view
    np.testing.assert_allclose(frame.inv_virtual_depth[1:], rho[1:], atol=2e-7)
    np.testing.assert_allclose(np.sqrt(frame.variance[1:]), 0.003 / CAMERA.lam, rtol=1e-5)
    assert (
        np.isinf(frame.variance[0, 0]) and not frame.valid[0, 0] and np.isnan(frame.inv_virtual_depth[0, 0])
    )


def test_float_maps_mark_invalid_pixels_by_nan_or_zero(tmp_path):
    rho = true_map().astype(np.float32)
    rho[0, :5] = np.nan, 0.0, np.inf, 1.5, -0.3
    text = "{view: focal, convention: true, virtual_depth: float32}"
    frame = open_sequence(write_decoded_sequence(tmp_path, focused(), [rho], None, text))[0]
    assert not frame.valid[0, :5].any() and frame.valid.sum() == rho.size - 5


@pytest.mark.parametrize("dtype, channels", [(np.uint8, 0), (np.uint16, 0), (np.uint8, 3), (np.uint16, 3)])
def test_intensities_are_grey_0_to_255(tmp_path, dtype, channels):
    stored = focused(1, dtype, channels)
    frame = open_sequence(write_decoded_sequence(tmp_path, stored, [lifcal16(true_map())]))[0]
    assert frame.image.dtype == np.float32 and frame.image.shape == (TF[1], TF[0])
    full = stored[0].astype(float) / (257 if dtype == np.uint16 else 1)
    low, high = (full, full) if not channels else (full.min(2), full.max(2))
    assert (frame.image >= low - 0.01).all() and (frame.image <= high + 0.01).all()
    assert (frame.color is not None) == bool(channels)


def test_focused_images_without_depth(tmp_path):
    frame = open_sequence(write_decoded_sequence(tmp_path, focused(2), []))[1]
    assert frame.inv_virtual_depth is None and frame.valid is None and frame.variance is None


def test_raw_images_take_precedence(tmp_path):
    folder = write_decoded_sequence(tmp_path, focused(), [lifcal16(true_map())])
    write_image(folder / "raw" / "0.png", images(1)[0])
    assert not open_sequence(folder).is_decoded


@pytest.mark.parametrize(
    "text, words",
    [
        ("{view: central}", "'convention' is missing"),
        ("{view: sideways, convention: true}", "'view'"),
        ("{view: central, convention: true, sgima: none}", "did you mean 'sigma'"),
        ("{view: central, convention: maybe}", "'convention'"),
    ],
)
def test_description_faults(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        open_sequence(write_decoded_sequence(tmp_path, focused(), [lifcal16(true_map())], None, text))


def test_map_faults(tmp_path):
    folder = write_decoded_sequence(tmp_path / "count", focused(2), [lifcal16(true_map())])
    with pytest.raises(InputError, match="2 focused images but 1 virtual_depth"):
        open_sequence(folder)
    folder = write_decoded_sequence(tmp_path / "bits", focused(), [lifcal16(true_map())])
    write_image(folder / "virtual_depth" / "0.png", focused()[0])
    with pytest.raises(InputError, match="16-bit"):
        open_sequence(folder)[0]
    folder = write_decoded_sequence(tmp_path / "size", focused(), [np.ones((5, 5), np.uint16)])
    with pytest.raises(InputError, match="expected 32x24"):
        open_sequence(folder)[0]
    folder = write_decoded_sequence(tmp_path / "undescribed", focused(), [lifcal16(true_map())])
    (folder / "decoded.yaml").unlink()
    with pytest.raises(InputError, match=r"need a decoded\.yaml"):
        open_sequence(folder)


@pytest.mark.parametrize("view", ["focal", "central"])
def test_distorted_frames_are_straightened(view):
    """Dots drawn where the distorted lens puts them end where the distortion-free model puts them."""
    data = CALIBRATION.model_dump()
    data["sensor"] = {"width": 400, "height": 400, "pixel_size_um": 20.0}
    data["main_lens"]["principal_point_px"] = (198.0, 203.0)
    data["main_lens"]["distortion"] = {"radial": (2e-3, 0.0), "tangential": (3e-4, -2e-4)}
    camera = PlenopticCamera(Calibration.model_validate(data))
    v, focused_view = 3.0, camera.view(view)
    depth = float(camera.depth(v))
    yy, xx = np.mgrid[0:200, 0:200].astype(np.float64)
    straight = np.array([[40.0, 50.0], [150.0, 60.0], [100.0, 160.0], [30.0, 170.0]])
    points = focused_view.unproject(straight, np.full(4, depth))
    # the chief ray of each point meets the array at x b_L0/z; there LiFCal's model shifts it
    on_array = points[:, :2] / points[:, 2:] * camera.b_L0
    x, y = on_array.T
    r2 = x**2 + y**2
    shift = np.stack(
        [
            x * 2e-3 * r2 + 3e-4 * (r2 + 2 * x**2) + 2 * -2e-4 * x * y,
            y * 2e-3 * r2 - 2e-4 * (r2 + 2 * y**2) + 2 * 3e-4 * x * y,
        ],
        -1,
    )
    moved = (on_array + shift) / camera.b_L0 * depth
    bent = focused_view.project(np.concatenate([moved, np.full((4, 1), depth)], 1))
    assert np.linalg.norm(bent - straight, axis=1).min() > 0.4  # five times what may remain
    image = sum(200 * np.exp(-((xx - u) ** 2 + (yy - w) ** 2) / 8) for u, w in bent).astype(np.float32)
    rho = np.full((200, 200), 1 / v, np.float32)
    frame = DecodedFrame(0, 0.0, focused_view, image, rho, None, np.isfinite(rho))
    result = undistorted_frame(camera, frame).image
    for u, w in straight:
        window = result[int(w) - 8 : int(w) + 9, int(u) - 8 : int(u) + 9]
        offset = np.arange(-8, 9)
        found = (window.sum(0) @ offset / window.sum(), window.sum(1) @ offset / window.sum())
        assert np.linalg.norm(found) < 0.08


def test_lifcal_folder(tmp_path):
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1] / "optics"))
    from vendor_files import write_vendor_files

    write_vendor_files(tmp_path)
    rho = np.full((130, 150), 0.4)
    write_image(tmp_path / "totalFocus" / "img1.png", images(1, size=(150, 130))[0])
    write_image(tmp_path / "DepthMap" / "img1.png", lifcal16(rho))
    with pytest.raises(InputError, match=r"decoded\.yaml is missing"):
        open_sequence(tmp_path)
    (tmp_path / "decoded.yaml").write_text("{view: focal, convention: true}")
    sequence = open_sequence(tmp_path)
    assert sequence.camera.tf_scale == 2 and sequence.camera.calibration.sensor.width == 300
    frame = sequence[0]
    assert sequence.decoded_format.distorted  # as the vendor's software writes them
    (tmp_path / "decoded.yaml").write_text("{view: focal, convention: true, distorted: false}")
    assert not open_sequence(tmp_path).decoded_format.distorted
    assert frame.view.name == "focal" and frame.inv_virtual_depth[60, 60] == pytest.approx(0.4, abs=1e-5)
    write_image(tmp_path / "raw" / "img1.png", images(1, size=(301, 261))[0])
    assert open_sequence(tmp_path).camera.calibration.sensor.width == 301  # the raw image tells the size
    assert not open_sequence(tmp_path).is_decoded  # and raw images are used where there are any
    (tmp_path / "mla.xml").unlink()
    with pytest.raises(InputError, match="micro-lens calibration"):
        open_sequence(tmp_path)
    for folder in ("totalFocus", "raw"):
        (tmp_path / folder / "img1.png").unlink()
    with pytest.raises(InputError, match="no focused images"):
        open_sequence(tmp_path)


def test_unknown_depth_is_not_guessed_when_the_calibration_changes(tmp_path):
    """The stored map is kept; only the calibration's λ decides its meaning under the vendor's convention."""
    stored = lifcal16(np.full((TF[1], TF[0]), 0.4))
    folder = write_decoded_sequence(
        tmp_path, focused(), [stored], None, "{view: central, convention: micro-image}"
    )
    first = open_sequence(folder)[0].inv_virtual_depth[0, 0]
    data = CALIBRATION.model_dump()
    data["mla"]["sensor_distance_mm"] = 0.7
    save_calibration(Calibration.model_validate(data), folder / "camera.yaml")
    second = open_sequence(folder)[0].inv_virtual_depth[0, 0]
    lam = 15.3 / (15.3 + 0.7)
    assert second == pytest.approx((0.4 - (1 - lam)) / lam, abs=2e-5) and abs(second - first) > 0.01
