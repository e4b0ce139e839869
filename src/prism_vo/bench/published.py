# SPDX-License-Identifier: Apache-2.0
"""Figures printed in the PRISM-VO paper (Fleith, Zirbel, Cremers, Zeller, 2026).

They were measured by its authors on REAL recordings. They stand beside ours for orientation; simulated
sequences of the same names are other scenes, so the two columns are never the same experiment.
"""

from __future__ import annotations

LABEL = "paper, measured on the real data"

# Table 1: bounds of the four drift metrics, and how many of the 11 loops stay under each
LOOP_COUNT = 11
SCALE_BOUNDS = (1.05, 1.1, 1.3)  # d_s' and e_s'
ALIGN_BOUNDS = (1.0, 2.0, 4.0)  # e_align, % of the path
ROTATION_BOUNDS = (1.0, 2.0, 4.0)  # e_r, degrees
LOOPS_UNDER_BOUNDS: dict[str, dict[str, tuple[int, int, int]]] = {
    "PRISM-VO": {"d_s": (5, 8, 10), "e_s": (7, 7, 10), "e_align": (4, 6, 10), "e_r": (6, 8, 10)},
    "SPO": {"d_s": (5, 7, 9), "e_s": (7, 8, 9), "e_align": (2, 6, 9), "e_r": (3, 7, 8)},
}

# Table 2: LiFMCR, (RMSE_t in mm, RMSE_r in degrees) a scene
LIFMCR_METHODS = ("PRISM-VO", "DSO", "ORB-SLAM3", "DPVO")
LIFMCR_RMSE: dict[str, tuple[tuple[float, float], ...]] = {
    "01": ((41.66, 2.98), (59.32, 48.56), (271.24, 98.79), (607.44, 3.62)),
    "02": ((57.81, 6.09), (112.56, 21.24), (316.78, 25.66), (356.60, 2.60)),
    "03": ((38.34, 2.86), (326.70, 1.97), (123.20, 10.71), (169.23, 2.04)),
    "04": ((10.53, 2.83), (150.89, 87.20), (261.02, 45.97), (268.47, 3.01)),
    "05": ((9.32, 2.89), (239.16, 9.15), (121.64, 56.93), (219.66, 2.92)),
    "06": ((12.21, 3.31), (543.90, 164.22), (773.65, 153.28), (704.67, 163.09)),
    "07": ((110.87, 11.86), (253.36, 162.17), (225.55, 21.12), (5.87, 1.99)),
}

# η of one sequence (1782 frames): range of the plot
ETA_RANGE = (1250.0, 2800.0)
