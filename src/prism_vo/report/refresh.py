# SPDX-License-Identifier: Apache-2.0
"""A report that was written before the dense map was made gets it afterwards."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import escape

from prism_vo.report.packed_cloud import packed
from prism_vo.report.scene3d import map_words

if TYPE_CHECKING:
    from prism_vo.dense.densify import DenseMap

DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.S)
WORDS = re.compile(r'(<span id="map-words">)(.*?)(</span>)', re.S)


def with_dense_map(page: str, dense: DenseMap) -> str | None:
    """The page with the dense map instead of the points it shows; None: it is no report of this version."""
    found, words = DATA.search(page), WORDS.search(page)
    if found is None or words is None:
        return None
    try:
        data = json.loads(found[2])
        data["scene"] |= {"cloud": packed(dense.cloud, dense.spacing), "dense": True}
    except (ValueError, KeyError, TypeError):
        return None
    text = str(htmlsafe_json_dumps(data, dumps=_compact))
    page = page[: found.start(2)] + text + page[found.end(2) :]
    # the words stand above the data, so their place is still the same
    return page[: words.start(2)] + str(escape(map_words(dense.cloud, dense=True))) + page[words.end(2) :]


def _compact(value: object, **_: object) -> str:
    return json.dumps(value, separators=(",", ":"))
