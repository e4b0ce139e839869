# SPDX-License-Identifier: Apache-2.0
"""The window's energy (docs/method.md, eq. 11): a sum of terms."""

from __future__ import annotations

from dataclasses import dataclass

from prism_vo.window.state import State
from prism_vo.window.system import System
from prism_vo.window.terms.photometric import PhotometricTerm
from prism_vo.window.terms.term import Term


@dataclass(frozen=True)
class WindowEnergy:
    """E(state). The photometric term is named, because solvers settle what happens at the image border."""

    photometric: PhotometricTerm
    others: tuple[Term, ...] = ()

    def linearize(self, state: State) -> System:
        """H, b and E at a state."""
        system = System.at(state)
        terms: tuple[Term, ...] = (self.photometric, *self.others)
        system.energy = sum(term.linearize(state, system) for term in terms)
        return system
