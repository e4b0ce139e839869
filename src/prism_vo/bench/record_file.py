# SPDX-License-Identifier: Apache-2.0
"""``result.json`` of a job: read only if it is whole, since tables and figures rely on what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from prism_vo.bounded.json_text import read_json
from prism_vo.errors import PrismError

Record = dict[str, Any]
Number = Annotated[float, Field(allow_inf_nan=False, ge=0, le=1e30)]
Count = Annotated[int, Field(ge=0, le=1 << 53)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Job(_Part):
    sequence: str
    path: str
    suite: str
    method: str
    run: Count
    folder: str
    segment_share: Number


class _Aligned(_Part):
    rmse_t_m: Number
    rmse_t_percent: Number
    rmse_r_deg: Number
    rpe_t_m: Number | None = None


class _Drift(_Part):
    d_s_prime: Number
    e_s_prime: Number
    e_r_deg: Number
    e_align_percent: Number


class _End(_Part):
    translation_m: Number
    rotation_deg: Number


class _Metrics(_Part):
    se3: _Aligned
    sim3: _Aligned
    drift: _Drift | None = None
    end: _End | None = None
    path_length_m: Number | None = None
    scale_error: Number
    covered: Number


class _Coverage(_Part):
    pose_share: Number
    spanned_share: Number


class _Machine(_Part):
    processor: str
    cores: Count | None
    system: str


class _Finished(_Part):
    status: Literal["ok"]
    job: _Job
    error: str = ""
    alignment: Literal["SE(3)", "Sim(3)"]
    frames: Count
    lost: Count
    method_seconds: Number
    seconds: Number
    coverage: _Coverage | None = None
    detail: str = ""
    settings: dict[str, Any] = {}
    metrics: _Metrics | None = None
    version: str = ""
    machine: _Machine | None = None


class _Unfinished(_Part):
    status: Literal["failed", "not installed"]
    job: _Job
    error: str
    seconds: Number = 0.0
    version: str = ""
    machine: _Machine | None = None


def read_record(path: Path) -> Record | None:
    """A result file, or None if it is not there or not whole (then the job is simply done again)."""
    try:
        content = read_json(path)
        if not isinstance(content, dict):
            return None
        (_Finished if content.get("status") == "ok" else _Unfinished).model_validate(content)
    except (PrismError, ValidationError):
        return None
    return content
