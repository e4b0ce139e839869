# SPDX-License-Identifier: Apache-2.0
"""Timed workloads (``python -m benchmarks``) and the mutation check of the geometry."""
