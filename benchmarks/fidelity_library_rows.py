"""Rows of the table of fidelity for the library, how they are printed, and what they must reach.

products      matmul HALF, [1024, 1024] x [1024, 16]     1,210     1,583    0.76   T6 ...
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import poplite as pl
from fidelity_rows import steps

Mark = Literal["", "formula", "other"]
"""Whose figure a row compares with.

    ""         measured, of Graphcore's model of its library, or a formula that prices nothing here
    "formula"  the formula by which poplite prices the vertex that does the work
    "other"    another algorithm or older code, as the row's reason says
"""

NEAR = 0.25
"""The error above which a row has a reason."""

MEDIAN, NINE_OF_TEN = 0.10, 0.25
"""What the errors of rows without a mark must be within."""

ASKED: Mapping[str, tuple[int, int]] = {
    "elementwise": (0, 24),
    "movement": (10, 1000),
    "reductions": (6, 1000),
    "linear algebra": (4, 1000),
    "products": (15, 1000),
}
"""How many rows a table of the library must have at least, and may have at most, by kind."""


WRITTEN = "<!-- Written by benchmarks/fidelity_library.py with --markdown. -->"
"""What a page has before the tables."""


@dataclass(frozen=True, slots=True)
class LibraryRow:
    """What a call of the library takes by the report, and by a source.

    Attributes:
        kind: of the operation, one of `ASKED`.
        name: the call, with its sizes.
        poplite: cycles of all steps of the call: compute, exchange, copies and sync.
        source: cycles that the source says.
        origin: the file of the source, and what in it.
        mark: whose figure it is.
        reason: why the ratio is what it is, where it is not near 1.
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
        """Cycles of poplite to those of the source."""
        return self.poplite / self.source

    @property
    def error(self) -> float:
        """The distance of the ratio from 1."""
        return abs(self.ratio - 1)

    @property
    def is_explained(self) -> bool:
        """Whether the row is near its source, or says why not."""
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
    """Return what programs take one after the other, by the accounts of the report."""
    return sum(total.cycles for program in programs for total in steps(graph, program))


def by_steps(graph: pl.Graph, *programs: pl.Program, near: float) -> str:
    """Return what each step takes, where they are not near a source that tells only a total."""
    return by_parts(near, *(total.cycles for each in programs for total in steps(graph, each)))


def by_parts(source: float, *parts: int) -> str:
    """Return what parts take, where they are not near a source that tells only their total."""
    if abs(sum(parts) / source - 1) <= NEAR:
        return ""
    return f"the source has one number, not its parts; here {' + '.join(f'{n:,}' for n in parts)}"


def summary(rows: Sequence[LibraryRow]) -> list[tuple[str, bool]]:
    """Return what was found and whether it is what was asked: by mark, and by kind without one."""
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
    """Return the errors of rows in words, and whether they are what must be reached."""
    errors = [row.error for row in rows]
    median, near = statistics.median(errors), sum(error <= NINE_OF_TEN for error in errors)
    text = f"{len(errors)} rows, median error {100 * median:.1f} %"
    reached = median <= MEDIAN and near >= 0.9 * len(errors)
    return f"{text}, {near} within {100 * NINE_OF_TEN:g} %", reached


def run(description: str, parts: LibraryRows, argv: Sequence[str] | None = None) -> int:
    """Run rows from the command line.

    Args:
        description: what the script compares.
        parts: what makes the rows.
        argv: the command line.

    Returns:
        0 when the errors are what they must be and all rows have their reasons, otherwise 1.
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
    found = summary(rows)
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
    lines = ["## Summary", "", *(f"- {text}" for text, _ in summary(rows)), ""]
    for kind in ASKED:
        if own := [row for row in rows if row.kind == kind]:
            lines += [f"## {kind.capitalize()}", ""]
            lines += ["| call | poplite | source | ratio | mark | source and reason |"]
            lines += ["| --- | ---: | ---: | ---: | --- | --- |"]
            lines += [*(row.markdown for row in own), ""]
    return "\n".join(lines)
