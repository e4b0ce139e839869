# SPDX-License-Identifier: Apache-2.0
"""Processes that end when the one that started them ends, however that comes about."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import IO

from prism_vo.errors import ConfigError

LOOK_UP = 0.5  # s between looks whether the process that started them still runs


class Workers:
    """The processes that are at work, so that all of them can be ended; each is the head of a group of its own."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def start(
        self, command: list[str], log: IO[bytes], environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        """One more, unless all were stopped."""
        if self._stopped:
            raise ConfigError("It was interrupted.")
        worker = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, start_new_session=True
        )
        self._running.add(worker)
        return worker

    def end(self, worker: subprocess.Popen[bytes]) -> None:
        """End a worker, and the programs it has started."""
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(worker.pid, signal.SIGKILL)
        worker.kill()
        worker.wait()
        self._running.discard(worker)

    def stop(self) -> None:
        """End all of them; no more are started."""
        self._stopped = True
        for worker in tuple(self._running):
            self.end(worker)


def end_with(parent: int) -> None:
    """In a worker: if the process that started it is killed, it ends too, with the programs it has started."""
    threading.Thread(target=_watch, args=(parent,), name="end-with-parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_UP)
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
