# SPDX-License-Identifier: Apache-2.0
"""Every Python snippet of README and docs runs as it stands there, beside a recording called my_walk."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism_vo as pv

ROOT = Path(__file__).resolve().parent.parent
FRAMES = 4


def snippets() -> list[tuple[str, int, str]]:
    """Page, number and text."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [
        (page.name, number, text)
        for page in pages
        for number, text in enumerate(
            re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
        )
    ]


@pytest.fixture(scope="module")
def surroundings(recording: Path) -> dict[str, Any]:
    """What the text around the snippets has introduced."""
    sequence = pv.open_sequence(recording).part(0, FRAMES)  # type: ignore[attr-defined]
    decoder = pv.Decoder(sequence.camera, white=sequence.white)
    raw = sequence[0]
    truth = pv.open_sequence(recording).groundtruth
    frame = decoder.dense(raw)
    h, w = frame.image.shape
    return {
        "camera": sequence.camera,
        "sequence": sequence,
        "frames": sequence,
        "my_frames": lambda: iter(sequence),
        "white_image": sequence.white,
        "raw": raw,
        "xy": np.array([[30.0, 40.0], [50.5, 60.5]]),
        "decoder": decoder,
        "frame": frame,
        "pixels": np.stack(np.meshgrid(np.arange(w), np.arange(h)), -1),
        "estimate": truth,
        "truth": truth,
        "steer": lambda pose: None,
        "show": lambda pose: None,
        "State": object,
        "System": object,
        "DecodeConfig": pv.DecodeConfig,
        "run": pv.run,
    }


@pytest.mark.parametrize(
    ("page", "number", "text"), snippets(), ids=lambda v: str(v) if len(str(v)) < 30 else ""
)
def test_snippet_runs(
    page: str,
    number: int,
    text: str,
    surroundings: dict[str, Any],
    recording: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    (tmp_path / "my_walk").symlink_to(recording)
    if page == "dense.md":  # the text before it has made one
        (tmp_path / "results/my_walk").mkdir(parents=True)
        pv.write_ply(pv.PointCloud(np.zeros((2, 3), np.float32)), tmp_path / "results/my_walk/map.ply")
    exec(compile(text, f"{page}, snippet {number}", "exec"), dict(surroundings))
