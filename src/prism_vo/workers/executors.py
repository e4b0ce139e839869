# SPDX-License-Identifier: Apache-2.0
"""Where jobs run: local processes, or the workers of an existing Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from prism_vo.errors import ConfigError, MissingExtraError

LOCAL = ("localhost", "127.0.0.1", "::1")
Task = TypeVar("Task")
Result = TypeVar("Result")


def run_local(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    processes: int,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Task, Result | Exception]]:
    """Results as they come. ``function`` starts the process; threads here only wait for it.

    ``stop`` ends the processes when this is interrupted.
    """
    with ThreadPoolExecutor(max_workers=processes) as pool:
        futures = {pool.submit(function, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], _outcome(future.result)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise


def unsafe_scheduler(address: str) -> str | None:
    """One sentence if others could send jobs to a scheduler: it runs what it is sent (pickles)."""
    host = address.rpartition("://")[2].rpartition("@")[2]
    host = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if address.startswith(("tls://", "inproc://")) or host in LOCAL:
        return None
    return (
        f"{address} is neither local nor encrypted (tls://): whoever reaches a Dask scheduler can run programs on its "
        "workers; keep it in a closed network."
    )


def run_on_cluster(
    function: Callable[[Task], Result], tasks: Sequence[Task], scheduler: str, patience: float = 10.0
) -> Iterator[tuple[Task, Result | Exception]]:
    """The same on a Dask cluster. A job whose worker dies is started again on another one.

    Workers must have this package and see the same files under the same paths.
    """
    try:
        from distributed import Client
        from distributed import as_completed as as_finished
    except ImportError as error:
        raise MissingExtraError("--scheduler needs Dask: pip install 'prism-vo[cluster]'.") from error
    try:
        client = Client(scheduler, timeout=patience)
    except OSError as error:
        raise ConfigError(f"No Dask scheduler answers at {scheduler}.") from error
    with client:
        futures = [client.submit(function, task, pure=False, retries=2) for task in tasks]
        owner = {future.key: task for future, task in zip(futures, tasks)}
        for future in as_finished(futures):
            yield owner[future.key], _outcome(future.result)


def _outcome(result: Callable[[], Result]) -> Result | Exception:
    try:
        return result()
    except Exception as error:
        return error
