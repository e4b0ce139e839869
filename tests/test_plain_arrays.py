# SPDX-License-Identifier: Apache-2.0
"""What checkpoints hold of NumPy comes back as it was, and hostile words about it end nothing."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from prism_vo.checkpoint.pickling import from_bytes, to_bytes
from prism_vo.checkpoint.plain_arrays import array_of
from prism_vo.errors import InputError


def again(value: Any) -> Any:
    return from_bytes(to_bytes(value, {}), {}, lambda _: pytest.fail("no frame is asked for"), lambda _: None)


@pytest.mark.parametrize("kind", ["f4", "f8", "i1", "u2", "i8", "?", "c16", "U7", ">f4"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_arrays_come_back(kind: str, shape: tuple[int, ...]) -> None:
    value = np.arange(int(np.prod(shape))).reshape(shape).astype(kind)
    for one in (value, np.asfortranarray(value), value[..., ::-1] if value.ndim else value):
        back = again(one)
        assert back.dtype == one.dtype and back.shape == one.shape and (back == one).all()
        assert back.flags.writeable and (back.flags.f_contiguous or not one.flags.f_contiguous)


def test_numbers_kinds_and_generators_come_back() -> None:
    generator = np.random.default_rng(5)
    generator.random(7)
    state, number, kind = again((generator, np.float32(0.1), np.dtype(np.int8)))
    assert (state.random(5) == generator.random(5)).all()
    assert type(number) is np.float32 and number == np.float32(0.1) and kind == np.int8


def test_one_array_in_two_places_stays_one() -> None:
    value = np.zeros(3)
    first, second = again([value, value])
    assert first is second


@pytest.mark.parametrize(
    "arguments",
    [
        (b"\0" * 24, "O", (3,), "C"),
        (b"\0" * 24, "f8", (4,), "C"),
        (b"\0" * 24, "f8", (-3,), "C"),
        (b"\0" * 24, "f8", (3, 10**18), "C"),
        (b"\0" * 24, "V8", (3,), "C"),
        (b"\0" * 24, "f8,O", (3,), "C"),
        (b"\0" * 24, "f8", (3,), "K"),
        (b"", "f8", (0,) * 40, "C"),
        ("text", "f8", (4,), "C"),
        (b"\0" * 24, None, (3,), "C"),
    ],
)
def test_hostile_arrays_are_refused(arguments: tuple[Any, ...]) -> None:
    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return array_of, arguments

    with pytest.raises(InputError, match="cannot be used"):
        from_bytes(
            pickle.dumps(Hostile()), {}, lambda _: pytest.fail("no frame is asked for"), lambda _: None
        )


def test_the_readers_of_numpy_are_not_called() -> None:
    hostile = pickle.dumps(np.zeros(3))
    with pytest.raises(InputError, match="cannot be used"):
        from_bytes(hostile, {}, lambda _: pytest.fail("no frame is asked for"), lambda _: None)


def test_arrays_of_objects_are_not_kept() -> None:
    with pytest.raises((TypeError, pickle.PicklingError)):
        to_bytes(np.array([{}, None], object), {})
