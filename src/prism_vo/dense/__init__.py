# SPDX-License-Identifier: Apache-2.0
"""A dense metric map from the keyframes of a run: depth refined by several views, fused, as cloud and mesh."""
