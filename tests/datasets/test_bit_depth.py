# SPDX-License-Identifier: Apache-2.0
"""Sensors of 10, 12 and 14 bits: packed TIFF, 16-bit files, the camera file's word and what is found without it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from sequence_files import HEIGHT, WIDTH, images, write_image, write_raw_sequence

from prism_vo.datasets import open_sequence
from prism_vo.datasets.bit_depth import bits_for, spread
from prism_vo.datasets.images import read_image
from prism_vo.errors import InputError


def packed_tiff(path: Path, image: np.ndarray, bits: int) -> None:
    """A TIFF with ``bits`` bits a pixel, one after the other, most significant first; rows begin on a byte."""
    height, width = image.shape
    planes = np.unpackbits(image.astype(">u2").view(np.uint8).reshape(height, width, 2), axis=2)[
        ..., 16 - bits :
    ]
    data = b"".join(np.packbits(row.reshape(-1)).tobytes() for row in planes)
    fields = [
        (256, width),
        (257, height),
        (258, bits),
        (259, 1),
        (262, 1),
        (273, None),
        (277, 1),
        (278, height),
    ]
    fields.append((279, len(data)))
    begin = 8 + 2 + 12 * len(fields) + 4
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, begin if v is None else v) for tag, v in fields)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"II*\0" + struct.pack("<IH", 8, len(fields)) + entries + struct.pack("<I", 0) + data)


def values_of(bits: int, count: int = 3) -> list[np.ndarray]:
    """Images that use the whole range of so many bits."""
    rng = np.random.default_rng(bits)
    frames = [rng.integers(0, 1 << bits, (HEIGHT, WIDTH)).astype(np.uint16) for _ in range(count)]
    frames[0][0, 0] = (1 << bits) - 1
    return frames


def test_packed_tiff_is_read_over_the_full_range(tmp_path):
    for bits in (10, 12, 14):
        image = values_of(bits)[0]
        packed_tiff(tmp_path / f"{bits}.tif", image, bits)
        found = read_image(tmp_path / f"{bits}.tif")
        assert found.dtype == np.uint16
        np.testing.assert_array_equal(found >> (16 - bits), image)
    with pytest.raises(InputError, match="not a readable image"):
        (tmp_path / "10.tif").write_bytes((tmp_path / "10.tif").read_bytes()[:200])
        read_image(tmp_path / "10.tif")


@pytest.mark.parametrize("bits", [10, 12, 14])
def test_a_recording_of_packed_files_needs_no_word(tmp_path, bits):
    folder = write_raw_sequence(tmp_path, [])
    frames = values_of(bits)
    for number, image in enumerate(frames):
        packed_tiff(folder / "raw" / f"{number}.tif", image, bits)
    sequence = open_sequence(folder)
    assert sequence.notes == ()
    shares = sequence[1].image / 65535.0
    np.testing.assert_allclose(shares, frames[1] / ((1 << bits) - 1), atol=1.1 / (1 << bits))


@pytest.mark.parametrize("bits", [8, 10, 12, 14, 16])
@pytest.mark.parametrize("named", [True, False])
def test_numbers_in_16_bit_files_become_shares_of_their_range(tmp_path, bits, named):
    frames = values_of(bits)
    folder = write_raw_sequence(tmp_path, frames, ".tiff")
    write_image(folder / "white.png", frames[0])
    if named:
        name_bits(folder, bits)
    sequence = open_sequence(folder)
    for frame, stored in zip(sequence, frames):
        np.testing.assert_allclose(frame.image / 65535.0, stored / ((1 << bits) - 1), atol=0.51 / 65535)
    assert sequence.white.max() == 65535
    if named or bits == 16:
        assert sequence.notes == ()
    else:
        assert f"values up to {(1 << bits) - 1} and are taken for {bits}-bit ones" in sequence.notes[0]


def name_bits(folder: Path, bits: int) -> None:
    text = (folder / "camera.yaml").read_text()
    (folder / "camera.yaml").write_text(text.replace("bayer: null", f"bayer: null, bits: {bits}"))


def test_the_depth_is_that_of_the_recording_not_of_each_frame(tmp_path):
    """A dark frame must not be made brighter than its neighbours."""
    frames = values_of(12)
    frames[1] = frames[1] // 100
    found = open_sequence(write_raw_sequence(tmp_path, frames))[1].image
    assert found.max() == round(int(frames[1].max()) * 65535 / 4095)


def test_a_number_beyond_the_range_is_refused_with_its_frame(tmp_path):
    frames = values_of(12, 2)
    frames[1][3, 3] = 5000
    folder = write_raw_sequence(tmp_path, frames)
    name_bits(folder, 12)
    sequence = open_sequence(folder)
    assert sequence[0].image.max() == 65535
    with pytest.raises(
        InputError, match=r"000001\.png: holds the value 5000 but sensor\.bits .* says 12 bits"
    ):
        sequence[1]


def test_a_later_frame_may_refute_what_was_found(tmp_path):
    frames = values_of(10, 12)
    frames[4][0, 0] = 3000  # not among the frames looked at
    assert 4 not in spread(12)
    with pytest.raises(InputError, match="value 3000 but other frames have 10 bits"):
        open_sequence(write_raw_sequence(tmp_path, frames))[4]


def test_eight_bit_and_black_images_are_left_alone(tmp_path):
    frames = images(2)
    np.testing.assert_array_equal(
        open_sequence(write_raw_sequence(tmp_path / "a", frames))[1].image, frames[1]
    )
    black = [np.zeros((HEIGHT, WIDTH), np.uint16)] * 2
    sequence = open_sequence(write_raw_sequence(tmp_path / "b", black))
    assert sequence.notes == () and sequence[0].image.max() == 0
    assert [bits_for(v) for v in (None, 0, 1, 255, 256, 4095, 4096, 16384, 65535)] == [
        16,
        16,
        8,
        8,
        10,
        12,
        14,
        16,
        16,
    ]


@pytest.mark.parametrize("text", ["7", "17", "twelve"])
def test_impossible_bits_are_a_fault_of_the_camera_file(tmp_path, text):
    folder = write_raw_sequence(tmp_path, images(1))
    name_bits(folder, text)
    with pytest.raises(InputError, match=r"sensor\.bits"):
        open_sequence(folder)
