# SPDX-License-Identifier: Apache-2.0
"""``python -m prism_vo.workers.child PARENT MODULE ARGUMENTS…``: run a module, and end when the process PARENT ends.

A worker that is killed cannot end what it has started; left alone it would go on writing where another one is told to.
"""

from __future__ import annotations

import runpy
import sys

from prism_vo.workers.processes import end_with

if __name__ == "__main__":
    parent, module, *arguments = sys.argv[1:]
    end_with(int(parent))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
