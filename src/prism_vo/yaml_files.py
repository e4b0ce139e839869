# SPDX-License-Identifier: Apache-2.0
"""Strict YAML: every fault of a file the user wrote becomes one sentence naming file and key."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from prism_vo.errors import InputError, PrismError

Model = TypeVar("Model", bound=BaseModel)
Validated = TypeVar("Validated")


class StrictModel(BaseModel):
    """Base of all file models: unknown keys, NaN and infinities are faults."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads ``1e-3`` as a number (YAML 1.2) and refuses a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key_node.value!r} is given twice", key_node.start_mark
                )
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def read_yaml(path: Path) -> Any:
    """Parse a YAML file or say in one sentence why not."""
    if not path.is_file():
        raise InputError(f"{path}: no such file.")
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None)
        where = f" (line {mark.line + 1}{f': {problem}' if problem else ''})" if mark is not None else ""
        raise InputError(f"{path}: not a valid YAML file{where}.") from error


def parse_strict(model: type[Model], data: Any, path: Path, kind: type[PrismError] = InputError) -> Model:
    """Validate ``data``; pydantic's list of faults becomes one sentence with a suggestion."""
    return validate_json(
        lambda text: model.model_validate_json(text, strict=True),
        data,
        path,
        kind,
        lambda location: _known_keys(model, location),
    )


def validate_json(
    validate: Callable[[str], Validated],
    data: Any,
    path: Path,
    kind: type[PrismError],
    known_keys: Callable[[tuple[int | str, ...]], list[str]],
) -> Validated:
    """Validate strictly, through JSON: lists fill tuples, whole numbers fill floats, texts do neither."""
    if not isinstance(data, dict):
        found = "nothing" if data is None else f"a {type(data).__name__}"
        raise kind(f"{path}: expected keys and values, found {found}.")
    try:
        return validate(json.dumps(data, default=str))
    except ValidationError as error:
        first = next((e for e in error.errors() if e["type"] == "extra_forbidden"), error.errors()[0])
        raise kind(f"{path}: {_sentence(first, known_keys)}") from error


def _sentence(fault: Any, known_keys: Callable[[tuple[int | str, ...]], list[str]]) -> str:
    location = tuple(fault["loc"])
    key = ".".join(str(part) for part in location)
    if fault["type"] == "extra_forbidden":
        return unknown_key(key, str(location[-1]), known_keys(location[:-1]))
    if fault["type"] == "missing":
        return f"key {key!r} is missing."
    message = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
    return f"key {key!r}: {message}." if key else f"{message}."


def unknown_key(key: str, last: str, known: list[str]) -> str:
    """The sentence for a key that does not exist, with the nearest one that does."""
    close = difflib.get_close_matches(last, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(sorted(known))}."
    return f"unknown key {key!r}; {hint}"


def _known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    fields = model.model_fields
    for part in location:
        if isinstance(part, int) or part not in fields:
            continue
        annotation: Any = fields[part].annotation
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        inner = [a for a in candidates if isinstance(a, type) and issubclass(a, BaseModel)]
        if not inner:
            return []
        fields = inner[0].model_fields
    return list(fields)
