# SPDX-License-Identifier: Apache-2.0
"""Batch adjustment: all keyframes, their points and, if asked for, the numbers of the camera in one solve."""

from prism_vo.batch.adjust import Adjusted, adjust
from prism_vo.batch.numbers import CameraNumbers
from prism_vo.batch.records import BatchState, Observations

__all__ = ["Adjusted", "BatchState", "CameraNumbers", "Observations", "adjust"]
