# SPDX-License-Identifier: Apache-2.0
"""XML as a tree: no document types and entities, a limited number of elements and levels."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from prism_vo.bounded.files import MB, read_bytes
from prism_vo.errors import InputError

LARGEST = 16 * MB
MOST_ELEMENTS = 200_000
DEEPEST = 64


class _Builder:
    """Feeds a tree builder and counts."""

    def __init__(self) -> None:
        self.tree = ElementTree.TreeBuilder()
        self.depth = self.count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self.depth += 1
        self.count += 1
        if self.depth > DEEPEST or self.count > MOST_ELEMENTS:
            raise ValueError(f"more than {DEEPEST} levels or {MOST_ELEMENTS} elements")
        self.tree.start(name, attributes)

    def end(self, name: str) -> None:
        """An element ends."""
        self.depth -= 1
        self.tree.end(name)

    def refuse(self, *_: object) -> None:
        """A document type may define entities that stand for any amount of text, or name other files."""
        raise ValueError("it has a document type (<!DOCTYPE>), which is not read")


def parse_xml(path: Path) -> ElementTree.Element:
    """The root element of a file."""
    data, builder = read_bytes(path, LARGEST), _Builder()
    parser = expat.ParserCreate()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.tree.data
    parser.StartDoctypeDeclHandler = builder.refuse
    parser.buffer_text = True
    try:
        parser.Parse(data, True)
        return builder.tree.close()
    except expat.ExpatError as error:
        raise InputError(f"{path}: not an XML file (line {error.lineno}).") from error
    except ValueError as error:
        raise InputError(f"{path}: not an XML file that is read here: {error}.") from error
    except (LookupError, AssertionError) as error:  # an encoding nobody knows
        raise InputError(f"{path}: not an XML file.") from error
