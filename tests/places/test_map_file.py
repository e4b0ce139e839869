# SPDX-License-Identifier: Apache-2.0
"""Maps on disk: the same after reading, and every damaged one is refused in one sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scene import VIEW, camera_at, keyframe_at

from prism_vo import se3
from prism_vo.cli import main
from prism_vo.errors import InputError
from prism_vo.map_file import StoredMap, check_map_target, check_view, read_map, write_map


@pytest.fixture
def stored() -> StoredMap:
    poses = {k: se3.exp(0.1 * np.arange(6) + k) for k in (0, 4)}
    return StoredMap(
        VIEW, [replace(keyframe_at(camera_at(0.05 * k))[1], id=k, segment=0) for k in poses], poses
    )


def test_the_same_after_reading(stored: StoredMap, tmp_path: Path) -> None:
    write_map(stored, tmp_path / "a.map")
    found = read_map(tmp_path / "a.map")
    check_view(found, VIEW, tmp_path / "a.map")
    assert [k.id for k in found.keyframes] == [0, 4]
    for ours, theirs in zip(stored.keyframes, found.keyframes):
        np.testing.assert_allclose(found.poses[ours.id], stored.poses[ours.id], atol=1e-15)
        for name in ("image", "pixels", "inv_depth", "sigma", "patches"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
        np.testing.assert_array_equal(ours.features.descriptors, theirs.features.descriptors)
    write_map(found, tmp_path / "b.map")
    assert (tmp_path / "a.map").read_bytes() == (tmp_path / "b.map").read_bytes()
    assert len(found.cloud()) == sum(len(k.pixels) for k in stored.keyframes) and len(found.trajectory()) == 2


@pytest.mark.parametrize("name", ["a.map", "plain"])
def test_info_says_what_a_map_holds(
    stored: StoredMap, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """By its first line, whatever the file is called."""
    write_map(stored, tmp_path / name)
    assert main(["info", str(tmp_path / name)]) == 0
    said = capsys.readouterr().out
    points = sum(len(k.pixels) for k in stored.keyframes)
    assert "2 keyframes" in said and f"{points:,} points" in said and "prism-vo/map/1" in said
    assert f"{VIEW.width}x{VIEW.height} ({VIEW.name} view)" in said
    assert main(["view", str(tmp_path / name)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == said.splitlines()[0]
    (tmp_path / "b.map").write_bytes(b"something else")
    assert main(["info", str(tmp_path / "b.map")]) == 2
    assert "b.map: is no map" in capsys.readouterr().err


def test_damaged_maps_are_refused(stored: StoredMap, tmp_path: Path) -> None:
    path = tmp_path / "a.map"
    write_map(stored, path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    broken = [whole[:cut] for cut in (0, 5, 15, 300, len(whole) // 2, len(whole) - 1)] + [whole + b"x"]
    broken += [
        whole.replace(b'"z0": ', b'"z0": "x", "was": ', 1),
        whole.replace(b'"central"', b'"sideways"', 1),
    ]
    broken += [
        whole.replace(b'"central"', b"7", 1),
        whole.replace(b'"kappa": ', b'"kappa": "k", "kappa_m": ', 1),
    ]
    broken += [whole.replace(b'"points": ', b'"points": 9', 1), whole.replace(b"map/1", b"map/2", 1)]
    for data in broken:
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"a\.map"):
            read_map(path)
    for _ in range(60):  # any byte of the header: an error of ours, or a map
        data = bytearray(whole)
        data[int(rng.integers(0, 900))] = int(rng.integers(0, 256))
        path.write_bytes(bytes(data))
        try:
            read_map(path)
        except InputError as error:
            assert "a.map" in str(error)


def test_another_camera_is_refused(stored: StoredMap, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="another camera"):
        check_view(stored, replace(VIEW, focal_px=1.01 * VIEW.focal_px), tmp_path / "a.map")


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.map"
    path.write_text("mine")
    with pytest.raises(InputError, match="--force"):
        check_map_target(path, False, None)
    check_map_target(path, True, None)
    check_map_target(path, False, path)
    with pytest.raises(InputError, match="folder that exists"):
        check_map_target(tmp_path / "no" / "a.map", True, None)
