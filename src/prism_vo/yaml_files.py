# SPDX-License-Identifier: Apache-2.0
"""Strict YAML: every fault of a file the user wrote becomes one sentence naming file and key."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from prism_vo.bounded.files import read_bytes, shown
from prism_vo.bounded.yaml_text import LARGEST, YamlFault, parse_yaml
from prism_vo.errors import InputError, PrismError

Model = TypeVar("Model", bound=BaseModel)
Validated = TypeVar("Validated")


class StrictModel(BaseModel):
    """Base of all file models: unknown keys, NaN and infinities are faults."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def read_yaml(path: Path) -> Any:
    """Parse a YAML file or say in one sentence why not."""
    try:
        return parse_yaml(read_bytes(path, LARGEST).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a valid YAML file.") from error
    except YamlFault as fault:
        where = f" ({fault})" if str(fault) else ""
        raise InputError(f"{path}: not a valid YAML file{where}.") from fault


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
        return validate(json.dumps(_plain(data), default=str))
    except ValidationError as error:
        first = next((e for e in error.errors() if e["type"] == "extra_forbidden"), error.errors()[0])
        raise kind(f"{path}: {_sentence(first, known_keys)}") from error


def _plain(data: Any) -> Any:
    """The same with words for keys: YAML also knows dates, numbers and nothing."""
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    return [_plain(value) for value in data] if isinstance(data, list | tuple) else data


def _sentence(fault: Any, known_keys: Callable[[tuple[int | str, ...]], list[str]]) -> str:
    location = tuple(fault["loc"])
    key = _plain_words(".".join(str(part) for part in location))
    if fault["type"] == "extra_forbidden":
        return unknown_key(key, str(location[-1]), known_keys(location[:-1]))
    if fault["type"] == "missing":
        return f"key {key!r} is missing."
    message = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
    if (
        isinstance(fault["input"], int | float)
        and "ctx" in fault
        and fault["type"].endswith(("_than", "_equal"))
    ):
        message = f"{fault['input']:.6g} is out of range; {message[0].lower()}{message[1:]}"
    return f"key {key!r}: {message}." if key else f"{message}."


def _plain_words(key: str) -> str:
    """A key as messages name it: one that nobody would write is not repeated."""
    return key if not key or shown(key) == repr(key) else "(an odd one)"


def unknown_key(key: str, last: str, known: list[str]) -> str:
    """The sentence for a key that does not exist, with the nearest one that does."""
    close = difflib.get_close_matches(last, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(sorted(known))}."
    return f"unknown key {_plain_words(key)!r}; {hint}"


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
