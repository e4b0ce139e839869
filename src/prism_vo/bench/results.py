# SPDX-License-Identifier: Apache-2.0
"""All records of a benchmark, and the questions tables and figures ask of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Record = dict[str, Any]
Value = Callable[[Record], float]


def _drift(key: str) -> Value:
    def value(record: Record) -> float:
        drift = (record.get("metrics") or {}).get("drift")
        return math.inf if drift is None else float(drift[key])

    return value


def _aligned(key: str) -> Value:
    """A figure under the method's own alignment: SE(3) for metric methods, Sim(3) for the others."""

    def value(record: Record) -> float:
        metrics = record.get("metrics")
        if not metrics:
            return math.inf
        own = metrics["se3" if record.get("alignment") == "SE(3)" else "sim3"][key]
        return math.inf if own is None else float(own)

    return value


def _end(key: str) -> Value:
    def value(record: Record) -> float:
        end = (record.get("metrics") or {}).get("end")
        return math.inf if end is None else float(end[key])

    return value


def _scale_error(record: Record) -> float:
    metrics = record.get("metrics")
    return math.inf if not metrics else 100.0 * float(metrics["scale_error"])


@dataclass(frozen=True)
class Quantity:
    """A figure of merit: smaller is better, infinite when the run failed."""

    key: str
    label: str
    value: Value
    of_scale: bool = False  # says nothing about methods whose scale is free


D_S = Quantity("d_s", "d_s'", _drift("d_s_prime"), of_scale=True)
E_S = Quantity("e_s", "e_s'", _drift("e_s_prime"))
E_ALIGN = Quantity("e_align", "e_align %", _drift("e_align_percent"))
E_R = Quantity("e_r", "e_r °", _drift("e_r_deg"))
DRIFT = (D_S, E_S, E_ALIGN, E_R)
RMSE_T = Quantity("rmse_t", "RMSE_t m", _aligned("rmse_t_m"))
RMSE_T_PERCENT = Quantity("rmse_t_percent", "RMSE_t %", _aligned("rmse_t_percent"))
RMSE_R = Quantity("rmse_r", "RMSE_r °", _aligned("rmse_r_deg"))
RPE = Quantity("rpe", "RPE m", _aligned("rpe_t_m"))
END_T = Quantity("end_t", "end m", _end("translation_m"), of_scale=True)
END_R = Quantity("end_r", "end °", _end("rotation_deg"))
SCALE = Quantity("scale", "scale error %", _scale_error, of_scale=True)


@dataclass(frozen=True)
class Results:
    """Records of finished and failed jobs, in the order of sequences, methods and runs."""

    records: tuple[Record, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """Method names in order of first appearance."""
        return tuple(dict.fromkeys(r["job"]["method"] for r in self.records))

    @property
    def sequences(self) -> tuple[str, ...]:
        """Sequence names in order of first appearance."""
        return tuple(dict.fromkeys(r["job"]["sequence"] for r in self.records))

    def of_suite(self, suite: str) -> Results:
        """The records of one suite."""
        return Results(tuple(r for r in self.records if r["job"]["suite"] == suite))

    def select(self, method: str | None = None, sequence: str | None = None) -> list[Record]:
        """Records of a method and/or sequence."""
        return [
            r
            for r in self.records
            if method in (None, r["job"]["method"]) and sequence in (None, r["job"]["sequence"])
        ]

    def installed(self, method: str) -> bool:
        """Whether the method could be started at all."""
        return any(r["status"] != "not installed" for r in self.select(method))

    def alignment(self, method: str) -> str:
        """The alignment its figures use, '–' if it never ran."""
        return next((r["alignment"] for r in self.select(method) if "alignment" in r), "–")

    def defined(self, quantity: Quantity, method: str) -> bool:
        """Whether the quantity means anything for this method: scale does not where it is free."""
        return not (quantity.of_scale and self.alignment(method) == "Sim(3)")

    def values(self, quantity: Quantity, method: str, sequence: str | None = None) -> list[float]:
        """One value a run; infinity for runs that failed."""
        return [quantity.value(r) if r["status"] == "ok" else math.inf for r in self.select(method, sequence)]

    def per_sequence(self, quantity: Quantity, method: str) -> list[float]:
        """Median over the runs of each sequence."""
        return [middle(self.values(quantity, method, s)) for s in self.sequences]

    def overall(self, quantity: Quantity, method: str) -> float:
        """Median over sequences of the medians over runs."""
        return middle(self.per_sequence(quantity, method))


def middle(values: Iterable[float]) -> float:
    """Median that tolerates infinities: a failed half makes it infinite, never undefined."""
    ordered = sorted(values)
    if not ordered:
        return math.inf
    half = len(ordered) // 2
    low, high = ordered[(len(ordered) - 1) // 2], ordered[half]
    return high if math.isinf(high) else float(np.mean([low, high]))
