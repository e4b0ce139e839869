# SPDX-License-Identifier: Apache-2.0
"""Randomly damaged files of every kind: ``info`` ends with 0 or 2 and one sentence, never a traceback."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from prism_vo.cli import main
from prism_vo.cloud import PointCloud, write_ply
from prism_vo.trajectory import Trajectory, write_trajectory

sys.path.insert(0, str(Path(__file__).parent / "datasets"))
sys.path.insert(0, str(Path(__file__).parent / "optics"))
from sequence_files import images, write_decoded_sequence, write_image, write_raw_sequence
from vendor_files import write_vendor_files

DAMAGES = 25  # of each file


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Cut, overwrite, delete, repeat or replace a random part."""
    at = int(rng.integers(0, max(len(data), 1)))
    span = int(rng.integers(1, 40))
    kind = rng.integers(0, 6)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + rng.bytes(span) + data[at + span :]
    if kind == 2:
        return data[:at] + data[at + span :]
    if kind == 3:
        return data[:at] + data[at : at + span] * 3 + data[at + span :]
    if kind == 4:
        return rng.bytes(span)
    words = (
        b"nan",
        b"-1",
        b"1e999",
        b"[]",
        b"{}",
        b"null",
        b"\n",
        b":",
        b"true",
        b"\xff",
        b"99999999999999999999",
    )
    word = words[int(rng.integers(0, len(words)))]
    return data[:at] + word + data[at + int(rng.integers(0, 8)) :]


def write_everything(folder: Path) -> dict[Path, Path]:
    """One intact file of each kind, with the path to give to ``info``."""
    raw = write_raw_sequence(folder / "raw_sequence", images(2))
    (raw / "times.txt").write_text("0 0.01\n0.1 0.01\n")
    write_image(raw / "white.png", images(1)[0])
    poses = Trajectory(np.arange(3.0), np.tile(np.eye(4), (3, 1, 1)))
    write_trajectory(poses, raw / "groundtruth.txt")
    write_trajectory(poses, folder / "euroc.csv", "euroc")
    write_trajectory(poses, folder / "kitti.txt", "kitti")
    rho = np.full((24, 32), 0.4, np.float32)
    text = "{view: central, convention: true, virtual_depth: float32, sigma: float32}"
    decoded = write_decoded_sequence(folder / "decoded", images(1, size=(32, 24)), [rho], [rho], text)
    grid, model = write_vendor_files(folder)
    write_ply(PointCloud(np.zeros((5, 3), np.float32)), folder / "cloud.ply")
    manifest = folder / "manifest" / "sequence.yaml"
    manifest.parent.mkdir()
    manifest.write_text(
        "format: prism-vo/sequence/1\nraw: ../raw_sequence/raw/*.png\ncamera: ../raw_sequence/camera.yaml\n"
    )
    alone = (folder / "euroc.csv", folder / "kitti.txt", grid, model, folder / "cloud.ply", manifest)
    parts = ("camera.yaml", "times.txt", "groundtruth.txt", "white.png", "raw/000000.png")
    maps = ("decoded.yaml", "focused/0.png", "virtual_depth/0.npy", "virtual_depth_sigma/0.tiff")
    return {
        **{path: path for path in alone},
        **{raw / part: raw for part in parts},
        **{decoded / part: decoded for part in maps},
    }


def test_damaged_files_of_every_kind(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("PRISM_VO_OUTSIDE", "1")
    rng = np.random.default_rng(11)
    outcomes = set()
    for file, path in write_everything(tmp_path).items():
        assert main(["info", str(path)]) == 0, path
        capfd.readouterr()
        intact = file.read_bytes()
        for _ in range(DAMAGES):
            broken = damaged(intact, rng)
            file.write_bytes(broken)
            try:
                code = main(["info", str(path)])
            except BaseException as error:
                pytest.fail(f"{file.name} damaged to {broken[:300]!r}: {error!r}")
            captured = capfd.readouterr()
            sentences = [line for line in captured.err.splitlines() if line.startswith("prism-vo: ")]
            assert code in (0, 2) and len(sentences) == (code == 2), (file.name, broken[:300], captured.err)
            outcomes.add(code)
        file.write_bytes(intact)
    assert outcomes == {0, 2}
