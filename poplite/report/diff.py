"""Differences between two reports, for example of two mappings of one graph, or of more runs.

`diff_of` compares any two reports, for reading::

                     before   after   change
    cycles            1,204   1,100     -104    -8.6%
    fullest tile, B     640     960     +320   +50.0%
    cycles of steps:
      blur              200      96     -104   -52.0%

Steps are matched by name, and by line where a name has several, so the programs may be structured
differently.  For traces, `steps_since` subtracts an earlier report of an engine from a later one,
step by step and tile by tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from poplite.frozen import frozen
from poplite.report.execution import (
    Execution,
    ExecutionStep,
    Measured,
    Phase,
    TilePairs,
    TypeCycles,
)
from poplite.report.findings import NAME, where
from poplite.report.per_tile import PerTile
from poplite.text import amount, shortened

if TYPE_CHECKING:
    from poplite.report.memory import Memory
    from poplite.report.report import Report

MOST = 20
"""Maximum number of changes of one kind that are printed."""

LONGEST_HEAD = 20
"""Maximum number of characters of a report's name above its column."""

LEAST_NAME = 12
"""Minimum number of characters of a name that are shown."""

MANY = 10
"""Changes by this factor or more are shown as factors, not in percent."""


@frozen
class Change:
    """A number in two reports.

    Attributes:
        name: what the number describes.
        before: its earlier value; 0 if it was absent.
        after: its later value.

    >>> print(Change("'blur'", 200, 96))
    'blur'  200 -> 96  -104  -52.0%
    """

    name: str
    before: int
    after: int

    @property
    def change(self) -> int:
        """The later number minus the earlier one."""
        return self.after - self.before

    @property
    def ratio(self) -> float | None:
        """The later number divided by the earlier one; None if that is 0."""
        return self.after / self.before if self.before else None

    @property
    def percent(self) -> str:
        """The change as text: in percent, or as a factor if it is tenfold or more."""
        if self.ratio is None:
            return "new" if self.after else "+0.0%"
        if self.ratio >= MANY:
            return f"×{self.ratio:,.0f}"
        return f"{100 * (self.ratio - 1):+.1f}%"

    def __str__(self) -> str:
        numbers = f"{self.before:,} -> {self.after:,}"
        return f"{self.name}  {numbers}  {self.change:+,}  {self.percent}"


@frozen(repr=False)
class ReportDiff:
    """The differences from one report to another; `print` shows them.

    Attributes:
        totals: cycles, bytes of the fullest tile and of all tiles, if they are modelled.
        steps: cycles of steps of one name, and of one line where a name has several; those that
            changed most first.
        phases: cycles that a tile spent on average in each of `Execution.time_parts`.
        memory: bytes of all tiles by category.
        runs: the runs whose cycles each report contains, such as "3 runs"; empty if both are equal.
        fits: whether each fits its machine, in words; empty if both do or neither does.
    """

    totals: tuple[Change, ...]
    steps: tuple[Change, ...]
    phases: tuple[Change, ...]
    memory: tuple[Change, ...]
    runs: tuple[str, ...] = ()
    fits: tuple[str, ...] = ()

    def sections(self) -> Mapping[str, tuple[Change, ...]]:
        """Return the changes by title, without unchanged numbers."""
        named = {
            "cycles of steps": self.steps,
            "cycles by phase": self.phases,
            "bytes of memory": self.memory,
        }
        return {name: tuple(c for c in changes if c.change) for name, changes in named.items()}

    def note(self, names: tuple[str, str] = ("before", "after")) -> str:
        """Return what else differs: whether each fits, and the runs in each; "" if nothing.

        >>> ReportDiff((), (), (), (), ("1 run", "3 runs")).note()
        'different runs: before has 1 run, after has 3 runs'
        >>> ReportDiff((), (), (), (), (), ("fits", "does not fit")).note()
        'before fits, after does not fit'
        """
        notes = []
        if self.fits:
            of = zip(names, self.fits, strict=True)
            notes.append(", ".join(f"{name} {fits}" for name, fits in of))
        if self.runs:
            of = zip(names, self.runs, strict=True)
            notes.append("different runs: " + ", ".join(f"{name} has {runs}" for name, runs in of))
        return "; ".join(notes)

    def share(self, title: str, change: Change) -> float:
        """Return a change of a section as a share of all cycles, or of the bytes of all tiles."""
        is_cycles = title.startswith("cycles")
        totals = {each.name: max(each.before, each.after) for each in self.totals}
        whole = totals.get("cycles" if is_cycles else "all tiles, B", 0)
        # Without a total, because it is not modelled in both, the largest number is the whole.
        some = self.sections()[title]
        return change.change / (whole or max(max(each.before, each.after) for each in some) or 1)

    def text(
        self,
        names: tuple[str, str] = ("before", "after"),
        *,
        top: int = MOST,
        width: int | None = None,
    ) -> str:
        """Return the differences as text.

        Args:
            names: the names of the two reports, above their columns.
            top: maximum number of changes of one kind.
            width: maximum number of characters in a line; None for no limit.

        >>> print(ReportDiff((Change("cycles", 1204, 1100),), (), (), ()).text(top=1))
                before  after  change
        cycles   1,204  1,100    -104  -8.6%
        cycles of steps: no change
        cycles by phase: no change
        bytes of memory: no change
        """
        rows = [(each.name, each) for each in self.totals]
        rows += [(f"  {c.name}", c) for found in self.sections().values() for c in found[:top]]
        table = _Table(rows, names, width)
        lines = [*table.heading, *(table.line(each.name, each) for each in self.totals)]
        if not self.totals:
            lines = ["neither cycles nor memory are modelled in both reports"]
        if note := self.note(names):
            lines.append(f"! {note}")
        for title, changes in self.sections().items():
            lines.append(f"{title}: {'' if changes else 'no change'}".rstrip())
            lines += [table.line(f"  {each.name}", each) for each in changes[:top]]
            if len(changes) > top:
                lines.append(f"  ... {len(changes) - top:,} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        changed = sum(1 for each in self.steps if each.change)
        return f"<ReportDiff {amount(changed, 'step')} changed>"


def diff_of(before: Report, after: Report) -> ReportDiff:
    """Return the differences from one report to another."""
    totals = []
    took = execution_of(before).cycles, execution_of(after).cycles
    if took[0] is not None and took[1] is not None:
        totals.append(Change("cycles", took[0], took[1]))
    one, other = before.compilation.modelled, after.compilation.modelled
    memory: tuple[Change, ...] = ()
    if one is not None and other is not None:
        was, now = one.including_gaps, other.including_gaps
        totals.append(Change("fullest tile, B", was.most, now.most))
        totals.append(Change("all tiles, B", was.total, now.total))
        memory = _changes(_totals(one), _totals(other))
    return ReportDiff(
        tuple(totals),
        _changes(*_steps(before, after)),
        _changes(_phases(before), _phases(after)),
        memory,
        _differing_runs(before, after),
        _differing_fits(before, after),
    )


def _differing_fits(before: Report, after: Report) -> tuple[str, ...]:
    """Return whether each fits, in words, if only one of them does."""
    found = []
    for each in (before, after):
        memory, limit = each.compilation.modelled, each.compilation.target.tile_memory_bytes
        if memory is None:
            return ()
        over = memory.num_over(limit)
        words = f"does not fit: {amount(over, 'tile')} over {limit:,} B"
        found.append(words if over else "fits")
    return tuple(found) if found.count("fits") == 1 else ()


def _differing_runs(before: Report, after: Report) -> tuple[str, ...]:
    runs = tuple(
        amount(each.runs, "run")
        if each.is_run
        else "one run as compiled" + (", with all branches" if each.has_branches else "")
        for each in (before, after)
    )
    are_modelled = before.instrumentation.is_modelled and after.instrumentation.is_modelled
    return runs if are_modelled and runs[0] != runs[1] else ()


def steps_since(
    later: Sequence[ExecutionStep], earlier: Sequence[ExecutionStep]
) -> dict[tuple[str, int], ExecutionStep]:
    """Return the executions of steps between two reports, by program and row.

    Only steps that ran in between are included, with the numbers of these executions.
    """
    before = {(step.program_name, step.row): step for step in earlier}
    found = {}
    for step in later:
        place = step.program_name, step.row
        known = before.get(place)
        if known is None:
            found[place] = step
        elif step.executions > known.executions:
            found[place] = _step_since(step, known)
    return found


def report_since(later: Report, earlier: Report) -> Report:
    """Return a report of the executions between two reports of one engine."""
    after, before = later.execution, earlier.execution
    counts = ("runs", "num_steps", "vertices", "bytes_copied", "bytes_gathered", "runs_again")
    execution = replace(
        after,
        **{name: getattr(after, name) - getattr(before, name) for name in counts},
        steps=tuple(steps_since(after.steps, before.steps).values()),
        cycles=None if after.cycles is None else after.cycles - (before.cycles or 0),
    )
    known = {each.program: each for each in earlier.measured}
    measured = [_measured_since(each, known.get(each.program)) for each in later.measured]
    sent_before = {(each.program_name, each.row): each for each in earlier.between_ranks}
    sent = [s.since(sent_before.get((s.program_name, s.row))) for s in later.between_ranks]
    return replace(
        later,
        execution=execution,
        measured=tuple(each for each in measured if each.runs),
        between_ranks=tuple(each for each in sent if each.executions),
    )


def _measured_since(later: Measured, earlier: Measured | None) -> Measured:
    """Return the measurements of the device runs between two reports."""
    if earlier is None:
        return later
    cycles = None if later.cycles is None else later.cycles - (earlier.cycles or 0)
    modelled = None if later.modelled is None else later.modelled - (earlier.modelled or 0)
    runs, seconds = later.runs - earlier.runs, later.seconds - earlier.seconds
    return replace(later, runs=runs, cycles=cycles, seconds=seconds, modelled=modelled)


def _changes(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[Change, ...]:
    """Return the changes of numbers by name, the largest first."""
    names = dict.fromkeys([*before, *after])
    changes = [Change(name, before.get(name, 0), after.get(name, 0)) for name in names]
    return tuple(sorted(changes, key=lambda each: -abs(each.change)))


def execution_of(report: Report) -> Execution:
    """Return the execution; if nothing ran, one run as compiled."""
    steps = tuple(report.places)
    cycles = None if report.cycles is None else sum(step.cycles for step in steps)
    return replace(report.execution, steps=steps, cycles=cycles)


def _steps(before: Report, after: Report) -> tuple[dict[str, int], dict[str, int]]:
    """Return the cycles of steps in both reports by label, which is equal for steps that match.

    Lines move when a file is edited: among steps of one name, lines that only one report has are
    matched in order.
    """
    found: list[dict[str, dict[str, int]]] = [{}, {}]
    for of, report in zip(found, (before, after), strict=True):
        for step in report.places:
            lines = of.setdefault(step.name, {})
            lines[step.at] = lines.get(step.at, 0) + step.cycles
    named: tuple[dict[str, int], dict[str, int]] = {}, {}
    for name in dict.fromkeys([*found[0], *found[1]]):
        lines, others = found[0].get(name, {}), found[1].get(name, {})
        moved = [line for line in others if line not in lines]
        gone = [line for line in lines if line not in others]
        now = {**{line: line for line in others}, **dict(zip(moved, gone, strict=False))}
        label = _labels(name, dict.fromkeys([*lines, *now.values()]))
        named[0].update({label[line]: cycles for line, cycles in lines.items()})
        named[1].update({label[now[line]]: cycles for line, cycles in others.items()})
    return named


def _labels(name: str, lines: Iterable[str]) -> dict[str, str]:
    """Return the shortest distinct labels of the steps of a name, by line."""
    lines = list(lines)
    if len(lines) == 1:
        return {lines[0]: name}
    own = {line: line.partition(", called at ")[0].rpartition("/")[2] for line in lines}
    short = own if len(set(own.values())) == len(lines) else {line: line for line in lines}
    return {line: name + where(short[line]) for line in lines}


def _phases(report: Report) -> dict[str, int]:
    parts = execution_of(report).time_parts()
    return {part: round(average) for part, average in parts.items()}


def _totals(memory: Memory) -> dict[str, int]:
    return {name: each.total for name, each in memory.categories().items()}


class _Table:
    """Columns of changes, under the names of the two reports."""

    def __init__(
        self, rows: Sequence[tuple[str, Change]], names: tuple[str, str], width: int | None
    ) -> None:
        longest = max((len(name) for name, _ in rows), default=0)
        numbers = [_numbers(change) for _, change in rows]
        heads, legend = [shortened(name, LONGEST_HEAD) for name in names], []
        for _ in range(2):
            columns = zip((*heads, "change", ""), *numbers, strict=True)
            self.widths = [max(map(len, column)) for column in columns]
            room = NAME if width is None else width - sum(self.widths) - 2 * len(self.widths)
            if heads == ["before", "after"] or (
                heads[0] != heads[1] and room >= min(longest, NAME)
            ):
                break
            heads = ["before", "after"]
            legend = [f"{head:<6}  {name}" for head, name in zip(heads, names, strict=True)]
        self.name_width = min(longest, NAME, max(LEAST_NAME, room))
        self.heading = [*legend, self._joined("", (*heads, "change", ""))]

    def line(self, name: str, change: Change) -> str:
        """Return the line of a change."""
        indent = len(name) - len(name.lstrip())
        shown = shortened(name.lstrip(), self.name_width - indent)
        return self._joined(" " * indent + shown, _numbers(change))

    def _joined(self, name: str, numbers: tuple[str, ...]) -> str:
        cells = (f"{text:>{width}}" for text, width in zip(numbers, self.widths, strict=True))
        return "  ".join([f"{name:<{self.name_width}}", *cells]).rstrip()


def _numbers(change: Change) -> tuple[str, ...]:
    return f"{change.before:,}", f"{change.after:,}", f"{change.change:+,}", change.percent


def _step_since(later: ExecutionStep, earlier: ExecutionStep) -> ExecutionStep:
    phases = zip(later.phases, earlier.phases, strict=True)
    types = zip(later.vertex_types, earlier.vertex_types, strict=True)
    return replace(
        later,
        executions=later.executions - earlier.executions,
        cycles=later.cycles - earlier.cycles,
        phases=tuple(_phase_since(*both) for both in phases),
        vertex_types=tuple(_type_since(*both) for both in types),
    )


def _phase_since(later: Phase, earlier: Phase) -> Phase:
    return replace(
        later,
        cycles=later.cycles - earlier.cycles,
        sync=later.sync - earlier.sync,
        tile_cycles=_minus(later.tile_cycles, earlier.tile_cycles),
        received=_minus(later.received, earlier.received),
        sent=_minus(later.sent, earlier.sent),
        copied=_minus(later.copied, earlier.copied),
        pairs=_pairs_since(later.pairs, earlier.pairs),
        idle=_minus(later.idle, earlier.idle) if later.idle and earlier.idle else later.idle,
    )


def _pairs_since(later: TilePairs | None, earlier: TilePairs | None) -> TilePairs | None:
    if later is None or earlier is None:
        return later
    before = {(source, to): size for source, to, size in earlier.largest}
    largest = tuple((s, t, size - before.get((s, t), 0)) for s, t, size in later.largest)
    return replace(later, bytes=_minus(later.bytes, earlier.bytes), largest=largest)


def _type_since(later: TypeCycles, earlier: TypeCycles) -> TypeCycles:
    flops = None if later.flops is None else later.flops - (earlier.flops or 0)
    vertices, cycles = later.vertices - earlier.vertices, later.cycles - earlier.cycles
    return replace(later, vertices=vertices, cycles=cycles, flops=flops)


def _minus(later: PerTile, earlier: PerTile) -> PerTile:
    if not earlier.num_used:
        return later
    return PerTile.of(later.array() - earlier.array())
