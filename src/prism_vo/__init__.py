# SPDX-License-Identifier: Apache-2.0
"""prism-vo: metric visual odometry with a single focused plenoptic camera."""

__version__ = "0.1.0"
