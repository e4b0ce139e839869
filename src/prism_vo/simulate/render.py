# SPDX-License-Identifier: Apache-2.0
"""Raw plenoptic images, white images and exact pinhole views of a scene.

Shares no projection code with the decoder: rays leave sensor pixels by the formula of the camera model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.errors import ConfigError
from prism_vo.optics.calibration import Calibration
from prism_vo.simulate import kernels
from prism_vo.simulate.optics import MM, sensor_rays
from prism_vo.simulate.records import Bundle, Sample, ViewNumbers
from prism_vo.simulate.scene import Geometry, Scene
from prism_vo.simulate.sensor import SensorModel, develop
from prism_vo.simulate.trace import first_depth, gather

BAND_RAYS = 1 << 16  # rays a band: the buffers of two threads stay in the cache
GREY = 3


@dataclass(frozen=True)
class ViewTruth:
    """What an ideal pinhole sees on the totally focused grid: noise-free grey 0–255 and z_C in metres."""

    image: Floats
    depth: Floats


class Renderer:
    """Films one scene with one camera.

    ``samples`` rays a raw pixel (a square number); ``aperture``: radius of the micro-lenses as a share of half their
    pitch, 0 for pinholes. The result does not depend on ``threads``.
    """

    def __init__(
        self,
        calibration: Calibration,
        scene: Scene,
        *,
        samples: int = 4,
        aperture: float = 0.5,
        threads: int = 2,
        sensor: SensorModel | None = None,
        seed: int = 0,
    ) -> None:
        side = round(samples**0.5)
        if side * side != samples or samples < 1:
            raise ConfigError(
                f"The number of samples a pixel must be a square (1, 4, 9, 16 …), not {samples}."
            )
        if not 0.0 <= aperture <= 1.0:
            raise ConfigError(f"The micro-lens aperture must lie between 0 (pinhole) and 1, not {aperture}.")
        self.calibration, self.scene, self.seed = calibration, scene, seed
        self.sensor = sensor or SensorModel()
        self._side, self._threads = side, max(1, threads)
        self._rays = sensor_rays(calibration, aperture, samples)

    @property
    def vignetting(self) -> Floats:
        """Share of the light each raw pixel receives (H, W)."""
        return self._rays.tables.weight

    def white(self) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """The image of an evenly lit diffuser, without noise."""
        still = SensorModel(self.sensor.bits, noise=0.0, gain=200.0 / 255.0)
        return develop(self._rays.tables.weight, still, self.calibration.response.gamma, 1.0, (0, 0))

    def raw(
        self,
        T_world_cam: Array | Sequence[Array],
        *,
        frame: int = 0,
        time: float = 0.0,
        exposure: float = 1.0,
        shutter: float = 0.0,
    ) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """One recorded image. Several poses, spread evenly over ``shutter`` seconds from ``time`` on, blur the motion.

        ``exposure`` is relative to the nominal one; ``frame`` picks the noise.
        """
        light = self.irradiance(T_world_cam, frame=frame, time=time, shutter=shutter)
        return develop(light, self.sensor, self.calibration.response.gamma, exposure, (self.seed, frame))

    def irradiance(
        self,
        T_world_cam: Array | Sequence[Array],
        *,
        frame: int = 0,
        time: float = 0.0,
        shutter: float = 0.0,
        channel: int | None = None,
    ) -> Floats:
        """Light on the sensor (H, W) before noise and quantisation; 1 is a white surface in full light.

        ``channel``: that all pixels see (0 R, 1 G, 2 B, 3 grey) instead of those of the camera's mosaic.
        """
        poses = _pose_list(T_world_cam)
        r = self._rays
        tables = r.tables if channel is None else r.tables._replace(cfa=np.full((2, 2), channel, np.int8))
        count = self._side**2
        key = (self.seed * 1_000_003 + frame * 8191) & 0x3FFFFFFF
        out = np.zeros((r.height, r.width), np.float32)
        which = _shared_out(len(poses), count)
        order = np.random.default_rng((self.seed, frame, 17)).permutation(
            count
        )  # pixel cell of each sub-pose
        for index in sorted(set(which)):
            when = time + shutter * index / max(len(poses) - 1, 1)
            geometry = self.scene.geometry(when)
            mine = [int(order[k]) for k in range(count) if which[k] == index]

            def band(
                row0: int, row1: int, g: Geometry = geometry, cells: list[int] = mine, p: Array = poses[index]
            ) -> None:
                rays = Bundle.empty((row1 - row0) * r.width)
                flat = out[row0:row1].reshape(-1)
                for cell in cells:
                    sample = Sample(cell, self._side, key)
                    n = kernels.rays_raw(row0, row1, sample, tables, p, rays)
                    gather(self.scene, g, rays, n, r.spread, flat)

            self._bands(band, r.height, r.width)
        out *= r.tables.weight / count
        return out

    def view_truth(
        self,
        T_world_cam: Array,
        view: Literal["central", "focal"] = "central",
        *,
        time: float = 0.0,
        samples: int = 16,
        exposure: float = 1.0,
    ) -> ViewTruth:
        """Exact image (mean over each TF pixel's area) and depth (at its centre) of a focused view."""
        numbers = self._view_numbers(view)
        color = self._pinhole(T_world_cam, numbers, time, samples, (GREY,))[0]
        image = np.clip(color * (255.0 * self.sensor.gain * exposure), 0.0, 255.0).astype(np.float32)
        return ViewTruth(image, self.depth(T_world_cam, view, time=time))

    def color_view(self, T_world_cam: Array, *, time: float = 0.0, samples: int = 16) -> NDArray[np.uint8]:
        """The central view in RGB (h, w, 3)."""
        planes = self._pinhole(T_world_cam, self._view_numbers("central"), time, samples, (0, 1, 2))
        return np.clip(np.stack(planes, -1) * (255.0 * self.sensor.gain) + 0.5, 0, 255).astype(np.uint8)

    def depth(
        self, T_world_cam: Array, view: Literal["central", "focal"] = "central", *, time: float = 0.0
    ) -> Floats:
        """z_C (h, w) in metres at the TF pixel centres; inf where there is only sky."""
        numbers = self._view_numbers(view)
        width, height = numbers.width, numbers.height
        geometry, out = self.scene.geometry(time), np.empty((height, width), np.float32)

        def band(row0: int, row1: int) -> None:
            rays = Bundle.empty((row1 - row0) * width)
            kernels.rays_view(row0, row1, 0.0, 0.0, numbers, T_world_cam, rays)
            out[row0:row1] = first_depth(geometry, rays.origin, rays.direction).reshape(-1, width)

        self._bands(band, height, width)
        return out

    def _pinhole(
        self, pose: Array, numbers: ViewNumbers, time: float, samples: int, channels: tuple[int, ...]
    ) -> list[Floats]:
        width, height, side = numbers.width, numbers.height, round(samples**0.5)
        geometry = self.scene.geometry(time)
        spread = np.array([[-numbers.z0, 1.0, 0.0, 0.0]], np.float32) / np.float32(numbers.focal * side)
        planes = [np.zeros((height, width), np.float32) for _ in channels]

        def band(row0: int, row1: int) -> None:
            size = (row1 - row0) * width
            rays = Bundle.empty(size)
            rays.target[:] = np.arange(size)
            for k in range(side * side):
                sub_x, sub_y = (k % side + 0.5) / side - 0.5, (k // side + 0.5) / side - 0.5
                kernels.rays_view(row0, row1, sub_x, sub_y, numbers, pose, rays)
                for channel, plane in zip(channels, planes):
                    rays.channel[:] = channel
                    gather(self.scene, geometry, rays, size, spread, plane[row0:row1].reshape(-1))

        self._bands(band, height, width)
        return [plane / np.float32(side * side) for plane in planes]

    def pinhole_intrinsics(self) -> tuple[int, int, float, float, float]:
        """Width, height, focal length and principal point (px) of the central view: an ordinary pinhole camera."""
        view = self._view_numbers("central")
        return view.width, view.height, view.focal, view.cx, view.cy

    def _view_numbers(self, view: str) -> ViewNumbers:
        """A totally focused view, from the calibration itself: the simulator shares no projection with the decoder."""
        lens, mla, sensor = self.calibration.main_lens, self.calibration.mla, self.calibration.sensor
        k = self.calibration.totally_focused.scale
        s = k * sensor.pixel_size_um * 1e-3
        cx, cy = ((c + 0.5) / k - 0.5 for c in lens.principal_point_px)
        if view == "central":
            focal, z0 = (lens.mla_distance_mm + mla.sensor_distance_mm) / s, 0.0
        else:
            focal, z0 = lens.focal_length_mm / s, lens.focal_length_mm * MM
        return ViewNumbers(focal, cx, cy, z0, sensor.width // k, sensor.height // k)

    def _bands(self, work: Callable[[int, int], None], height: int, width: int) -> None:
        """Call ``work(row0, row1)`` for bands of rows that together cover the image; each touches its rows only."""
        rows = max(1, BAND_RAYS // width)
        starts = range(0, height, rows)
        if self._threads == 1 or len(starts) == 1:
            for y in starts:
                work(y, min(y + rows, height))
            return
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(lambda y: work(y, min(y + rows, height)), starts))


def _shared_out(poses: int, samples: int) -> list[int]:
    """Which pose each sample has: spread evenly, as many before the middle as after it, or all would seem early."""
    early = [(2 * k + 1) * poses // (2 * samples) for k in range((samples + 1) // 2)]
    return early + [poses - 1 - k for k in reversed(early[: samples // 2])]


def _pose_list(poses: Array | Sequence[Array]) -> list[Array]:
    array = np.asarray(poses, dtype=np.float64)
    if array.shape[-2:] != (4, 4) or array.ndim not in (2, 3):
        raise ConfigError(f"A pose is a 4×4 matrix, not an array of shape {array.shape}.")
    return [np.ascontiguousarray(p) for p in array.reshape(-1, 4, 4)]
