# SPDX-License-Identifier: Apache-2.0
"""Names of the array types that every module annotates with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]  # poses, states, normal equations: wherever a sum must not lose digits
Floats = NDArray[np.float32]  # images, and whatever a kernel reads by the million
Integers = NDArray[np.int32]
Mask = NDArray[np.bool_]
