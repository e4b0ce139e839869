# SPDX-License-Identifier: Apache-2.0
"""Frames that arrive one at a time: from a camera's generator, or from a folder that another program fills.

python examples/04_live_stream.py                      a generator stands for the camera
python examples/04_live_stream.py --folder FOLDER      like `prism-vo run FOLDER --follow 10`
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from prism_vo import Odometry, PlenopticCamera, RawFrame
from prism_vo.datasets.follow import FollowedSequence


def camera_stream(frames: int) -> Iterator[RawFrame]:
    """Replace this by your camera's driver: a raw image and the time it was taken."""
    from prism_vo.simulate import CATALOGUE, Renderer, build_scene, plan, preset_camera

    renderer = Renderer(preset_camera("mini"), build_scene("table", seed=0), seed=0)
    for index, pose in enumerate(plan(CATALOGUE["table"].path, frames=frames, seed=0).poses[:frames]):
        yield RawFrame(index, 0.1 * index, renderer.raw(pose, frame=index, time=0.1 * index))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument(
        "--patience", type=float, default=10.0, help="seconds without a new frame that end the stream"
    )
    parser.add_argument("--frames", type=int, default=12)
    options = parser.parse_args(arguments)
    if options.folder is not None:
        sequence = FollowedSequence(options.folder, options.patience)
        frames, vo = iter(sequence), Odometry(sequence.camera, white=sequence.white)
    else:
        from prism_vo.simulate import preset_camera

        # without a white image the vignetting is estimated from the first frame
        frames, vo = (
            camera_stream(options.frames),
            Odometry(PlenopticCamera.from_calibration(preset_camera("mini"))),
        )
    for frame in frames:
        report = vo(frame)
        print(
            f"{report.time:.2f} s: {report.status}, camera at {report.T_world_cam[:3, 3].round(4).tolist()} m"
        )


if __name__ == "__main__":
    main()
