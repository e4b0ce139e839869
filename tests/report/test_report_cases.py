# SPDX-License-Identifier: Apache-2.0
"""Reports of runs that are not as they should be: no truth, no depth, frames lost, a name that looks like a page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromium
import numpy as np
import pytest
from markupsafe import escape

from prism_vo import pipeline
from prism_vo.cli import main
from prism_vo.commands.output import print_summary
from prism_vo.config import Config, TrackConfig
from prism_vo.datasets import Sequence, open_sequence
from prism_vo.following import NO_TEXTURE
from prism_vo.optics.calibration import load_calibration, save_calibration
from prism_vo.optics.nominal import metric_notice
from prism_vo.report.extremes import EtaExtremes
from prism_vo.report.page import render_page
from prism_vo.report.sink import ReportSink
from prism_vo.types import RawFrame

HOSTILE = "</script><b>walk {{data}} {% include 'run.html' %} & \"more\""


class Changed:
    """A recording with another name, without truth, and with some frames black."""

    is_decoded = False
    exposures = None
    groundtruth = None

    def __init__(self, source: Sequence, black: tuple[int, ...] = (), name: str = "changed") -> None:
        self.source, self.black, self.name = source, black, name
        self.camera, self.times, self.white = source.camera, source.times, source.white

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> Any:
        frame = self.source[index]
        assert isinstance(frame, RawFrame)
        return replace(frame, image=np.zeros_like(frame.image)) if index in self.black else frame

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))


def report(
    sequence: Any, out: Path, config: Config, frames: int
) -> tuple[str, dict[str, Any], pipeline.RunResult]:
    result = pipeline.run(sequence, config, out, sinks=[ReportSink(out)], frames=frames)
    text = (out / "report.html").read_text(encoding="utf-8")
    start = text.index('id="data">') + len('id="data">')
    return text, json.loads(text[start : text.index("</script>", start)]), result


def test_without_truth_and_with_lost_frames(recording: Path, tmp_path: Path) -> None:
    sequence = Changed(open_sequence(recording), black=(4, 5, 6), name=HOSTILE)
    config = replace(Config(), track=TrackConfig(patience=1))
    text, data, result = report(sequence, tmp_path / "r", config, 10)
    assert result.lost > 0
    assert "Not measured: no ground truth" in text
    assert "<b>walk" not in text
    assert f"<h1>{escape(HOSTILE)}</h1>" in text and f"<title>{escape(HOSTILE)}</title>" in text
    assert data["scene"]["truth"] == []
    assert f"lost ({result.lost})" in text
    assert sum(len(part) for part in data["scene"]["path"]) == 10 - result.lost
    assert len(data["scene"]["path"]) == result.segments


@pytest.fixture(scope="module")
def dark(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pipeline.RunResult]:
    """Results and report of a run under a lens cap."""
    out = tmp_path_factory.mktemp("dark") / "results"
    _, data, result = report(Changed(open_sequence(recording), tuple(range(12))), out, Config(), 6)
    assert data["scene"] is None
    return out, result


def test_without_any_pose_the_reason_is_said_in_place_of_an_empty_view(
    dark: tuple[Path, pipeline.RunResult],
) -> None:
    out, result = dark
    (notice,) = (n for n in result.notices if n.startswith("No frame has a pose."))
    assert f"In 6 of 6 frames: {NO_TEXTURE}" in notice and "prism-vo info" in notice
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "there is no path and no map to show" in text and '<canvas id="space"' not in text
    assert "frames lost, 0 segments<" in text and str(escape(notice)) in text


@pytest.mark.parametrize("command", [["export", "--as", "tum", "--out", "path.txt"], ["dense"], ["refine"]])
def test_without_any_pose_nothing_can_be_made_of_a_run_and_resuming_is_no_help(
    dark: tuple[Path, pipeline.RunResult], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], str(dark[0]), *command[1:]]) == 2
    error = capsys.readouterr().err
    assert "no frame of this run has a pose" in error and "--resume" not in error
    assert not (dark[0] / "refined").exists()


@pytest.mark.skipif(chromium.EXECUTABLE is None, reason="no Chromium on this machine (apt install chromium)")
def test_without_any_pose_the_page_works(dark: tuple[Path, pipeline.RunResult], tmp_path: Path) -> None:
    look = "document.getElementById('theme').click(); return document.documentElement.dataset.ready;"
    found, errors, _ = chromium.probe(dark[0] / "report.html", look, tmp_path)
    assert found == "yes" and errors == []


def test_points_of_several_segments_are_called_so(
    reported: pipeline.RunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The headline counts those of the one that is shown."""
    page = render_page(reported, [], EtaExtremes())
    assert "points of the odometry<" in page and "frames lost, 1 segment<" in page
    monkeypatch.setattr(pipeline.RunResult, "segments", 2)
    assert "points of the odometry, in 2 segments<" in render_page(reported, [], EtaExtremes())


def test_lengths_that_are_no_metres_or_doubted_have_no_sigma(
    reported: pipeline.RunResult, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said() -> list[bool]:
        print_summary(reported)
        printed = " ".join(capsys.readouterr().out.split())
        page = render_page(reported, [], EtaExtremes())
        return [
            "% (scale)" in printed,
            "scale ±" in page,
            " ± " in repr(reported),
            "% (scale)" in reported._repr_html_(),
        ]

    assert all(said()) and reported.scale_sigma == reported.stated_scale_sigma
    with monkeypatch.context() as doubted:
        doubted.setattr("prism_vo.run_result.doubtful_scale", lambda reports: list(reports)[:1])
        assert not any(said()) and np.isfinite(reported.scale_sigma)
    with monkeypatch.context() as nominal:
        nominal.setattr("prism_vo.run_result.is_metric", lambda _: False)
        assert not any(said())


def test_a_camera_that_lacks_its_scale_alone_is_told_how_to_get_it(recording: Path) -> None:
    camera = load_calibration(recording / "camera.yaml")
    optics = ("focal_length_mm", "mla_distance_mm", "sensor_distance_mm")
    guessed = camera.model_copy(update={"nominal": (*optics, "principal_point_px"), "uncertainty": None})
    measured = camera.model_copy(update={"nominal": optics, "uncertainty": {"w_infinity": 1e-3}})
    for one, words in ((guessed, "measure them with"), (measured, "everything but the scale")):
        notice = metric_notice(one)
        assert notice is not None and words in notice and "Distances are not metric yet" in notice
        assert ("--distance, --board or --sensor-distance" in notice) == (one is measured)


def test_pinhole_variant_has_no_depth_pictures_but_a_report(recording: Path, tmp_path: Path) -> None:
    text, data, _ = report(open_sequence(recording), tmp_path / "r", replace(Config(), variant="pinhole"), 5)
    assert "This run has no depth terms" in text
    assert data["keyframes"][0]["captions"]["count-used"] == "0"
    assert data["keyframes"][0]["captions"]["depth-where"] == "nowhere"


def test_one_frame_is_enough(recording: Path, tmp_path: Path) -> None:
    _, data, _ = report(open_sequence(recording), tmp_path / "r", Config(), 1)
    assert len(data["keyframes"]) == 1
    assert data["keyframes"][0]["captions"]["depth-where"] == "everywhere"


def test_nominal_optics_are_said_once_by_run_depth_and_report(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    camera = load_calibration(recording / "camera.yaml")
    assert metric_notice(camera) is None
    folder, out = tmp_path / "walk", tmp_path / "results"
    (folder / "raw").mkdir(parents=True)
    for image in sorted((recording / "raw").iterdir())[:2]:
        shutil.copy(image, folder / "raw")
    nominal = camera.model_copy(update={"nominal": ("mla_distance_mm", "sensor_distance_mm")})
    save_calibration(nominal, folder / "camera.yaml")
    notice = metric_notice(nominal)
    assert notice is not None and "not metric yet" in notice and "CameraModel.xml" in notice
    assert main(["run", str(folder), "--out", str(out)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count(notice) == 1 and "% (scale)" not in printed
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "scale ±" not in text
    first_screen = text[: text.index('<canvas id="space"')]
    assert first_screen.count(str(escape(notice))) == 1
    image = str(next((folder / "raw").iterdir()))
    assert main(["depth", image, "--camera", str(folder / "camera.yaml"), "--out", str(tmp_path / "d")]) == 0
    assert capsys.readouterr().out.count(notice) == 1
