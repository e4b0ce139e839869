# SPDX-License-Identifier: Apache-2.0
"""Fills the page templates. Every page is one file: its styles, scripts and pictures are inside it.

Values are plain data: whatever a recording is called, its name can neither become markup nor a template.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def render(template: str, **values: object) -> str:
    """The text of ``templates/<template>`` with these values."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("prism_vo.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    environment.globals["asset"] = _asset
    return environment


def _asset(name: str) -> Markup:
    """A style sheet or script of this package; its braces mean nothing to the template."""
    return Markup((files("prism_vo.report") / "assets" / name).read_text("utf-8"))
