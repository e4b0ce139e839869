# SPDX-License-Identifier: Apache-2.0
"""The public names exist, and importing the package or asking for help loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import prism_vo


@pytest.mark.parametrize("name", prism_vo.__all__)
def test_name_is_there_and_documented(name: str) -> None:
    assert getattr(prism_vo, name).__doc__


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Slam'"):
        _ = prism_vo.Slam


def test_help_loads_no_numerics() -> None:
    code = "import sys, prism_vo.cli as c; c.main(['--help']); print([m for m in ('numba', 'cv2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
