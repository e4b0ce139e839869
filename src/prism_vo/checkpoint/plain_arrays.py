# SPDX-License-Identifier: Apache-2.0
"""Arrays, numbers and generators of NumPy in a pickle, as bytes whose kind and size are checked.

NumPy's own way of reading them believes every word of the file: a kind of element that it names by mistake or on
purpose ends the process.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

PLAIN = re.compile(r"[<>=|]?(?:[biuf?][1248]?|c8|c16|[SU]\d{1,6})")
MOST_DIMENSIONS = 16


def reduced(value: Any) -> Any:
    """How a pickle names a value of NumPy; NotImplemented: it is none."""
    if type(value) is np.ndarray:
        order: Literal["C", "F"] = "C" if value.flags.c_contiguous or not value.flags.f_contiguous else "F"
        return array_of, (value.tobytes(order), _name(value.dtype), value.shape, order)
    if isinstance(value, np.generic):
        return number_of, (value.tobytes(), _name(value.dtype))
    if isinstance(value, np.dtype):
        return kind_of, (_name(value),)
    if isinstance(value, np.random.Generator):
        return generator_of, (value.bit_generator.state,)
    return NotImplemented


def _name(kind: np.dtype[Any]) -> str:
    if PLAIN.fullmatch(kind.str) is None or kind.names is not None:
        raise TypeError(f"arrays of {kind} are not kept")
    return kind.str


def kind_of(name: str) -> np.dtype[Any]:
    """Numbers, truth values and short texts alone."""
    if not isinstance(name, str) or PLAIN.fullmatch(name) is None:
        raise ValueError("not a kind of numbers")
    return np.dtype(name)


def array_of(data: bytes, kind: str, shape: tuple[int, ...], order: str) -> NDArray[Any]:
    """An array that may be written to."""
    element = kind_of(kind)
    sizes = tuple(int(n) for n in shape)
    if order not in ("C", "F") or len(sizes) > MOST_DIMENSIONS or min(sizes, default=0) < 0:
        raise ValueError("not the shape of an array")
    if not isinstance(data, bytes) or len(data) != prod(sizes) * element.itemsize:
        raise ValueError("an array is shorter or longer than its shape")
    flat = np.frombuffer(data, element).copy() if data else np.zeros(0, element)
    return flat.reshape(sizes) if order == "C" else flat.reshape(sizes[::-1]).T


def number_of(data: bytes, kind: str) -> Any:
    """A single number with its type."""
    return array_of(data, kind, (1,), "C")[0]


def generator_of(state: Any) -> np.random.Generator:
    """A generator of random numbers where it was."""
    source = np.random.PCG64(0)
    source.state = state
    return np.random.Generator(source)


READERS = {f.__name__: f for f in (array_of, number_of, kind_of, generator_of)}
