# SPDX-License-Identifier: Apache-2.0
"""Raw plenoptic image → totally focused image, inverse virtual depth, variance."""

from prism_vo.lightfield.decode import Decoder

__all__ = ["Decoder"]
