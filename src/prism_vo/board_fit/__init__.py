# SPDX-License-Identifier: Apache-2.0
"""The whole camera from a checkerboard: its corners as micro-images show them, many times each."""
