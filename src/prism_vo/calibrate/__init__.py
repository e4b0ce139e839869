# SPDX-License-Identifier: Apache-2.0
"""Calibration from images: the micro-lens grid, lens types, vignetting."""
