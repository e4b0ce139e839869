# SPDX-License-Identifier: Apache-2.0
"""Tables, figures and report of a finished benchmark, written to its folder."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path

from prism_vo.atomic import write_text_atomically
from prism_vo.bench import figures, tables
from prism_vo.bench.closing import CLOSING_TEXT, closing_table
from prism_vo.bench.common_poses import compared, pair_sentence, pair_table
from prism_vo.bench.page import Picture, Section, render_report
from prism_vo.bench.plan import BenchSequence
from prism_vo.bench.recordings import depth_view, fan_pictures, loop_ends, paths_of, read_stats
from prism_vo.bench.results import DRIFT, RMSE_R, RMSE_T_PERCENT, SCALE, Results
from prism_vo.bench.scene_figures import depth_figure, picture_strip, reconstruction_figure
from prism_vo.report.plots import save_figure
from prism_vo.report.table import Table, number

TITLE = "Benchmark of plenoptic visual odometry"
FULL_QUANTITIES = (RMSE_T_PERCENT, RMSE_R, SCALE)


class Summary:
    """Collects sections; every table also becomes .md, .tex and .csv, every figure a PNG."""

    def __init__(self, results: Results, sequences: tuple[BenchSequence, ...], out: Path) -> None:
        self.results, self.sequences, self.out = results, sequences, out
        self.sections: list[Section] = []
        self._pairs: tuple[Table, ...] = ()

    def write(self, facts: Mapping[str, str]) -> Path:
        """Everything; returns the path of the report."""
        (self.out / "tables").mkdir(parents=True, exist_ok=True)
        self._overview()
        for suite, chapter in (
            ("loops", self._loops),
            ("close-range", self._close_range),
            ("fan", self._fan),
            ("closing", self._closing),
        ):
            part = self.results.of_suite(suite)
            if part.records:
                chapter(part)
        write_text_atomically(self.out / "runs.csv", all_runs_csv(self.results))
        path = self.out / "report.html"
        write_text_atomically(path, render_report(TITLE, facts, self.sections))
        return path

    def _table(self, name: str, table: Table) -> Table:
        for suffix, text in (("md", table.markdown()), ("tex", table.latex()), ("csv", table.csv())):
            write_text_atomically(self.out / "tables" / f"{name}.{suffix}", text)
        return table

    def _figure(self, name: str, figure: figures.Figure, caption: str) -> Picture:
        path = self.out / "figures" / f"{name}.png"
        save_figure(figure, path)
        return Picture(path, caption)

    def _overview(self) -> None:
        shown = [self._table("cost", tables.cost_table(self.results))]
        failures = tables.failure_table(self.results)
        if failures.rows:
            shown.append(self._table("failures", failures))
        self.sections.append(Section("What was run", RUN_TEXT, tuple(shown)))

    def _loops(self, part: Results) -> None:
        medians = tables.median_table(part, (*DRIFT, *FULL_QUANTITIES), "Medians over the loops")
        shown: tuple[Table, ...] = (
            self._table("loops_thresholds", tables.threshold_table(part)),
            self._table("loops_medians", medians),
        )
        curves = figures.cumulative_figure(part, [m for m in part.methods if part.installed(m)])
        pictures = [
            self._figure("loops_cumulative", curves, "Percentage of runs under a bound, all loops and runs.")
        ]
        words = "\n\n".join(text for text in (verdict(part), *self._common(part, "loops")) if text)
        shown = (*shown, *self._pairs)
        self.sections.append(Section("Loops: drift between start and end", words, shown, tuple(pictures)))
        self._ablation(part)
        self._reconstruction(part)
        rest = (
            self._table("loops_runs", tables.drift_table(part)),
            self._table("loops_errors", tables.error_table(part, "Full-trajectory errors on the loops")),
        )
        self.sections.append(Section("Loops: every run", "", rest))

    def _common(self, part: Results, suite: str) -> list[str]:
        """The comparison on the poses two methods have, as a sentence; its table is kept for the section."""
        pairs = compared(part, self._of_suite(suite))
        self._pairs = (self._table(f"{suite.replace('-', '_')}_common", pair_table(pairs)),) if pairs else ()
        return [pair_sentence(pairs)] if pairs else []

    def _ablation(self, part: Results) -> None:
        variants = figures.ablation_methods(part)
        if len(variants) < 2:
            return
        some = Results(tuple(r for r in part.records if r["job"]["method"] in variants))
        table = tables.median_table(some, (*DRIFT, *FULL_QUANTITIES), "Ablation: medians over the loops")
        pictures = [
            self._figure(
                "ablation_cumulative",
                figures.cumulative_figure(part, variants, figures.ABLATION_QUANTITIES),
                "From the pinhole model without depth (scale fitted for RMSE) to the plenoptic model with the "
                "variance-weighted depth term.",
            )
        ]
        eta = {s.name: figures.eta_of(read_stats(part, "prism", s.name)) for s in self._of_suite("loops")}
        eta = {name: curve for name, curve in eta.items() if len(curve)}
        if eta:
            caption = (
                "η at the keyframes of each loop, run 0; adapted to the scene as it comes nearer or farther."
            )
            pictures.append(self._figure("eta", figures.eta_figure(eta), caption))
        shown = (self._table("ablation", table),)
        self.sections.append(Section("Ablation", ABLATION_TEXT, shown, tuple(pictures)))

    def _reconstruction(self, part: Results) -> None:
        drawn = loop_ends(part, self._of_suite("loops"))
        if drawn is None:
            return
        name, ends, truth = drawn
        caption = (
            f"{name}, run 0: points of the first and the last frames of the loop, placed by the estimated poses and "
            "aligned on the start. Where both colours coincide, nothing has drifted."
        )
        picture = self._figure("reconstruction", reconstruction_figure(ends, truth), caption)
        self.sections.append(Section("Reconstruction at the loop's ends", "", (), (picture,)))

    def _close_range(self, part: Results) -> None:
        shown: tuple[Table, ...] = (
            self._table("close_range_scenes", tables.scene_table(part)),
            self._table(
                "close_range_medians", tables.median_table(part, FULL_QUANTITIES, "Medians over the scenes")
            ),
        )
        pictures = [
            self._figure(
                "close_range",
                figures.scene_figure(part),
                "Error per scene: median (bar) and every run (dot).",
            )
        ]
        compared = depth_view(self._of_suite("close-range"))
        if compared is not None:
            name, frame, view = compared
            caption = (
                f"{name}, frame {frame}: depth of one raw image beside a structured-light camera's model."
            )
            pictures.append(self._figure("depth_rgbd", depth_figure(view), caption))
        words = "\n\n".join((CLOSE_TEXT, *self._common(part, "close-range")))
        shown = (*shown, *self._pairs)
        self.sections.append(Section("Close range: absolute error", words, shown, tuple(pictures)))

    def _fan(self, part: Results) -> None:
        shown = (self._table("fan", tables.error_table(part, "The fan scene")),)
        sequence = self._of_suite("fan")[0]
        pictures = []
        images, titles = fan_pictures(sequence)
        if images:
            caption = "Crossing grilles, turning translucent blades and reflections."
            pictures.append(self._figure("fan_frames", picture_strip(images, titles), caption))
        drawn = paths_of(part, sequence)
        if drawn is not None:
            paths, truth = drawn
            colours = figures.method_colours(self.results)
            caption = "Paths of run 0, each under the alignment named in the table."
            pictures.append(
                self._figure("fan_paths", figures.paths_figure(paths, truth, colours, sequence.name), caption)
            )
        self.sections.append(Section("The fan", FAN_TEXT, shown, tuple(pictures)))

    def _closing(self, part: Results) -> None:
        shown = (self._table("closing", closing_table(part)),)
        self.sections.append(Section("Loops that may close", CLOSING_TEXT, shown))

    def _of_suite(self, suite: str) -> tuple[BenchSequence, ...]:
        return tuple(s for s in self.sequences if s.suite == suite)


def verdict(part: Results) -> str:
    """Where our method is best on the medians over the loops, and where it is not."""
    others = [m for m in part.methods if m != "prism" and part.installed(m)]
    if "prism" not in part.methods or not others:
        return ""
    best: list[str] = []
    not_best: list[str] = []
    silent: set[str] = set()
    for quantity in DRIFT:
        ours = part.overall(quantity, "prism")
        defined = [m for m in others if part.defined(quantity, m)]
        rivals = [m for m in defined if math.isfinite(part.overall(quantity, m))]
        silent |= set(defined) - set(rivals)
        if not rivals or math.isinf(ours):  # without two results there is nothing to be better than
            continue
        rival = min(rivals, key=lambda m, q=quantity: part.overall(q, m))  # type: ignore[misc]
        theirs = part.overall(quantity, rival)
        words = f"{quantity.label} ({_figure_text(ours)} against {rival} {_figure_text(theirs)})"
        (best if ours < theirs else not_best).append(words)
    sentences = []
    if best:
        sentences.append(f"On the medians over the loops prism is best in {', '.join(best)}.")
    if not_best:
        sentences.append(f"It is not best in {', '.join(not_best)}.")
    if silent:
        sentences.append(f"Without a result on half of the loops or more: {', '.join(sorted(silent))}.")
    return " ".join(sentences)


def _figure_text(value: float) -> str:
    return "no result" if math.isinf(value) else number(value, 4)


def all_runs_csv(results: Results) -> str:
    """Every run with every figure, for people who make their own tables."""
    quantities = (*DRIFT, *FULL_QUANTITIES)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["suite", "sequence", "method", "run", "status", "alignment", *(q.key for q in quantities), "seconds"]
    )
    for record in results.records:
        job = record["job"]
        values = [q.value(record) if record["status"] == "ok" else math.inf for q in quantities]
        cells = ["" if math.isinf(v) else repr(v) for v in values]
        head = [job["suite"], job["sequence"], job["method"], job["run"], record["status"]]
        writer.writerow([*head, record.get("alignment", ""), *cells, record.get("seconds", "")])
    return out.getvalue()


RUN_TEXT = (
    "Run r of our odometry uses seed r (point selection); other methods are simply repeated. All runs are shown, "
    "none is chosen. Metric methods are compared after SE(3) alignment, so an error of scale counts; methods "
    "without scale after Sim(3). Drift metrics align both ends of a loop with Sim(3), as in the paper."
)
ABLATION_TEXT = (
    "prism-pinhole: central perspective images, no plenoptic depth, monocular start; its scale is arbitrary, so its "
    "d_s' says nothing and its RMSE is taken after Sim(3). prism-plenoptic: measured depth starts points and helps "
    "tracking, but the energy has no depth term. prism: the full method."
)
CLOSE_TEXT = (
    "Scenes of 0.4 to 2 m with six degrees of freedom of hand motion. The paper's figures are from real recordings "
    "(LiFMCR) and stand here for orientation only."
)
FAN_TEXT = "A scene made to break assumptions: things move, shine through and reflect."
