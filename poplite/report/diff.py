"""What changed between two reports, such as those of two mappings of one graph, or of more runs.

`diff_of` compares any two, for people to read::

    cycles           1,204 -> 1,100         -104    -8.6%
    fullest tile     640 B -> 960 B       +320 B   +50.0%
    steps
      'blur'         200 -> 96              -104   -52.0%

Steps are matched by name, so that programs may be divided differently.  `steps_since` subtracts an
earlier report of the same engine from a later one, for traces: step by step, and tile by tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from poplite.report.execution import ExecutionStep, Phase, TilePairs, TypeCycles
from poplite.report.findings import NAME
from poplite.report.per_tile import PerTile
from poplite.text import amount, shortened

if TYPE_CHECKING:
    from poplite.report.memory import Memory
    from poplite.report.report import Report

MOST = 20
"""Most changes of one kind that are printed."""


MANY = 10
"""So many times more is told as that, not in percent."""


@dataclass(frozen=True, slots=True)
class Change:
    """A number in two reports.

    Attributes:
        name: what the number describes.
        before: its earlier value; 0 where it was not there.
        after: its later value.

    >>> print(Change("'blur'", 200, 96))
    'blur'  200 -> 96  -104  -52.0%
    """

    name: str
    before: int
    after: int

    @property
    def change(self) -> int:
        """How much more it is."""
        return self.after - self.before

    @property
    def ratio(self) -> float | None:
        """The later number divided by the earlier one; None where that is 0."""
        return self.after / self.before if self.before else None

    @property
    def percent(self) -> str:
        """The change in words: from tenfold on, how many times more it is."""
        if self.ratio is None:
            return "new" if self.after else "+0.0%"
        if self.ratio >= MANY:
            return f"×{self.ratio:,.0f}"
        return f"{100 * (self.ratio - 1):+.1f}%"

    def __str__(self) -> str:
        numbers = f"{self.before:,} -> {self.after:,}"
        return f"{self.name}  {numbers}  {self.change:+,}  {self.percent}"


@dataclass(frozen=True, slots=True, repr=False)
class ReportDiff:
    """What changed from one report to another; `print` shows it.

    Attributes:
        totals: cycles, bytes of the fullest tile and of all tiles, where they are modelled.
        steps: cycles of steps of one name, those that changed most first.
        phases: cycles that a tile was busy on average, by kind of phase, and waited.
        memory: bytes of all tiles by category.
    """

    totals: tuple[Change, ...]
    steps: tuple[Change, ...]
    phases: tuple[Change, ...]
    memory: tuple[Change, ...]

    def __str__(self) -> str:
        lines = _table(self.totals) or ["neither cycles nor memory are modelled in both"]
        for title, changes in (
            ("cycles of steps", self.steps),
            ("cycles by phase", self.phases),
            ("bytes of memory", self.memory),
        ):
            changed = [each for each in changes if each.change]
            lines.append(f"{title}: {'' if changed else 'no change'}".rstrip())
            lines += [f"  {line}" for line in _table(changed[:MOST])]
            if len(changed) > MOST:
                lines.append(f"  ... {len(changed) - MOST:,} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        changed = sum(1 for each in self.steps if each.change)
        return f"<ReportDiff {amount(changed, 'step')} changed>"


def diff_of(before: Report, after: Report) -> ReportDiff:
    """Return what changed from one report to another."""
    totals = []
    if before.cycles is not None and after.cycles is not None:
        totals.append(Change("cycles", before.cycles, after.cycles))
    one, other = before.compilation.modelled, after.compilation.modelled
    memory: tuple[Change, ...] = ()
    if one is not None and other is not None:
        was, now = one.including_gaps, other.including_gaps
        totals.append(Change("fullest tile, B", was.most, now.most))
        totals.append(Change("all tiles, B", was.total, now.total))
        memory = _changes(_totals(one), _totals(other))
    return ReportDiff(
        tuple(totals),
        _changes(_steps(before), _steps(after)),
        _changes(_phases(before), _phases(after)),
        memory,
    )


def steps_since(
    later: Sequence[ExecutionStep], earlier: Sequence[ExecutionStep]
) -> dict[tuple[str, int], ExecutionStep]:
    """Return what steps took between two reports, by program and row.

    Only steps that ran in between are included, with the numbers of these executions only.
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


def _changes(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[Change, ...]:
    """Return the changes of numbers by name, the largest first."""
    names = dict.fromkeys([*before, *after])
    changes = [Change(name, before.get(name, 0), after.get(name, 0)) for name in names]
    return tuple(sorted(changes, key=lambda each: -abs(each.change)))


def _steps(report: Report) -> dict[str, int]:
    return _summed((step.name, step.cycles) for step in report.execution.steps)


def _phases(report: Report) -> dict[str, int]:
    cycles: dict[str, int] = {"sync": report.execution.sync_cycles}
    for kind, average in report.execution.phase_cycles().items():
        cycles[kind] = round(average)
    return cycles


def _totals(memory: Memory) -> dict[str, int]:
    return {name: each.total for name, each in memory.categories().items()}


def _summed(numbers: Iterable[tuple[str, int]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for name, number in numbers:
        totals[name] = totals.get(name, 0) + number
    return totals


def _table(changes: Iterable[Change]) -> list[str]:
    rows = [
        (
            shortened(each.name, NAME),
            f"{each.before:,}",
            f"{each.after:,}",
            f"{each.change:+,}",
            each.percent,
        )
        for each in changes
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)] if rows else []
    return [
        f"{name:<{widths[0]}}  {before:>{widths[1]}} -> {after:>{widths[2]}}"
        f"  {change:>{widths[3]}}  {percent:>{widths[4]}}"
        for name, before, after, change, percent in rows
    ]


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
