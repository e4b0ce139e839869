# SPDX-License-Identifier: Apache-2.0
"""``prism-vo config``: every setting with its default and comment."""

from __future__ import annotations

from prism_vo.commands.quiet import Quiet


def config(*, quiet: Quiet = False) -> None:
    """Print all settings as YAML with their defaults and comments."""
    from prism_vo.config_file import commented_yaml

    print(commented_yaml(), end="")
