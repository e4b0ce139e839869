# SPDX-License-Identifier: Apache-2.0
"""``prism-vo eval``: trajectories against ground truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from prism_vo.evaluate.association import PoseSeries
    from prism_vo.evaluate.metrics import Alignment, TrajectoryMetrics


def evaluate(
    *files: Path,
    alignment: Literal["both", "se3", "sim3"] = "both",
    out: Path = Path("evaluation"),
    max_difference: Annotated[float, Parameter(name="--max-time-difference")] = 0.01,
    rpe_delta: float = 1.0,
    segment_share: float = 0.15,
    plot: bool = True,
    quiet: Quiet = False,
    force: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Compare one or more trajectories with ground truth: ESTIMATE [ESTIMATE ...] GROUNDTRUTH.

    Prints a table and writes metrics.json, tables.tex, tables.md and trajectory.png.

    Parameters
    ----------
    files
        TUM, KITTI or EuRoC files, the ground truth last. A results folder stands for its trajectory.txt, a
        sequence folder in the last place for its groundtruth.txt.
    alignment
        SE(3) does not fit the scale (metric methods), Sim(3) does (monocular ones); both are shown.
    out
        Folder for the files.
    max_difference
        Largest time difference between an estimated pose and its ground truth, seconds.
    rpe_delta
        Path length over which the relative pose error is taken, metres.
    segment_share
        Share of the poses at either end that drift is measured on when the ground truth has no gap.
    plot
        Draw trajectory.png.
    force
        Write among other files in --out, and replace those of the same names.
    """
    from prism_vo.errors import ConfigError
    from prism_vo.evaluate.association import as_series
    from prism_vo.evaluate.metrics import evaluate_trajectory
    from prism_vo.output_folder import check_folder, claim_folder
    from prism_vo.report.error_tables import drift_table, error_table
    from prism_vo.trajectory import read_trajectory

    if len(files) < 2:
        raise ConfigError("Give at least two files: ESTIMATE [ESTIMATE ...] GROUNDTRUTH.")
    check_settings(max_difference, rpe_delta, segment_share)
    check_folder(out, KIND, force, resume=True)
    plot = plot and can_draw()
    truth = as_series(read_trajectory(inside(files[-1], "groundtruth.txt")))
    estimates = {
        name: as_series(read_trajectory(inside(path, "trajectory.txt")))
        for name, path in zip(distinct_names(files[:-1]), files[:-1])
    }
    results = {
        name: evaluate_trajectory(
            series, truth, max_difference=max_difference, rpe_delta=rpe_delta, segment_share=segment_share
        )
        for name, series in estimates.items()
    }
    chosen = CHOICES[alignment]
    tables = [error_table(results, chosen, rpe_delta), drift_table(results)]
    for table in tables:
        print(table.text())
    settings = {
        "groundtruth": str(files[-1]),
        "max_time_difference_s": max_difference,
        "rpe_delta_m": rpe_delta,
        "segment_share": segment_share,
        "alignments": list(chosen),
    }
    claim_folder(out, KIND, force)
    write_results(out, results, settings, [t.markdown() for t in tables], [t.latex() for t in tables])
    if plot:
        draw(out / "trajectory.png", estimates, truth, results, chosen[0])
    print(f"Written to {out}.")


KIND = "eval"  # of the folder it writes
CHOICES: dict[str, tuple[Alignment, ...]] = {
    "both": ("SE(3)", "Sim(3)"),
    "se3": ("SE(3)",),
    "sim3": ("Sim(3)",),
}


def check_settings(max_difference: float, rpe_delta: float, segment_share: float) -> None:
    """Refuse settings that cannot mean anything."""
    from prism_vo.errors import ConfigError

    if not max_difference > 0:
        raise ConfigError("--max-time-difference must be a positive number of seconds.")
    if not rpe_delta > 0:
        raise ConfigError("--rpe-delta must be a positive length in metres.")
    if not 0 < segment_share <= 0.5:
        raise ConfigError("--segment-share must lie between 0 and 0.5.")


def inside(path: Path, name: str) -> Path:
    """The file itself, or the file of that name in a folder."""
    return path / name if path.is_dir() else path


def distinct_names(paths: tuple[Path, ...]) -> list[str]:
    """Short names for the tables, made longer until no two are the same; files of a run have the run's name."""
    paths = tuple(_named(path) for path in paths)
    for parts in range(1, 1 + max(len(p.parts) for p in paths)):
        names = ["/".join(p.parts[-parts:]) for p in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{k + 1}: {p}" for k, p in enumerate(paths)]


def _named(path: Path) -> Path:
    """``results/walk/trajectory.txt`` → ``results/walk``; ``.`` → the folder's name; other files without ending."""
    from prism_vo.results import KEYFRAMES, TRAJECTORY

    folder = path.parent if path.name in (TRAJECTORY, KEYFRAMES) else path
    folder = folder if folder.name not in ("", "..") else folder.resolve()
    if path.name == KEYFRAMES:
        return folder.with_name(f"{folder.name} keyframes")
    return folder if folder is not path or path.is_dir() else path.with_suffix("")


def write_results(
    out: Path,
    results: dict[str, TrajectoryMetrics],
    settings: dict[str, object],
    markdown: list[str],
    latex: list[str],
) -> None:
    """metrics.json, tables.md and tables.tex, each in one step."""
    import json

    from prism_vo import __version__
    from prism_vo.atomic import write_text_atomically
    from prism_vo.evaluate.record import metrics_record

    content = {
        "format": "prism-vo/evaluation/1",
        "version": __version__,
        "settings": settings,
        "estimates": {name: metrics_record(result) for name, result in results.items()},
    }
    write_text_atomically(out / "metrics.json", json.dumps(content, indent=2) + "\n")
    write_text_atomically(out / "tables.md", "\n".join(markdown))
    write_text_atomically(out / "tables.tex", "\n".join(latex))


def draw(
    path: Path,
    estimates: dict[str, PoseSeries],
    truth: PoseSeries,
    results: dict[str, TrajectoryMetrics],
    alignment: Alignment,
) -> None:
    """The figure of paths and errors."""
    from prism_vo.report.plots import save_figure, trajectory_figure

    save_figure(trajectory_figure(estimates, truth, results, alignment), path)


def can_draw() -> bool:
    """Whether the extra for figures is there; if not, a line says so: it does not spoil the measurement."""
    from prism_vo.errors import MissingExtraError
    from prism_vo.report.plots import check_matplotlib

    try:
        check_matplotlib()
    except MissingExtraError as error:
        print(f"No figure: {error}")
        return False
    return True
