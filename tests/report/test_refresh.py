# SPDX-License-Identifier: Apache-2.0
"""A report that was written before its dense map shows it afterwards."""

from __future__ import annotations

import json

import numpy as np

from prism_vo.dense.densify import DenseMap
from prism_vo.dense.records import Mesh
from prism_vo.pipeline import RunResult
from prism_vo.report.refresh import with_dense_map


def triangle() -> DenseMap:
    corners = np.array([[0, 0, 1], [1, 0, 1], [0, 1, 1]], np.float32)
    normals = np.tile(np.array([[0, 0, -1]], np.float32), (3, 1))
    colors, sigma = np.full((3, 3), 200, np.uint8), np.full(3, 0.01, np.float32)
    return DenseMap(Mesh(corners, normals, colors, sigma, np.array([[0, 2, 1]], np.int32)))


def test_the_map_and_its_words_are_replaced_and_nothing_else(reported: RunResult) -> None:
    assert reported.out is not None
    page = (reported.out / "report.html").read_text(encoding="utf-8")
    text = with_dense_map(page, triangle())
    assert text is not None
    before, after = (_data(p) for p in (page, text))
    assert before["scene"]["cloud"]["count"] > 3
    assert after["scene"]["cloud"]["count"] == 3
    assert after["scene"]["dense"] is True
    assert after["keyframes"] == before["keyframes"]
    assert "dense map of 3 points." in text
    assert text.count("</script>") == page.count("</script>")
    assert with_dense_map(text, triangle()) == text


def test_other_pages_are_left_alone() -> None:
    assert with_dense_map("<html></html>", triangle()) is None


def _data(page: str) -> dict:  # type: ignore[type-arg]
    start = page.index('id="data">') + len('id="data">')
    return dict(json.loads(page[start : page.index("</script>", start)]))
