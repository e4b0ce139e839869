# SPDX-License-Identifier: Apache-2.0
"""``prism-vo calibrate camera``: the optics from a recording of any rigid scene."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from prism_vo.camera_fit.facts import MetricFact
    from prism_vo.camera_fit.fit import CameraFit
    from prism_vo.camera_fit.plan import Known, Plan
    from prism_vo.datasets.source import Sequence
    from prism_vo.optics.calibration import Calibration

MM = 1e-3
XML_FILES = ("CameraModel.xml", "mla.xml")


def camera(
    sequence: Path,
    *,
    out: Path | None = None,
    camera: Path | None = None,
    distance: float | None = None,
    between: tuple[str, str] | None = None,
    board: float | None = None,
    corners: tuple[int, int] | None = None,
    sensor_distance: float | None = None,
    poses: bool = True,
    keyframes: int = 40,
    distortion: Literal["auto", "none", "radial", "full"] = "auto",
    grid: Annotated[bool, Parameter(negative=())] = False,
    start: int = 0,
    frames: int | None = None,
    stride: int = 1,
    report: Path | None = None,
    xml: Annotated[bool, Parameter(negative=())] = False,
    threads: bool = True,
    force: Annotated[bool, Parameter(negative=())] = False,
    quiet: Quiet = False,
) -> None:
    """Find f_L, b_L0, B, principal point and distortion from a moving camera before any rigid scene with depth.

    Parameters
    ----------
    sequence
        Recording with a camera.yaml whose grid is right and whose optics are nominal.
    out
        camera.yaml to write.
    camera
        Camera file to start with (default: camera.yaml in or beside the sequence).
    distance
        Metres between the two things that --between names.
    between
        Two frames (12 57), or two pixels of focused images (12:310,244 12:95,240).
    board
        Side of a square in mm of a checkerboard that some frames show.
    corners
        Inner corners of that board, a row and a column (default: tried out).
    sensor_distance
        B in mm, known from an earlier calibration of this camera body.
    poses
        Use the recording's ground-truth poses as the metric fact, if it has some and nothing else is given.
    keyframes
        So many frames take part in the adjustment.
    distortion
        auto: one radial term if it moves the corners visibly; none; radial; full: two radial and two tangential ones.
    grid
        Correct the micro-lens grid from the recording's own images first, as calibrate grid does.
    start
        First frame, counted from 0.
    frames
        Take so many frames.
    stride
        Take every so many-th frame.
    report
        Write a page (HTML) with residuals by zone and lens type, parameters and depth before and after.
    xml
        Write CameraModel.xml (LiFCal) and mla.xml (Raytrix) beside --out, too.
    threads
        Read and focus the next frames beside tracking; the results are the same without.
    force
        Replace existing files.
    """
    from prism_vo.camera_fit.calibrate import calibrate_camera
    from prism_vo.camera_fit.words import fit_lines
    from prism_vo.commands.narration import Narration
    from prism_vo.datasets import open_sequence, part_of
    from prism_vo.datasets.selection import check_part
    from prism_vo.errors import ConfigError

    check_outputs(out, xml, force)
    check_target(report, force, "--report")
    if not 5 <= keyframes <= 200:
        raise ConfigError(f"--keyframes must lie between 5 and 200, not {keyframes}.")
    check_part(start, frames, stride)
    recording = open_sequence(sequence, camera=camera)
    if start or frames is not None or stride != 1:
        recording = part_of(recording, start, frames, stride)
    asked = _Asked(distance, between, board, corners, sensor_distance, poses)
    plan = replace(
        asked.plan(), keyframes=keyframes, distortion=distortion, correct_grid=grid, threads=threads
    )
    with Narration() as say:
        fit = calibrate_camera(
            recording,
            lambda known: asked.fact(known, recording),
            plan,
            lambda words, done, of: say(words, done, of),
        )
    print("\n".join(fit_lines(fit)))
    if report is not None:
        _write_report(fit, recording, report)
    if out is not None:
        write_camera(fit.calibration, out, xml)
    if fit.stopped is not None:
        fit.stopped.add_note(
            "the camera of the last whole round is shown" + ("" if out is None else " and written")
        )
        raise fit.stopped


def check_outputs(out: Path | None, xml: bool, force: bool) -> None:
    """Everything that would make writing fail is said before any work."""
    from prism_vo.errors import ConfigError

    check_target(out, force, "--out")
    if xml and out is None:
        raise ConfigError("--xml writes beside --out; give that, too.")
    for name in XML_FILES if xml and out is not None else ():
        check_target(out.parent / name if out is not None else None, force, "--out")


def write_camera(calibration: Calibration, out: Path, xml: bool) -> None:
    """camera.yaml and, if asked for, the files of other programs beside it."""
    from prism_vo.atomic import write_text_atomically
    from prism_vo.optics.calibration import save_calibration
    from prism_vo.optics.vendor import lifcal_xml, raytrix_xml

    save_calibration(calibration, out)
    print(f"wrote {out}")
    if xml:
        for name, text in zip(XML_FILES, (lifcal_xml(calibration), raytrix_xml(calibration))):
            write_text_atomically(out.parent / name, text)
            print(f"wrote {out.parent / name}")


@dataclass(frozen=True)
class _Asked:
    """The metric fact as the command line says it."""

    distance: float | None
    between: tuple[str, str] | None
    board: float | None
    corners: tuple[int, int] | None
    sensor_distance: float | None
    poses: bool

    def plan(self) -> Plan:
        """What the calibration must look for."""
        from prism_vo.camera_fit.plan import Plan
        from prism_vo.errors import ConfigError

        given = [x is not None for x in (self.distance, self.board, self.sensor_distance)]
        if sum(given) > 1:
            raise ConfigError(
                "Give one metric fact: --distance with --between, --board, or --sensor-distance."
            )
        if (self.distance is None) != (self.between is None):
            raise ConfigError("--distance and --between belong together: how far, and what from what.")
        for name, value in (
            ("--distance", self.distance),
            ("--board", self.board),
            ("--sensor-distance", self.sensor_distance),
        ):
            if value is not None and not 0 < value < 1e6:
                raise ConfigError(f"{name} must be a positive length, not {value:g}.")
        ends = [_place(text) for text in self.between or ()]
        if len({len(end) for end in ends}) > 1:
            raise ConfigError("--between takes two frames or two pixels, not one of each.")
        return Plan(
            marked=tuple((e[0], e[1], e[2]) for e in ends if len(e) == 3),
            frames=tuple(e[0] for e in ends if len(e) == 1),
            square=None if self.board is None else self.board * MM,
            board_size=self.corners,
        )

    def fact(self, known: Known, recording: Sequence) -> MetricFact:
        """The fact for the frames and points that take part."""
        import numpy as np

        from prism_vo.camera_fit import facts
        from prism_vo.camera_fit.calibrate import truth_of
        from prism_vo.errors import InputError

        if self.sensor_distance is not None:
            return facts.SensorDistance(self.sensor_distance)
        if known.corners is not None and known.places is not None:
            return facts.KnownShape(known.corners, known.places, f"checkerboard of {self.board:g} mm squares")
        if self.distance is not None and self.between is not None:
            words = f"{self.distance:g} m between {self.between[0]} and {self.between[1]}"
            wanted = [_place(text)[0] for text in self.between]
            missing = [f for f in wanted if f not in known.chosen.indices]
            if missing:
                raise InputError(
                    f"{recording.name}: frame {missing[0]} of --between was not tracked; choose another."
                )
            if known.marked:
                places = np.array([[0.0, 0.0, 0.0], [self.distance, 0.0, 0.0]])
                return facts.KnownShape(np.array(known.marked), places, words)
            a, b = (known.chosen.indices.index(f) for f in wanted)
            return facts.FrameDistance(a, b, self.distance, words)
        truth = truth_of(recording, known.chosen) if self.poses else None
        return facts.NoFact() if truth is None else facts.TruePoses(truth)


def _place(text: str) -> tuple[int, ...]:
    """``12`` or ``12:310,244``."""
    from prism_vo.errors import ConfigError

    frame, _, pixel = text.partition(":")
    parts = [frame, *(pixel.split(",") if pixel else [])]
    try:
        numbers = tuple(round(float(part)) for part in parts)
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 3) or min(numbers, default=-1) < 0:
        raise ConfigError(f"--between {text}: write a frame (12) or a pixel of a focused image (12:310,244).")
    return numbers


def check_target(target: Path | None, force: bool, name: str) -> None:
    """A file that would be written: not there already, in a folder that is."""
    from prism_vo.errors import InputError

    if target is None:
        return
    if target.exists() and (target.is_dir() or not force):
        raise InputError(f"{target}: exists already; give another {name} or --force.")
    if not target.absolute().parent.is_dir():
        raise InputError(f"{target.parent}: no such folder; make it first or give another {name}.")


def _write_report(fit: CameraFit, recording: Sequence, path: Path) -> None:
    from prism_vo.atomic import write_text_atomically
    from prism_vo.camera_fit.page import report_page

    write_text_atomically(path, report_page(fit, recording))
    print(f"wrote {path}")
