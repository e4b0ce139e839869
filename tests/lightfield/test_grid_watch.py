# SPDX-License-Identifier: Apache-2.0
"""Whether micro-images still lie where they lay."""

import cv2
import numpy as np
import pytest
from light_fields import mini

from prism_vo import Odometry
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.grid_watch import GridWatch, is_shaded_otherwise
from prism_vo.optics.mla import MicroLensArray
from prism_vo.types import RawFrame


@pytest.fixture
def watch() -> GridWatch:
    camera = mini("table").camera
    sensor = camera.calibration.sensor
    return GridWatch(MicroLensArray.of(camera), sensor.width, sensor.height)


@pytest.mark.parametrize(("pixels", "axis"), [(1, 1), (2, 0), (-3, 1)])
def test_a_shift_is_seen_to_a_tenth_of_a_pixel_whatever_the_scene(
    watch: GridWatch, pixels: int, axis: int
) -> None:
    for _ in range(4):
        assert watch.shift(mini("table").raw.image) == 0.0
    assert watch.shift(mini(0.75, noise=0.5).raw.image) == 0.0  # another scene, no shift
    other = np.roll(mini(0.75, noise=0.5).raw.image, pixels, axis)
    assert watch.shift(other) == pytest.approx(abs(pixels), abs=0.1)


def warped(image: np.ndarray, degrees: float, factor: float) -> np.ndarray:
    """Turned about its middle, and enlarged."""
    h, w = image.shape
    turn = cv2.getRotationMatrix2D(((w - 1) / 2, (h - 1) / 2), degrees, factor)
    return np.asarray(
        cv2.warpAffine(image, turn, (w, h), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    )


def torn(image: np.ndarray, share: float) -> np.ndarray:
    """Bytes are missing: what follows lies too far to the left."""
    cut = int((1 - share) * image.size)
    return np.concatenate([image.ravel()[:cut], np.roll(image.ravel()[cut:], -2)]).reshape(image.shape)


def test_an_array_that_turned_and_an_enlarged_or_torn_image_are_seen(watch: GridWatch) -> None:
    """The middle lies where it lay, and as a whole nothing has moved."""
    image = mini("table").raw.image
    for _ in range(4):
        assert watch.shift(image) == 0.0
    other = mini(0.75, noise=0.5).raw.image
    assert watch.shift(other) == 0.0
    for changed in warped(other, 0.5, 1.0), warped(other, 0.0, 1.01):
        assert watch.shift(changed) > 0.5 and watch.wandered(changed) < 0.3
    assert watch.shift(torn(other, 0.8)) > 1.0
    assert watch.shift(torn(other, 0.2)) == 0.0, "the rest of it is as good as ever"


def test_light_and_darkness_move_nothing(watch: GridWatch) -> None:
    image = mini("table").raw.image
    for _ in range(4):
        watch.shift(image)
    assert watch.shift((image * 0.3).astype(np.uint8)) == 0.0
    assert watch.shift(np.zeros_like(image)) == 0.0
    assert watch.shift(np.full_like(image, 255)) == 0.0
    half = image.copy()
    half[len(half) // 2 :] = 0
    assert watch.shift(half) == 0.0


def test_an_odd_first_frame_is_outvoted(watch: GridWatch) -> None:
    image = mini("table").raw.image
    watch.shift(np.roll(image, 2, 1))
    assert [watch.shift(image) for _ in range(5)] == [0.0] * 5
    assert watch.shift(np.roll(image, 2, 1)) > 1.5


def test_images_without_a_pattern_of_the_array_say_nothing(watch: GridWatch) -> None:
    rng, shape = np.random.default_rng(3), mini("table").raw.image.shape
    textures = [cv2.GaussianBlur(rng.uniform(0, 255, shape), (0, 0), 2.0) for _ in range(2)]
    for texture in textures:
        assert [watch.shift(texture.astype(np.uint8)) for _ in range(6)] == [0.0] * 6
    assert watch.reference is None


def test_a_black_first_frame_says_nothing(watch: GridWatch) -> None:
    image = mini("table").raw.image
    assert watch.shift(np.zeros_like(image)) == 0.0
    assert [watch.shift(image) for _ in range(4)] == [0.0] * 4


def test_a_frame_beside_the_grid_has_no_pose_and_says_why() -> None:
    field = mini("table")
    odometry = Odometry(field.camera, white=field.white)
    for k in range(5):
        assert odometry(RawFrame(k, 0.1 * k, field.raw.image)).status in ("ok", "keyframe")
    report = odometry(RawFrame(5, 0.5, np.roll(field.raw.image, 2, 1)))
    assert report.status == "lost" and report.problem is not None
    assert report.problem.startswith("micro-images lie 2.0 px beside")
    assert odometry(RawFrame(6, 0.6, field.raw.image)).status in ("ok", "keyframe")


def test_first_frames_beside_the_grid_are_no_part_of_the_map() -> None:
    """Beside the grid nothing has depth, and no map begins with them; the white image is not blamed for it."""
    field = mini("table")
    odometry = Odometry(field.camera, white=field.white)
    aside = np.roll(field.raw.image, 2, 1)
    reports = [odometry(RawFrame(k, 0.1 * k, aside if k < 2 else field.raw.image)) for k in range(6)]
    assert [r.status for r in reports] == ["lost", "lost", "keyframe", "ok", "ok", "ok"]
    assert {r.segment for r in reports[2:]} == {0}
    assert odometry.sensor.remarks() == []


def test_what_was_learnt_goes_with_a_checkpoint() -> None:
    field = mini("table")
    first, second = Decoder(field.camera, white=field.white), Decoder(field.camera, white=field.white)
    for _ in range(5):
        assert first.problem(field.raw) is None
    second.remember(first.memory(), first.learned())
    assert second.problem(RawFrame(9, 0.9, np.roll(field.raw.image, 2, 1))) is not None


def curved(image: np.ndarray, gamma: float) -> np.ndarray:
    """As a sensor with another response would have recorded it."""
    return np.rint(255.0 * (image / 255.0) ** gamma).astype(np.uint8)


@pytest.mark.parametrize(("gamma", "black", "otherwise"), [(0.6, 0, -1), (1.6, 0, 1), (1.0, 20, -1)])
def test_light_that_falls_off_otherwise_is_seen(
    watch: GridWatch, gamma: float, black: int, otherwise: int
) -> None:
    image = mini("table").raw.image
    assert watch.shading(image) == 1.0  # nothing to compare with yet
    watch.shift(image)
    changed = np.clip(curved(image, gamma).astype(int) + black, 0, 255).astype(np.uint8)
    shading = watch.shading(changed)
    assert is_shaded_otherwise(shading) and np.sign(shading - 1.0) == otherwise


def test_exposure_and_another_scene_shade_nothing(watch: GridWatch) -> None:
    image = mini("table").raw.image
    watch.shift(image)
    for other in (image * 0.5).astype(np.uint8), mini(0.75, noise=0.5).raw.image:
        assert watch.shading(other) == pytest.approx(1.0, abs=0.06)


def bright(image: np.ndarray, factor: float) -> np.ndarray:
    return np.clip(np.rint(image * factor), 0, 255).astype(np.uint8)


def test_what_saturates_is_not_shaded_otherwise_nor_an_example_of_shading(watch: GridWatch) -> None:
    image = mini("table").raw.image
    over = bright(image, 3.0)
    assert (over == 255).mean() > 0.1
    watch.shift(image)
    strength = watch.memory.strengths
    assert len(strength) == 1 and watch.shading(over) == 1.0
    watch.shift(over)
    assert len(watch.memory.strengths) == 1
    settling = GridWatch(MicroLensArray.of(mini("table").camera), over.shape[1], over.shape[0])
    assert settling.shift(over) == 0.0 and settling.memory.strengths == ()
    for _ in range(3):
        assert settling.shift(image) == 0.0
        assert settling.shading(image) == pytest.approx(1.0)


@pytest.mark.parametrize("rows", [3, 8, 20, 30])
def test_blocks_of_small_sensors_add_up(rows: int) -> None:
    image = mini("table").raw.image[:rows]
    small = GridWatch(MicroLensArray.of(mini("table").camera), image.shape[1], rows)
    looked, wave = image[small._rows].astype(float), small._waves[0]
    phase = wave[0] * np.arange(image.shape[1]) + wave[1] * small._rows[:, None]
    direct = ((looked - looked.mean()) * np.exp(-1j * phase)).sum() / (looked.size * looked.mean())
    assert small._pattern(image).sum((1, 2))[0] == pytest.approx(direct, abs=1e-4)


def test_what_is_not_a_number_is_not_shaded_otherwise() -> None:
    assert not is_shaded_otherwise(float("nan"))


def test_depths_of_frames_that_are_shaded_otherwise_are_doubted() -> None:
    """By 16 times the variance, at single points and everywhere alike."""
    field = mini("table")
    curve = RawFrame(1, 0.1, curved(field.raw.image, 1.6))
    watching, careless = (Decoder(field.camera) for _ in range(2))
    for decoder in watching, careless:
        decoder.measure(field.raw, np.zeros((0, 2)))  # both learn their light and noise from the first frame
        decoder.noise(field.raw)
    watching.problem(field.raw)
    grid = np.stack(np.meshgrid(*(np.arange(10, size - 10, 9) for size in (96, 96))), -1).reshape(-1, 2)
    doubted, believed = (decoder.measure(curve, grid) for decoder in (watching, careless))
    valid = doubted.valid & believed.valid
    assert valid.sum() > 20
    np.testing.assert_allclose(doubted.variance[valid], 16.0 * believed.variance[valid], rtol=1e-5)
    whole = watching.dense(curve)
    assert whole.variance is not None
    x, y = grid[valid].T
    np.testing.assert_allclose(whole.variance[y, x], doubted.variance[valid], rtol=1e-2)
