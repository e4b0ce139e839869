# SPDX-License-Identifier: Apache-2.0
"""What a run found, written for other programs: poses, points and focused images in their conventions."""
