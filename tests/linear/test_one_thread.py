# SPDX-License-Identifier: Apache-2.0
"""BLAS has one thread while a run lasts, and afterwards what it had before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from decoded_frames import CAMERA, wall
from threadpoolctl import ThreadpoolController

from prism_vo.config import Config
from prism_vo.datasets.source import Stream
from prism_vo.linear.one_thread import one_thread
from prism_vo.pipeline import run


def threads() -> set[int]:
    """Of the BLAS libraries that are loaded."""
    return {library.num_threads for library in ThreadpoolController().select(user_api="blas").lib_controllers}


@pytest.fixture
def before() -> Iterator[set[int]]:
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("BLAS cannot have two threads here.")
        yield threads()


def test_inside_there_is_one_thread_and_afterwards_what_there_was(before: set[int]) -> None:
    @one_thread
    def inner() -> set[int]:
        return threads()

    @one_thread
    def outer() -> list[set[int]]:
        return [threads(), inner(), threads()]

    assert outer() == [{1}] * 3
    assert threads() == before


def test_an_error_gives_the_threads_back(before: set[int]) -> None:
    @one_thread
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert threads() == before


def test_a_run_has_one_thread_from_frame_to_frame(before: set[int]) -> None:
    frames, _ = wall(16)
    seen: list[set[int]] = []
    run(Stream(frames[:3], CAMERA), Config(), progress=lambda *_: seen.append(threads()))
    assert seen == [{1}] * 3
    assert threads() == before
