"""Rows of the fidelity benchmark: measurement, prediction of the model, and error.

    V13   halo exchange, half4      637 cycles   H LBM   model  652    +2.4 % of 15 %  ok

The evidence of a measured number is H (on hardware), L (a listing of the IPU's own compiler) or S
(Graphcore's own model), H~ read off a figure.  Every error is one of cycles: a rate is converted to
the cycles that the same work takes at that rate, so +10 % always means too slow, and for a rate
that it is too low.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import poplite as pl
from poplite.simulator.accounts import Accounts

if TYPE_CHECKING:
    from poplite.report.execution import ExecutionStep


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison with the machine.

    Attributes:
        key: the number of the row in the literature's list.
        what: the program.
        tier: 1 for hardware with a known formula, 2 for whole programs on hardware, 3 for listings
            and Graphcore's own model.
        source: the evidence, and the origin of the number.
        unit: of both numbers.
        measured: the measured number.
        model: poplite's number.
        tolerance: the acceptable error, as a share.
        gate: the line of the summary that it counts for, if any.
        lacks: what the model lacks, if the row misses.
    """

    key: str
    what: str
    tier: int
    source: str
    unit: str
    measured: float
    model: float
    tolerance: float
    gate: str = ""
    lacks: str = ""

    @property
    def error(self) -> float:
        """The error of the model's cycles, as a share of those that were measured."""
        measured, model = self._cycles
        return model / measured - 1

    @property
    def reached(self) -> bool:
        """Whether the error is small enough."""
        measured, model = self._cycles
        return abs(model - measured) <= self.tolerance * measured

    @property
    def _cycles(self) -> tuple[float, float]:
        """Numbers proportional to both cycles; rates are inverted."""
        is_rate = self.unit.endswith("/s")
        return (self.model, self.measured) if is_rate else (self.measured, self.model)

    def __str__(self) -> str:
        verdict = "ok" if self.reached else f"MISS: {self.lacks or 'not known'}"
        return (
            f"{self.key:<5} {self.what:<46} {_figure(self.measured):>9} {self.unit:<8} "
            f"{self.source:<7} model {_figure(self.model):>9} {100 * self.error:+6.1f} % "
            f"of {100 * self.tolerance:g} %  {verdict}"
        )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def steps(
    graph: pl.Graph, program: pl.Program, options: Mapping[str, object] | None = None
) -> tuple[ExecutionStep, ...]:
    """Return the cost of each step of a program that would run once; nothing is run."""
    executable = pl.compile_graph(graph, program, "fast", options=options)
    once = {name: np.ones(len(code.ops), np.int64) for name, code in executable.programs.items()}
    return Accounts(executable, once).totals()


def phases(total: ExecutionStep) -> dict[str, int]:
    """Return the cycles of each kind of phase of a step, and of its syncs.

    Copies before the vertices run are "pre", those after them "post".
    """
    cycles: Counter[str] = Counter()
    has_run = False
    for phase in total.phases:
        has_run = has_run or phase.kind == "compute"
        kind = ("post" if has_run else "pre") if phase.kind == "copy" else phase.kind
        cycles[kind] += phase.cycles
        cycles["sync"] += phase.sync
    return cycles


Rows = dict[str, "Callable[[], Iterable[Row]]"]
"""The functions that make rows, by key."""

GATES: Mapping[str, Callable[[Sequence[float]], tuple[str, bool]]] = {
    "STREAM": lambda errors: _worst(errors, 0.02),
    "AMP, 256 columns and more": lambda errors: _worst(errors, 0.02),
    "vertices of the tables": lambda errors: _worst(errors, 0.0),
    "exchange phases": lambda errors: _worst(errors, 0.15),
    "exchange phases, known tile map": lambda errors: _worst(errors, 0.05),
    "blur: compute": lambda errors: _worst(errors, 0.15),
    "blur: phases add up": lambda errors: _worst(errors, 0.03),
    "dense matmul": lambda errors: _spread(errors, 0.10, 0.35),
    "convolutions of networks": lambda errors: _worst(errors, 0.15),
}
"""The required accuracy by gate: functions of errors that return them in words, and the verdict."""


def _worst(errors: Sequence[float], limit: float) -> tuple[str, bool]:
    worst = max(map(abs, errors))
    return f"worst {100 * worst:.1f} % of {100 * limit:g} %", worst <= limit


def _spread(errors: Sequence[float], middle: float, limit: float) -> tuple[str, bool]:
    median, worst = statistics.median(map(abs, errors)), max(map(abs, errors))
    text = f"median {100 * median:.1f} % of {100 * middle:g} %, worst {100 * worst:.1f} %"
    return f"{text} of {100 * limit:g} %, {len(errors)} rows", median <= middle and worst <= limit


def summary(rows: Sequence[Row]) -> list[tuple[str, str, bool]]:
    """Return (name, result, whether it is reached) for each gate that has rows."""
    found = []
    for name, judge in GATES.items():
        if errors := [row.error for row in rows if row.gate == name]:
            found.append((name, *judge(errors)))
    return found


def run(description: str, parts: Rows, argv: Sequence[str] | None = None) -> int:
    """Run rows from the command line.

    Args:
        description: what the script compares.
        parts: functions that make the rows.
        argv: the command line.

    Returns:
        0 if the model has the required accuracy, otherwise 1.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows")
    parser.add_argument(
        "--only", action="append", choices=sorted(parts), metavar="KEY", help=", ".join(parts)
    )
    options = parser.parse_args(argv)
    print("errors are of cycles, of rates too: + is too slow\n")
    rows: list[Row] = []
    for key in options.only or parts:
        for row in parts[key]():
            print(row, flush=True)
            rows.append(row)
    gates = summary(rows)
    print()
    for tier in sorted({row.tier for row in rows}):
        print(_of_tier(tier, [row for row in rows if row.tier == tier]))
    for name, text, reached in gates:
        print(f"{name:<34} {text}  {'ok' if reached else 'MISSED'}")
    if options.json is not None:
        content: dict[str, Any] = {
            "rows": [{**asdict(row), "error": row.error, "reached": row.reached} for row in rows],
            "gates": [{"name": n, "found": text, "reached": ok} for n, text, ok in gates],
        }
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0 if all(reached for _, _, reached in gates) else 1


def _of_tier(tier: int, rows: Sequence[Row]) -> str:
    errors = [abs(row.error) for row in rows]
    worst = max(rows, key=lambda row: abs(row.error))
    reached = sum(row.reached for row in rows)
    return (
        f"tier {tier}: {len(rows)} rows, {reached} within their tolerance, "
        f"median |error| {100 * statistics.median(errors):.1f} %, "
        f"worst {100 * worst.error:+.1f} % ({worst.key} {worst.what})"
    )


# -- the library -----------------------------------------------------------------------------------
# products      matmul HALF, [1024, 1024] x [1024, 16]     1,210     1,583    0.76   T6 ...


Mark = Literal["", "formula", "other"]
"""The kind of figure that a row compares with.

    ""         measured, Graphcore's model of its library, or a formula not used for pricing here
    "formula"  the formula by which poplite prices the vertex that does the work
    "other"    a different algorithm or older code, as the row's reason says
"""

NEAR = 0.25
"""The error above which a row must have a reason."""

MEDIAN, NINE_OF_TEN = 0.10, 0.25
"""Limits for the errors of rows without a mark."""

ASKED: Mapping[str, tuple[int, int]] = {
    "elementwise": (0, 24),
    "movement": (10, 1000),
    "reductions": (6, 1000),
    "linear algebra": (4, 1000),
    "products": (15, 1000),
}
"""The minimum and maximum number of rows of a table of the library, by kind."""


WRITTEN = "<!-- Written by benchmarks/fidelity_library.py with --markdown. -->"
"""The beginning of the page, before the tables."""


@dataclass(frozen=True, slots=True)
class LibraryRow:
    """The cycles of a library call in the report and in a source.

    Attributes:
        kind: of the operation, one of `ASKED`.
        name: the call, with its sizes.
        poplite: cycles of all steps of the call: compute, exchange, copies and sync.
        source: cycles of the source.
        origin: the file of the source, and the place in it.
        mark: the kind of the source.
        reason: why the ratio is not near 1, if it is not.
    """

    kind: str
    name: str
    poplite: int
    source: float
    origin: str
    mark: Mark = ""
    reason: str = ""

    @property
    def ratio(self) -> float:
        """The ratio of poplite's cycles to the source's."""
        return self.poplite / self.source

    @property
    def error(self) -> float:
        """The distance of the ratio from 1."""
        return abs(self.ratio - 1)

    @property
    def is_explained(self) -> bool:
        """Whether the row is near its source, or has a reason."""
        return self.error <= NEAR or bool(self.reason)

    def __str__(self) -> str:
        reason = f"; {self.reason}" if self.reason else ""
        return (
            f"{self.name:<52} {self.poplite:>9,} {self.source:>11,.0f} {self.ratio:>6.2f}  "
            f"{self.mark:<7}  {self.origin}{reason}"
        )

    @property
    def markdown(self) -> str:
        """The line of the table of the documents."""
        reason = f"; {self.reason}" if self.reason else ""
        return (
            f"| {self.name} | {self.poplite:,} | {self.source:,.0f} | {self.ratio:.2f} | "
            f"{self.mark} | {self.origin}{reason} |"
        )


LibraryRows = dict[str, Callable[[], Iterable[LibraryRow]]]
"""What makes rows, by their key."""


def cycles(graph: pl.Graph, *programs: pl.Program) -> int:
    """Return the cycles of programs run one after the other, according to the report."""
    return sum(total.cycles for program in programs for total in steps(graph, program))


def by_steps(graph: pl.Graph, *programs: pl.Program, near: float) -> str:
    """Return the cycles of each step, if they are not near a source that has only a total."""
    return by_parts(near, *(total.cycles for each in programs for total in steps(graph, each)))


def by_parts(source: float, *parts: int) -> str:
    """Return the cycles of parts, if they are not near a source that has only their total."""
    if abs(sum(parts) / source - 1) <= NEAR:
        return ""
    return f"the source has one number, not its parts; here {' + '.join(f'{n:,}' for n in parts)}"


def library_summary(rows: Sequence[LibraryRow]) -> list[tuple[str, bool]]:
    """Return results and whether they are as required: by mark, and by kind for unmarked rows."""
    found = []
    for mark, what in (("", "unmarked"), ("formula", "formula"), ("other", "other")):
        own = [row for row in rows if row.mark == mark]
        if own:
            text, reached = _judged(own)
            found.append((f"{what}: {text}", reached or mark != ""))
    for kind in ASKED:
        own = [row for row in rows if row.kind == kind and not row.mark]
        if own:
            found.append((f"unmarked {kind}: {_judged(own)[0]}", True))
    without = [row.name for row in rows if not row.is_explained]
    if without:
        found.append((f"without a reason: {', '.join(without)}", False))
    return found


def _judged(rows: Sequence[LibraryRow]) -> tuple[str, bool]:
    """Return the errors of rows in words, and whether they are as required."""
    errors = [row.error for row in rows]
    median, near = statistics.median(errors), sum(error <= NINE_OF_TEN for error in errors)
    text = f"{len(errors)} rows, median error {100 * median:.1f} %"
    reached = median <= MEDIAN and near >= 0.9 * len(errors)
    return f"{text}, {near} within {100 * NINE_OF_TEN:g} %", reached


def run_library(description: str, parts: LibraryRows, argv: Sequence[str] | None = None) -> int:
    """Run rows from the command line.

    Args:
        description: what the script compares.
        parts: functions that make the rows.
        argv: the command line.

    Returns:
        0 if the errors are as required and all rows have their reasons, otherwise 1.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the tables of docs/fidelity.md"
    )
    parser.add_argument(
        "--only", action="append", choices=sorted(parts), metavar="KEY", help=", ".join(parts)
    )
    options = parser.parse_args(argv)
    print(f"{'':<52} {'poplite':>9} {'source':>11} {'ratio':>6}  mark     source")
    rows: list[LibraryRow] = []
    for key in options.only or parts:
        for row in parts[key]():
            print(row, flush=True)
            rows.append(row)
    print()
    found = library_summary(rows)
    for text, reached in found:
        print(f"{text}  {'ok' if reached else 'MISSED'}")
    if options.json is not None:
        content = {
            "rows": [{**asdict(row), "ratio": row.ratio} for row in rows],
            "found": [{"text": text, "reached": reached} for text, reached in found],
        }
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    if options.markdown is not None:
        head, _, _ = options.markdown.read_text().partition(WRITTEN)
        options.markdown.write_text(f"{head}{WRITTEN}\n\n{markdown(rows)}")
    return 0 if all(reached for _, reached in found) else 1


def markdown(rows: Sequence[LibraryRow]) -> str:
    """Return the summary, and the tables of the documents, one for each kind."""
    lines = ["## Summary", "", *(f"- {text}" for text, _ in library_summary(rows)), ""]
    for kind in ASKED:
        if own := [row for row in rows if row.kind == kind]:
            lines += [f"## {kind.capitalize()}", ""]
            lines += ["| call | poplite | source | ratio | mark | source and reason |"]
            lines += ["| --- | ---: | ---: | ---: | --- | --- |"]
            lines += [*(row.markdown for row in own), ""]
    return "\n".join(lines)
