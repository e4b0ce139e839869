# SPDX-License-Identifier: Apache-2.0
"""Structure from motion with COLMAP (``pip install pycolmap``) on exported focused images: scale is free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.baselines.export import Exported
from prism_vo.baselines.external import NotInstalledError
from prism_vo.errors import InputError
from prism_vo.trajectory import Trajectory

OVERLAP = 10  # images before and after that each one is matched with
LARGEST_EXHAUSTIVE = 120  # images up to which all pairs are matched


def load_pycolmap() -> Any:
    """The package, or one sentence where it comes from."""
    try:
        import pycolmap
    except ImportError as error:
        raise NotInstalledError("colmap needs the package pycolmap: pip install pycolmap.") from error
    return pycolmap


def run_colmap(exported: Exported, work: Path, seed: int = 0) -> Trajectory:
    """Features, matches and incremental mapping with the camera fixed; poses of the images it could register."""
    pycolmap = load_pycolmap()
    view, images, database = exported.view, exported.folder / "images", work / "database.db"
    database.unlink(missing_ok=True)
    pycolmap.set_random_seed(seed)
    reader = pycolmap.ImageReaderOptions()
    reader.camera_model = "PINHOLE"
    # pixel centres lie at half integers there
    numbers = (view.focal_px, view.focal_px, view.cx + 0.5, view.cy + 0.5)
    reader.camera_params = ",".join(f"{number:.10g}" for number in numbers)
    cpu = pycolmap.Device.cpu
    single = pycolmap.CameraMode.SINGLE
    pycolmap.extract_features(database, images, camera_mode=single, reader_options=reader, device=cpu)
    if len(exported.times) <= LARGEST_EXHAUSTIVE:
        pycolmap.match_exhaustive(database, device=cpu)
    else:
        pairing = pycolmap.SequentialPairingOptions()
        pairing.overlap = OVERLAP
        pycolmap.match_sequential(database, pairing_options=pairing, device=cpu)
    return _trajectory(_mapped(pycolmap, database, images, work / "sparse"), exported)


def _mapped(pycolmap: Any, database: Path, images: Path, out: Path) -> Any:
    """The reconstruction with the most images."""
    options = pycolmap.IncrementalPipelineOptions()
    options.ba_refine_focal_length = options.ba_refine_principal_point = options.ba_refine_extra_params = (
        False
    )
    options.multiple_models = False
    out.mkdir(exist_ok=True)
    found = pycolmap.incremental_mapping(database, images, out, options)
    if not found:
        raise InputError("colmap could not reconstruct anything from these images.")
    return max(found.values(), key=lambda model: model.num_reg_images())


def _trajectory(model: Any, exported: Exported) -> Trajectory:
    times = dict(zip(sorted(p.name for p in (exported.folder / "images").iterdir()), exported.times))
    rows: list[tuple[float, Array]] = []
    for image in model.images.values():
        if not image.has_pose:
            continue
        pose = image.cam_from_world
        matrix = (pose() if callable(pose) else pose).matrix()  # a method since pycolmap 3.12
        T_cam_world = np.eye(4)
        T_cam_world[:3] = matrix
        rows.append((times[image.name], se3.inverse(T_cam_world)))
    rows.sort(key=lambda row: row[0])
    if not rows:
        raise InputError("colmap could not place any image.")
    return Trajectory(np.array([time for time, _ in rows]), np.array([pose for _, pose in rows]))
