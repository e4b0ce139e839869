# SPDX-License-Identifier: Apache-2.0
"""Every way an image file can be wrong is one sentence, in the library and on the command line (exit 2)."""

from __future__ import annotations

import numpy as np
import pytest
from sequence_files import images, write_image, write_raw_sequence

from prism_vo.cli import main
from prism_vo.datasets import open_sequence
from prism_vo.datasets.images import read_image, read_map
from prism_vo.errors import InputError


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_bits(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


DAMAGE = {
    "text named png": (lambda p: p.write_text("this is not an image"), "not a PNG image"),
    "cut png": (cut, "cut off"),
    "flipped bits": (flip_bits, "not a readable image"),
    "empty": (lambda p: p.write_bytes(b""), "the file is empty"),
    "missing": (lambda p: p.unlink(), "no such file"),
    "wrong size": (lambda p: write_image(p, images(1, size=(32, 32))[0]), "expected 64x48"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_raw_image(tmp_path, name, capsys):
    harm, words = DAMAGE[name]
    folder = write_raw_sequence(tmp_path / "s", images(2))
    path = folder / "raw" / "000000.png"
    sequence = open_sequence(folder)
    harm(path)
    with pytest.raises(InputError, match=words) as error:
        sequence[0]
    assert str(path) in str(error.value)
    if name == "missing":
        return  # a folder opened now has one frame less
    assert main(["info", str(folder)]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and words in captured.err and captured.out == ""


def test_damaged_tiff(tmp_path):
    write_image(tmp_path / "a.tiff", images(1, np.uint16)[0])
    cut(tmp_path / "a.tiff")
    with pytest.raises(InputError, match="not a readable image"):
        read_image(tmp_path / "a.tiff")


def test_numbers_of_the_wrong_type(tmp_path):
    write_image(tmp_path / "float.tiff", np.zeros((8, 8), np.float32))
    with pytest.raises(InputError, match="float32 values"):
        read_image(tmp_path / "float.tiff")
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    with pytest.raises(InputError, match="one number a pixel"):
        read_map(tmp_path / "cube.npy")
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not a readable NumPy array"):
        read_map(tmp_path / "bad.npy")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not a readable NumPy array"):
        read_map(tmp_path / "objects.npy")


def test_alpha_and_single_channel_images(tmp_path):
    import cv2

    rgba = np.dstack([*(np.full((4, 4), c, np.uint8) for c in (1, 2, 3)), np.full((4, 4), 9, np.uint8)])
    cv2.imwrite(str(tmp_path / "rgba.png"), rgba)  # stored as B=1, G=2, R=3
    np.testing.assert_array_equal(read_image(tmp_path / "rgba.png")[0, 0], [3, 2, 1])
