# SPDX-License-Identifier: Apache-2.0
"""Numbers out of XML files, with one sentence for every fault."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

from prism_vo.bounded.files import shown
from prism_vo.bounded.xml_tree import parse_xml
from prism_vo.errors import CalibrationError

Pair = tuple[float, float]
LARGEST = 1e9  # px, mm or coefficients; powers of it can still be added up
LEAST_LENGTH = 1e-6  # mm or px


def root_name(path: Path) -> str:
    """Name of the root element of an XML file, to tell the kinds apart."""
    return parse_xml(path).tag


def expect_root(path: Path, expected: str, what: str) -> ElementTree.Element:
    """The root element, which must have one name."""
    root = parse_xml(path)
    if root.tag != expected:
        raise CalibrationError(f"{path}: root element is {shown(root.tag)}, not {expected!r}; is it {what}?")
    return root


def number(node: ElementTree.Element, name: str, path: Path) -> float:
    """The number of an element that must be there."""
    text = node.findtext(name)
    if text is None:
        raise CalibrationError(f"{path}: element {name!r} is missing.")
    return to_number(text, name, path)


def to_number(text: str, name: str, path: Path) -> float:
    """A finite number from the text of element ``name``."""
    try:
        value = float(text)
    except ValueError as error:
        raise CalibrationError(
            f"{path}: element {name!r} holds {shown(text.strip())}, not a number."
        ) from error
    if not math.isfinite(value):
        raise CalibrationError(f"{path}: element {name!r} is not finite.")
    if abs(value) > LARGEST:
        raise CalibrationError(
            f"{path}: element {name!r} is {value:g}, more than {LARGEST:g}; check the file."
        )
    return value


def positive(node: ElementTree.Element, name: str, path: Path) -> float:
    """A length that must be there: more than nothing."""
    value = number(node, name, path)
    if value < LEAST_LENGTH:
        raise CalibrationError(
            f"{path}: element {name!r} is {value:g}, less than {LEAST_LENGTH:g}; check the file."
        )
    return value


def optional(node: ElementTree.Element, name: str, path: Path, default: float = 0.0) -> float:
    """The number of an element that may be missing."""
    return default if node.find(name) is None else number(node, name, path)


def pair(node: ElementTree.Element, name: str, path: Path, first: str = "x", second: str = "y") -> Pair:
    """Two numbers inside an element."""
    return number(node, f"{name}/{first}", path), number(node, f"{name}/{second}", path)
