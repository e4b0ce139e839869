# SPDX-License-Identifier: Apache-2.0
"""Raw plenoptic image → totally focused image, inverse virtual depth, variance."""

from prism_vo.lightfield.decode import Decoder
from prism_vo.lightfield.modelled import model_variance

__all__ = ["Decoder", "model_variance"]
