# SPDX-License-Identifier: Apache-2.0
"""All settings: one frozen dataclass a stage. ``prism-vo config`` prints them with these comments."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class DecodeConfig:
    """Raw image → totally focused image, inverse virtual depth and variance."""

    near: float = 0.2  # m, nearest depth searched for
    far: float = float("inf")  # m, farthest depth searched for


@dataclass(frozen=True)
class Config:
    """Settings of a whole run."""

    decode: DecodeConfig = field(default_factory=DecodeConfig)
    seed: int = 0  # of the random directions in point selection
