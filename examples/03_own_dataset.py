# SPDX-License-Identifier: Apache-2.0
"""Your own recordings: a loader for a layout the program does not know, and the whole pipeline on it.

The layout here is one NumPy file with all raw images and one with their times. A package that registers ``Loader``
under the entry point ``prism_vo.datasets`` makes ``prism-vo run recording.npz`` work (docs/extending.md).

    python examples/03_own_dataset.py [recording.npz] [--out FOLDER]
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from prism_vo import PlenopticCamera, RawFrame, run
from prism_vo.optics.calibration import Calibration


class NpzSequence:
    """Satisfies ``prism_vo.datasets.Sequence``: everything the pipeline asks of a recording."""

    is_decoded = False
    exposures = None
    groundtruth = None

    def __init__(self, path: Path) -> None:
        content = np.load(path)
        self.name = path.stem
        self.images, self.times = content["images"], content["times"]
        self.white = content["white"]
        self.camera = PlenopticCamera.from_calibration(
            Calibration.model_validate_json(str(content["camera"]))
        )

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, index: int) -> RawFrame:
        return RawFrame(index, float(self.times[index]), self.images[index])

    def __iter__(self) -> Iterator[RawFrame]:
        return (self[index] for index in range(len(self)))


class Loader:
    """What a package registers as an entry point."""

    name = "npz"

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".npz"

    def open(self, path: Path) -> NpzSequence:
        return NpzSequence(path)


def simulated_recording(path: Path, frames: int = 12) -> Path:
    """Stands for your camera."""
    from prism_vo.simulate import CATALOGUE, Renderer, build_scene, plan, preset_camera

    camera = preset_camera("mini")
    renderer = Renderer(camera, build_scene("table", seed=0), seed=0)
    poses = plan(CATALOGUE["table"].path, frames=frames, seed=0).poses[:frames]
    images = np.stack([renderer.raw(pose, frame=k, time=0.1 * k) for k, pose in enumerate(poses)])
    times = 0.1 * np.arange(len(images))
    np.savez(path, images=images, times=times, white=renderer.white(), camera=camera.model_dump_json())
    return path


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("recording", nargs="?", type=Path)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "own_dataset")
    options = parser.parse_args(arguments)
    path = options.recording or simulated_recording(Path(tempfile.mkdtemp()) / "recording.npz")
    result = run(Loader().open(path), out=options.out, force=True)
    print(f"{len(result.trajectory)} poses, path {result.trajectory.length:.3f} m, results in {result.out}")


if __name__ == "__main__":
    main()
