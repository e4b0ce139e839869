# SPDX-License-Identifier: Apache-2.0
"""Settings to and from YAML: the commented listing, strict loading, exact dumping."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import yaml
from pydantic import TypeAdapter

from prism_vo.bounded.files import shown
from prism_vo.config import Config
from prism_vo.config_ranges import range_of
from prism_vo.errors import ArgumentError, ConfigError
from prism_vo.yaml_files import read_yaml, unknown_key, validate_json

LONG = 10**12  # whole numbers beyond are rounded in messages
_FIELD = re.compile(r"^    (\w+): [^#]*?(?:\s+# ?(.*))?$")


def load_config(path: Path) -> Config:
    """Read settings from YAML (any subset of them); unknown keys and wrong types are one sentence each."""
    return config_from_dict(read_yaml(path) or {}, path)


def config_from_dict(data: Any, path: Path) -> Config:
    """Strictly build settings from nested mappings; ``path`` names their source in messages."""
    _refuse_unknown(Config, data, path, "")
    adapter = TypeAdapter(Config)
    config = validate_json(
        lambda text: adapter.validate_json(text, strict=True), data, path, ConfigError, lambda _: []
    )
    check_config(config, str(path))
    return config


def check_config(config: Any, source: str = "settings", prefix: str = "") -> None:
    """Refuse values of another kind than their setting, and numbers outside its range."""
    check_kinds(config, source, prefix)
    for f in fields(config):
        value, name = getattr(config, f.name), f"{prefix}{f.name}"
        if is_dataclass(value):
            check_config(value, source, f"{name}.")
        elif isinstance(value, float | int) and not isinstance(value, bool) and value not in range_of(name):
            number = f"{value:.6g}" if isinstance(value, float) or abs(value) > LONG else str(value)
            raise ConfigError(
                f"{source}: key {name!r}: {number} is out of range; it goes from {range_of(name)}."
            )


def check_kinds(config: Any, source: str = "settings", prefix: str = "") -> None:
    """Refuse values of another kind than their setting, which Python takes."""
    hints = get_type_hints(type(config))
    for f in fields(config):
        value, name, kind = getattr(config, f.name), f"{prefix}{f.name}", hints[f.name]
        if not _is_of(value, kind):
            raise ArgumentError(f"{source}: key {name!r}: must be {_named(kind)}, not {shown(str(value))}.")
        if is_dataclass(value):
            check_kinds(value, source, f"{name}.")


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is what an annotation says; whole numbers are numbers, truth values are not."""
    choices = get_args(kind)
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in choices
    if choices:
        return any(_is_of(value, choice) for choice in choices)
    wanted = (int, float) if kind is float else kind
    return isinstance(value, wanted) and isinstance(value, bool) is (kind is bool)


def _named(kind: Any) -> str:
    """An annotation in words."""
    choices = get_args(kind)
    if get_origin(kind) is Literal:
        return " or ".join(choices)
    if choices:
        return " or ".join(_named(choice) for choice in choices)
    words = {int: "a whole number", float: "a number", bool: "True or False", NoneType: "None"}
    return words.get(kind, f"a {kind.__name__}")


def config_to_dict(config: Any) -> dict[str, Any]:
    """Nested plain mappings of all settings, ready for YAML or JSON."""
    return {f.name: _plain(getattr(config, f.name)) for f in fields(config)}


def commented_yaml(config: Config | None = None) -> str:
    """All settings as YAML, each with the comment it has in the source; loads back to the same settings."""
    return "\n".join(_lines(config or Config(), "")) + "\n"


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return config_to_dict(value)
    return list(value) if isinstance(value, tuple) else value


def _lines(config: Any, indent: str) -> list[str]:
    comments = _comments(type(config))
    lines = [f"{indent}# {(type(config).__doc__ or '').strip().splitlines()[0]}"]
    for f in fields(config):
        value = getattr(config, f.name)
        if is_dataclass(value):
            lines += ["", f"{indent}{f.name}:", *_lines(value, indent + "  ")]
            continue
        text = (
            yaml.safe_dump(_plain(value), default_flow_style=True, width=10**6).removesuffix("...\n").strip()
        )
        comment = comments.get(f.name, "")
        lines.append(
            f"{indent}{f.name}: {text}".ljust(40) + f"  # {comment}"
            if comment
            else f"{indent}{f.name}: {text}"
        )
    return lines


def _comments(kind: type) -> dict[str, str]:
    """Comment of each field: behind it, or on the lines above it."""
    out: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.getsource(kind).splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            above.append(stripped.lstrip("# "))
            continue
        match = _FIELD.match(line)
        if match:
            out[match[1]] = " ".join([*above, match[2] or ""]).strip()
        above = []
    return out


def _refuse_unknown(kind: type, data: Any, path: Path, prefix: str) -> None:
    if not isinstance(data, dict):
        return  # the validator says what is wrong with it
    hints = get_type_hints(kind)
    for key, value in data.items():
        if key not in hints:
            raise ConfigError(f"{path}: {unknown_key(f'{prefix}{key}', str(key), list(hints))}")
        if is_dataclass(hints[key]):
            _refuse_unknown(hints[key], value, path, f"{prefix}{key}.")
