# SPDX-License-Identifier: Apache-2.0
"""From light on the sensor to recorded numbers: exposure, shot and read noise, response, quantisation, Bayer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats
from prism_vo.errors import ConfigError


@dataclass(frozen=True)
class SensorModel:
    """``noise`` scales shot and read noise together; 0 switches both off."""

    bits: int = 8  # 8, or 12 (written as 16-bit numbers)
    noise: float = 1.0
    full_well: float = 12000.0  # electrons at the largest number
    read_noise: float = 10.0  # electrons
    gain: float = 0.9  # number, as a share of the largest, that a white surface in full light gives

    def __post_init__(self) -> None:
        if self.bits not in (8, 12):
            raise ConfigError(f"The sensor quantises to 8 or 12 bits, not {self.bits}.")
        if self.noise < 0:
            raise ConfigError(f"--noise cannot be negative ({self.noise}).")


def cfa_table(bayer: str | None) -> NDArray[np.int8]:
    """Colour channel (0 R, 1 G, 2 B, 3 grey) of the pixel at (row & 1, column & 1)."""
    if bayer is None:
        return np.full((2, 2), 3, np.int8)
    return np.array(["RGB".index(letter) for letter in bayer], np.int8).reshape(2, 2)


def develop(
    light: Floats, sensor: SensorModel, gamma: float, exposure: float, seed: tuple[int, int]
) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Recorded image of ``light`` (1: white surface). The same seed gives the same noise."""
    signal = light * np.float32(sensor.gain * exposure)
    if sensor.noise > 0:
        rng = np.random.default_rng((*seed, 0xC0FFEE))
        variance = np.maximum(signal, 0) / np.float32(sensor.full_well)
        variance += np.float32((sensor.read_noise / sensor.full_well) ** 2)
        noise = rng.standard_normal(signal.shape, np.float32)
        signal = signal + np.float32(sensor.noise) * np.sqrt(variance) * noise
    signal = np.clip(signal, 0.0, 1.0)
    if gamma != 1.0:
        signal = signal ** np.float32(1.0 / gamma)
    levels = (1 << sensor.bits) - 1
    numbers = np.rint(signal * np.float32(levels))
    if sensor.bits == 8:
        return numbers.astype(np.uint8)
    return np.rint(numbers * (65535.0 / levels)).astype(np.uint16)
