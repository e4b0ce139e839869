# SPDX-License-Identifier: Apache-2.0
"""A frame that cannot be read or used is lost, with a sentence; the run goes on around it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from decoded_frames import CAMERA, FrameList, wall

from prism_vo import Stream, pipeline
from prism_vo.cli import main
from prism_vo.datasets import open_sequence
from prism_vo.errors import InputError
from prism_vo.odometry import FrameReport
from prism_vo.trajectory import read_trajectory
from prism_vo.types import DecodedFrame, RawFrame, SourceFrame, UnreadableFrame


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def other_size(path: Path) -> None:
    cv2.imwrite(str(path), np.zeros((20, 30), np.uint8))


HARMS: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (cut, "cut off"),
    "empty": (lambda p: p.write_bytes(b""), "the file is empty"),
    "other size": (other_size, "is 30x20 pixels"),
    "text": (lambda p: p.write_text("no picture"), "not a PNG image"),
    "gone": (lambda p: (p.unlink(), p.symlink_to("nowhere.png")), "no such file"),
}


def copy_of(recording: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recording, tmp_path / "walk"))


def raw(folder: Path, index: int) -> Path:
    return folder / "raw" / f"{index:06d}.png"


def statistics(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "stats.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", HARMS)
@pytest.mark.parametrize("index", [0, 5], ids=["first", "middle"])
def test_one_bad_file_is_one_lost_frame(
    recording: Path, tmp_path: Path, name: str, index: int, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = copy_of(recording, tmp_path), tmp_path / "r"
    harm, words = HARMS[name]
    harm(raw(folder, index))
    assert main(["run", str(folder), "--out", str(out), "--no-report"]) == 3
    printed = capsys.readouterr().out
    assert "1 frame without a pose, 1 of them could not be read" in printed
    assert f"frame {index} " in printed and words in printed
    assert "started again" not in printed
    lines = statistics(out)
    assert [line["state"] == "lost" for line in lines] == [k == index for k in range(len(lines))]
    assert words in lines[index]["problem"] and all(
        "problem" not in line for line in lines if line["state"] != "lost"
    )
    times = open_sequence(recording).times
    np.testing.assert_allclose(read_trajectory(out / "trajectory.txt").times, np.delete(times, index))
    assert "error, SE(3) aligned" in printed  # ground truth is still compared with


def test_neighbours_of_a_bad_frame_are_as_good_as_ever(recording: Path, tmp_path: Path) -> None:
    folder = copy_of(recording, tmp_path)
    for index in (0, 4, 7):
        cut(raw(folder, index))
    result = pipeline.run(open_sequence(folder))
    assert result.lost == 3 and result.segments == 1 and [r.index for r in result.unreadable] == [0, 4, 7]
    clean = pipeline.run(open_sequence(recording))
    assert result.metrics is not None and clean.metrics is not None
    assert result.metrics.se3.rmse_t < 2 * clean.metrics.se3.rmse_t


def test_if_no_frame_can_be_read_nothing_is_begun(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = copy_of(recording, tmp_path), tmp_path / "r"
    for path in (folder / "raw").iterdir():
        path.write_bytes(b"")
    assert main(["run", str(folder), "--out", str(out), "-q"]) == 2
    error = capsys.readouterr().err
    assert "none of its 12 frames can be used" in error and "000000.png: the file is empty" in error
    assert error.count("\n") == 1 and not out.exists()


def test_what_concerns_the_whole_recording_ends_it(recording: Path, tmp_path: Path) -> None:
    folder = copy_of(recording, tmp_path)
    (folder / "white.png").write_bytes(b"")
    with pytest.raises(InputError, match=r"white\.png: the file is empty"):
        pipeline.run(open_sequence(folder))
    (folder / "camera.yaml").unlink()
    assert main(["run", str(folder)]) == 2


def test_many_bad_frames_do_not_fill_the_screen(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy_of(recording, tmp_path)
    for index in range(6, 12):
        raw(folder, index).write_bytes(b"")
    assert main(["run", str(folder), "--out", str(tmp_path / "r"), "--no-report"]) == 3
    printed = capsys.readouterr().out
    assert printed.count("the file is empty") == 3 and "3 frames more, see stats.jsonl" in printed


def test_logs_say_why(recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = copy_of(recording, tmp_path)
    raw(folder, 2).write_bytes(b"")
    options = ["--frames", "4", "--no-report", "--out"]
    assert main(["run", str(folder), *options, str(tmp_path / "a"), "--log-json"]) == 3
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["frame"] * 4 + ["end"]
    assert "the file is empty" in lines[2]["problem"] and lines[2]["T_world_cam"] is None
    assert main(["run", str(folder), *options, str(tmp_path / "b"), "--verbose"]) == 3
    assert "frame 2: lost; " in capfd.readouterr().err


def test_the_report_is_drawn_though_frames_are_missing(recording: Path, tmp_path: Path) -> None:
    folder, out = copy_of(recording, tmp_path), tmp_path / "r"
    for index in (0, 3):
        raw(folder, index).write_bytes(b"")
    assert main(["run", str(folder), "--out", str(out), "--frames", "6", "-q"]) == 3
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Frame 0 is lost: " in page and page.count("the file is empty.") == 2


@pytest.mark.parametrize("threads", [True, False])
def test_any_source_may_hand_out_unreadable_frames(tmp_path: Path, threads: bool) -> None:
    frames, _ = wall(6)

    def driver() -> Iterator[SourceFrame]:
        for frame in frames:
            yield UnreadableFrame(frame.index, frame.time, "cable.") if frame.index in (0, 3) else frame

    result = pipeline.run(Stream(driver(), CAMERA), out=tmp_path / "r", threads=threads)
    assert [r.status == "lost" for r in result.reports] == [True, False, False, True, False, False]
    assert [line.get("problem") for line in statistics(tmp_path / "r")][3] == "cable."


def test_a_frame_the_sensor_refuses_is_lost(recording: Path) -> None:
    frames = list(open_sequence(recording))[:4]
    small = RawFrame(2, frames[2].time, np.zeros((10, 10), np.uint8))
    good = [*frames[:2], small, frames[3]]
    result = pipeline.run(Stream(good, open_sequence(recording).camera))
    assert [r.status == "lost" for r in result.reports] == [False, False, True, False]
    assert "10×10" in (result.reports[2].problem or "")
    with pytest.raises(InputError, match="none of its 2 frames can be used"):
        pipeline.run(Stream([small, small], open_sequence(recording).camera))


class BadMemory(FrameList):
    """A third party's sequence whose frame 2 cannot be read."""

    def __getitem__(self, index: int) -> DecodedFrame:
        if index == 2:
            raise InputError("frame 2: lost on the way.")
        return super().__getitem__(index)


class Watcher:
    """A sink that knows nothing of unreadable frames."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def on_frame(self, report: FrameReport, frame: DecodedFrame, odometry: object) -> None:
        assert frame.image.ndim == 2
        self.seen.append(report.index)

    def on_end(self, result: pipeline.RunResult) -> None:
        self.seen.append(-len(result.reports))


def test_sequences_and_sinks_of_third_parties_need_not_know(tmp_path: Path) -> None:
    frames, _ = wall(5)
    watcher = Watcher()
    result = pipeline.run(BadMemory(list(frames)), sinks=[watcher])
    assert [r.index for r in result.unreadable] == [2] and result.unreadable[0].time == pytest.approx(0.2)
    assert watcher.seen == [0, 1, 3, 4, -5]


def test_colour_and_grey_and_jpeg_frames_in_one_recording(recording: Path, tmp_path: Path) -> None:
    """The same light stored in other ways: the path stays where it was."""
    folder = copy_of(recording, tmp_path)
    for index in (0, 3, 6):
        grey = cv2.imread(str(raw(folder, index)), cv2.IMREAD_UNCHANGED)
        cv2.imwrite(str(raw(folder, index)), np.dstack([grey] * 3))
    for index in (4, 8):
        grey = cv2.imread(str(raw(folder, index)), cv2.IMREAD_UNCHANGED)
        raw(folder, index).unlink()
        cv2.imwrite(str(raw(folder, index).with_suffix(".tif")), grey.astype(np.uint16) * 257)
    for index in (5, 9):
        grey = cv2.imread(str(raw(folder, index)), cv2.IMREAD_UNCHANGED)
        raw(folder, index).unlink()
        cv2.imwrite(str(raw(folder, index).with_suffix(".jpg")), grey, [cv2.IMWRITE_JPEG_QUALITY, 98])
    assert {frame.image.ndim for frame in open_sequence(folder)} == {2, 3}
    mixed, clean = pipeline.run(open_sequence(folder)), pipeline.run(open_sequence(recording))
    assert mixed.lost == 0 and len(mixed.trajectory) == len(clean.trajectory)
    apart = np.linalg.norm(mixed.trajectory.positions - clean.trajectory.positions, axis=1)
    assert apart.max() < 0.01 * clean.trajectory.length


def test_demosaiced_frames_among_mosaics_are_used(recording: Path, tmp_path: Path) -> None:
    """Demosaicing keeps the measured values, so the decoder takes the mosaic back out."""
    folder = copy_of(recording, tmp_path)
    text = (folder / "camera.yaml").read_text().replace("bayer: null", "bayer: RGGB")
    (folder / "camera.yaml").write_text(text)
    mosaic = cv2.imread(str(raw(folder, 1)), cv2.IMREAD_UNCHANGED)
    demosaiced = cv2.cvtColor(mosaic, cv2.COLOR_BayerBG2BGR)  # OpenCV names RGGB by its second row and column
    assert demosaiced[4, 4, 2] == mosaic[4, 4] and demosaiced[5, 5, 0] == mosaic[5, 5]
    cv2.imwrite(str(raw(folder, 1)), demosaiced)
    cv2.imwrite(str(raw(folder, 2)), np.dstack([cv2.imread(str(raw(folder, 2)), cv2.IMREAD_UNCHANGED)] * 3))
    result = pipeline.run(open_sequence(folder).part(0, 4))
    assert result.unreadable == [] and result.lost == 0


def test_a_jpeg_that_is_cut_off_is_noticed(tmp_path: Path) -> None:
    from prism_vo.datasets.images import read_image

    rng = np.random.default_rng(0)
    for suffix in (".jpg", ".jpeg"):
        path = tmp_path / f"a{suffix}"
        cv2.imwrite(str(path), rng.integers(0, 255, (64, 64), np.uint8))
        assert read_image(path).shape == (64, 64)
        cut(path)
        with pytest.raises(InputError, match="JPEG image is cut off"):
            read_image(path)
