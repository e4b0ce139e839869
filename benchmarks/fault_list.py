# SPDX-License-Identifier: Apache-2.0
"""The rows of the fault benchmark and what is expected of each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks import fault_everyday as fe
from benchmarks import fault_injectors as fi
from benchmarks import fault_light as fl
from benchmarks import fault_mixed as fm
from benchmarks import fault_order as fo
from benchmarks import fault_pictures as fp
from benchmarks.fault_injectors import Injector


@dataclass(frozen=True)
class Fault:
    """One row."""

    name: str
    inject: Injector
    bound: float  # % of the path, SE(3), each segment by itself
    said: bool = False  # something must be said: exit code 3 or a note
    recovered: bool = False  # a new segment is not enough
    group: str = "sensor"
    other: bool = False  # makes sense only with another recording: of its own end a pose can be right


# of the folder, not of its frames: 0.2 as for a jump; with times of the index every later pose would be compared with
# that of the frame before
NO_TIMES = Fault(
    "a file missing, no times.txt", lambda clean, rng: [], 0.2, said=True, recovered=True, group="time"
)

# rendered anew: for good, and back again
TURNS = (
    Fault("turns by 2.4° a frame at once", lambda clean, rng: [], 0.3, recovered=True, group="time"),
    Fault("turns by 18° at once and back", lambda clean, rng: [], 0.3, recovered=True, group="mixed"),
)


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
        *_light_and_sensor(),
        *_order_and_beginnings(),
        *_mixed(),
        *_everyday(pitch),
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


def _light_and_sensor() -> list[Fault]:
    """What light and sensors do besides; a light that changes is no reason to lose the path."""
    light = [
        Fault("fades to × 0.05 and back, 24", _changed(fl.fade(24, 0.05), 24), 0.3),
        Fault("exposure hunts ± 50 %", _changed(fl.hunting(0.5, 7.0), None), 0.3),
        Fault("gamma 0.6 from one frame on", _changed(fl.gamma(0.6), None), 0.3),
        Fault("gamma 1.6 from one frame on", _changed(fl.gamma(1.6), None), 0.3),
        Fault("black level + 20", _changed(fl.black_level(20.0), None), 0.3),
        Fault("saturated above 100", _changed(fl.clipped(100.0), None), 0.3),
        Fault("a lamp enters the image", _changed(fl.lamp_enters, 20), 0.3),
        Fault("a veil of light grows", _changed(fl.veil_grows, None), 0.3),
        Fault("four times darker rim", _changed(fl.darker_rim, None), 0.3),
        Fault("light from one side", _changed(fl.light_from_one_side, None), 0.3),
        Fault("moving shadow", _changed(fl.moving_shadow, None), 0.3),
    ]
    sensor = [
        Fault("4 bits", _changed(fl.posterised(4), -1), 0.3),
        Fault("every tenth row missing, 10", _changed(fl.rows_missing(10), 10), 0.3),
        Fault("every tenth row missing", _changed(fl.rows_missing(10), -1), 0.5),
        Fault("salt and pepper on a quarter, 10", _changed(fl.salt_and_pepper(0.3), 10), 0.3),
        Fault("noise 40", _changed(fi.noisy(40.0), -1), 0.5),
        Fault("out of focus, 10", _changed(fl.softened(3.0), 10), 0.3),
        Fault("micro-lenses drift, 0.02 px a frame", _changed(fl.grid_drifts(0.02), None), 0.3),
        Fault("upside down, 3", _changed(fl.upside_down, 3, True), 0.2, said=True),
        Fault("upside down for good", _changed(fl.upside_down, None, True), 0.2, said=True),
        Fault("a hand across, 8", fl.hand, 0.3, group="moving"),
        Fault("empty wall, 8", fl.empty_wall(8), 0.2, said=True),
    ]
    return [*(replace(f, group="light") for f in light), *sensor]


def _order_and_beginnings() -> list[Fault]:
    """Frames again, back, or made of several; what happens before anything is known."""
    return [
        *[Fault(f"frozen for {n}", fo.frozen(n), 0.3, said=True, group="time") for n in (1, 5, 12)],
        Fault("every frame twice", fo.every_frame_twice, 0.2, recovered=True, group="time"),
        Fault("backwards for 10", fo.backwards(10), 0.2, recovered=True, group="time"),
        Fault("thrown to and fro by 4 frames", fo.shaking(4), 0.2, group="time"),
        Fault("another scene for 10", fo.other_scene(10), 0.2, said=True, group="moving", other=True),
        Fault("every second row 1 late", fo.rows_late(1, 1), 0.3, group="moving"),
        Fault("stripes of 32 rows 2 late", fo.rows_late(32, 2), 0.3, group="moving"),
        Fault("right third 2 late", fo.right_third_late(2), 0.3, group="moving"),
        Fault("double exposure with 1 before", fo.double_exposure(1), 0.3, group="moving"),
        Fault("double exposure with 3 before", fo.double_exposure(3), 0.3, group="moving"),
        Fault("begins out of focus, 3", fo.at_first(fl.softened(2.0), 3), 0.3, group="first"),
        Fault("begins with noise 40, 3", fo.at_first(fi.noisy(40.0), 3), 0.3, group="first"),
        Fault("begins × 0.3, 3", fo.at_first(fi.gain(0.3), 3), 0.3, group="first"),
        Fault("begins shifted by 15 px, 3", fo.at_first(fi.shifted(15), 3), 0.3, group="first"),
        Fault("begins lower half 2 late, 5", fo.begins_late(2, 5), 0.3, group="first"),
        Fault("begins 40 % covered, 5", fo.begins_covered(0.4, 5), 0.3, group="first"),
        Fault("begins black, 3", fo.at_first(fi.black, 3, True), 0.2, said=True, group="first"),
    ]


def _mixed() -> list[Fault]:
    """What grows, mixes or comes in bursts."""
    found = [
        Fault("exposure rises to × 5 and back, 22", _changed(fm.exposure_ramp(8, 6, 5.0), 22), 0.3),
        Fault("shaken by 6 frames and smeared, 5", fm.shaken(6, 5), 0.3),
        Fault("a finger covers half, slowly", _changed(fm.finger(0.5, 12), None), 0.3),
        Fault("a black bar grows to 60 %", _changed(fm.bar(0.6, 14), None), 0.3),
        Fault("frozen for 5, coded anew", fm.frozen_noisily(5, 1.5), 0.3, said=True),
        Fault("every frame twice, coded anew", fm.twice_with_noise(1.5), 0.2),
        Fault("a fifth moves by itself", fm.part_moves_by_itself(0.2, 1), 0.3),
        Fault("a third moves by itself", fm.part_moves_by_itself(0.33, 2), 0.3),
        Fault("flickers × 0.5, × 1.4, two frames each", _changed(fm.flicker(0.5, 1.4), None), 0.2),
        Fault("× 0.4 with noise 8", _changed(fm.dim_and_noisy(0.4, 8.0), None), 0.3),
        Fault("bursts of 3 dropped every 10", fm.bursts_dropped(3, 10), 0.2),
        Fault("rows jitter by 1 px, 10", _changed(fm.rows_jitter(1), 10), 0.3),
        Fault("a tenth of the blocks 1 late", fm.stale_blocks(0.1, 48), 0.3),
        Fault("a third of the blocks 1 late", fm.stale_blocks(0.33, 48), 0.3),
        Fault("drops on the lens", _changed(fm.drops_on_the_lens(25), None), 0.3),
        Fault("focus comes and goes, 20", _changed(fm.focus_breathes(20, 2.0), 20), 0.3),
        Fault("a screen on a quarter", _changed(fm.screen(0.25), None), 0.3),
        Fault("fog comes slowly", _changed(fm.fog_comes(15, 0.7), None), 0.3),
        Fault("two jumps of 6", fm.two_jumps(6), 0.2),
        Fault("each keeps 0.3 of the one before", fm.remembers(0.3), 0.3),
    ]
    return [replace(f, group="mixed") for f in found]


def _everyday(pitch: float) -> list[Fault]:
    """What cables, sensors, weather and hands do besides."""
    found = [
        Fault("bytes missing, 5", _changed(fe.bytes_missing(7), 5), 0.3),
        Fault("bytes missing for good", _changed(fe.bytes_missing(7), None), 0.3),
        Fault("a bit is stuck", _changed(fe.bit_stuck(4), None), 0.3),
        Fault("every second column × 0.85", _changed(fe.odd_columns(0.85), None), 0.3),
        Fault("hum of 12 grey levels", _changed(fe.hum(12.0, 60.0), None), 0.3),
        Fault("heats up", _changed(fe.heats_up(20, 15.0, 30.0), None), 0.3),
        Fault("binned, 10", _changed(fe.binned, 10), 0.3),
        Fault("JPEG becomes worse and worse", _changed(fe.worse_and_worse_jpeg(20, 5), None), 0.3),
        Fault("date and time on every image", _changed(fe.writing, -1), 0.3),
        Fault("turned by 0.3° on the sensor", _changed(fe.turned_on_the_sensor(0.3), None), 0.5, said=True),
        Fault("aside by whole lenses for good", _changed(fe.by_whole_lenses(pitch), None), 0.5, said=True),
        Fault("shimmer of 0.5 px", _changed(fe.shimmer(0.5), None), 0.3),
        Fault("flashes × 3 every 6", _changed(fe.flashes(3.0, 6), None), 0.3),
        Fault("snow", _changed(fe.snow(150), None), 0.3),
        Fault("a torch instead of the light", _changed(fe.torch(0.15), None), 0.3),
        Fault("smeared more and more", _changed(fe.smears_more(15, 9), None), 0.3),
        Fault("out of focus for good", _changed(fl.softened(2.0), None), 0.3),
        Fault("a little out of focus for good", _changed(fl.softened(1.2), None), 0.3),
        Fault("an old frame among every 7", fe.old_frames(7, 10), 0.2),
        Fault("from the start again", fe.from_the_start_again, 0.2),
        Fault("stops for 6 and goes on", fe.stops_for(6, 1.5), 0.2),
        Fault("each frame 4 times, coded anew", fe.each_often(4, 1.5), 0.2),
        Fault("rolling shutter over the whole frame", fe.rolling_shutter, 0.5),
        Fault("right half 1 early", fe.torn_apart, 0.3),
    ]
    return [replace(f, group="everyday") for f in found]
