# SPDX-License-Identifier: Apache-2.0
"""``prism-vo refine``: all keyframes of a finished run adjusted at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet


def refine(
    results: Path,
    *,
    sequence: Path | None = None,
    camera_file: Path | None = None,
    camera: Annotated[bool, Parameter(negative=())] = False,
    out: Path | None = None,
    force: Annotated[bool, Parameter(negative=())] = False,
    quiet: Quiet = False,
) -> None:
    """Adjust poses and points of a finished run, all keyframes at once, and write them into a folder of their own.

    Parameters
    ----------
    results
        Results folder of `prism-vo run`.
    sequence
        The recording it was made of (default: where it was then).
    camera_file
        Camera file of the recording (default: its own).
    camera
        Adjust F, principal point and w_∞ of the camera, too; camera.yaml is written beside.
    out
        Folder to write (default: RESULTS/refined).
    force
        Overwrite the results of another run there.
    """
    from prism_vo.camera_fit.refine import refine_run
    from prism_vo.cloud import write_ply
    from prism_vo.commands.narration import Narration
    from prism_vo.config import Config
    from prism_vo.datasets import open_sequence
    from prism_vo.errors import InputError
    from prism_vo.optics.calibration import save_calibration
    from prism_vo.output_folder import OutputFolder, check_folder
    from prism_vo.results import KEYFRAMES, POINTS, TRAJECTORY, is_without_poses
    from prism_vo.trajectory import read_trajectory, write_trajectory

    for name in (TRAJECTORY, KEYFRAMES):
        if not (results / name).is_file():
            if is_without_poses(results):
                raise InputError(
                    f"{results}: no frame of this run has a pose, so there is nothing to refine."
                )
            raise InputError(f"{results}: has no {name}; give the results folder of a finished prism-vo run.")
    folder = out if out is not None else results / "refined"
    check_folder(folder, "refine", force)
    recording = open_sequence(sequence or _recorded_path(results), camera=camera_file)
    trajectory, keyframes = read_trajectory(results / TRAJECTORY), read_trajectory(results / KEYFRAMES)
    with Narration() as say:
        done = refine_run(
            recording, trajectory, keyframes, camera, Config(), lambda words, n, of: say(words, n, of)
        )
    written = OutputFolder(folder, "refine", force)
    written.mark("running")
    write_trajectory(done.trajectory, folder / TRAJECTORY)
    write_trajectory(done.keyframes, folder / KEYFRAMES)
    write_ply(done.cloud, folder / POINTS)
    seen = done.adjusted.seen
    print(f"adjusted        {len(done.keyframes)} keyframes, {len(seen)} sightings")
    print(f"keyframes moved by {1e3 * done.moved:.2f} mm (root mean square)")
    if recording.groundtruth is not None:
        _compare(trajectory, done.trajectory, recording.groundtruth)
    if camera:
        save_calibration(done.camera.calibration, folder / "camera.yaml")
    written.mark("finished")
    written.close()
    print(f"results         {folder}")


def _recorded_path(results: Path) -> Path:
    from prism_vo.errors import InputError
    from prism_vo.results import SETTINGS
    from prism_vo.yaml_files import read_yaml

    data: Any = read_yaml(results / SETTINGS) if (results / SETTINGS).is_file() else {}
    path = data.get("path") if isinstance(data, dict) else None
    if not isinstance(path, str) or not Path(path).exists():
        raise InputError(f"{results}: does not say where its recording is now; give it with --sequence.")
    return Path(path)


def _compare(before: Any, after: Any, truth: Any) -> None:
    from prism_vo.errors import DegenerateError
    from prism_vo.evaluate.metrics import evaluate_trajectory

    for name, trajectory in (("before", before), ("after", after)):
        try:
            m = evaluate_trajectory(trajectory, truth)
        except DegenerateError:
            return
        print(
            f"{name:<16}{1e3 * m.se3.rmse_t:.2f} mm off the truth (SE(3)), {1e3 * m.sim3.rmse_t:.2f} mm in shape, "
            f"scale {100 * m.scale_error:+.2f} %"
        )
