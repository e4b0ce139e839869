# SPDX-License-Identifier: Apache-2.0
"""``-q``: every command has it, and says nothing but errors then; the one place that acts on it is :func:`quietly`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import Annotated

from cyclopts import Parameter

Quiet = Annotated[bool, Parameter(alias="-q", negative=(), help="Print nothing but errors.")]
_QUIET = ContextVar("quiet", default=False)


def is_quiet() -> bool:
    """Whether progress should be kept to oneself."""
    return _QUIET.get()


@contextmanager
def quietly(quiet: bool) -> Iterator[None]:
    """What is printed goes nowhere; errors go where they always go."""
    if not quiet:
        yield
        return
    before = _QUIET.set(True)
    try:
        with redirect_stdout(_Nowhere()):
            yield
    finally:
        _QUIET.reset(before)


class _Nowhere(io.TextIOBase):
    def write(self, text: str) -> int:
        """Not even kept."""
        return len(text)
