# SPDX-License-Identifier: Apache-2.0
"""A run's state on disk, from which it goes on after whatever ended it, to the same bytes as without the break."""
