# SPDX-License-Identifier: Apache-2.0
"""The rows of the fault benchmark and what is expected of each."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import fault_injectors as fi
from benchmarks import fault_pictures as fp
from benchmarks.fault_injectors import Injector

NO_TIMES = "no times.txt"


@dataclass(frozen=True)
class Fault:
    """One row."""

    name: str
    inject: Injector
    bound: float  # % of the path, SE(3), each segment by itself
    said: bool = False  # something must be said: exit code 3 or a note
    recovered: bool = False  # a new segment is not enough
    group: str = "sensor"


def _changed(change: fi.Change, count: int | None, foreign: bool = False) -> Injector:
    return fi.changed(change, count, foreign)


def faults(pitch: float) -> list[Fault]:
    """All rows; ``pitch`` of the micro-lenses in raw px."""
    return [
        Fault("clean", lambda clean, rng: clean.shots(), 0.2, group="clean"),
        *[Fault(f"{n} black", _changed(fi.black, n, True), 0.2, said=True) for n in (1, 3, 5, 6, 10)],
        Fault("3 white", _changed(fi.white, 3, True), 0.2, said=True),
        Fault("3 torn", _changed(fi.torn, 3), 0.2),
        Fault("lower half missing, 3", _changed(fi.lower_half_missing, 3), 0.2),
        Fault("lower half missing, 10", _changed(fi.lower_half_missing, 10), 0.3),
        Fault("3 shifted by 15 px", _changed(fi.shifted(15), 3), 0.2),
        Fault("shifted by 15 px for good", _changed(fi.shifted(15), None), 0.5, said=True),
        Fault("noise 20, 5", _changed(fi.noisy(20.0), 5), 0.2),
        Fault("dirt", _changed(fi.dirt, -1), 0.2),
        Fault("10 % dead lenses", _changed(fi.dead_lenses(0.1, pitch), -1), 0.2),
        Fault("0.1 % hot pixels", _changed(fi.hot_pixels(1e-3, False), -1), 0.2),
        Fault("rain of hot pixels, 1 %", _changed(fi.hot_pixels(1e-2, True), -1), 0.3),
        Fault("blur, 3", _changed(fi.blurred, 3), 0.2),
        *[
            Fault(
                f"× {g:g} from one frame on", _changed(fi.gain(g), None), 0.1, recovered=True, group="light"
            )
            for g in (0.8, 0.6, 0.45, 0.3, 2.0)
        ],
        Fault("every second × 0.6", _changed(fi.alternating(0.6), None), 0.1, recovered=True, group="light"),
        Fault(
            "× 0.45 with exposure times",
            fi.with_exposure_times(lambda k: 0.45 if k >= 0 else 1.0),
            0.2,
            recovered=True,
            group="light",
        ),
        Fault(
            "every second × 0.6 with exposure times",
            fi.with_exposure_times(lambda k: 0.6 if k >= 0 and k % 2 else 1.0),
            0.2,
            recovered=True,
            group="light",
        ),
        Fault("gain steps", _changed(fi.gain_steps, None), 0.2, group="light"),
        Fault("rolling exposure ± 15 %", _changed(fi.rolling_exposure, -1), 0.3, group="light"),
        *[
            Fault(f"40 % covered, {words}, {kind}", fi.covered(0.4, n, real), 0.3, group="moving")
            for words, n in (("5", 5), ("20", 20), ("always", None))
            for kind, real in (("texture", False), ("scene", True))
        ],
        Fault("someone walking through", fi.walking_through, 0.3, group="moving"),
        *[Fault(f"jump of {n}", fi.jump(n), 0.2, group="time") for n in (5, 10, 20)],
        Fault("200 still frames", fi.still, 0.2, group="time"),
        Fault("one unreadable file", fi.unreadable, 0.2, said=True, recovered=True, group="time"),
        Fault("20 % dropped", fi.dropped(0.2), 0.2, group="time"),
        Fault("double speed", fi.double_speed, 0.2, group="time"),
        Fault("lens cap 3 s, brought back", fi.away(fi.black, 30, 4), 0.3, said=True, group="away"),
        Fault("pocket 3 s, taken out", fi.away(fi.pocket, 30, 12), 0.3, said=True, group="away"),
        *_more(),
    ]


def _more() -> list[Fault]:
    """Parts that belong together no longer, poor light, disorder; what cannot be tracked must be said."""
    return [
        Fault("lower half 1 late", fp.late_lower_half(1, None), 0.3, said=True, group="moving"),
        Fault("lower half 3 late", fp.late_lower_half(3, None), 0.3, said=True, group="moving"),
        Fault("40 % goes with the camera", fp.goes_with_the_camera(0.4), 0.3, group="moving"),
        Fault("60 % goes with the camera", fp.goes_with_the_camera(0.6), 0.3, group="moving"),
        Fault("reflection of another scene", fp.reflection, 0.3, group="moving"),
        Fault("half of the contrast", _changed(fp.fog(0.5), None), 0.3, group="light"),
        Fault("a fifth of the contrast, 10", _changed(fp.fog(0.8), 10), 0.3, group="light"),
        Fault("left half × 0.6", _changed(fp.left_half_darker(0.6), None), 0.3, group="light"),
        Fault("mirrored, 3", _changed(fp.mirrored, 3, True), 0.2, said=True),
        Fault("motion blur of 15 px, 10", _changed(fp.motion_blur(15), 10), 0.3),
        Fault("JPEG of quality 10, 10", _changed(fp.compressed(10), 10), 0.3),
        Fault("swapped pairs", fp.swapped_pairs, 0.2, group="time"),
        Fault("every third unreadable", fp.every_third_unreadable, 0.2, said=True, group="time"),
        *[Fault(f"early jump of {n}", fp.jump_early(n), 0.2, group="time") for n in (7, 15, 30)],
    ]
