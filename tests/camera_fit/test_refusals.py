# SPDX-License-Identifier: Apache-2.0
"""Recordings from which no camera can be found: rendered, refused in one sentence, nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.cli import main
from prism_vo.optics.calibration import Calibration, save_calibration
from prism_vo.simulate import Renderer, build_scene, preset_camera
from prism_vo.simulate.mesh import Material, MeshBuilder
from prism_vo.simulate.scene import Scene, plane_scene
from prism_vo.simulate.textures import atlas_for

FRAMES = 9


def sideways(k: int) -> Array:
    """Two centimetres a frame."""
    return se3.exp(np.array([0.02 * k, 0.008 * k, 0.01 * np.sin(k), 0.0, 0.0, 0.004 * k]))


def turning(k: int) -> Array:
    """About the camera's own centre."""
    return se3.exp(np.array([0.0, 0.0, 0.0, 0.006 * k, -0.015 * k, 0.01 * k]))


def filmed(
    folder: Path, scene: Scene, path: Callable[[int], Array], camera: Calibration | None = None
) -> Path:
    """A recording; ``camera``: what its file claims."""
    true = preset_camera("mini")
    renderer = Renderer(true, scene)
    (folder / "raw").mkdir(parents=True)
    for k in range(FRAMES):
        image = renderer.raw(path(k), frame=k, time=0.1 * k)
        cv2.imwrite(str(folder / "raw" / f"{k:06d}.png"), image)
    cv2.imwrite(str(folder / "white.png"), renderer.white())
    save_calibration(camera or true, folder / "camera.yaml")
    return folder


def two_worlds() -> Scene:
    """A wall, and before its left half another one that moves by itself."""

    def moving(time: float) -> MeshBuilder:
        builder = MeshBuilder()
        origin = (-0.9 + 0.3 * np.sin(4.0 * time), -0.8, 0.95 - 0.4 * time)
        builder.quad(origin, (0.9, 0, 0), (0, 1.6, 0), Material("clutter", 0.4, macro=0.0))
        return builder

    still = MeshBuilder()
    still.quad((-3, -3, 1.6), (6, 0, 0), (0, 6, 0), Material("clutter", 0.5, macro=0.0))
    return Scene("two worlds", still, atlas_for({"clutter"}), moving)


def another_grid() -> Calibration:
    """The file of a camera with lenses that are six per cent farther apart."""
    data = preset_camera("mini").model_dump()
    data["mla"]["pitch_px"] *= 1.06
    return Calibration.model_validate(data)


@pytest.mark.parametrize("kind", ["pure rotation", "flat", "moving", "another grid"])
def test_refused(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if kind == "pure rotation":
        folder, words = filmed(tmp_path / "r", build_scene("table"), turning), ("only turns",)
    elif kind == "flat":
        folder, words = filmed(tmp_path / "r", plane_scene(1.2), sideways), ("flat",)
    elif kind == "moving":
        folder, words = (
            filmed(tmp_path / "r", two_worlds(), sideways),
            ("nothing moves", "could not be followed", "broke off"),
        )
    else:
        folder = filmed(tmp_path / "r", build_scene("table"), sideways, another_grid())
        words = ("grid", "could not be followed")
    out = tmp_path / "camera.yaml"
    assert main(["calibrate", "camera", str(folder), "--out", str(out), "--no-threads"]) == 2
    error = capsys.readouterr().err
    assert any(w in error for w in words), error
    assert "Traceback" not in error
    assert not out.exists()
