# SPDX-License-Identifier: Apache-2.0
"""``njit`` for the kernels of this package: Numba's, with compiled code that follows every change of the sources."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Any

import numba
from numba.core import event

from prism_vo.kernel_cache import PACKAGE, kernel_folder, settings

_lock = RLock()


class _WithoutCollecting(event.Listener):
    """No garbage is looked for while something is compiled: Numba's objects live on, and looking takes an eighth."""

    def __init__(self) -> None:
        self._depth = 0  # kernels that are compiled for one another; only one thread compiles at a time
        self._was_on = False

    def on_start(self, event: Any) -> None:
        """Of compiling."""
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Of compiling, also if it failed."""
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()


event.register("numba:compile", _WithoutCollecting())


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As ``numba.njit``; ``cache=True`` keeps compiled code in :func:`~prism_vo.kernel_cache.kernel_folder`."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = numba.njit(**options)(function)
        if cache and hasattr(kernel, "enable_caching"):  # NUMBA_DISABLE_JIT gives the function itself
            _keep(kernel, Path(inspect.getfile(function)).resolve())
        return kernel

    return decorate


def _keep(kernel: Any, file: Path) -> None:
    """Compiled code goes into the folder of its sources; where there is none, it is compiled in every process."""
    folder = kernel_folder(file) if PACKAGE in file.parents else None
    if folder is None:
        return
    with _lock:  # Numba reads its setting while it makes the cache of a kernel, and never again
        chosen, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)
        try:
            kernel.enable_caching()
        finally:
            settings.CACHE_DIR = chosen
    kernel._cache = _Forgiving(kernel._cache)


class _Forgiving:
    """A kernel's cache whose damaged, vanished or unwritable files mean compiling, not the end of the program."""

    def __init__(self, files: Any) -> None:
        self._files = files

    def load_overload(self, *arguments: Any) -> Any:
        """Compiled code, or None."""
        try:
            return self._files.load_overload(*arguments)
        except Exception:  # whatever unpickling half a file comes to
            with suppress(OSError):
                self._files.flush()
            return None

    def save_overload(self, *arguments: Any) -> None:
        """Keep it for the next process, if there is room."""
        with suppress(OSError):
            self._files.save_overload(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)
