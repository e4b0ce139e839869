# SPDX-License-Identifier: Apache-2.0
"""Cameras as sources of frames: whatever delivers images, a bounded queue, and the count of what was lost."""
