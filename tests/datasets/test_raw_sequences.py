# SPDX-License-Identifier: Apache-2.0
"""Raw sequences: native folders and manifests, every pixel type, times, exposures, truth; faults."""

from __future__ import annotations

import numpy as np
import pytest
from sequence_files import CALIBRATION, HEIGHT, WIDTH, images, write_image, write_raw_sequence

from prism_vo.datasets import Sequence, open_sequence
from prism_vo.datasets import sequence as sequence_module
from prism_vo.errors import InputError
from prism_vo.optics.calibration import save_calibration
from prism_vo.trajectory import Trajectory, write_trajectory
from prism_vo.types import RawFrame


@pytest.mark.parametrize("suffix", [".png", ".tiff"])
@pytest.mark.parametrize("dtype, channels", [(np.uint8, 0), (np.uint16, 0), (np.uint8, 3), (np.uint16, 3)])
def test_pixels_arrive_as_stored(tmp_path, dtype, channels, suffix):
    frames = images(3, dtype, channels)
    sequence = open_sequence(write_raw_sequence(tmp_path / "walk", frames, suffix))
    assert isinstance(sequence, Sequence) and not sequence.is_decoded
    assert sequence.name == "walk" and len(sequence) == 3
    for index, (frame, image) in enumerate(zip(sequence, frames)):
        assert isinstance(frame, RawFrame) and frame.index == index
        assert frame.image.dtype == dtype
        np.testing.assert_array_equal(frame.image, image)
    np.testing.assert_array_equal(sequence[-1].image, frames[-1])
    with pytest.raises(IndexError):
        sequence[3]


def test_images_are_read_one_at_a_time(tmp_path, monkeypatch):
    read = []
    original = sequence_module.read_image
    monkeypatch.setattr(sequence_module, "read_image", lambda p, s: (read.append(p.name), original(p, s))[1])
    sequence = open_sequence(write_raw_sequence(tmp_path, images(4)))
    assert read == []
    sequence[2]
    assert read == ["000002.png"]
    next(iter(sequence))
    assert read == ["000002.png", "000000.png"]


def test_names_are_ordered_by_number(tmp_path):
    write_raw_sequence(tmp_path, [])
    for number, image in zip((10, 9, 1), images(3)):
        write_image(tmp_path / "raw" / f"frame{number}.png", image)
    assert [p.name for p in open_sequence(tmp_path).files.raw] == ["frame1.png", "frame9.png", "frame10.png"]


def test_times_exposures_white_and_truth(tmp_path):
    write_raw_sequence(tmp_path, images(3))
    sequence = open_sequence(tmp_path)
    np.testing.assert_allclose(sequence.times, [0, 0.05, 0.1])  # frame_rate 20
    assert sequence.exposures is None and sequence.white is None and sequence.groundtruth is None
    (tmp_path / "times.txt").write_text("# seconds exposure\n1.5 0.01\n1.625 0.02\n2 0.005\n")
    white = images(1)[0]
    write_image(tmp_path / "white.png", white)
    poses = np.tile(np.eye(4), (2, 1, 1))
    write_trajectory(Trajectory(np.array([1.5, 2.0]), poses), tmp_path / "groundtruth.txt")
    sequence = open_sequence(tmp_path)
    np.testing.assert_array_equal(sequence.times, [1.5, 1.625, 2.0])
    np.testing.assert_array_equal(sequence.exposures, [0.01, 0.02, 0.005])
    np.testing.assert_array_equal(sequence.white, white)
    assert len(sequence.groundtruth) == 2
    assert sequence[1].time == 1.625 and sequence[1].exposure == 0.02


def test_manifest_uses_a_datasets_own_layout(tmp_path, monkeypatch):
    frames = images(3)
    for number, image in enumerate(frames):
        write_image(tmp_path / "data" / "cam0" / f"{number}.png", image)
    (tmp_path / "calib").mkdir()
    save_calibration(CALIBRATION, tmp_path / "calib" / "my_camera.yaml")
    write_image(tmp_path / "calib" / "white.png", images(1)[0])
    (tmp_path / "data" / "stamps.txt").write_text("0\n1\n2\n")
    (tmp_path / "data" / "sequence.yaml").write_text(
        "format: prism-vo/sequence/1\nraw: 'cam0/*.png'\ncamera: ../calib/my_camera.yaml\n"
        "white: ../calib/white.png\ntimes: stamps.txt\n"
    )
    with pytest.raises(
        InputError, match=r"key 'white' names a file outside the folder .* PRISM_VO_OUTSIDE=1"
    ):
        open_sequence(tmp_path / "data")
    monkeypatch.setenv("PRISM_VO_OUTSIDE", "1")
    for path in (tmp_path / "data", tmp_path / "data" / "sequence.yaml"):
        sequence = open_sequence(path)
        assert sequence.name == "data" and len(sequence) == 3 and sequence.white is not None
        np.testing.assert_array_equal(sequence[2].image, frames[2])
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "sequence.yaml").write_text(
        "format: prism-vo/sequence/1\nraw: '../data/cam0/*.png'\ncamera: ../calib/my_camera.yaml\n"
    )
    assert len(open_sequence(moved)) == 3


@pytest.mark.parametrize(
    "text, words",
    [
        ("raw: 'cam0/*.png'\ncamera: camera.yaml\n", "'format' is missing"),
        ("format: prism-vo/sequence/1\nraw: 'cam0/*.png'\n", "'camera' is missing"),
        ("format: prism-vo/sequence/1\ncamera: camera.yaml\n", "'raw' and 'focused'"),
        ("format: prism-vo/sequence/1\nrwa: x\ncamera: camera.yaml\n", "did you mean 'raw'"),
        ("format: prism-vo/sequence/1\nraw: 'none/*.png'\ncamera: camera.yaml\n", "no file matches"),
        ("format: prism-vo/sequence/1\nraw: '/abs/*.png'\ncamera: camera.yaml\n", "outside the folder"),
        ("format: prism-vo/sequence/1\nraw: 'raw/*.png'\ncamera: lost.yaml\n", "lost.yaml: no such file"),
        (
            "format: prism-vo/sequence/1\nraw: 'raw/*.png'\ncamera: camera.yaml\nwhite: w.png\n",
            "does not exist",
        ),
        ("format: prism-vo/sequence/1\nfocused: 'raw/*.png'\ncamera: camera.yaml\n", "key 'decoded'"),
    ],
)
def test_manifest_faults(tmp_path, text, words):
    write_raw_sequence(tmp_path, images(1))
    (tmp_path / "sequence.yaml").write_text(text)
    with pytest.raises(InputError, match=words):
        open_sequence(tmp_path)


@pytest.mark.parametrize(
    "text, words",
    [
        ("0\n1\n", "2 times for 3 frames"),
        ("0\nhello\n2\n", "line 2: expected"),
        ("0\n2\n1\n", "frame 2 does not increase"),
        ("0\nnan\n2\n", "finite"),
        ("0 1\n1\n2 1\n", "every line or on none"),
        ("0 0.1\n1 0\n2 0.1\n", "not positive"),
        ("0 1 2\n1 1 2\n2 1 2\n", "one or two"),
    ],
)
def test_times_faults(tmp_path, text, words):
    write_raw_sequence(tmp_path, images(3))
    (tmp_path / "times.txt").write_text(text)
    with pytest.raises(InputError, match=words):
        open_sequence(tmp_path)


def test_an_image_of_another_size_or_kind(tmp_path):
    folder = write_raw_sequence(tmp_path, images(1))
    write_image(folder / "raw" / "000001.png", images(1, size=(WIDTH + 2, HEIGHT))[0])
    with pytest.raises(InputError, match="is 66x48 pixels, expected 64x48"):
        open_sequence(folder)[1]
    (folder / "camera.yaml").write_text(
        (folder / "camera.yaml").read_text().replace("bayer: null", "bayer: RGGB")
    )
    write_image(folder / "raw" / "000001.png", images(1, channels=3)[0])
    assert (
        open_sequence(folder)[1].image.ndim == 3
    )  # demosaiced elsewhere: the decoder takes the mosaic back out
    assert open_sequence(folder)[0].image.ndim == 2


def test_paths_that_are_no_sequence(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        open_sequence(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="the folder is empty"):
        open_sequence(tmp_path / "empty")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("x")
    with pytest.raises(InputError, match="not a sequence"):
        open_sequence(tmp_path / "other")
    write_image(tmp_path / "bare" / "raw" / "0.png", images(1)[0])
    with pytest.raises(InputError, match=r"camera\.yaml is missing"):
        open_sequence(tmp_path / "bare")
    write_raw_sequence(tmp_path / "imageless", [])
    with pytest.raises(InputError, match="no images in raw/"):
        open_sequence(tmp_path / "imageless")
    with pytest.raises(InputError, match="No loader 'ros'; there are: folder, lifcal, manifest"):
        open_sequence(tmp_path / "imageless", loader="ros")
