# SPDX-License-Identifier: Apache-2.0
"""``prism-vo simulate``: plenoptic sequences with exact truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet, is_quiet

if TYPE_CHECKING:
    from prism_vo.simulate.options import SimulateOptions


def simulate(
    scene: str | None = None,
    out: Path | None = None,
    *,
    list_: Annotated[bool, Parameter(name="--list", negative=())] = False,
    preview: Annotated[bool, Parameter(negative=())] = False,
    camera: str | None = None,
    frames: int | None = None,
    size: float | None = None,
    scale: float = 1.0,
    seed: int = 0,
    noise: float = 1.0,
    samples: int = 4,
    aperture: float = 0.5,
    bits: int = 8,
    gamma: float | None = None,
    bayer: str | None = None,
    exposure_change: float = 0.0,
    motion_blur: float = 0.0,
    distortion: tuple[float, float, float, float] | None = None,
    truth_every: int = 10,
    baselines: bool = False,
    threads: int = 2,
    quiet: Quiet = False,
) -> None:
    """Render SCENE into the folder OUT: raw images, white image, camera.yaml, times, poses, depth, ideal views.

    Called again with the same settings it continues where it stopped.

    Parameters
    ----------
    scene
        A scene of --list, or a mesh of your own (.glb, .gltf, .obj, .ply, .stl; metres).
    out
        Folder to write; with --preview, the PNG file of the contact sheet.
    list_
        List scenes and camera presets.
    preview
        Only draw a contact sheet of views along the path.
    camera
        A preset (r5, r5-35mm, r32, r32-half, small, mini) or a camera.yaml; default: what suits the scene.
    frames
        Number of frames; loops become smaller, open paths shorter. Default: the whole path.
    size
        Length in metres of a smaller closed loop.
    scale
        Shrinks sensor and micro-lens counts together; the field of view stays.
    seed
        Of the scene's layout, the hand's motion and the noise.
    noise
        Factor on shot and read noise; 0: none.
    samples
        Rays a raw pixel: 1, 4, 9, 16 ...
    aperture
        Radius of the micro-lenses as a share of half their pitch; 0: pinholes.
    bits
        8 or 12 bits a pixel.
    gamma
        Response curve of the sensor; 1 is linear.
    bayer
        RGGB, BGGR, GRBG or GBRG for a colour sensor.
    exposure_change
        0.5: the exposure varies by up to a factor of 1.5 either way (recorded in times.txt).
    motion_blur
        Share of the frame interval the shutter is open.
    distortion
        Main-lens distortion A0 A1 B0 B1 (mm units).
    truth_every
        Frames between stored depth maps and ideal views; 0: none.
    baselines
        Also write what a monocular and an RGB-D camera would have recorded.
    threads
        Threads to render with; the images do not depend on it.
    """
    from prism_vo.errors import ConfigError
    from prism_vo.simulate.options import SimulateOptions

    if list_:
        _print_list()
        return
    if scene is None or out is None:
        raise ConfigError("Give a scene and a folder: prism-vo simulate SCENE OUT (see --list).")
    if threads < 1:
        raise ConfigError(f"--threads must be at least 1, not {threads}.")
    options = SimulateOptions(
        camera=camera,
        frames=frames,
        size=size,
        scale=scale,
        seed=seed,
        noise=noise,
        samples=samples,
        aperture=aperture,
        bits=bits,
        gamma=gamma,
        bayer=bayer,
        exposure_change=exposure_change,
        motion_blur=motion_blur,
        distortion=distortion,
        truth_every=truth_every,
        baselines=baselines,
    )
    from prism_vo.simulate.scene import check_ray_tracer

    check_ray_tracer()
    if preview:
        _write_preview(scene, out, options, threads)
    else:
        _render(scene, out, options, threads)


def _render(scene: str, out: Path, options: SimulateOptions, threads: int) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from prism_vo.simulate.write import simulate_sequence

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=is_quiet()) as bar:
        task = bar.add_task(escape(scene), total=None)
        simulate_sequence(
            scene,
            out,
            options,
            threads=threads,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    print(f"{out}: {scene} rendered.")


def _write_preview(scene: str, out: Path, options: SimulateOptions, threads: int) -> None:
    from prism_vo.errors import InputError
    from prism_vo.simulate.preview import contact_sheet
    from prism_vo.simulate.write import Simulation, write_png

    if out.suffix.lower() != ".png":
        raise InputError(f"{out}: a preview is written to a .png file; name one.")
    out.parent.mkdir(parents=True, exist_ok=True)
    simulation = Simulation.prepare(scene, options)
    write_png(out, contact_sheet(simulation, threads))
    cal = simulation.calibration
    print(
        f"{out}: {scene}, {len(simulation)} frames, path {simulation.track.length:.1f} m, "
        f"{cal.sensor.width}×{cal.sensor.height} px a frame."
    )


def _print_list() -> None:
    from prism_vo.simulate.cameras import PRESETS
    from prism_vo.simulate.catalogue import CATALOGUE
    from prism_vo.simulate.path import nominal_frames

    print("Scenes")
    for entry in CATALOGUE.values():
        print(f"  {entry.name:12s} {nominal_frames(entry.path):5d} frames  {entry.camera:9s} {entry.summary}")
    print("Cameras")
    for name, preset in PRESETS.items():
        print(f"  {name:12s} {preset.size[0]}×{preset.size[1]} px, f {preset.f_L:g} mm: {preset.summary}")
