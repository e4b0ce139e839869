# SPDX-License-Identifier: Apache-2.0
"""What results look like: report.html, tables, charts, figures."""
