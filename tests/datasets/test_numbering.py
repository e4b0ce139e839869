# SPDX-License-Identifier: Apache-2.0
"""Numbers in names: order, missing frames and their times, names whose numbers mean something else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sequence_files import images, write_image, write_raw_sequence

from prism_vo.cli import main
from prism_vo.datasets import open_sequence
from prism_vo.datasets.numbering import frame_numbers, lines_of_frames, natural_key, numbered_times


def names(*texts: str) -> list[Path]:
    return [Path(text) for text in texts]


@pytest.mark.parametrize(
    "given_names, numbers",
    [
        (("a1.png", "a2.png", "a5.png"), [1, 2, 5]),
        (("cam0_0001_x.png", "cam0_0002_x.png"), [1, 2]),
        (("000007.tif", "000009.png"), [7, 9]),
        (("1_1.png", "2_2.png"), None),  # which of the two?
        (("a1.png", "b2.png"), None),
        (("1.png", "01.png"), None),
        (("left.png", "right.png"), None),
        (("1²3.png", "1²4.png"), [3, 4]),  # ² is no digit
        (("٣.png", "٤.png"), None),
        (("1.png", "9" * 40 + ".png"), None),
        (("1.png",), None),
    ],
)
def test_which_number_counts_the_frames(given_names, numbers):
    found = frame_numbers(names(*given_names))
    assert (found is None and numbers is None) or list(found) == numbers


def test_even_numbering_leaves_the_times_to_the_index():
    for texts in (("5.png", "6.png", "7.png"), ("0.png", "10.png", "20.png"), ("a.png", "b.png", "c.png")):
        seconds, note = numbered_times(names(*texts), 20.0)
        np.testing.assert_allclose(seconds, [0, 0.05, 0.1])
        assert note is None


def test_missing_numbers_give_times_and_a_sentence():
    seconds, note = numbered_times(names("f10.png", "f11.png", "f14.png", "f15.png"), 20.0)
    np.testing.assert_allclose(seconds, [0, 0.05, 0.2, 0.25])
    assert note == (
        "2 frames are missing in the numbering (the first is 12); "
        "times are taken from the numbers, 20 frames a second."
    )
    seconds, note = numbered_times(
        names("0.png", "10.png", "30.png", "40.png"), 20.0
    )  # every tenth, one missing
    np.testing.assert_allclose(seconds, [0, 0.05, 0.15, 0.2])
    assert note.startswith("1 frame is missing in the numbering (the first is 20)")


def test_time_stamps_as_names_are_not_counted_as_frames():
    stamps = names("1403636579763555584.png", "1403636579813555456.png", "1403636579863555712.png")
    seconds, note = numbered_times(stamps, 20.0)
    np.testing.assert_allclose(seconds, [0, 0.05, 0.1])
    assert "no frame numbers" in note and "times.txt" in note


@given(st.sets(st.integers(0, 5000), min_size=3, max_size=40))
def test_times_are_those_of_the_whole_recording(kept):
    numbers = sorted(kept)
    seconds, _ = numbered_times([Path(f"{n:06d}.png") for n in numbers], 10.0)
    step = np.gcd.reduce(np.diff(numbers))
    np.testing.assert_allclose(seconds, (np.array(numbers) - numbers[0]) / step / 10.0)


@given(st.lists(st.text(alphabet="a1²٣9.", min_size=1, max_size=8), min_size=1, max_size=8))
def test_any_name_can_be_sorted(texts):
    paths = [Path(text + ".png") for text in texts]
    assert sorted(sorted(paths, key=natural_key, reverse=True), key=natural_key) == sorted(
        paths, key=natural_key
    )


def test_a_folder_with_a_gap_says_so(tmp_path, capsys):
    folder = write_raw_sequence(tmp_path, images(6))
    (folder / "raw" / "000003.png").unlink()
    sequence = open_sequence(folder)
    np.testing.assert_allclose(sequence.times, [0, 0.05, 0.1, 0.2, 0.25])
    assert main(["info", str(folder)]) == 0
    assert "note          1 frame is missing in the numbering (the first is 3)" in capsys.readouterr().out


def test_times_of_missing_images_are_left_out_where_there_is_no_doubt(tmp_path):
    folder = write_raw_sequence(tmp_path, images(6))
    (folder / "times.txt").write_text("0\n1\n4\n9\n16\n25\n")
    assert open_sequence(folder).notes == ()
    (folder / "raw" / "000003.png").unlink()
    sequence = open_sequence(folder)
    np.testing.assert_array_equal(sequence.times, [0, 1, 4, 16, 25])
    assert "5 images for the 6 lines of times.txt" in sequence.notes[0]
    assert lines_of_frames(sequence.files.raw, 7) is None  # or is the last one missing?


def test_odd_digits_in_a_name_are_letters(tmp_path):
    folder = write_raw_sequence(tmp_path, [])
    for name, image in zip(("1²3.png", "1²10.png", "²٣.png"), images(3)):
        write_image(folder / "raw" / "x.png", image)
        (folder / "raw" / "x.png").rename(folder / "raw" / name)
    assert [p.name for p in open_sequence(folder).files.raw] == ["1²3.png", "1²10.png", "²٣.png"]
