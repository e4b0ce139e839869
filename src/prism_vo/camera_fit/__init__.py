# SPDX-License-Identifier: Apache-2.0
"""The camera's optics from a recording of any rigid scene, and a finished run adjusted as a whole."""
