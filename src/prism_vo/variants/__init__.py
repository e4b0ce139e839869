# SPDX-License-Identifier: Apache-2.0
"""The variants of the method, by the names that settings use."""

from prism_vo.variants.measured import Full, Plenoptic
from prism_vo.variants.pinhole import Pinhole
from prism_vo.variants.variant import Variant

VARIANTS: dict[str, Variant] = {variant.name: variant for variant in (Full(), Plenoptic(), Pinhole())}

__all__ = ["VARIANTS", "Variant"]
