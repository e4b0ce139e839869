# SPDX-License-Identifier: Apache-2.0
"""A part of a recording keeps the indices and times of the whole, in Python and on the command line."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from sequence_files import images, write_raw_sequence

from prism_vo.cli import main
from prism_vo.datasets import Sequence, open_sequence, part_of
from prism_vo.datasets.follow import FollowedSequence
from prism_vo.datasets.reading import frames_of
from prism_vo.errors import ConfigError
from prism_vo.trajectory import read_trajectory
from prism_vo.types import UnreadableFrame


@pytest.mark.parametrize(
    "choice, indices",
    [
        ({}, [0, 1, 2, 3, 4, 5, 6]),
        ({"start": 2}, [2, 3, 4, 5, 6]),
        ({"start": 1, "stride": 3}, [1, 4]),
        ({"start": 1, "stride": 2, "frames": 2}, [1, 3]),
        ({"frames": 100}, [0, 1, 2, 3, 4, 5, 6]),
        ({"start": 6}, [6]),
    ],
)
def test_frames_keep_index_and_time(tmp_path, choice, indices):
    write_raw_sequence(tmp_path, images(7))
    (tmp_path / "times.txt").write_text("".join(f"{t * t + 1} {0.01 * (t + 1)}\n" for t in range(7)))
    whole = open_sequence(tmp_path)
    part = whole.part(**choice)
    assert isinstance(part, Sequence) and len(part) == len(indices)
    assert [frame.index for frame in part] == indices
    assert [frame.time for frame in part] == list(part.times) == [i * i + 1 for i in indices]
    np.testing.assert_allclose(part.exposures, [0.01 * (i + 1) for i in indices])
    np.testing.assert_array_equal(part[-1].image, whole[indices[-1]].image)
    with pytest.raises(IndexError):
        part[len(indices)]


def test_a_part_of_a_part(tmp_path):
    part = part_of(open_sequence(write_raw_sequence(tmp_path, images(9))).part(1, stride=2), 1, stride=2)
    assert [frame.index for frame in part] == [3, 7]


@pytest.mark.parametrize(
    "choice, words",
    [
        ({"start": -1}, "counted from 0"),
        ({"start": 7}, "no frame 7 to start at; the last one is 6"),
        ({"frames": 0}, "at least 1"),
        ({"frames": -3}, "frames is -3"),
        ({"stride": 0}, "stride is 0"),
    ],
)
def test_choices_that_mean_nothing(tmp_path, choice, words, capsys):
    folder = write_raw_sequence(tmp_path, images(7))
    with pytest.raises(ConfigError, match=words):
        open_sequence(folder).part(**choice)
    flags = [f"--{name}={value}" for name, value in choice.items()]
    assert main(["run", str(folder), *flags]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_an_unreadable_frame_of_a_part_has_the_index_of_the_whole(tmp_path):
    folder = write_raw_sequence(tmp_path, images(7))
    (folder / "raw" / "000004.png").write_bytes(b"")
    found = list(frames_of(open_sequence(folder).part(2, stride=2)))
    assert [frame.index for frame in found] == [2, 4, 6]
    assert isinstance(found[1], UnreadableFrame) and found[1].time == pytest.approx(0.2)


def test_a_growing_folder_from_a_frame_on(tmp_path):
    folder = write_raw_sequence(tmp_path, images(7))
    assert [frame.index for frame in FollowedSequence(folder, 0.3, start=1, stride=3)] == [1, 4]


def test_a_growing_folder_goes_on_after_a_bad_file(tmp_path):
    folder = write_raw_sequence(tmp_path, images(3))
    (folder / "raw" / "000001.png").write_bytes(b"")
    found = list(FollowedSequence(folder, 0.3))
    assert [type(frame).__name__ for frame in found] == ["RawFrame", "UnreadableFrame", "RawFrame"]


def test_a_run_over_a_part(recording, tmp_path, capsys):
    out = tmp_path / "r"
    flags = ["--start", "3", "--stride", "2", "--frames", "4", "--no-report", "--out", str(out)]
    assert main(["run", str(recording), *flags]) == 0
    whole = open_sequence(recording).times
    np.testing.assert_allclose(read_trajectory(out / "trajectory.txt").times, whole[[3, 5, 7, 9]])
    settings = yaml.safe_load((out / "config.yaml").read_text())
    assert (settings["start"], settings["stride"], settings["frames"]) == (3, 2, 4)
    assert "4 (" in capsys.readouterr().out
