# SPDX-License-Identifier: Apache-2.0
"""``prism-vo run --source``: videos, folders, a GigE camera on loopback; devices through stand-ins."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

from prism_vo.cli import main
from prism_vo.live import opencv
from prism_vo.live.harvester import HarvesterGrabber
from prism_vo.live.opening import open_grabber
from prism_vo.pipeline import RunResult
from prism_vo.trajectory import read_trajectory

FAKE = "arv-fake-gv-camera-0.8"


@pytest.fixture(scope="module")
def video(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording's images, lossless, ten a second."""
    path = tmp_path_factory.mktemp("video") / "clip.mkv"
    images = [cv2.imread(str(p)) for p in sorted((recording / "raw").iterdir())]
    size = images[0].shape[1::-1]
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"FFV1"), 10.0, size)
    for image in images:
        writer.write(image)
    writer.release()
    return path


def described(recording: Path) -> list[str]:
    return ["--camera", str(recording / "camera.yaml"), "--white", str(recording / "white.png")]


def test_a_video_played_live_has_the_poses_of_the_recording(
    recording: Path, reported: RunResult, video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = tmp_path / "live"
    more = ["--no-report", "--no-check"]
    # the queue holds all of it: no frame is dropped on a busy machine
    arguments = ["run", "--source", f"video:{video}", *described(recording), "--queue", "100", *more]
    assert main([*arguments, "--out", str(live)]) == 0
    printed = capsys.readouterr().out
    assert "The camera made 12 frames; each was done" in printed
    found, wanted = read_trajectory(live / "trajectory.txt"), reported.trajectory
    np.testing.assert_allclose(found.poses, wanted.poses, atol=1e-12)
    np.testing.assert_allclose(found.times, wanted.times, atol=1e-9)


def test_a_folder_that_grows_is_a_camera(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    growing = tmp_path / "growing"
    (growing / "raw").mkdir(parents=True)
    shutil.copy(recording / "camera.yaml", growing)
    images = sorted((recording / "raw").iterdir())[:5]
    shutil.copy(images[0], growing / "raw")

    def fill() -> None:
        for image in images[1:]:
            time.sleep(0.05)
            shutil.copy(image, growing / "raw")

    writer = threading.Thread(target=fill)
    writer.start()
    arguments = ["run", "--source", f"folder:{growing}", "--follow", "2", "--no-report", "--no-check"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    writer.join()
    assert len(read_trajectory(tmp_path / "out" / "trajectory.txt")) == 5
    assert "The camera made 5 frames" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--source", "webcam"], "--source webcam needs --camera"),
        (["--source", "webcam", "--camera", "CAMERA"], "v4l2:0"),
        (["--source", "v4l2:99", "--camera", "CAMERA"], "camera 99: cannot be opened"),
        (["--source", "video:/nowhere.mkv", "--camera", "CAMERA"], "not a video that can be read"),
        (["--source", "harvesters:/nowhere.cti", "--camera", "CAMERA"], "no such file"),
        (["--source", "v4l2:0", "--camera", "CAMERA", "--queue", "0"], "--queue must be"),
        (["--source", "v4l2:0", "--camera", "CAMERA", "--stride", "2"], "--start and --stride"),
        (["somewhere", "--source", "v4l2:0"], "neither a sequence nor --resume"),
        (["--source", "folder:.", "--camera", "CAMERA"], "put camera.yaml into it"),
        (["--source", "v4l2:0", "--camera", "CAMERA", "--white", "CAMERA"], "camera.yaml"),
    ],
)
def test_what_is_wrong_is_said(
    recording: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    given = [str(recording / "camera.yaml") if word == "CAMERA" else word for word in arguments]
    assert main(["run", *given, "--out", str(tmp_path / "out")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


class Device:
    """Stands for ``cv2.VideoCapture`` on a mosaic camera."""

    opened: Any = None

    def __init__(self, device: Any, backend: int) -> None:
        self.device, self.backend, self.set_to = device, backend, {}  # type: ignore[var-annotated]
        Device.opened = self

    def isOpened(self) -> bool:
        return True

    def get(self, what: int) -> float:
        return float(int.from_bytes(b"RGGB", "little")) if what == cv2.CAP_PROP_FOURCC else 0.0

    def set(self, what: int, value: float) -> bool:
        self.set_to[what] = value
        return True

    def read(self) -> tuple[bool, Any]:
        return True, np.arange(12, dtype=np.uint8).reshape(3, 4)

    def release(self) -> None: ...


@pytest.mark.parametrize("word", ["v4l2:3", "/dev/video3", "3"])
def test_v4l2_devices_deliver_their_mosaic_untouched(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setattr(opencv.cv2, "VideoCapture", Device)
    grabber = open_grabber(word)
    grabbed = grabber.grab()
    assert Device.opened.device == 3 and Device.opened.backend == cv2.CAP_V4L2
    assert Device.opened.set_to[cv2.CAP_PROP_CONVERT_RGB] == 0
    assert grabbed is not None and grabbed.image is not None and grabbed.image.shape == (3, 4)


def test_streams_are_opened_by_opencv(video: Path) -> None:
    grabber = open_grabber(f"opencv:{video}")
    grabbed = grabber.grab()
    assert grabbed is not None and grabbed.image is not None and grabbed.image.shape == (384, 384, 3)
    grabber.close()


def test_harvesters_through_a_stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No GenTL producer was at hand: this says that our side keeps to the package's interface."""
    numbers = iter([5, 6, 9])

    class Buffer:
        def __init__(self) -> None:
            self.frame_id, self.timestamp_ns = next(numbers), 2_000_000_000
            part = SimpleNamespace(data_format="Mono8", width=4, height=3, data=np.arange(12, dtype=np.uint8))
            self.payload = SimpleNamespace(components=[part])

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None: ...

    class Harvester:
        def add_file(self, path: str) -> None: ...
        def update(self) -> None: ...
        def reset(self) -> None: ...
        def create(self, which: Any) -> Any:
            assert which == {"serial_number": "A1"}
            return SimpleNamespace(
                start=lambda: None,
                stop=lambda: None,
                destroy=lambda: None,
                try_fetch=lambda timeout: Buffer(),
            )

    core = ModuleType("harvesters.core")
    core.__dict__["Harvester"] = Harvester
    monkeypatch.setitem(sys.modules, "harvesters", ModuleType("harvesters"))
    monkeypatch.setitem(sys.modules, "harvesters.core", core)
    producer = tmp_path / "driver.cti"
    producer.write_bytes(b"")
    grabber = HarvesterGrabber(producer, "A1")
    grabbed = [grabber.grab() for _ in range(3)]
    assert [g.missed for g in grabbed if g is not None] == [0, 0, 2]
    assert grabbed[0] is not None and grabbed[0].image is not None and grabbed[0].time == 2.0
    grabber.close()


@pytest.mark.skipif(shutil.which(FAKE) is None, reason="Aravis's fake camera is not installed (aravis-tools)")
def test_a_gige_camera_on_loopback(tmp_path: Path) -> None:
    pytest.importorskip("gi", reason="PyGObject is not installed (python3-gi)")
    from prism_vo.live.aravis import AravisGrabber

    fake = subprocess.Popen([FAKE, "-i", "lo", "-s", "PRISM1"])
    try:
        time.sleep(0.5)
        grabber = AravisGrabber()
        grabbed = [g for g in (grabber.grab() for _ in range(12)) if g is not None]
        grabber.close()
    finally:
        fake.terminate()
        fake.wait()
    whole = [g for g in grabbed if g.image is not None]
    assert len(whole) >= 8
    assert all(g.image is not None and g.image.shape == (512, 512) and g.image.std() > 10 for g in whole)
    assert (np.diff([g.time for g in whole]) > 0).all() and abs(whole[-1].time - time.time()) < 30
