# SPDX-License-Identifier: Apache-2.0
"""One valid file of every kind the program reads, what reads it, and how it is changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import cv2
import numpy as np

from benchmarks import fuzz_kept_files as kept
from benchmarks import fuzz_mutations as change
from prism_vo.baselines.external import read_programs
from prism_vo.bench import figures, tables
from prism_vo.bench.jobs import Job
from prism_vo.bench.record_file import read_record
from prism_vo.bench.recordings import read_stats
from prism_vo.bench.results import DRIFT, RMSE_T_PERCENT, Results
from prism_vo.bounded.json_text import read_json_lines
from prism_vo.calibrate.grid_file import load_grid_file
from prism_vo.cloud import PointCloud, read_ply, write_ply
from prism_vo.config_file import commented_yaml, load_config
from prism_vo.datasets import open_sequence
from prism_vo.datasets.images import read_image, read_map
from prism_vo.optics.calibration import Calibration, load_calibration, save_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.summary import summarise
from prism_vo.optics.vendor import calibration_from_vendor, grid_readings, read_lifcal_model, read_vendor_grid
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.user_mesh import load_mesh_scene, orbit
from prism_vo.simulate.write import check_folder
from prism_vo.trajectory import Trajectory, read_trajectory, write_trajectory
from prism_vo.types import RawFrame
from prism_vo.view.replay import _log_statistics

WIDTH, HEIGHT = 64, 48
CAMERA = {
    "sensor": {"width": WIDTH, "height": HEIGHT, "pixel_size_um": 8.0},
    "main_lens": {"focal_length_mm": 16.0, "mla_distance_mm": 15.3, "principal_point_px": (31.0, 24.0)},
    "mla": {
        "sensor_distance_mm": 0.35,
        "pitch_px": 9.0,
        "origin_px": (30.0, 25.0),
        "lens_types": [{"focus_virtual_depth": 3.0}],
    },
    "frame_rate": 20.0,
}
RAYTRIX = (
    '<?xml version="1.0"?><RayCalibData version="1"><offset><x>3.7</x><y>-5.2</y></offset><diameter>14.3</diameter>'
    "<rotation>0.0123</rotation><lens_border>1.0</lens_border><tcp>2.0</tcp><lens_base_x><x>1.0</x><y>0.0</y>"
    "</lens_base_x><lens_base_y><x>0.5</x><y>0.8660254</y></lens_base_y>"
    '<lens_type id="0"><offset><x>0.0</x><y>0.0</y></offset><depth_range><min>2.0</min><max>2.8</max></depth_range>'
    '</lens_type><lens_type id="1"><offset><x>1.0</x><y>0.0</y></offset><depth_range><min>2.6</min><max>4.0</max>'
    '</depth_range></lens_type><lens_type id="2"><offset><x>-1.0</x><y>0.0</y></offset><depth_range><min>3.5</min>'
    '<max>6.0</max></depth_range></lens_type><distortion type="Brown"><function>Brown</function>'
    '<parameter count="2" units="mm">1e-5 2e-7</parameter></distortion></RayCalibData>'
)
CORNERS = (
    "<TSPCCalibData><diameter>20.0</diameter><rotation>0.0</rotation><centers><ltop><x>10</x><y>10</y></ltop><rtop>"
    "<x>1010</x><y>10</y></rtop><lbot><x>10</x><y>1009</y></lbot><rbot><x>1010</x><y>1009</y></rbot></centers>"
    "</TSPCCalibData>"
)
LIFCAL = (
    '<?xml version="1.0" encoding="UTF-8"?><Root><CalibrationModel>Plenoptic</CalibrationModel><ImageSize units="pix">'
    '<Width>150</Width><Height>130</Height></ImageSize><PixelSize units="mm">0.0055</PixelSize><PrincipalPoint><x>74.3'
    "</x><y>66.1</y></PrincipalPoint><FocalLength>16.01</FocalLength><MainLensMlaDistance>15.31</MainLensMlaDistance>"
    "<SensorMlaDistance>0.352</SensorMlaDistance><RadialDistortion><A0>0.0001</A0><A1>-2e-06</A1></RadialDistortion>"
    "<TangentialDistortion><B0>3e-05</B0><B1>-4e-05</B1></TangentialDistortion></Root>"
)


@dataclass(frozen=True)
class Target:
    """A file, who reads it, and the changes that suit its format."""

    name: str
    file: Path
    read: Callable[[Path], object]
    changes: tuple[change.Mutation, ...]

    def mutant(self, intact: bytes, rng: Random) -> bytes:
        """A changed copy; now and then changed twice."""
        data = rng.choice(self.changes)(intact, rng)
        return change.bytes_changed(data, rng) if rng.random() < 0.1 else data


PLAIN = (change.bytes_changed,)
TEXT = (change.bytes_changed, change.number_changed, change.lines_changed)
YAML = (change.yaml_changed, change.yaml_changed, *TEXT)
XML = (change.xml_changed, change.xml_changed, change.number_changed, change.bytes_changed)
HEADER = (change.integer_changed, change.integer_changed, change.bytes_changed)


def all_targets(folder: Path) -> list[Target]:
    """Writes the valid files into an empty folder."""
    return [
        *_descriptions(folder),
        *_recordings(folder),
        *_images(folder),
        *_vendor(folder),
        *_results(folder),
        *_meshes(folder),
        *_kept(folder),
    ]


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _picture(dtype: Any = np.uint8, channels: int = 0) -> Any:
    shape = (HEIGHT, WIDTH, channels) if channels else (HEIGHT, WIDTH)
    return np.random.default_rng(3).integers(0, np.iinfo(dtype).max, shape).astype(dtype)


def _camera(path: Path) -> None:
    summarise(PlenopticCamera.from_calibration(load_calibration(path)))


def _descriptions(folder: Path) -> list[Target]:
    camera = folder / "camera.yaml"
    save_calibration(Calibration.model_validate(CAMERA), camera)
    grid = {"format": "prism-vo/grid/1", "sensor": {"width": 64, "height": 48}}
    mla = {
        "layout": "hexagonal",
        "pitch_px": 9.0,
        "rotation_rad": 0.1,
        "origin_px": [3.0, 4.0],
        "border_px": 1.0,
    }
    options = SimulateOptions(camera="mini", frames=3)
    record = json.dumps(options.record("table"))
    programs = "dso: {executable: [/opt/dso_dataset], timeout: 60}\norbslam3: {vocabulary: ORBvoc.txt}\n"
    return [
        Target("camera.yaml", camera, _camera, YAML),
        Target("config.yaml", _written(folder / "config.yaml", commented_yaml()), load_config, YAML),
        Target(
            "grid.yaml", _written(folder / "grid.yaml", json.dumps(grid | {"mla": mla})), load_grid_file, YAML
        ),
        Target("programs.yaml", _written(folder / "programs.yaml", programs), read_programs, YAML),
        Target(
            "simulation.yaml",
            _written(folder / "simulation" / "simulation.yaml", record),
            lambda path: check_folder(path.parent, "table", options),
            YAML,
        ),
    ]


def _every_frame(folder: Path) -> None:
    sequence = open_sequence(folder)
    for frame in sequence:
        del frame
    del sequence.white


def _open(folder: Path) -> None:
    sequence = open_sequence(folder)
    _ = (sequence[0], sequence.white)


def _recordings(folder: Path) -> list[Target]:
    raw, decoded = folder / "recording", folder / "decoded"
    for place in (raw, decoded):
        place.mkdir()
        save_calibration(Calibration.model_validate(CAMERA), place / "camera.yaml")
    for part in ("raw", "../decoded/focused", "../decoded/virtual_depth", "../decoded/virtual_depth_sigma"):
        (raw / part).mkdir()
    for k in range(2):
        cv2.imwrite(str(raw / "raw" / f"{k:06d}.png"), _picture())
    cv2.imwrite(str(raw / "white.png"), _picture())
    rho = np.full((HEIGHT // 2, WIDTH // 2), 0.4, np.float32)
    cv2.imwrite(str(decoded / "focused" / "0.png"), _picture()[::2, ::2])
    np.save(decoded / "virtual_depth" / "0.npy", rho)
    cv2.imwrite(str(decoded / "virtual_depth_sigma" / "0.tiff"), rho)
    video = cv2.VideoWriter(
        str(folder / "clip.mkv"), cv2.VideoWriter.fourcc(*"FFV1"), 20.0, (WIDTH, HEIGHT), isColor=False
    )
    for _ in range(3):
        video.write(_picture())
    video.release()
    manifest = "format: prism-vo/sequence/1\nraw: raw/*.png\ncamera: camera.yaml\ntimes: times.txt\nwhite: white.png\n"
    form = "{view: central, convention: 'true', virtual_depth: float32, sigma: float32}"
    poses = Trajectory(np.arange(4.0), np.tile(np.eye(4), (4, 1, 1)))
    write_trajectory(poses, folder / "tum.txt")
    write_trajectory(poses, folder / "kitti.txt", "kitti")
    write_trajectory(poses, folder / "euroc.csv", "euroc")
    times = _written(raw / "times.txt", "0 0.01\n0.1 0.01\n")
    described = _written(raw / "sequence.yaml", manifest)
    return [
        Target("sequence.yaml", described, lambda path: _open(path.parent), YAML),
        Target("times.txt", times, lambda path: _open(path.parent), TEXT),
        Target("decoded.yaml", _written(decoded / "decoded.yaml", form), lambda p: _open(p.parent), YAML),
        Target("depth map .npy", decoded / "virtual_depth" / "0.npy", read_map, (change.npy_changed, *PLAIN)),
        Target(
            "depth map in use",
            decoded / "virtual_depth" / "0.npy",
            lambda _: _open(decoded),
            (change.npy_changed,),
        ),
        Target("sigma map .tiff", decoded / "virtual_depth_sigma" / "0.tiff", read_map, HEADER),
        Target("video .mkv", folder / "clip.mkv", lambda path: _video(path, folder / "camera.yaml"), PLAIN),
        Target("trajectory TUM", folder / "tum.txt", read_trajectory, TEXT),
        Target("trajectory KITTI", folder / "kitti.txt", read_trajectory, TEXT),
        Target("trajectory EuRoC", folder / "euroc.csv", read_trajectory, TEXT),
    ]


def _video(path: Path, camera: Path) -> None:
    sequence = open_sequence(path, camera=camera)
    _ = sequence[len(sequence) - 1]


def _images(folder: Path) -> list[Target]:
    kinds = {
        "grey.png": _picture(),
        "deep.png": _picture(np.uint16),
        "colour.png": _picture(np.uint8, 3),
        "alpha.png": _picture(np.uint8, 4),
        "grey.tif": _picture(np.uint16),
        "colour.tif": _picture(np.uint8, 3),
        "grey.bmp": _picture(),
        "colour.bmp": _picture(np.uint8, 3),
        "grey.pgm": _picture(np.uint16),
        "colour.ppm": _picture(np.uint8, 3),
        "grey.jpg": _picture(),
        "colour.jpg": _picture(np.uint8, 3),
    }
    found = []
    for name, image in kinds.items():
        cv2.imwrite(str(folder / name), image)
        changes = (change.png_changed, *HEADER) if name.endswith("png") else HEADER
        if name.endswith("m"):
            changes = (change.number_changed, *HEADER)
        found.append(Target(f"image {name}", folder / name, read_image, changes))
    return found


def _vendor(folder: Path) -> list[Target]:
    grid, corners = _written(folder / "mla.xml", RAYTRIX), _written(folder / "corners.xml", CORNERS)
    model = _written(folder / "CameraModel.xml", LIFCAL)
    intact = read_lifcal_model(model)

    def joined(path: Path) -> None:
        calibration = calibration_from_vendor(read_vendor_grid(path), intact, (300, 260))
        summarise(PlenopticCamera.from_calibration(calibration))

    lattice = read_vendor_grid(grid)
    return [
        Target("Raytrix XML", grid, joined, XML),
        Target("TSPC XML", corners, lambda path: grid_readings(read_vendor_grid(path), (1024, 1024)), XML),
        Target(
            "LiFCal XML",
            model,
            lambda p: calibration_from_vendor(lattice, read_lifcal_model(p), (300, 260)),
            XML,
        ),
    ]


class _Recorder:
    """Stands for Rerun: takes what it is given, if it is what Rerun takes."""

    def set_time(self, name: str, *, sequence: int) -> None:
        """Rerun takes 64-bit numbers."""
        assert -(1 << 63) <= sequence < 1 << 63

    def log(self, name: str, value: object) -> None:
        """Anything."""

    def Scalars(self, value: float) -> float:
        """Rerun takes numbers."""
        return float(value)


def _results(folder: Path) -> list[Target]:
    results = folder / "results"
    line = {
        "frame": 0, "time": 0.0, "state": "keyframe", "rms": 3.1, "eta": 12.0, "seconds": {"track": 0.1, "decode": 0.2},
    }  # fmt: skip
    stats = _written(
        results / "output" / "stats.jsonl", "".join(json.dumps(line | {"frame": k}) + "\n" for k in range(4))
    )
    job = Job("loop", "/recordings/loop", "loops", "prism", 0, str(results))
    aligned = dict.fromkeys(("rmse_t_m", "rmse_t_percent", "rmse_r_deg", "rpe_t_m"), 0.1)
    drift = dict.fromkeys(("d_s_prime", "e_s_prime", "e_r_deg", "e_align_percent"), 1.1)
    record = {
        "job": asdict(job), "status": "ok", "error": "", "alignment": "SE(3)", "seconds": 3.0, "frames": 9, "lost": 0,
        "method_seconds": 2.0, "detail": "", "version": "1",
        "metrics": {"se3": aligned, "sim3": aligned, "drift": drift, "scale_error": 0.01, "covered": 1.0},
    }  # fmt: skip
    stored = _written(folder / "result.json", json.dumps(record))
    cloud = folder / "points.ply"
    write_ply(
        PointCloud(np.zeros((5, 3), np.float32), np.zeros((5, 3), np.uint8), np.ones(5, np.float32)), cloud
    )
    of_job = Results((record,))
    return [
        Target("stats.jsonl, view", stats, _replayed, (change.json_lines_changed, *TEXT)),
        Target(
            "stats.jsonl, bench",
            stats,
            lambda _: figures.eta_of(read_stats(of_job, "prism", "loop")),
            (change.json_lines_changed, *TEXT),
        ),
        Target("result.json", stored, _tabled, (change.json_changed, change.json_changed, *TEXT)),
        Target("points.ply", cloud, read_ply, (change.number_changed, change.lines_changed, *PLAIN)),
    ]


def _replayed(path: Path) -> None:
    recorder = _Recorder()
    for values in read_json_lines(path):
        _log_statistics(recorder, recorder, values, path)


def _tabled(path: Path) -> None:
    record = read_record(path)
    if record is not None:
        results = Results((record,))
        tables.median_table(results, (*DRIFT, RMSE_T_PERCENT), "x").text()
        tables.cost_table(results).latex()


def _meshes(folder: Path) -> list[Target]:
    import trimesh

    box = trimesh.creation.box((1.0, 1.0, 1.0))
    found = []
    for kind in ("obj", "glb", "stl", "ply", "gltf"):
        path = folder / f"box.{kind}"
        made = box.export(file_type=kind)
        if isinstance(made, dict):  # gltf: several files
            for name, data in made.items():
                (folder / name).write_bytes(data)
            (folder / "model.gltf").rename(path)
        else:
            path.write_bytes(made.encode() if isinstance(made, str) else made)
        special: dict[str, tuple[change.Mutation, ...]] = {
            "obj": TEXT,
            "glb": (change.glb_changed, *HEADER),
            "gltf": (change.json_changed, *TEXT),
            "ply": (change.number_changed, change.lines_changed, *PLAIN),
        }
        found.append(
            Target(f"mesh .{kind}", path, lambda p: orbit(load_mesh_scene(p)), special.get(kind, HEADER))
        )
    return found


def _kept(folder: Path) -> list[Target]:
    bags = kept.write_bags(folder, [_picture(), _picture()])
    for place in {path for path in folder.glob("ros_*")}:
        save_calibration(Calibration.model_validate(CAMERA), place / "camera.yaml")
    stored = folder / "small.map"
    kept.write_small_map(stored, PlenopticCamera.from_calibration(Calibration.model_validate(CAMERA)))
    state = {"array": np.arange(9.0), "frame": RawFrame(3, 0.1, _picture()), "rng": np.random.default_rng(1)}
    unfinished = folder / "unfinished"
    kept.write_unfinished(unfinished, state)
    checkpoint, records, marker = (unfinished / name for name in kept.KEPT_FILES)
    resumed = kept.reader_of_unfinished(_picture())
    forged = (kept.state_changed, kept.state_changed, kept.header_changed, *TEXT)
    return [
        Target("ROS 1 .bag", bags["bag"], kept.read_bag, HEADER),
        Target("ROS 2 .db3", bags["db3"], kept.read_bag, HEADER),
        Target("ROS 2 .mcap", bags["mcap"], kept.read_bag, HEADER),
        Target("ROS 2 metadata.yaml", bags["db3"].parent / "metadata.yaml", kept.read_bag, YAML),
        Target("rosbag.yaml", bags["bag"].parent / "rosbag.yaml", kept.read_bag, YAML),
        Target(".map", stored, kept.read_whole_map, (kept.header_changed, kept.header_changed, *HEADER)),
        Target("checkpoint.bin", checkpoint, resumed, forged),
        Target("checkpoint.records", records, resumed, HEADER),
        Target("marker", marker, kept.read_folder_marker, (change.json_changed, change.json_changed, *TEXT)),
    ]
