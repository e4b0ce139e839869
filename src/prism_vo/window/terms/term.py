# SPDX-License-Identifier: Apache-2.0
"""The only contract between residuals and solver."""

from __future__ import annotations

from typing import Protocol

from prism_vo.window.state import State
from prism_vo.window.system import System


class Term(Protocol):
    """A summand of the window's energy (docs/method.md, eq. 11)."""

    def linearize(self, state: State, system: System) -> float:
        """Add JᵀWJ and JᵀWr at ``state`` to the blocks of ``system`` that the term touches; returns its energy."""
        ...
