# SPDX-License-Identifier: Apache-2.0
"""Images without a description of their camera: what is there, and which commands come next."""

from __future__ import annotations

import shlex
from pathlib import Path

from prism_vo.datasets.video import Video
from prism_vo.errors import InputError

GRID, MODEL = "MLA.xml", "CameraModel.xml"  # stand for files that are not in the folder


class MissingCameraError(InputError):
    """A recording whose camera is not described; ``lines`` say it at length, for ``prism-vo info``."""

    def __init__(
        self,
        path: Path,
        images: tuple[Path, ...],
        video: Path | None = None,
        lacking: str = "camera.yaml",
    ) -> None:
        self.path, self.images, self.video = path, images, video
        self.fault = f"{path}: {lacking} is missing, so nothing describes the camera"
        super().__init__(
            f"{self.fault}; `prism-vo info {shlex.quote(str(path))}` names the two commands to type next."
        )

    def lines(self) -> list[str]:
        """What was found, and the two commands to type next."""
        grid, model = _xml_files(self.path)
        folder = self.path if self.path.is_dir() else self.path.parent
        camera = folder / "camera.yaml"
        make = ["prism-vo", "import-calibration", grid, model, *self._size(), "--out", str(camera)]
        look = ["prism-vo", "info", str(self.path), "--plot", "grid.png"]
        unknown = [
            f"  ({MODEL} is what LiFCal writes when it calibrates the camera; without one, type --lens MM --pixel UM "
            "in its place, the main lens in mm and the pixel in µm: distances are then not metric yet)"
            if model == MODEL
            else "",
            f"  ({GRID} is the micro-lens calibration that came with the camera)" if grid == GRID else "",
        ]
        return [
            f"{self.path}: {self._content()}, but no camera.yaml. Type next:",
            f"  {shlex.join(make)}",
            f"  {shlex.join(look)}",
            *(line for line in unknown if line),
        ]

    def _size(self) -> list[str]:
        if self.images:
            return ["--raw-image", str(self.images[0])]
        if self.video is None:
            return ["--raw-size", "WIDTHxHEIGHT"]
        video = Video(self.video)
        return ["--raw-size", f"{video.width}x{video.height}"]

    def _content(self) -> str:
        if self.images:
            return f"{len(self.images)} image{'s' if len(self.images) > 1 else ''} ({self.images[0].name} …)"
        return "a video" if self.video is not None else "no images"


def _xml_files(path: Path) -> tuple[str, str]:
    """The vendor's grid and LiFCal's model in a folder, or what stands for them."""
    from prism_vo.optics.vendor import GRID_ROOTS, MODEL_ROOT, root_name

    folder = path if path.is_dir() else path.parent
    by_root: dict[str, str] = {}
    for file in sorted(folder.glob("*.xml")):
        try:
            by_root.setdefault(root_name(file), str(file))
        except InputError:  # somebody else's file
            continue
    grid = next((by_root[root] for root in GRID_ROOTS if root in by_root), GRID)
    return grid, by_root.get(MODEL_ROOT, MODEL)
