# SPDX-License-Identifier: Apache-2.0
"""``python -m prism_vo``: the same as the ``prism-vo`` command."""

import sys

from prism_vo.cli import main

sys.exit(main())
