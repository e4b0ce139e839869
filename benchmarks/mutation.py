# SPDX-License-Identifier: Apache-2.0
"""Mutation check of the geometry: break one formula at a time in a copy and see a test fail.

``python -m benchmarks.mutation`` runs the tests of each broken module; a mutant that survives is a formula
without a test, and the exit code is 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
CAMERA, VIEW, MLA = "optics/camera.py", "optics/view.py", "optics/mla.py"
VISIBILITY, DISTORTION, SE3 = "optics/visibility.py", "optics/distortion.py", "se3.py"
RAYTRIX, LIFCAL_OPTICS, LATTICE, BROWN = (
    "optics/vendor/raytrix.py",
    "optics/vendor/optics_of.py",
    "optics/vendor/lattice.py",
    "optics/vendor/brown.py",
)
DECODED = "datasets/decoded.py"
OPTICS_TESTS = "tests/optics"
TESTS = {SE3: "tests/test_se3.py", DECODED: "tests/datasets/test_decoded_sequences.py"}


@dataclass(frozen=True)
class Mutant:
    """One edit of the source; ``old`` must occur exactly once."""

    name: str
    file: str
    old: str
    new: str


MUTANTS = (
    Mutant(
        "lens equation: sign", CAMERA, "self.f_L / (1.0 - self.f_L / z)", "self.f_L / (1.0 + self.f_L / z)"
    ),
    Mutant(
        "v: b_L0 + B in place of b_L0",
        CAMERA,
        "(image_distance - self.b_L0) / self.B",
        "(image_distance - self.b_L0 - self.B) / self.B",
    ),
    Mutant("depth: sign", CAMERA, "(image_distance - self.f_L) * MM", "(image_distance + self.f_L) * MM"),
    Mutant("rho_v: sign of f r", CAMERA, "B * (1.0 - f * r)", "B * (1.0 + f * r)"),
    Mutant(
        "rho_v: f b swapped sign",
        CAMERA,
        "return B * (1.0 - f * r) / ((f - b) + f * b * r)",
        "return B * (1.0 - f * r) / ((b - f) + f * b * r)",
    ),
    Mutant("slope: sign", CAMERA, "return -B * f * f", "return B * f * f"),
    Mutant("slope: factor f", CAMERA, "return -B * f * f", "return -B * f"),
    Mutant("slope: metres", CAMERA, "f * b * r) ** 2 * MM", "f * b * r) ** 2"),
    Mutant("inv_depth: sign", CAMERA, "(B - (f - b) * rho)", "(B + (f - b) * rho)"),
    Mutant(
        "sigma: z instead of z squared",
        CAMERA,
        "return z * z * np.asarray(sigma",
        "return z * np.asarray(sigma",
    ),
    Mutant(
        "lambda: B in place of b_L0",
        CAMERA,
        "return self.b_L0 / (self.b_L0 + self.B)",
        "return self.B / (self.b_L0 + self.B)",
    ),
    Mutant(
        "lambda dropped from c_ML (c_I used)",
        CAMERA,
        "(c - self.principal_point) * self.lam",
        "(c - self.principal_point)",
    ),
    Mutant(
        "c_I and c_ML swapped",
        CAMERA,
        "(c - self.principal_point) * self.lam",
        "(c - self.principal_point) / self.lam",
    ),
    Mutant(
        "true from naive: offset sign",
        CAMERA,
        "- (1.0 - self.lam)) / self.lam",
        "+ (1.0 - self.lam)) / self.lam",
    ),
    Mutant(
        "array point: x_V itself",
        CAMERA,
        "self.principal_point + x * shrink[..., None]",
        "self.principal_point + x",
    ),
    Mutant(
        "central: focal length b_L0", CAMERA, "numbers = ((b + B) / s_tf, 0.0", "numbers = (b / s_tf, 0.0"
    ),
    Mutant(
        "central: w_infinity without (b+B)",
        CAMERA,
        "(b + B) * (f - b) / (B * f), b",
        "b * (f - b) / (B * f), b",
    ),
    Mutant("central: kappa without b", CAMERA, "b * (b + B) / B\n", "(b + B) / B\n"),
    Mutant(
        "central: alpha, beta of the focal view",
        CAMERA,
        "kappa * MM, 1.0 - self.lam, self.lam)",
        "kappa * MM, 0.0, 1.0)",
    ),
    Mutant("focal: focal length b_L0", CAMERA, "numbers = (f / s_tf, f * MM", "numbers = (b / s_tf, f * MM"),
    Mutant("focal: z0 = 0", CAMERA, "numbers = (f / s_tf, f * MM", "numbers = (f / s_tf, 0.0"),
    Mutant("focal: w_infinity sign", CAMERA, "(f - b) / B, f * f / B * MM", "(b - f) / B, f * f / B * MM"),
    Mutant("focal: kappa f b", CAMERA, "(f - b) / B, f * f / B * MM", "(f - b) / B, f * b / B * MM"),
    Mutant("TF pixel size without k", CAMERA, "s_tf = self.tf_scale * self.pixel_mm", "s_tf = self.pixel_mm"),
    Mutant("raw to TF: half pixel", CAMERA, "+ 0.5) / self.tf_scale - 0.5", ") / self.tf_scale"),
    Mutant(
        "view: project sign of z0",
        VIEW,
        "scale = self.focal_px / (p[..., 2] - self.z0)",
        "scale = self.focal_px / (p[..., 2] + self.z0)",
    ),
    Mutant("view: unproject ignores z0", VIEW, "r = (z - self.z0) / self.focal_px", "r = z / self.focal_px"),
    Mutant("view: slope without beta", VIEW, "-self.kappa / (self.beta * w * w)", "-self.kappa / (w * w)"),
    Mutant("view: slope sign", VIEW, "return -self.kappa", "return self.kappa"),
    Mutant("view: rho_v ignores alpha", VIEW, "(1.0 / w - self.alpha) / self.beta", "(1.0 / w) / self.beta"),
    Mutant(
        "view: q from rho_v sign of w_infinity",
        VIEW,
        "(1.0 / inv_w - self.w_infinity)",
        "(1.0 / inv_w + self.w_infinity)",
    ),
    Mutant("grid: second axis turned the other way", MLA, "rotation + np.deg2rad", "rotation - np.deg2rad"),
    Mutant("grid: 60 degrees for both layouts", MLA, "60.0 if hexagonal else 90.0", "60.0"),
    Mutant("grid: rotation sign", MLA, "np.array([rotation, rotation +", "np.array([-rotation, -rotation +"),
    Mutant("grid: lens type (i + j)", MLA, "grid[:, 0] - grid[:, 1], len", "grid[:, 0] + grid[:, 1], len"),
    Mutant(
        "grid: distorted centres as lens centres",
        MLA,
        "camera.lens_centres(undistort(camera.calibration, centres[on]))",
        "camera.lens_centres(centres[on])",
    ),
    Mutant(
        "visibility: c_ML in place of c_I",
        VISIBILITY,
        "(x - c) / search.v[:, None, None] - c / camera.lam",
        "(x - c) / search.v[:, None, None] - c",
    ),
    Mutant(
        "visibility: search around x_V",
        VISIBILITY,
        "(camera.array_point(x_safe, v_safe) - pp)",
        "(x_safe - pp)",
    ),
    Mutant(
        "visibility: window too small",
        VISIBILITY,
        "reach / row_distance + WINDOW_MARGIN",
        "reach / row_distance / 2",
    ),
    Mutant(
        "visibility: border ignored by owner map",
        VISIBILITY,
        "best < radius * radius",
        "best < 2 * radius * radius",
    ),
    Mutant("distortion: radial sign", DISTORTION, "radial = a0 * r2 + a1", "radial = -a0 * r2 + a1"),
    Mutant("distortion: r4 term r2", DISTORTION, "a1 * r2 * r2", "a1 * r2"),
    Mutant(
        "distortion: B0 and B1 swapped",
        DISTORTION,
        "x * radial + b0 * (r2 + 2.0 * x * x) + 2.0 * b1",
        "x * radial + b1 * (r2 + 2.0 * x * x) + 2.0 * b0",
    ),
    Mutant("distortion: undistort sign", DISTORTION, "x = target - shift_mm", "x = target + shift_mm"),
    Mutant("distortion: distort sign", DISTORTION, "return px + shift_mm", "return px - shift_mm"),
    Mutant("SE(3): Rodrigues sign", SE3, "_in_powers(w, sine, cosine)", "_in_powers(w, -sine, cosine)"),
    Mutant(
        "SE(3): V is the identity", SE3, "_in_powers(xi[3:], cosine, cubic)", "_in_powers(xi[3:], 0.0, 0.0)"
    ),
    Mutant("SE(3): adjoint without translation", SE3, "ad[:3, 3:] = hat(t[:3, 3]) @ r", "pass"),
    Mutant("SE(3): inverse translation sign", SE3, "out[:3, 3] = -t[:3, :3].T", "out[:3, 3] = t[:3, :3].T"),
    Mutant("Sim(3): mirror allowed", SE3, "sign[2] = -1.0", "sign[2] = 1.0"),
    Mutant(
        "Sim(3): scale over the target's variance", SE3, "/ (ds**2).sum(1).mean()", "/ (dt**2).sum(1).mean()"
    ),
    Mutant("import: rotation sign", RAYTRIX, "smallest_turn(base - turn", "smallest_turn(base + turn"),
    Mutant(
        "import: types with y up", RAYTRIX, "np.array([[c, -s], [s, c]])", "np.array([[c, -s], [-s, -c]])"
    ),
    Mutant(
        "import: offset y sign",
        RAYTRIX,
        "height / 2 - 0.5 - grid.offset[1]",
        "height / 2 - 0.5 + grid.offset[1]",
    ),
    Mutant("import: principal point not raw", LIFCAL_OPTICS, "scale * (c + 0.5) - 0.5", "scale * c"),
    Mutant("import: lens class by id", LATTICE, "int(i - j) % count", "int(j - i) % count"),
    Mutant(
        "import: tangential y sign", BROWN, "tangential=(p1 / mm, -p2 / mm)", "tangential=(p1 / mm, p2 / mm)"
    ),
    Mutant("import: pixels taken for mm", BROWN, "k1 / mm**2", "k1 / mm"),
    Mutant("maps: sigma not divided by lambda", DECODED, "sigma = sigma / camera.lam", "sigma = sigma * 1.0"),
    Mutant(
        "maps: vendor convention read as true",
        DECODED,
        "rho = camera.true_from_naive(rho)",
        "rho = rho * 1.0",
    ),
    Mutant("maps: 16-bit code without 1 -", DECODED, "1.0 - values / 65535.0", "values / 65535.0"),
)


def tests_fail(tests: str, work: Path) -> bool:
    """Run tests against the copy of the package; True when one fails."""
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", tests]
    environment = {**os.environ, "PYTHONPATH": str(work / "src"), "NUMBA_CACHE_DIR": str(work / "cache")}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True).returncode != 0


def killed(mutant: Mutant, work: Path) -> bool:
    """Whether the module's tests fail on a copy of the package with the mutant in it."""
    copy = work / "src" / "prism_vo"
    target = copy / mutant.file
    original = (ROOT / "src" / "prism_vo" / mutant.file).read_text(encoding="utf-8")
    if original.count(mutant.old) != 1:
        raise SystemExit(
            f"{mutant.name}: {mutant.old!r} occurs {original.count(mutant.old)} times in {mutant.file}"
        )
    target.write_text(original.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return tests_fail(TESTS.get(mutant.file, OPTICS_TESTS), work)
    finally:
        target.write_text(original, encoding="utf-8")


def main() -> int:
    """Try every mutant; print one line each."""
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src" / "prism_vo", work / "src" / "prism_vo", ignore=ignore)
        for tests in (OPTICS_TESTS, *TESTS.values()):
            if tests_fail(tests, work):
                raise SystemExit(f"{tests}: fails without any mutant; nothing can be said")
        for mutant in MUTANTS:
            start = time.perf_counter()
            dead = killed(mutant, work)
            print(
                f"{'killed  ' if dead else 'SURVIVED'} {time.perf_counter() - start:5.1f} s  {mutant.name}",
                flush=True,
            )
            if not dead:
                survivors.append(mutant.name)
    print(f"{len(MUTANTS) - len(survivors)} of {len(MUTANTS)} mutants killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
