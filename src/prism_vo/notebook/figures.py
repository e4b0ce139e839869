# SPDX-License-Identifier: Apache-2.0
"""Figures of a path, drawn with matplotlib into a notebook or into axes somebody has already."""

from __future__ import annotations

from typing import Any

from prism_vo.arrays import Array
from prism_vo.errors import MissingExtraError
from prism_vo.notebook.directions import plane_of


def plot_path(paths: list[Array], poses: Array, axes: Any = None, label: str = "") -> Any:
    """Paths (N, 3) in the plane they fill most, one line each; the axes that were drawn into."""
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise MissingExtraError(
                "plot() needs matplotlib; install it with: pip install 'prism-vo[plot]'."
            ) from error
        axes = pyplot.subplots()[1]
    every = [path for path in paths if len(path)]
    if not every:
        return axes
    plane = plane_of(max(every, key=len), poses)
    for number, path in enumerate(every):
        axes.plot(path[:, plane.across], path[:, plane.upwards], label=label if number == 0 else None)
        axes.plot(path[:1, plane.across], path[:1, plane.upwards], "o", color=axes.lines[-1].get_color())
    axes.set_aspect("equal", adjustable="datalim")
    across, upwards = plane.labels()
    axes.set_xlabel(across)
    axes.set_ylabel(upwards)
    if plane.flip_across != axes.xaxis_inverted():
        axes.invert_xaxis()
    if plane.flip_upwards != axes.yaxis_inverted():
        axes.invert_yaxis()
    return axes
