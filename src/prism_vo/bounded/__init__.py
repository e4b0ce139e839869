# SPDX-License-Identifier: Apache-2.0
"""Reading of files that nobody vouches for: what they claim is looked at before memory or time is spent on it."""
