# SPDX-License-Identifier: Apache-2.0
"""``prism-vo demo``: simulate a few frames, describe them, decode one and compare it with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prism_vo.optics.calibration import Calibration
    from prism_vo.simulate import Renderer
    from prism_vo.trajectory import Trajectory

MARK = ".prism-vo-demo"  # in the folders a demo may replace


def demo(*, out: Path = Path("demo"), frames: int = 5) -> None:
    """Simulate a short recording of a table with a small camera and decode it.

    Parameters
    ----------
    out
        Folder for the recording; files of an earlier demo in it are replaced.
    frames
        Number of frames.
    """
    import numpy as np

    from prism_vo.commands.info import info
    from prism_vo.errors import ConfigError
    from prism_vo.simulate import CATALOGUE, Renderer, SensorModel, build_scene, plan, preset_camera
    from prism_vo.trajectory import Trajectory

    if frames < 2:
        raise ConfigError(f"--frames is {frames}; a recording has at least 2.")
    calibration = preset_camera("mini")
    track = plan(CATALOGUE["table"].path, frames=frames, seed=0)
    renderer = Renderer(calibration, build_scene("table", seed=0), sensor=SensorModel(noise=1.0), seed=0)
    truth = Trajectory(np.arange(frames) / calibration.frame_rate, np.asarray(track.poses[:frames]))
    _write(out, calibration, renderer, truth)
    info(out)
    quality = _focus_quality(out, renderer, truth)
    print(f"\nfocused image of frame 0 against the exact one: {quality:.1f} dB PSNR")


def _write(out: Path, calibration: Calibration, renderer: Renderer, truth: Trajectory) -> None:
    """The recording as a native sequence folder."""
    import cv2

    from prism_vo.errors import InputError
    from prism_vo.optics.calibration import save_calibration
    from prism_vo.trajectory import write_trajectory

    if out.exists() and not (out / MARK).exists():
        raise InputError(f"{out}: exists and is no earlier demo; give another --out.")
    (out / "raw").mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()
    for stale in (out / "raw").glob("*.png"):
        stale.unlink()
    save_calibration(calibration, out / "camera.yaml")
    write_trajectory(truth, out / "groundtruth.txt")
    cv2.imwrite(str(out / "white.png"), renderer.white())
    for index, (time, pose) in enumerate(truth):
        cv2.imwrite(str(out / "raw" / f"{index:06d}.png"), renderer.raw(pose, frame=index, time=time))


def _focus_quality(out: Path, renderer: Renderer, truth: Trajectory) -> float:
    import numpy as np

    from prism_vo.config import DecodeConfig
    from prism_vo.datasets import open_sequence
    from prism_vo.lightfield import Decoder
    from prism_vo.types import RawFrame

    sequence = open_sequence(out)
    frame = sequence[0]
    assert isinstance(frame, RawFrame)
    focused = Decoder(sequence.camera, DecodeConfig(), white=sequence.white).focus(frame).image
    exact = renderer.view_truth(truth.poses[0], "central").image
    error = (focused - exact)[8:-8, 8:-8]
    return float(10 * np.log10(255.0**2 / np.mean(error**2)))
