# SPDX-License-Identifier: Apache-2.0
"""Builds wheel and sdist and looks whether they hold what they should: ``python tools/distribution.py [FOLDER]``.

``make build`` runs it, a test does, and so does ``make release-check``. Needs hatchling (extra ``dev``), no network.
"""

from __future__ import annotations

import email
import email.message
import importlib.util
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "prism_vo"
LARGEST = 10 << 20  # bytes, of either file
IN_SDIST = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "Makefile",
    "Dockerfile",
)
NOT_IN_SDIST = (".venv", "demo/", "dist/", "site/", "__pycache__")


def build(out: Path) -> tuple[Path, Path]:
    """Wheel and sdist in ``out``, which should be empty."""
    if importlib.util.find_spec("hatchling") is None:
        sys.exit(
            "hatchling is not installed, so nothing can be built; install it with: pip install -e '.[dev]'"
        )
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(out)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


def own_files() -> set[str]:
    """Every file of the package, as the repository has it."""
    found = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(PACKAGE.parent)) for path in found}


def wheel_faults(wheel: Path) -> list[str]:
    """What is missing, too much, or not said in the metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(info))
    inside = {name for name in names if ".dist-info/" not in name}
    faults = [f"the wheel lacks {name}" for name in sorted(own_files() - inside)]
    faults += [f"the wheel has {name}, which is not of the package" for name in sorted(inside - own_files())]
    if not any(name.endswith("LICENSE") for name in names):
        faults.append("the wheel lacks LICENSE")
    if not any(name.endswith("entry_points.txt") for name in names):
        faults.append("the wheel has no command prism-vo")
    return [*faults, *metadata_faults(metadata), *_size(wheel)]


def metadata_faults(metadata: email.message.Message) -> list[str]:
    """What an index would show, or refuse."""
    wanted = ("Name", "Version", "Summary", "License-Expression", "Requires-Python", "Keywords", "Classifier")
    faults = [f"the metadata lacks {field}" for field in wanted if not metadata.get(field)]
    if "Programming Language :: Python :: 3.11" not in metadata.get_all("Classifier", []):
        faults.append("the classifiers do not name Python 3.11")
    if metadata.get("Description-Content-Type") != "text/markdown":
        faults.append("the README is not said to be Markdown")
    return faults


def sdist_faults(sdist: Path) -> list[str]:
    """Whether the package can be built and tested from it, and nothing else lies in it."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    faults = [f"the sdist lacks {name}" for name in IN_SDIST if name not in names]
    faults += [f"the sdist lacks src/{name}" for name in sorted(own_files()) if f"src/{name}" not in names]
    if not any(name.startswith("tests/") for name in names):
        faults.append("the sdist lacks the tests")
    strange = sorted(name for name in names if any(part in name for part in NOT_IN_SDIST))
    return [*faults, *(f"the sdist has {name}" for name in strange[:5]), *_size(sdist)]


def install_faults(wheel: Path, work: Path) -> list[str]:
    """Unpacked elsewhere, with the dependencies of this Python: does the command start, are its pages there?"""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(work)
    program = (
        f"import sys; sys.path.insert(0, {str(work)!r})\n"
        "import prism_vo, prism_vo.report.templating\n"
        f"assert prism_vo.__file__.startswith({str(work)!r}), prism_vo.__file__\n"
        "from prism_vo.cli import main\n"
        "sys.exit(main(['run', '--help']) or main(['--version']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=work)
    return [] if done.returncode == 0 else [f"the installed command does not start: {done.stderr[-500:]}"]


def _size(path: Path) -> list[str]:
    size = path.stat().st_size
    return [] if size < LARGEST else [f"{path.name} has {size >> 20} MB"]


def faults_of_both(out: Path) -> list[str]:
    """Build into ``out`` and look at everything."""
    wheel, sdist = build(out)
    with tempfile.TemporaryDirectory() as work:
        return [*wheel_faults(wheel), *sdist_faults(sdist), *install_faults(wheel, Path(work))]


def main() -> None:
    """Print what is wrong, or what was built."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    out.mkdir(exist_ok=True)
    for old in [*out.glob("prism_vo-*.whl"), *out.glob("prism_vo-*.tar.gz")]:
        old.unlink()
    if faults := faults_of_both(out):
        raise SystemExit("\n".join(faults))
    for path in sorted(out.iterdir()):
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
