# SPDX-License-Identifier: Apache-2.0
"""Settings: the printed listing is complete, commented and loads back; faults are one sentence."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

import pytest
import yaml

from prism_vo.cli import main
from prism_vo.config import Config
from prism_vo.config_file import commented_yaml, config_from_dict, config_to_dict, load_config
from prism_vo.errors import ConfigError, InputError


def leaves(value, prefix=""):
    for f in fields(value):
        inner = getattr(value, f.name)
        if is_dataclass(inner):
            yield from leaves(inner, f"{prefix}{f.name}.")
        else:
            yield f"{prefix}{f.name}", f.name


def test_the_listing_loads_back_to_the_defaults(tmp_path, capsys):
    assert main(["config"]) == 0
    out = capsys.readouterr().out
    (tmp_path / "all.yaml").write_text(out)
    assert load_config(tmp_path / "all.yaml") == Config()


def test_every_setting_is_listed_with_a_comment():
    lines = commented_yaml().splitlines()
    for path, name in leaves(Config()):
        assert any(line.strip().startswith(f"{name}:") and "#" in line for line in lines), path


def test_changed_settings_survive(tmp_path):
    changed = replace(Config(), seed=7, decode=replace(Config().decode, near=0.125))
    (tmp_path / "c.yaml").write_text(commented_yaml(changed))
    assert load_config(tmp_path / "c.yaml") == changed
    (tmp_path / "d.yaml").write_text(yaml.safe_dump(config_to_dict(changed)))
    assert load_config(tmp_path / "d.yaml") == changed


def test_a_part_of_the_settings_is_enough(tmp_path):
    (tmp_path / "c.yaml").write_text("decode: {near: 1e-1}\n")
    assert load_config(tmp_path / "c.yaml").decode.near == 0.1
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    assert load_config(tmp_path / "empty.yaml") == Config()


@pytest.mark.parametrize(
    "data, words",
    [
        ({"sede": 1}, "unknown key 'sede'; did you mean 'seed'"),
        ({"decode": {"naer": 1.0}}, "unknown key 'decode.naer'; did you mean 'near'"),
        ({"seed": "three"}, "key 'seed'"),
        ({"seed": 1.5}, "key 'seed'"),
        ({"decode": 3}, "key 'decode'"),
        (
            {"decode": {"near": -0.2}},
            "key 'decode.near': -0.2 is out of range; it goes from 0.0001 to 1e\\+06",
        ),
        ({"decode": {"near": float("nan")}}, "key 'decode.near': nan"),
        ([1, 2], "expected keys and values, found a list"),
    ],
)
def test_faults(tmp_path, data, words):
    with pytest.raises((ConfigError, InputError), match=words):
        config_from_dict(data, tmp_path / "c.yaml")
