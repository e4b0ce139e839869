# SPDX-License-Identifier: Apache-2.0
"""A simulated sequence as a native folder: images, times, truth. Stops and resumes at any frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import yaml
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.atomic import output_named, remove_leftovers, write_bytes_atomically, write_text_atomically
from prism_vo.errors import InputError
from prism_vo.optics.calibration import Calibration, save_calibration
from prism_vo.output_folder import LOCK, FolderLock
from prism_vo.se3 import rotation_to_quaternion
from prism_vo.simulate.baseline import DEPTH_SCALE, depth_camera, monocular
from prism_vo.simulate.catalogue import build_scene, entry_of
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.path import PathSpec, Track, plan
from prism_vo.simulate.render import Renderer
from prism_vo.simulate.scene import Scene
from prism_vo.simulate.sensor import SensorModel
from prism_vo.simulate.user_mesh import is_mesh_file, load_mesh_scene, orbit
from prism_vo.yaml_files import read_yaml

Progress = Callable[[int, int], None]
RECORD = "simulation.yaml"
NOMINAL_EXPOSURE = 0.01  # s
BLUR_POSES = 9  # odd: one of them is the pose of record


@dataclass(frozen=True)
class Simulation:
    """Scene, camera and path of one sequence, ready to be filmed frame by frame."""

    name: str
    scene: Scene
    calibration: Calibration
    track: Track
    options: SimulateOptions

    @classmethod
    def prepare(cls, name: str, options: SimulateOptions) -> Simulation:
        """Build what a scene name (or the path of a mesh) and the settings describe."""
        spec: PathSpec
        if is_mesh_file(name):
            scene = load_mesh_scene(Path(name))
            spec, camera = orbit(scene), "r5"
        else:
            entry = entry_of(name)
            spec, camera = entry.path, entry.camera
            scene = build_scene(name, options.seed)
        return cls(
            name,
            scene,
            options.calibration(camera),
            plan(spec, options.frames, options.seed, options.size),
            options,
        )

    def __len__(self) -> int:
        return len(self.track.poses)

    def time(self, frame: float) -> float:
        """Seconds at a (fractional) frame number."""
        return frame / self.calibration.frame_rate

    def exposures(self) -> Array:
        """Relative exposure of every frame: slow drifts and a faster flicker, periodic over the sequence."""
        t = 2 * np.pi * np.arange(len(self)) / max(len(self), 1)
        rng = np.random.default_rng((self.options.seed, 31337))
        phase = rng.uniform(0, 2 * np.pi, 3)
        wave = (
            0.6 * np.sin(2 * t + phase[0]) + 0.3 * np.sin(5 * t + phase[1]) + 0.1 * np.sin(17 * t + phase[2])
        )
        return (1.0 + self.options.exposure_change) ** wave

    def renderer(self, threads: int = 2) -> Renderer:
        """A renderer for this sequence."""
        o = self.options
        model = SensorModel(o.bits, o.noise)
        return Renderer(
            self.calibration,
            self.scene,
            samples=o.samples,
            aperture=o.aperture,
            threads=threads,
            sensor=model,
            seed=o.seed,
        )

    def raw(self, renderer: Renderer, frame: int, exposure: float) -> NDArray[Any]:
        """The recorded image of one frame, blurred by motion if the shutter is open long enough."""
        open_for = self.options.motion_blur
        if open_for == 0.0:
            return renderer.raw(
                self.track.poses[frame], frame=frame, time=self.time(frame), exposure=exposure
            )
        # the pose of record is the middle of the exposure
        offsets = ((np.arange(BLUR_POSES) + 0.5) / BLUR_POSES - 0.5) * open_for
        poses = [self.track.at(frame + float(o)) for o in offsets]
        start, shutter = self.time(frame + float(offsets[0])), self.time(float(offsets[-1] - offsets[0]))
        return renderer.raw(poses, frame=frame, time=start, exposure=exposure, shutter=shutter)


def simulate_sequence(
    name: str,
    out: Path | str,
    options: SimulateOptions | None = None,
    *,
    threads: int = 2,
    progress: Progress | None = None,
) -> Path:
    """Render a sequence into ``out``; continues there if it holds an unfinished one with the same settings."""
    out = Path(out)
    settings = options or SimulateOptions()
    check_folder(out, name, settings)
    simulation = Simulation.prepare(name, settings)
    renderer, exposures = simulation.renderer(threads), simulation.exposures()
    with output_named(out, "nothing was written"):
        out.mkdir(parents=True, exist_ok=True)
    with FolderLock(out):
        for folder in (out, *(place for place in out.iterdir() if place.is_dir())):
            remove_leftovers(folder)
        _write_frame_independent(out, simulation, renderer, exposures)
        for frame in range(len(simulation)):
            target = out / "raw" / f"{frame:06d}.png"
            if not target.is_file():  # the raw image is written last: where it is, everything of its frame is
                _write_truth(out, simulation, renderer, frame, float(exposures[frame]))
                write_png(target, simulation.raw(renderer, frame, float(exposures[frame])))
            if progress is not None:
                progress(frame + 1, len(simulation))
    return out


def check_folder(out: Path, name: str, options: SimulateOptions) -> None:
    """Refuse to mix two simulations in one folder, or to write among other files."""
    record = out / RECORD
    if out.is_symlink():
        raise InputError(f"{out}: is a link; name the folder itself.")
    if record.is_file():
        if read_yaml(record) != options.record(name):
            raise InputError(
                f"{out}: holds a simulation with other settings or of another version of the simulator; choose "
                "another folder or delete it."
            )
        return
    if out.exists() and (not out.is_dir() or any(item.name != LOCK for item in out.iterdir())):
        raise InputError(f"{out}: exists and is not a simulation; choose an empty or new folder.")


def _write_frame_independent(out: Path, simulation: Simulation, renderer: Renderer, exposures: Array) -> None:
    folders = ["raw"]
    if simulation.options.truth_every:
        folders += ["depth", "depth_focal", "reference", "reference_focal"]
    if simulation.options.baselines:
        folders += ["mono", "rgbd"]
    for folder in folders:
        with output_named(out / folder, "what was there before is untouched"):
            (out / folder).mkdir(parents=True, exist_ok=True)
    record = simulation.options.record(simulation.name)
    write_text_atomically(out / RECORD, yaml.safe_dump(record, sort_keys=False))
    save_calibration(simulation.calibration, out / "camera.yaml")
    write_png(out / "white.png", renderer.white())
    with_exposure = simulation.options.exposure_change > 0
    times, truth = [], []
    for frame, pose in enumerate(simulation.track.poses):
        stamp = f"{simulation.time(frame):.9f}"
        times.append(f"{stamp} {NOMINAL_EXPOSURE * exposures[frame]:.9f}" if with_exposure else stamp)
        numbers = (*pose[:3, 3], *rotation_to_quaternion(pose[:3, :3]))
        truth.append(" ".join([stamp, *(f"{x:.9f}" for x in numbers)]))
    write_text_atomically(out / "times.txt", "\n".join(times) + "\n")
    write_text_atomically(out / "groundtruth.txt", "\n".join(truth) + "\n")
    if simulation.options.baselines:
        width, height, focal, cx, cy = renderer.pinhole_intrinsics()
        mono = {
            "width": width,
            "height": height,
            "fx": focal,
            "fy": focal,
            "cx": cx,
            "cy": cy,
            "depth_scale": DEPTH_SCALE,
        }
        write_text_atomically(out / "mono.yaml", yaml.safe_dump(mono, sort_keys=False))


def _write_truth(out: Path, simulation: Simulation, renderer: Renderer, frame: int, exposure: float) -> None:
    o, pose, time = simulation.options, simulation.track.poses[frame], simulation.time(frame)
    due = o.truth_every > 0 and frame % o.truth_every == 0
    name = f"{frame:06d}"
    if due:
        focal = renderer.view_truth(pose, "focal", time=time, exposure=exposure)
        write_npy(out / "depth_focal" / f"{name}.npy", focal.depth)
        write_png(out / "reference_focal" / f"{name}.png", _to_bytes(focal.image))
    if due or o.baselines:
        central = renderer.view_truth(pose, "central", time=time, exposure=exposure)
        if due:
            write_npy(out / "depth" / f"{name}.npy", central.depth)
            write_png(out / "reference" / f"{name}.png", _to_bytes(central.image))
        if o.baselines:
            seed = (o.seed, frame)
            write_png(out / "mono" / f"{name}.png", monocular(central.image, o.noise, seed))
            write_png(
                out / "rgbd" / f"{name}.png",
                depth_camera(central.depth, renderer.pinhole_intrinsics()[2], seed),
            )


def _to_bytes(image: Floats) -> NDArray[np.uint8]:
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def write_png(path: Path, image: NDArray[Any]) -> None:
    """Encode losslessly and replace the file in one step.

    Noise leaves nothing to find for the search of repetitions: without it files are as small and read 40 % faster.
    """
    strategy = [cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_HUFFMAN_ONLY]
    done, data = cv2.imencode(".png", image, strategy)
    assert done
    write_bytes_atomically(path, data.tobytes())


def write_npy(path: Path, array: NDArray[Any]) -> None:
    """The same for a NumPy array."""
    import io

    buffer = io.BytesIO()
    np.save(buffer, array)
    write_bytes_atomically(path, buffer.getvalue())
