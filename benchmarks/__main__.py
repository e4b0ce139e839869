# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks``: time every workload, print milliseconds (absolute times are never asserted)."""

from __future__ import annotations

from benchmarks import decode, foundation

SOURCES = (foundation.workloads, decode.workloads)


def main() -> None:
    """One line a workload."""
    for source in SOURCES:
        for workload in source():
            print(f"{workload.milliseconds():10.1f} ms  {workload.name}", flush=True)


if __name__ == "__main__":
    main()
