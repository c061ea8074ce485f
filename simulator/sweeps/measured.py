"""What one point of a sweep takes: its graph built, compiled and run, in any process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from poplite.errors import ControlProgramError, ElementTypeError
from poplite.graph.graph import Graph
from poplite.report.diff import report_since
from poplite.report.report import Report
from poplite.report.sweep import BYTES, CYCLES, ERROR, Scalar
from poplite.simulator.engine import Engine
from poplite.simulator.sweeps.sent import Received
from poplite.simulator.sweeps.warned import WarningThere, gathered
from poplite.source import SourceLocation
from poplite.text import clipped, of_type

Point = dict[str, Scalar]
Row = dict[str, Any]
COMPARED = ERROR, *CYCLES, *BYTES


@dataclass(frozen=True)
class RowThere:
    """The row of a point that was measured in another process, and its warnings."""

    row: Row
    warnings: list[WarningThere]


def measured(build: Callable[..., object] | Received, point: Point) -> Row | RowThere:
    """Return the row of a point; with the message of what it raised, where it did.

    Raises what making `build` of what was sent raises, as no point could run then.
    """
    if isinstance(build, Received):
        made, rules, at = build.opened()
        return RowThere(*gathered(lambda: row_of(made, point), rules, at))
    return row_of(build, point)


def row_of(build: Callable[..., object], point: Point) -> Row:
    """Return the same for a build of this process."""
    try:
        return {**point, **_measures(build, point), ERROR: ""}
    except (Exception, SystemExit) as error:  # the row tells
        return {**point, ERROR: f"{type(error).__name__}: {error}"}


def check_same(found: Row, away: Row, at: SourceLocation) -> None:
    """Refuse a sweep whose point takes other cycles or bytes in another process than here.

    What workers do not get would else change the answer: values that a script set in modules
    which they import anew, what a build does by chance, or what an earlier point left behind.
    """
    differing = [
        f"{name} {our} here, {their} there"
        for name, our, their in zip(COMPARED, _compared(found), _compared(away), strict=True)
        if our != their
    ]
    if differing:
        raise ControlProgramError(
            "sweep: the first point takes other cycles or bytes in a worker than here",
            at=at,
            found="\n".join([*differing[:3], *filter(None, [away[ERROR] or found[ERROR]])]),
            fix="give what build draws by chance a seed, and set in build what it needs of imported"
            " modules; workers=1 runs all here",
        )


def _compared(row: Row) -> list[str]:
    """Return what is the same wherever a point is measured; of an error its kind."""
    kind = row[ERROR].partition(":")[0]
    return [kind or "none", *(str(row.get(name, "none")) for name in COMPARED[1:])]


def _measures(build: Callable[..., object], point: Point) -> Row:
    begin = time.perf_counter()
    made: Any = build(**point)
    built = time.perf_counter()
    seconds = {"build_seconds": built - begin}
    before: Report | None = None
    if isinstance(made, Engine):  # which may have run, and of which nobody knows how long it took
        before = made.report()
    elif isinstance(made, tuple) and len(made) > 1 and isinstance(made[0], Graph):
        made = Engine(*made[:2])
        seconds["compile_seconds"] = time.perf_counter() - built
    else:
        raise ElementTypeError(
            f"sweep: build returned {clipped(made)}",
            at=None,
            found=of_type(made),
            fix="return graph, program; or an engine",
        )
    compiled = time.perf_counter()
    for program in made.executable.programs:
        made.run(program)
    seconds["run_seconds"] = time.perf_counter() - compiled
    report = made.report()
    return _modelled(report if before is None else report_since(report, before)) | seconds


def _modelled(report: Report) -> Row:
    """Return the cycles and bytes of a report; nothing where they are not modelled."""
    memory = report.compilation.memory
    if report.cycles is None or memory is None:
        return {}
    phases = [phase for step in report.execution.steps for phase in step.phases]
    by_kind = {"compute": 0, "copy": 0, "exchange": 0}
    for phase in phases:
        by_kind[phase.kind if phase.kind in by_kind else "exchange"] += phase.cycles
    return {
        "cycles": report.cycles,
        **by_kind,
        "waiting": sum(phase.sync for phase in phases),
        "received": sum(phase.received.total for phase in phases),
        "fullest": memory.including_gaps.most,
        "bytes": memory.including_gaps.total,
    }
