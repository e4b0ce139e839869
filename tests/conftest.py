# SPDX-License-Identifier: Apache-2.0
"""Property tests draw the same examples in every run, so a failure is never a matter of luck."""

from hypothesis import settings

settings.register_profile("prism-vo", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("prism-vo")
