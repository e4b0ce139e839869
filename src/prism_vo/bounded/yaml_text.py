# SPDX-License-Identifier: Apache-2.0
"""YAML without aliases, without deep nesting, and with numbers as YAML 1.2 writes them."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

from prism_vo.bounded.files import shown

LARGEST = 256 * 1024  # bytes; the parser takes about 10 s a MB
DEEPEST = 32
LONGEST_SCALAR = 4096  # characters


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads ``1e-3`` as a number and refuses a key given twice, aliases and deep nesting."""

    depth = 0
    longest = LONGEST_SCALAR

    def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
        """One node, unless it is an alias (which can stand for any amount of memory) or nested too deeply."""
        if self.check_event(yaml.AliasEvent):
            raise self._refusal("aliases (*name) are not read; write the value out")
        event = self.peek_event()  # before anybody asks what kind of value it is, which takes time
        if isinstance(event, yaml.ScalarEvent) and len(event.value) > self.longest:
            raise self._refusal(f"a value of more than {self.longest} characters")
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._refusal(f"nested more than {DEEPEST} levels deep")
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def _refusal(self, problem: str) -> yaml.YAMLError:
        return yaml.composer.ComposerError(None, None, problem, self.peek_event().start_mark)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key is not a plain word", key_node.start_mark
                )
            if key_node.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {shown(key_node.value)} is given twice", key_node.start_mark
                )
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


class YamlFault(ValueError):
    """Why a text is not YAML that is read here; ``str()`` names the line where it is known."""


def parse_yaml(text: str, longest: int = LONGEST_SCALAR) -> Any:
    """The value of a text whose scalars have at most ``longest`` characters, or :class:`YamlFault`."""
    try:
        return yaml.load(text, Loader=type("_Limited", (_Loader,), {"longest": longest}))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}: {_problem(error)}" if mark is not None else _problem(error)
        raise YamlFault(where) from error
    except Exception as error:  # dates, numbers and bytes that the constructors stumble over in many ways
        raise YamlFault("") from error


def _problem(error: yaml.MarkedYAMLError) -> str:
    """In PyYAML's words, unless they repeat what stands in the file."""
    words = str(error.problem or "")
    return (
        words if "'" not in words or words.startswith("key ") else "a character or tag that is out of place"
    )
