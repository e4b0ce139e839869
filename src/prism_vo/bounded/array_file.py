# SPDX-License-Identifier: Apache-2.0
"""NumPy's ``.npy`` files: the header is read and compared with the file before anything is allocated."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.bounded.files import MB, read_bytes
from prism_vo.errors import InputError

LARGEST = 512 * MB


def read_npy(path: Path) -> NDArray[Any]:
    """The array of a file; never pickled objects."""
    data = read_bytes(path, LARGEST)
    stream = io.BytesIO(data[:65536])  # no header is longer
    try:
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, columns_first, dtype = read(stream)
        count = math.prod(shape)
        fits = not dtype.hasobject and 0 <= count * dtype.itemsize <= len(data) - stream.tell()
        values = (
            np.frombuffer(data, dtype, count, stream.tell()).reshape(
                shape, order="F" if columns_first else "C"
            )
            if fits
            else None
        )
    except Exception as error:  # NumPy parses the header as Python source: anything may come of a damaged one
        raise InputError(f"{path}: not a readable NumPy array.") from error
    if values is None:
        raise InputError(
            f"{path}: not a readable NumPy array: it holds objects, or less than its header says."
        )
    return values
