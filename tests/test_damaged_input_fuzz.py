# SPDX-License-Identifier: Apache-2.0
"""Hostile files for every parser and command (``python -m benchmarks.fuzz``, a short run), and those that once hurt."""

from __future__ import annotations

import re
import struct
import time
import tracemalloc
import zlib
from pathlib import Path
from random import Random

import cv2
import numpy as np
import pytest
from benchmarks.fuzz import run_inputs
from benchmarks.fuzz_commands import all_commands
from benchmarks.fuzz_targets import CAMERA, all_targets

from prism_vo.checkpoint.file import write_checkpoint
from prism_vo.cli import main
from prism_vo.config_file import config_from_dict, load_config
from prism_vo.config_ranges import RANGES
from prism_vo.datasets import open_sequence
from prism_vo.datasets.images import read_image
from prism_vo.errors import ConfigError, InputError, PrismError
from prism_vo.map_file import check_map_target
from prism_vo.optics.calibration import Calibration, load_calibration, save_calibration
from prism_vo.output_folder import MARKER

MUTANTS = 12  # of each file
COMMANDS = 40


def test_intact_files_are_read_and_hostile_ones_refused(tmp_path: Path) -> None:
    targets = all_targets(tmp_path)
    for target in targets:
        target.read(target.file)
    found = run_inputs(targets, Random(11), MUTANTS * len(targets))
    assert not found.faults, "\n".join(found.faults)
    assert found.slowest < 5.0
    assert len(found.refused) > len(targets) - 4


def test_commands_end_with_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    targets = [*all_targets(tmp_path), *(commands := all_commands(tmp_path))]
    for command in commands:
        command.read(command.file)
    found = run_inputs(targets, Random(3), COMMANDS, commands)
    assert not found.faults, "\n".join(found.faults)


ALIASES = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{c}: &{c} [{','.join([f'*{p}'] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi")
)


@pytest.mark.parametrize(
    "text, words",
    [
        (ALIASES, "aliases"),
        ("[" * 100_000, "levels deep"),
        ("x: " + "9" * 5000, "characters"),
        ("x: " + "9" * 57_000 + "x", "characters"),  # digits that a careless pattern splits in every way
        ("? [1]\n: 2", "key"),
        ("x: !!timestamp x", "YAML"),
    ],
)
def test_yaml_that_blows_up_is_refused_at_once(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    start = time.process_time()
    with pytest.raises(PrismError, match=words):
        load_config(tmp_path / "c.yaml")
    assert time.process_time() - start < 2.0


def huge_png(side: int) -> bytes:
    """A PNG of a few kB that claims side² pixels."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    data = zlib.compress(bytes(1 << 20))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_a_picture_is_judged_by_its_header(tmp_path: Path) -> None:
    save_calibration(Calibration.model_validate(CAMERA), tmp_path / "camera.yaml")
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "0.png").write_bytes(huge_png(60_000))
    tracemalloc.start()
    with pytest.raises(InputError, match="60000x60000 pixels, expected 64x48"):
        open_sequence(tmp_path)[0]
    with pytest.raises(InputError, match="claims 60000x60000 pixels"):
        read_image(tmp_path / "raw" / "0.png")
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


def test_pictures_of_one_colour_are_not_taken_for_bombs(tmp_path: Path) -> None:
    flat = np.zeros((3000, 3000), np.uint8)
    for name in ("a.png", "a.tif", "a.jpg", "a.bmp", "a.pgm"):
        cv2.imwrite(str(tmp_path / name), flat)
        assert read_image(tmp_path / name).shape == flat.shape


@pytest.mark.parametrize("key", sorted(RANGES))
def test_settings_name_key_value_and_range(key: str) -> None:
    *outer, last = key.split(".")
    wrong: object = {last: -1}
    for name in reversed(outer):
        wrong = {name: wrong}
    with pytest.raises(ConfigError, match=rf"key '{key}': -1 is out of range; it goes from \S+ to"):
        config_from_dict(wrong, Path("c.yaml"))


def test_every_number_among_the_settings_has_a_range() -> None:
    from dataclasses import fields, is_dataclass

    from prism_vo.config import Config

    def keys(config: object, prefix: str = "") -> list[str]:
        found = []
        for f in fields(config):  # type: ignore[arg-type]
            value = getattr(config, f.name)
            if is_dataclass(value):
                found += keys(value, f"{prefix}{f.name}.")
            elif "int" in str(f.type) or "float" in str(f.type):
                found.append(prefix + f.name)
        return found

    assert set(keys(Config())) == set(RANGES), "name the range of a setting in prism_vo/config_ranges.py"


def test_a_camera_out_of_range_is_named_with_its_value(tmp_path: Path) -> None:
    save_calibration(Calibration.model_validate(CAMERA), tmp_path / "camera.yaml")
    text = (tmp_path / "camera.yaml").read_text().replace("rotation_rad: 0.0", "rotation_rad: 1.0e+18")
    (tmp_path / "camera.yaml").write_text(text)
    with pytest.raises(
        InputError, match=r"'mla.rotation_rad': 1e.18 is out of range.*less than or equal to 7"
    ):
        load_calibration(tmp_path / "camera.yaml")


def test_odd_digits_in_names_are_letters(tmp_path: Path) -> None:
    save_calibration(Calibration.model_validate(CAMERA), tmp_path / "camera.yaml")
    (tmp_path / "raw").mkdir()
    for name in ("1²3.png", "٣.png", "[red]x[-red].png", "{{data}}.png", "<b>.png", "$(id).png", "a\nb.png"):
        cv2.imencode(".png", np.zeros((48, 64), np.uint8))[1].tofile(tmp_path / "raw" / name)
    assert len(open_sequence(tmp_path)) == 7
    assert main(["info", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("corners.xml", "<ltop><x>10<", "<ltop><x>1e308<", "more than 1e.09"),
        ("CameraModel.xml", "<A0>0.0001<", "<A0>1e200<", "more than 1e.09"),
        ("CameraModel.xml", ">0.0055<", ">5e-324<", "less than 1e-06"),
        ("CameraModel.xml", ">0.0055<", ">-0.0055<", "less than 1e-06"),
    ],
)
def test_lengths_no_camera_has_are_named(tmp_path: Path, name: str, old: str, new: str, words: str) -> None:
    target = next(t for t in all_targets(tmp_path) if t.file.name == name)
    text = target.file.read_text()
    assert old in text
    target.file.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=words):
        target.read(target.file)


def test_a_count_without_end_in_a_mesh_is_refused(tmp_path: Path) -> None:
    target = next(t for t in all_targets(tmp_path) if t.name == "mesh .gltf")
    text = re.sub(r'"count": ?\d+', '"count": 1e999', target.file.read_text(), count=1)
    target.file.write_text(text)
    with pytest.raises(InputError, match="claims more than it holds"):
        target.read(target.file)


@pytest.mark.parametrize(
    "call",
    [
        {"start": "1"},
        {"frames": [3]},
        {"stride": True},
        {"sequence": "a\0b"},
        {"settings": 3},
        {"other": 1},
        7,
    ],
)
def test_a_forged_call_in_a_checkpoint_is_one_sentence(
    tmp_path: Path, call: object, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MARKER).write_text('{"format": "prism-vo/run/1", "state": "running"}')
    write_checkpoint(tmp_path / "out", {"call": call}, b"")
    assert main(["run", "--resume", str(tmp_path / "out")]) == 2
    assert "checkpoint" in capsys.readouterr().err


def test_a_forged_checkpoint_cannot_have_a_file_replaced_by_a_map(tmp_path: Path) -> None:
    mine = tmp_path / "letter.txt"
    mine.write_text("dear …")
    with pytest.raises(InputError, match="is there already"):
        check_map_target(mine, force=False, known=None, resume=True)
    mine.write_bytes(b"prism-vo/map/1\n{}")
    check_map_target(mine, force=False, known=None, resume=True)


@pytest.mark.parametrize("patience", ["-1", "0", "nan", "inf", "1e300"])
def test_no_patience_is_refused_before_a_run(
    tmp_path: Path, patience: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(tmp_path), f"--follow={patience}", "--out", str(tmp_path / "out")]) == 2
    assert "it takes seconds" in capsys.readouterr().err and not (tmp_path / "out").exists()
