# SPDX-License-Identifier: Apache-2.0
"""Raw images from videos: alone, in a folder, named in sequence.yaml; every way such a file can be wrong."""

from __future__ import annotations

import numpy as np
import pytest
from sequence_files import CALIBRATION, images, write_image
from video_files import write_video

from prism_vo.cli import main
from prism_vo.datasets import open_sequence
from prism_vo.datasets.reading import frames_of
from prism_vo.datasets.video import Video
from prism_vo.errors import InputError
from prism_vo.optics.calibration import save_calibration
from prism_vo.types import RawFrame, UnreadableFrame


def folder_with(tmp_path, name, frames, **options):
    save_calibration(CALIBRATION, tmp_path / "camera.yaml")
    return write_video(tmp_path / name, frames, **options)


@pytest.mark.parametrize("suffix", [".mkv", ".avi"])
@pytest.mark.parametrize("dtype, channels", [(np.uint8, 0), (np.uint8, 3), (np.uint16, 0)])
def test_pixels_arrive_as_stored(tmp_path, dtype, channels, suffix):
    if dtype == np.uint16 and suffix == ".avi":
        pytest.skip("this container has no 16-bit grey")
    frames = images(5, dtype, channels)
    sequence = open_sequence(folder_with(tmp_path, f"clip{suffix}", frames))
    assert sequence.name == "clip" and len(sequence) == 5 and not sequence.is_decoded
    np.testing.assert_allclose(sequence.times, np.arange(5) / 20.0, atol=1e-9)
    for index, (found, stored) in enumerate(zip(sequence, frames)):
        assert isinstance(found, RawFrame) and found.index == index and found.image.dtype == dtype
        np.testing.assert_array_equal(found.image, stored)
    for index in (3, 3, 1, 4, 0):  # any order
        np.testing.assert_array_equal(sequence[index].image, frames[index])


@pytest.mark.parametrize("place", ["clip.mkv", "raw.mkv", "raw/walk.mkv"])
def test_a_folder_whose_raw_images_are_one_video(tmp_path, place):
    frames = images(3)
    folder_with(tmp_path, place, frames)
    write_image(tmp_path / "white.png", images(1)[0])
    (tmp_path / "times.txt").write_text("1 0.01\n1.5 0.02\n2.5 0.01\n")
    sequence = open_sequence(tmp_path)
    assert sequence.name == tmp_path.name and sequence.white is not None
    np.testing.assert_array_equal(sequence.times, [1, 1.5, 2.5])
    assert sequence[1].exposure == 0.02
    np.testing.assert_array_equal(sequence[2].image, frames[2])


def test_a_video_in_a_manifest(tmp_path):
    frames = images(3)
    folder_with(tmp_path, "cam0/clip.mkv", frames)
    manifest = tmp_path / "sequence.yaml"
    manifest.write_text("format: prism-vo/sequence/1\nraw: cam0/clip.mkv\ncamera: camera.yaml\n")
    np.testing.assert_array_equal(open_sequence(tmp_path)[2].image, frames[2])
    write_video(tmp_path / "cam0" / "other.mkv", frames)
    manifest.write_text("format: prism-vo/sequence/1\nraw: cam0/*.mkv\ncamera: camera.yaml\n")
    with pytest.raises(InputError, match="images or one video, not 2 files"):
        open_sequence(tmp_path)


def test_a_video_with_a_camera_from_elsewhere(tmp_path):
    video = write_video(tmp_path / "videos" / "clip.mkv", images(2))
    save_calibration(CALIBRATION, tmp_path / "mine.yaml")
    with pytest.raises(InputError, match=r"camera\.yaml is missing"):
        open_sequence(video)
    assert len(open_sequence(video, camera=tmp_path / "mine.yaml")) == 2
    with pytest.raises(InputError, match=r"none\.yaml: no such file"):
        open_sequence(video, camera=tmp_path / "none.yaml")


def test_raw_images_come_before_a_video_and_two_videos_are_one_too_many(tmp_path):
    folder_with(tmp_path, "a.mkv", images(3))
    write_video(tmp_path / "b.avi", images(2))
    with pytest.raises(InputError, match=r"more than one video \(a\.mkv, b\.avi\)"):
        open_sequence(tmp_path)
    write_image(tmp_path / "raw" / "0.png", images(1)[0])
    assert len(open_sequence(tmp_path)) == 1


def test_a_video_that_is_cut_off_is_used_as_far_as_it_goes(tmp_path):
    frames = images(9)
    video = folder_with(tmp_path, "clip.mkv", frames)
    video.write_bytes(video.read_bytes()[: video.stat().st_size * 2 // 3])
    sequence = open_sequence(video)
    count = len(sequence)
    assert 3 <= count < 9
    assert sequence.notes == (f"clip.mkv ends after {count} of 9 frames: the file is cut off.",)
    whole = [frame.image for frame in sequence][: count - 1]
    np.testing.assert_array_equal(whole, frames[: count - 1])


@pytest.mark.parametrize(
    "content", [b"", b"this is not a video", b"\x00" * 5000], ids=["empty", "text", "zeros"]
)
def test_files_that_are_no_videos(tmp_path, content, capfd):
    save_calibration(CALIBRATION, tmp_path / "camera.yaml")
    (tmp_path / "clip.mp4").write_bytes(content)
    assert main(["run", str(tmp_path)]) == 2
    error = capfd.readouterr().err
    assert "clip.mp4: not a readable video" in error and error.count("\n") == 1


def test_a_frame_the_decoder_leaves_out_is_the_only_one_lost(tmp_path, monkeypatch):
    """Which frame comes next is told by its time: those behind a damaged one keep their places."""
    frames = images(6)
    video = Video(write_video(tmp_path / "clip.mkv", frames))
    real = video._open

    class LeavesOut:
        """A decoder that cannot decode frame 2."""

        def __init__(self, capture):
            self.capture, self.count = capture, 0

        def grab(self):
            self.count += 1
            return self.capture.grab() if self.count != 3 else self.capture.grab() and self.capture.grab()

        def __getattr__(self, name):
            return getattr(self.capture, name)

    monkeypatch.setattr(video, "_open", lambda options: LeavesOut(real(options)))
    for index in (0, 1, 3, 4, 5):
        np.testing.assert_array_equal(video.read(index), frames[index])
    with pytest.raises(InputError, match="frame 2 cannot be decoded"):
        video.read(2)
    np.testing.assert_array_equal(video.read(3), frames[3])


def test_frames_of_another_size_than_the_camera_are_unreadable(tmp_path):
    sequence = open_sequence(folder_with(tmp_path, "clip.mkv", images(2, size=(32, 32))))
    found = list(frames_of(sequence))
    assert all(isinstance(frame, UnreadableFrame) and "expected 64x48" in frame.reason for frame in found)
    assert [frame.time for frame in found] == list(sequence.times)
