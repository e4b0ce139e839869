# SPDX-License-Identifier: Apache-2.0
"""prism-vo: metric visual odometry with a single focused plenoptic camera.

The names below are the public interface; each is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from prism_vo.cloud import PointCloud as PointCloud
    from prism_vo.cloud import read_ply as read_ply
    from prism_vo.cloud import write_ply as write_ply
    from prism_vo.config import Config as Config
    from prism_vo.config import DecodeConfig as DecodeConfig
    from prism_vo.datasets import open_sequence as open_sequence
    from prism_vo.datasets.source import Stream as Stream
    from prism_vo.errors import PrismError as PrismError
    from prism_vo.evaluate.metrics import evaluate_trajectory as evaluate_trajectory
    from prism_vo.frame_report import FrameReport as FrameReport
    from prism_vo.lightfield import Decoder as Decoder
    from prism_vo.odometry import Odometry as Odometry
    from prism_vo.optics.calibration import load_calibration as load_calibration
    from prism_vo.optics.calibration import save_calibration as save_calibration
    from prism_vo.optics.camera import PlenopticCamera as PlenopticCamera
    from prism_vo.pipeline import run as run
    from prism_vo.run_result import RunResult as RunResult
    from prism_vo.trajectory import Trajectory as Trajectory
    from prism_vo.trajectory import read_trajectory as read_trajectory
    from prism_vo.trajectory import write_trajectory as write_trajectory
    from prism_vo.types import RawFrame as RawFrame

_HOMES = {
    "Config": "prism_vo.config",
    "DecodeConfig": "prism_vo.config",
    "Decoder": "prism_vo.lightfield",
    "FrameReport": "prism_vo.frame_report",
    "Odometry": "prism_vo.odometry",
    "PlenopticCamera": "prism_vo.optics.camera",
    "PointCloud": "prism_vo.cloud",
    "PrismError": "prism_vo.errors",
    "RawFrame": "prism_vo.types",
    "RunResult": "prism_vo.run_result",
    "Stream": "prism_vo.datasets.source",
    "Trajectory": "prism_vo.trajectory",
    "evaluate_trajectory": "prism_vo.evaluate.metrics",
    "load_calibration": "prism_vo.optics.calibration",
    "open_sequence": "prism_vo.datasets",
    "read_ply": "prism_vo.cloud",
    "read_trajectory": "prism_vo.trajectory",
    "run": "prism_vo.pipeline",
    "save_calibration": "prism_vo.optics.calibration",
    "write_ply": "prism_vo.cloud",
    "write_trajectory": "prism_vo.trajectory",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'prism_vo' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
