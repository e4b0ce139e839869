# SPDX-License-Identifier: Apache-2.0
"""Helpers of these tests are importable whatever the working folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
