# SPDX-License-Identifier: Apache-2.0
"""Recordings that nobody chose: scene, camera, light and sensor are drawn, rendered, and given to ``prism-vo run``.

python -m benchmarks.unseen [--first 0] [--count 24] [--frames 40] [--keep FOLDER] [--only NUMBER …]

Drawn from its number alone: the scene and its seed; size and shape of the sensor, pitch of the micro-images, focal
length, place and distance of the array, its turn, the number of lens types, distortion; noise, bits, response curve,
mosaic, changes of exposure, motion blur, rays a pixel; whether there is a white image; and by how many µm the focus of
the file is wrong. Printed: what a run found and what it said. A row fails where its true scale lies beyond 3 of its own
σ, where frames are lost, and where shape is worse than 0.1 % of the path.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.consistency import nees
from benchmarks.faults import segment_error, what_was_said
from prism_vo import open_sequence, pipeline
from prism_vo.config import Config
from prism_vo.errors import PrismError
from prism_vo.optics.calibration import Calibration, load_calibration, save_calibration
from prism_vo.simulate.options import BAYER_PATTERNS, SimulateOptions
from prism_vo.simulate.write import simulate_sequence

NEAR = ("table", "01_plants", "02_tools", "03_books", "04_toys", "06_kitchen", "calibration")
ROOMS = ("seq_001", "seq_002", "seq_003", "seq_004", "seq_005", "seq_010")
OUTDOORS = ("street", "seq_006", "seq_007", "seq_008", "seq_009", "seq_011")
FOCAL_LENGTHS = {NEAR: (12.0, 20.0), ROOMS: (12.0, 20.0), OUTDOORS: (16.0, 35.0)}  # mm
DRAWN = 4711  # with the number of a row, the seed of everything in it
MICRO = 1e-3  # mm per µm
SURE = 3.0  # σ within which the true scale must lie
LARGEST_SHAPE = 0.1  # % of the path


@dataclass(frozen=True)
class Draw:
    """One recording: what it is rendered with, and what its user does not have or know."""

    scene: str
    camera: Calibration
    options: dict[str, Any]
    has_white: bool
    wrong_um: float  # of the focus that the file states


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    frames: int
    lost: int
    segments: int
    code: int  # with which the command ends
    error: float  # % of the path, scale not fitted
    scale: float  # the path is too long by, %
    scale_sigma: float  # stated, %
    shape: float  # % of the path
    position: float  # NEES of the last pose against the first one; 3 is ideal
    rotation: float
    said: str

    @property
    def failures(self) -> list[str]:
        """In words; none: as it should be."""
        out = []
        if self.lost or self.segments > 1:
            out.append("lost")
        if abs(self.scale) > SURE * self.scale_sigma:
            out.append("too sure")
        if self.shape > LARGEST_SHAPE:
            out.append("shape")
        return out


def drawn(number: int, frames: int) -> Draw:
    """The recording of that number."""
    rng = np.random.default_rng((DRAWN, number))
    kind = (NEAR, ROOMS, OUTDOORS)[number % 3]
    scene = str(rng.choice(kind))
    options: dict[str, Any] = {
        "frames": frames,
        "seed": int(rng.integers(1000, 10000)),
        "noise": float(rng.choice([0.3, 1.0, 1.0, 2.0])),
        "bits": int(rng.choice([8, 8, 12])),
        "gamma": float(rng.choice([1.0, 1.0, 2.2])),
        "exposure_change": float(rng.choice([0.0, 0.0, 0.5])),
        "motion_blur": float(rng.choice([0.0, 0.0, 0.3])),
        "samples": int(rng.choice([4, 9])),
        "aperture": float(rng.uniform(0.3, 0.8)),
        "truth_every": 0,
    }
    if rng.random() < 0.3:
        options["bayer"] = str(rng.choice(BAYER_PATTERNS))
    if rng.random() < 0.3:
        k = float(rng.uniform(-1.0, 1.0))
        options["distortion"] = (2e-4 * k, 0.0, 2e-5, -2e-5)
    wrong = float(rng.choice([0.0, 0.0, -10.0, 10.0]))
    return Draw(scene, _camera(rng, *FOCAL_LENGTHS[kind]), options, bool(rng.random() < 0.8), wrong)


def _camera(rng: np.random.Generator, shortest: float, longest: float) -> Calibration:
    """A focused plenoptic camera with 6 to 12 mm of sensor; infinity has a virtual depth of 2.1 to 3."""
    width, height = (int(8 * rng.integers(75, 130)) for _ in range(2))
    pixel = float(rng.uniform(9.5, 12.0))  # µm
    focal = float(rng.uniform(shortest, longest))
    distance = float(rng.uniform(0.32, 0.45))  # mm, array to sensor
    infinity = float(rng.uniform(2.1, 3.0))
    types = 3 if rng.random() < 0.8 else 1
    focused = infinity + np.array([0.1, 0.7, 1.7]) if types == 3 else np.array([infinity + 0.5])
    return Calibration.model_validate(
        {
            "sensor": {"width": width, "height": height, "pixel_size_um": pixel},
            "main_lens": {
                "focal_length_mm": focal,
                "mla_distance_mm": focal - infinity * distance,
                "principal_point_px": (width / 2 + rng.uniform(-9, 9), height / 2 + rng.uniform(-9, 9)),
            },
            "mla": {
                "sensor_distance_mm": distance,
                "pitch_px": float(rng.uniform(12.5, 23.5)),
                "rotation_rad": float(rng.uniform(-0.02, 0.02)),
                "origin_px": (width / 2 + rng.uniform(-9, 9), height / 2 + rng.uniform(-9, 9)),
                "lens_types": tuple({"focus_virtual_depth": float(v)} for v in focused),
            },
        }
    )


def render(draw: Draw, folder: Path) -> None:
    """Write the recording as its user has it; one that is there already is left alone."""
    if folder.is_dir():
        return
    camera, unfinished = folder.with_suffix(".yaml"), folder.with_suffix(".unfinished")
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    save_calibration(draw.camera, camera)
    simulate_sequence(draw.scene, unfinished, SimulateOptions(camera=str(camera), **draw.options))
    if not draw.has_white:
        (unfinished / "white.png").unlink()
    written = load_calibration(unfinished / "camera.yaml")
    lens = written.main_lens
    moved = lens.model_copy(update={"mla_distance_mm": lens.mla_distance_mm + MICRO * draw.wrong_um})
    save_calibration(written.model_copy(update={"main_lens": moved}), unfinished / "camera.yaml")
    unfinished.rename(folder)


def track(folder: Path) -> Outcome:
    """``prism-vo run`` over it, against the truth."""
    recording = open_sequence(folder)
    result = pipeline.run(recording, Config(), check=True)
    truth = recording.groundtruth
    assert truth is not None
    shape = segment_error(result, truth.times, truth.poses, with_scale=True)
    error = segment_error(result, truth.times, truth.poses)
    scale = float("nan") if result.metrics is None else 100 * (1 / result.metrics.scale - 1)
    whole = result.lost == 0 and result.segments == 1
    position, rotation = nees(result.odometry, truth) if whole else (np.full(1, np.nan), np.full(1, np.nan))
    return Outcome(
        len(recording),
        result.lost,
        result.segments,
        result.exit_code,
        error,
        scale,
        100 * result.scale_sigma,
        shape,
        position[-1],
        rotation[-1],
        what_was_said(result),
    )


def row(number: int, draw: Draw, found: Outcome) -> str:
    """A line of the table."""
    sensor, lens, mla = draw.camera.sensor, draw.camera.main_lens, draw.camera.mla
    camera = f"{sensor.width}×{sensor.height}, {lens.focal_length_mm:.0f} mm, {mla.pitch_px:.1f} px"
    camera += "" if len(mla.lens_types) > 1 else ", one type"
    o = draw.options
    odd = [f"noise × {o['noise']:g}", f"{o['bits']} bits"]
    odd += [f"γ {o['gamma']:g}"] if o["gamma"] != 1.0 else []
    odd += ["exposure"] if o["exposure_change"] else []
    odd += ["motion blur"] if o["motion_blur"] else []
    odd += [str(o["bayer"])] if "bayer" in o else []
    odd += ["distortion"] if "distortion" in o else []
    odd += [] if draw.has_white else ["no white image"]
    odd += [f"{draw.wrong_um:+.0f} µm"] if draw.wrong_um else []
    cells = [number, f"{draw.scene} {o['seed']}", camera, ", ".join(odd)]
    cells += [f"{found.scale:+.2f} ± {found.scale_sigma:.2f}", f"{found.shape:.4f}"]
    cells += [f"{found.position:.1f}", f"{found.rotation:.1f}", found.lost, found.segments]
    cells += [found.code, ", ".join(found.failures), found.said]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> int:
    """Print the table as it is made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--only", nargs="+", type=int)
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--keep", type=Path, help="folder for the recordings; used again if they are there")
    given = parser.parse_args()
    print(
        "| | recording | camera | | path too long by, % | shape, % | NEES of position | of rotation | lost "
        "| segments | exit | fails | said |"
    )
    print("|---" * 13 + "|")
    fails = 0
    numbers = given.only or range(given.first, given.first + given.count)
    with tempfile.TemporaryDirectory() as temporary:
        for number in numbers:
            draw = drawn(number, given.frames)
            folder = (given.keep or Path(temporary)) / f"{number:04d}"
            try:
                render(draw, folder)
                found = track(folder)
            except PrismError as refused:
                print(f"| {number} | {draw.scene} | refused: {refused} |", flush=True)
                fails += 1
                continue
            fails += bool(found.failures)
            print(row(number, draw, found), flush=True)
    print(f"\n{len(numbers) - fails} of {len(numbers)} as they should be")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
