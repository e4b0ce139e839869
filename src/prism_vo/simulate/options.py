# SPDX-License-Identifier: Apache-2.0
"""Everything a user can choose about a simulated sequence."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from prism_vo import __version__
from prism_vo.errors import ConfigError
from prism_vo.optics.calibration import Calibration, load_calibration
from prism_vo.simulate.cameras import PRESETS, preset_camera, scaled_camera

LARGEST_COEFFICIENT = 1e6
RANGES: dict[str, tuple[float, float]] = {
    "frames": (1, 1_000_000),
    "size": (0.01, 10_000),
    "scale": (0.01, 4),
    "seed": (0, (1 << 63) - 1),
    "noise": (0, 1000),
    "samples": (1, 4096),
    "aperture": (0, 1),
    "gamma": (0.05, 20),
    "exposure_change": (0, 4),
    "motion_blur": (0, 1),
    "truth_every": (0, 1_000_000),
}
BAYER_PATTERNS = ("RGGB", "BGGR", "GRBG", "GBRG")


@dataclass(frozen=True)
class SimulateOptions:
    """Settings of a simulated sequence; None takes what suits the scene."""

    camera: str | None = None  # a preset, or the path of a camera.yaml
    frames: int | None = None  # None: the whole path at its natural speed
    size: float | None = None  # m, length of a smaller closed loop
    scale: float = 1.0  # shrinks sensor and micro-lens counts together, field of view unchanged
    seed: int = 0  # of the scene's layout, the hand's motion and the noise
    noise: float = 1.0  # of shot and read noise; 0: none
    samples: int = 4  # rays a raw pixel (a square number)
    aperture: float = 0.5  # of the micro-lenses, as a share of their pitch; 0: pinholes
    bits: int = 8  # 8 or 12
    gamma: float | None = None  # response curve; None: the camera's
    bayer: str | None = None  # RGGB, BGGR, GRBG or GBRG for a colour sensor
    exposure_change: float = 0.0  # 0.5: exposure varies by up to a factor of 1.5 either way
    motion_blur: float = 0.0  # share of the frame interval the shutter is open
    distortion: tuple[float, float, float, float] | None = None  # A0 A1 B0 B1 of the main lens, mm units
    truth_every: int = 10  # frames between stored depth maps and reference images; 0: none
    baselines: bool = False  # a synchronised monocular camera and an RGB-D-like depth camera too

    def __post_init__(self) -> None:
        if self.bayer is not None and self.bayer not in BAYER_PATTERNS:
            raise ConfigError(f"--bayer must be one of {', '.join(BAYER_PATTERNS)}, not '{self.bayer}'.")
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:  # false for NaN as well
                raise ConfigError(
                    f"--{name.replace('_', '-')} is {value:.6g}; it goes from {low:g} to {high:g}."
                )
        if any(not abs(value) <= LARGEST_COEFFICIENT for value in self.distortion or ()):
            raise ConfigError(f"--distortion has a coefficient beyond {LARGEST_COEFFICIENT:g}.")

    def calibration(self, default_camera: str) -> Calibration:
        """The camera these settings describe."""
        name = self.camera or default_camera
        if name in PRESETS:
            base = preset_camera(name)
        elif Path(name).suffix in (".yaml", ".yml"):
            base = load_calibration(name)
        else:
            raise ConfigError(
                f"--camera '{name}' is neither a preset ({', '.join(PRESETS)}) nor a camera.yaml."
            )
        data = scaled_camera(base, self.scale).model_dump()
        if self.bayer is not None:
            data["sensor"]["bayer"] = self.bayer
        if self.gamma is not None:
            data["response"]["gamma"] = self.gamma
        if self.distortion is not None:
            data["main_lens"]["distortion"] = {
                "radial": self.distortion[:2],
                "tangential": self.distortion[2:],
            }
        try:
            return Calibration.model_validate(data)
        except ValidationError as error:
            reason = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
            raise ConfigError(
                f"--camera '{name}' with these settings is no possible camera: {reason}."
            ) from error

    def record(self, scene: str) -> dict[str, Any]:
        """What determines the images, as plain values stored beside them: an unfinished recording is continued, and
        a finished one used again, only by the program that began it."""
        settings = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}
        return {"scene": scene, "version": __version__, "simulator": _simulator_digest(), **settings}


def _simulator_digest() -> str:
    """Changes with every change of the simulator's own files."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
