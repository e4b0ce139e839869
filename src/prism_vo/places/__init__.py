# SPDX-License-Identifier: Apache-2.0
"""Places: keyframes that stay usable after they left the window, found by appearance and joined by metric poses."""
