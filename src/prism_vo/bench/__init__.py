# SPDX-License-Identifier: Apache-2.0
"""The benchmark: recordings × methods × runs as jobs, then tables, figures and a page."""
