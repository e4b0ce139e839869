# SPDX-License-Identifier: Apache-2.0
"""Recordings on disk as sequences of frames: ``open_sequence(path)``."""

from prism_vo.datasets.registry import Loader, open_sequence
from prism_vo.datasets.selection import SequencePart, part_of
from prism_vo.datasets.sequence import FileSequence, SequenceFiles
from prism_vo.datasets.source import Sequence

__all__ = ["FileSequence", "Loader", "Sequence", "SequenceFiles", "SequencePart", "open_sequence", "part_of"]
