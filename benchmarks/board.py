# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.board FOLDER``: which camera model the corners of a real R12 ask for.

FOLDER holds ``corners.csv`` and ``centers.csv``: corners of a board of 9 × 5 corners and 10-mm squares in micro-images.
Every row adds a term to the model and judges it by frames that were left out: RMS of the corners an axis, and the size
of the squares, each frame by a camera that has not seen it. The model is written out here once more, with numeric
derivatives, so that the rows that the program itself can fit check it.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from prism_vo.arrays import Array
from prism_vo.board_fit.centres import fit_centres
from prism_vo.board_fit.files import CENTRES, CORNERS, read_table
from prism_vo.board_fit.records import Board, MicroCorners
from prism_vo.board_fit.start import start_state, triangulate
from prism_vo.errors import PrismError

BOARD, SIZE, PIXEL = Board(9, 5, 0.01), (4080, 3068), 0.0055
BASE = ("F", "cx", "cy", "w", "kappa")
STEPS = {
    "F": 10.0,
    "cx": 10.0,
    "cy": 10.0,
    "w": 0.1,
    "kappa": 0.05,
    "A0": 1e-5,
    "A1": 1e-7,
    "A2": 1e-9,
    "B0": 1e-5,
    "B1": 1e-5,
    "tilt_x": 0.01,
    "tilt_y": 0.01,
    "curved": 1e-3,
    "pupil": 1e-3,
    "size": 0.01,
}
POSE_STEPS = np.array([0.01, 0.01, 0.01, 1e-3, 1e-3, 1e-3])
HUBER, SIGMA = 2.0, 0.55
CENTRE_PRIOR = 0.05 * SIZE[0]
ROWS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("thin lens", ()),
    ("+ A0", ("A0",)),
    ("+ A0, A1", ("A0", "A1")),
    ("+ A0, A1, third radial term", ("A0", "A1", "A2")),
    ("+ tangential", ("A0", "B0", "B1")),
    ("+ tilt of the array", ("tilt_x", "tilt_y")),
    ("+ curved field", ("curved",)),
    ("+ pupil away from the lens", ("pupil",)),
)


@dataclass(frozen=True)
class Model:
    """Numbers of the camera by name, poses (K, 6): rotation vector, translation (m)."""

    numbers: dict[str, float]
    poses: Array
    free: tuple[str, ...] = BASE

    def moved(self, step: Array) -> Model:
        """After a step of the free numbers and of the poses."""
        changed = {n: self.numbers[n] + d * STEPS[n] for n, d in zip(self.free, step)}
        poses = self.poses + step[len(self.free) :].reshape(-1, 6) * POSE_STEPS
        return replace(self, numbers={**self.numbers, **changed}, poses=poses)


def predicted(model: Model, corners: MicroCorners) -> Array:
    """Corners in micro-images (N, 2)."""
    p = model.numbers
    turn = Rotation.from_rotvec(model.poses[:, :3]).as_matrix()
    places = p["size"] * np.concatenate([BOARD.places, np.zeros((BOARD.count, 1))], 1)
    point = (
        np.einsum("nij,nj->ni", turn[corners.frame], places[corners.corner]) + model.poses[corners.frame, 3:]
    )
    z = point[:, 2]
    flat = p["F"] * PIXEL * point[:, :2] / z[:, None]
    x, y = flat.T
    r2 = x * x + y * y
    radial = p["A0"] * r2 + p["A1"] * r2**2 + p["A2"] * r2**3
    shift = np.stack(
        [
            x * radial + p["B0"] * (r2 + 2 * x * x) + 2 * p["B1"] * x * y,
            y * radial + p["B1"] * (r2 + 2 * y * y) + 2 * p["B0"] * x * y,
        ],
        -1,
    )
    central = (flat + shift) / PIXEL + [p["cx"], p["cy"]]
    w = p["w"] + p["tilt_x"] * x + p["tilt_y"] * y + p["curved"] * r2
    # 1/h has its pole at the pupil; here it may lie elsewhere than the centre of the central view
    slope = 1.0 / (w + p["kappa"] / (z - p["pupil"]))
    return corners.centre + (central - corners.centre) * slope[:, None]


def fitted(model: Model, corners: MicroCorners, iterations: int = 25) -> tuple[Model, Array]:
    """The model with the least robust energy, and its residuals."""
    damping, now = 1e-4, _energy(model, corners)
    for _ in range(iterations):
        left, jacobian = _linearized(model, corners)
        weight = np.minimum(HUBER * SIGMA / np.maximum(np.linalg.norm(left, axis=1), 1e-9), 1.0) / SIGMA**2
        h = np.einsum("nij,nik,n->jk", jacobian, jacobian, weight, optimize=True)
        b = np.einsum("nij,ni,n->j", jacobian, left, weight, optimize=True)
        for name, middle in (("cx", SIZE[0] / 2), ("cy", SIZE[1] / 2)):
            if name in model.free:
                k, scale = model.free.index(name), STEPS[name] / CENTRE_PRIOR
                h[k, k] += scale**2
                b[k] += scale * (model.numbers[name] - middle) / CENTRE_PRIOR
        gain = 0.0
        for _ in range(8):
            trial = model.moved(np.linalg.solve(h + damping * np.diag(np.diag(h) + 1e-12), -b))
            energy = _energy(trial, corners)
            if energy < now:
                gain, model, now, damping = now - energy, trial, energy, max(0.1 * damping, 1e-12)
                break
            damping *= 10
        if gain < 1e-7 * now:
            break
    return model, predicted(model, corners) - corners.xy


def _energy(model: Model, corners: MicroCorners) -> float:
    size = np.linalg.norm(predicted(model, corners) - corners.xy, axis=1) / SIGMA
    out = float(np.where(size < HUBER, size**2, HUBER * (2 * size - HUBER)).sum())
    for name, middle in (("cx", SIZE[0] / 2), ("cy", SIZE[1] / 2)):
        out += ((model.numbers[name] - middle) / CENTRE_PRIOR) ** 2
    return out


def _linearized(model: Model, corners: MicroCorners) -> tuple[Array, Array]:
    count, width = len(model.free), len(model.free) + 6 * len(model.poses)
    base = predicted(model, corners)
    jacobian = np.zeros((len(corners), 2, width))
    rows = np.arange(len(corners))
    for k in range(count + 6):
        step = np.zeros(width)
        if k < count:
            step[k] = 1e-4
            jacobian[:, :, k] = (predicted(model.moved(step), corners) - base) / 1e-4
        else:
            step[k::6] = 1e-4
            own = (predicted(model.moved(step), corners) - base) / 1e-4
            jacobian[rows, :, k + 6 * corners.frame] = own
    return base - corners.xy, jacobian


def report(name: str, free: tuple[str, ...], start: Model, corners: MicroCorners) -> Model:
    """One row of the table."""
    model, left = fitted(replace(start, free=(*BASE, *free)), corners)
    held, sizes = [], []
    for frame in range(corners.frames):
        rest = [k for k in range(corners.frames) if k != frame]
        without, _ = fitted(replace(model, poses=model.poses[rest]), corners.of_frames(rest), 8)
        h, s = judged(replace(without, poses=model.poses[[frame]]), corners.of_frames([frame]))
        held.append(h)
        sizes.append(s)
    p = model.numbers
    print(
        f"| {name} | {_rms(left):.3f} | {_rms(np.concatenate(held)):.3f} | {min(sizes):+.2f} to {max(sizes):+.2f} % | "
        f"{p['F']:.0f} | {p['w']:.2f} | {p['kappa']:.3f} |",
        flush=True,
    )
    return model


def judged(model: Model, corners: MicroCorners) -> tuple[Array, float]:
    """Residuals of a frame that was left out, and by how many per cent its squares come out too large."""
    _, left = fitted(replace(model, free=()), corners)
    sized, _ = fitted(replace(model, free=("size",)), corners)
    return left, 100 * (sized.numbers["size"] - 1)


def published(start: Model) -> Model:
    """With the values its makers published, and the centre of the sensor."""
    f, b, B = 49.885, 56.860, 0.3371
    numbers = {"F": (b + B) / PIXEL, "w": (b + B) * (f - b) / (B * f), "kappa": b * (b + B) / B * 1e-3}
    centre = {"cx": SIZE[0] / 2 - 0.5, "cy": SIZE[1] / 2 - 0.5}
    poses = start.poses.copy()
    poses[:, 3:] *= numbers["F"] / start.numbers["F"]
    return replace(start, numbers={**start.numbers, **numbers, **centre}, poses=poses)


def _rms(left: Array) -> float:
    return float(np.sqrt((left**2).mean()))


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="the thin lens alone")
    args = parser.parse_args()
    try:
        corners, start, half = read(args.folder)
    except PrismError as error:
        print(f"benchmarks.board: {error}", file=sys.stderr)
        return error.exit_code
    thin, _ = fitted(start, corners)
    radius = np.linalg.norm(predicted(thin, corners) - corners.centre, axis=1)
    for share in (1.0, 0.7, 0.6, 0.5, 0.4):
        used = corners.take(radius < share * half)
        print(
            f"\ncorners within {share:g} of half the pitch ({share * half:.1f} px): {len(used)} of {len(corners)}\n"
        )
        print(
            "| model | RMS an axis, px | held out | squares held out | F | w_∞ | κ |\n|---|---|---|---|---|---|---|"
        )
        for name, free in ROWS if share == 0.5 and not args.quick else ROWS[:1]:
            report(name, free, thin, used)
        if share == 0.5:
            theirs = [judged(*one) for one in _one_by_one(published(thin), used)]
            sizes = [s for _, s in theirs]
            words = f"{min(sizes):+.2f} to {max(sizes):+.2f} %"
            rms, p = _rms(np.concatenate([left for left, _ in theirs])), published(thin).numbers
            print(
                f"| published values | {rms:.3f} | | {words} | {p['F']:.0f} | {p['w']:.2f} | {p['kappa']:.3f} |"
            )
    return 0


def _one_by_one(model: Model, corners: MicroCorners) -> list[tuple[Model, MicroCorners]]:
    return [(replace(model, poses=model.poses[[k]]), corners.of_frames([k])) for k in range(corners.frames)]


def read(folder: Path) -> tuple[MicroCorners, Model, float]:
    """Corners, a start, and half the pitch."""
    lenses, table = read_table(folder / "centers.csv", CENTRES), read_table(folder / "corners.csv", CORNERS)
    grid = fit_centres(lenses[:, :2], lenses[:, 2:], "centers.csv")
    print(
        f"centers.csv: pitch {grid.grid.pitch:.4f} px, {grid.rms:.3f} px RMS (any affine grid {grid.affine_rms:.3f})"
    )
    _, frame = np.unique(table[:, 5], return_inverse=True)
    corners = MicroCorners(
        frame.astype(np.intp), table[:, 4].astype(np.intp), grid.points(table[:, :2]), table[:, 2:4]
    )
    state = start_state(triangulate(corners, BOARD), BOARD, SIZE, PIXEL, corners.frames)
    turns = Rotation.from_matrix(state.poses[:, :3, :3]).as_rotvec()
    values = state.camera.values
    numbers = {name: 0.0 for name in STEPS} | {"size": 1.0, "F": values[0], "cx": values[1], "cy": values[2]}
    numbers |= {"w": values[7], "kappa": values[8]}
    return corners, Model(numbers, np.concatenate([turns, state.poses[:, :3, 3]], 1)), grid.grid.pitch / 2


if __name__ == "__main__":
    sys.exit(main())
