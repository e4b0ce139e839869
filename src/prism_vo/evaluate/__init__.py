# SPDX-License-Identifier: Apache-2.0
"""Metrics of trajectories and of decoded images; nothing here opens a file."""
