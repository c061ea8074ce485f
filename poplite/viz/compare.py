"""Several reports: the changes between two, or a measure of all reports of a sweep.

All bars of a comparison have one scale: shares of all cycles, and of the bytes of all tiles.  A
check, such as `cycles>+5%`, fails if its condition holds::

    cycles>+5%          more than five percent more than before
    fullest>600000      more than that, whatever it was before
    balance<-2          more than two percent points less
    step:blur>+100      the step named blur takes over a hundred cycles more

A check also fails if one of the reports lacks its number: a missing number is no improvement.

A sweep is drawn by one parameter, or by two.  Of points that differ in other parameters, the one
with the least is shown::

    --over split            a bar for each value of split
    --over split tiles      a cell for each pair of values, split across and tiles down
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from poplite.errors import ControlProgramError, UnknownName, did_you_mean
from poplite.frozen import frozen
from poplite.report import Report
from poplite.report.diff import Change, ReportDiff, execution_of
from poplite.report.execution import PHASE_KINDS
from poplite.report.sweep import BYTES, SECONDS, Sweep
from poplite.text import amount, clipped
from poplite.viz.colours import Role
from poplite.viz.draw.words import DEFAULT_STYLE, Style, name_text, size_text
from poplite.viz.marks import (
    ListColumn,
    Listing,
    ListRow,
    Mark,
    Matrix,
    Picture,
    Shades,
    Words,
    composed,
)
from poplite.viz.painters import PictureData, Table, by_name

BALANCE = "balance"

LESS, MORE = Role("less", "█", "c0", 0, "#"), Role("more", "█", "c1", 1, "#")

COLUMNS = (
    ListColumn("", "name", least=13, most=44),
    ListColumn("before", spare=2),
    ListColumn("after"),
    ListColumn("change"),
    ListColumn("", spare=1),
    ListColumn("", "bar", most=42, whole=1, signed=True),
)


@frozen
class Comparison(PictureData):
    """The changes between two reports.

    Attributes:
        names: of the reports, above their columns.
        diff: what changed.
        checks: what was checked.
        top: most changes of one kind that are listed.
    """

    names: tuple[str, str]
    diff: ReportDiff
    checks: tuple[CheckOutcome, ...] = ()
    top: int = 20

    KIND: ClassVar[str] = "diff"
    PAGE: ClassVar[str] = "What changed"

    @property
    def note(self) -> str:
        """A note if the two are of different kinds of runs."""
        return name_text(self.diff.note(self.names))

    def picture(self) -> Picture:
        """Return a row for each change, then what does not change, and the checks.

        >>> diff = ReportDiff((), (Change("blur", 200, 96),), (), ())
        >>> Comparison(("base.json", "pr.json"), diff).picture().title
        'what changed from base.json to pr.json'
        """
        unknown = Words("neither cycles nor memory are modelled in both")
        same = [name for name, changes in self.diff.sections().items() if not changes]
        changed: list[Mark] = [] if self.diff.totals else [unknown]
        changed.append(Listing(COLUMNS, tuple(self._rows())))
        return composed(
            f"what changed from {self.names[0]} to {self.names[1]}",
            [*changed, *(Words(f"{name}: no change", "soft") for name in same)],
            self._checks_listing() if self.checks else (),
            notes=[f"! {self.note}"] if self.note else [],
        )

    def _rows(self) -> Iterator[ListRow]:
        sections = {title: changes for title, changes in self.diff.sections().items() if changes}
        shares = {
            title: [self.diff.share(title, each) for each in changes[: self.top]]
            for title, changes in sections.items()
        }
        most = max((abs(share) for some in shares.values() for share in some), default=1)
        yield from (_row(each, 0.0, 0) for each in self.diff.totals)
        for title, changes in sections.items():
            yield ListRow((title, "", "", "", "", ()), tone="strong")
            for change, share in zip(changes, shares[title], strict=False):
                yield _row(change, share / most, 1)
            if len(changes) > self.top:
                more = f"... {len(changes) - self.top:,} more"
                yield ListRow((more, "", "", "", "", ()), level=1, tone="soft")

    def _checks_listing(self) -> Listing:
        rows = [
            ListRow((verdict, said), tone="strong" if failed else "plain", tip=said)
            for failed, (verdict, said) in self._verdicts()
        ]
        return Listing((ListColumn("", "name"),) * 2, rows, has_titles=False)

    def _verdicts(self) -> list[tuple[bool, list[str]]]:
        """Return for each check whether it failed, its verdict in a word, and the details."""
        texts = (name_text(each.text(self.names)).split("  ", 1) for each in self.checks)
        return [(each.failed, text) for each, text in zip(self.checks, texts, strict=True)]

    def text(self, style: Style = DEFAULT_STYLE) -> str:
        """Return what changed as text."""
        text = PictureData.text(self, style)
        return text.replace("×", "x") if style.ascii_only else text

    def checks_text(self, style: Style = DEFAULT_STYLE) -> str:
        """Return the results of the checks, one per line."""
        lines = ((failed, "  ".join(text)) for failed, text in self._verdicts())
        return "".join(f"{style.warning(line) if bad else line}\n" for bad, line in lines)

    def markdown(self) -> str:
        """Return what changed as a table of Markdown, for review comments."""
        before, after = map(_marked, self.names)
        lines = [f"| | {before} | {after} | change | |", "| --- | ---: | ---: | ---: | ---: |"]
        lines.append("| **in all** | | | | |")
        for row in self._rows():
            name, *numbers = map(_marked, map(str, row.cells[:-1]))
            shown = " ".join(f"| {each}" if each else "|" for each in numbers)
            lines.append(f"| {f'**{name}**' if row.tone == 'strong' else name} {shown} |")
        if self.note:
            lines = [f"**!** {_marked(self.note)}", "", *lines]
        lines += ["", "| check | |", "| --- | --- |"] if self.checks else []
        for failed, (verdict, said) in self._verdicts():
            lines.append(f"| {f'**{verdict}**' if failed else verdict} | {_marked(said)} |")
        return "\n".join(lines) + "\n"

    @property
    def subject(self) -> str:
        """Which two reports they are."""
        return " and ".join(self.names)

    def page_facts(self) -> dict[str, str]:
        """Return the names of the reports, and what was checked."""
        facts = dict(zip(("before", "after"), self.names, strict=True))
        facts |= {"!": self.note} if self.note else {}
        checks = enumerate(self._verdicts(), 1)
        return facts | {f"check {number}": "  ".join(text) for number, (_, text) in checks}

    def tables(self) -> list[Listing]:
        """Return what changed without bars."""
        names = (COLUMNS[0], *map(ListColumn, (*self.names, "change", "")))
        return [Listing(names, [replace(row, cells=row.cells[:-1]) for row in self._rows()])]

    def data(self) -> dict[str, object]:
        """Return what changed, all of it."""
        kinds = ("totals", "steps", "phases", "memory")
        found = {kind: getattr(self.diff, kind) for kind in kinds}
        checks = [
            {"check": c.check.text, "before": c.before, "after": c.after, "failed": c.failed}
            for c in self.checks
        ]
        return found | {"names": self.names, "note": self.note, "checks": checks}


def _row(change: Change, share: float, level: int) -> ListRow:
    """Return the row of a change; `share` is the length of its bar, to the left below 0."""
    name = name_text(change.name)
    numbers = (f"{change.before:,}", f"{change.after:,}", f"{change.change:+,}", change.percent)
    tip = f"{name}: {numbers[0]} -> {numbers[1]}, {numbers[2]} ({numbers[3]})"
    bar = ((LESS if share < 0 else MORE, share),) if level else ()
    return ListRow((name, *numbers, bar), level=level, tip=tip)


def _marked(text: str) -> str:
    """Return text with Markdown's special characters escaped."""
    plain = name_text(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", plain)


def column_names(before: str, after: str) -> tuple[str, str]:
    """Return the names of two files without their folders, unless they are the same then.

    >>> column_names("runs/base.json", "runs/pr.json"), column_names("a/run.json", "b/run.json")
    (('base.json', 'pr.json'), ('a/run.json', 'b/run.json'))
    """
    names = Path(before).name, Path(after).name
    shown = (before, after) if names[0] == names[1] else names
    return name_text(shown[0]), name_text(shown[1])


# -- checks ----------------------------------------------------------------------------------------

_FORM = re.compile(
    r"\s*(?P<name>.+?)\s*(?P<op>[<>])\s*(?P<sign>[+-]?)"
    r"(?P<number>\d[\d,_]*(\.\d+)?)\s*(?P<percent>%?)\s*"
)


@frozen
class Check:
    """A condition that must not hold.

    Attributes:
        text: the check as it was written.
        name: the name of the number that is checked.
        more: whether the number must not be greater; otherwise, not less.
        of: the quantity that is compared: the later number, its change, or its change in percent.
        amount: the bound.
    """

    text: str
    name: str
    more: bool
    of: Literal["value", "change", "percent"]
    amount: float

    def fails(self, before: float, after: float) -> bool:
        """Return whether the condition holds.

        >>> parsed("cycles>+5%").fails(100, 106), parsed("cycles>+5%").fails(100, 105)
        (True, False)
        """
        more = before * self.amount / 100 if self.of == "percent" else self.amount
        limit = more if self.of == "value" else before + more
        return after > limit if self.more else after < limit


@frozen
class CheckOutcome:
    """The result of a check.

    Attributes:
        check: what was checked.
        before: the earlier number; None if there is none.
        after: the later one.
    """

    check: Check
    before: float | None
    after: float | None

    @property
    def failed(self) -> bool:
        """Whether it failed; a missing number fails."""
        if self.before is None or self.after is None:
            return True
        return self.check.fails(self.before, self.after)

    def text(self, names: tuple[str, str]) -> str:
        """Return it on one line, with both numbers; `names` are those of the reports."""
        numbers = (self.before, self.after)
        missing = [name for name, number in zip(names, numbers, strict=True) if number is None]
        verdict = "FAILED" if self.failed else "passed"
        told = " -> ".join("none" if number is None else _number(number) for number in numbers)
        why = f" (not in {' and '.join(missing)})" if missing else ""
        return f"{verdict}  {self.check.text}: {told}{why}"


def parsed(text: str) -> Check:
    """Return a check as it is written: NAME, `>` or `<`, and an amount.

    Raises ValueError for any other form.

    >>> parsed("fullest > 600,000").amount, parsed("balance<-2").of, parsed("sync>+10%").of
    (600000.0, 'change', 'percent')
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not NAME>AMOUNT or NAME<AMOUNT, for instance cycles>+5%")
    name, sign, percent = found["name"], found["sign"], found["percent"]
    if percent and not sign and name != BALANCE:
        raise ValueError(f"{text!r} is percent of what? Write {name}{found['op']}+... for a change")
    amount = float(found["number"].replace(",", "").replace("_", ""))
    of: Literal["value", "change", "percent"] = "change" if sign else "value"
    if sign and percent:
        of = "percent"
    return Check(text.strip(), name, found["op"] == ">", of, -amount if sign == "-" else amount)


def outcomes(before: Report, after: Report, checks: Sequence[Check]) -> list[CheckOutcome]:
    """Return the results of checks of two reports.

    Raises UnknownName for a number that neither report has.
    """
    found = numbers_of(before), numbers_of(after)
    known = list(dict.fromkeys(name for numbers in found for name in numbers))
    for check in checks:
        if check.name not in known:
            raise UnknownName(
                f"there is no number {check.name!r} to check{did_you_mean(check.name, known)}",
                at=None,
                found=f"there are {', '.join(name for name in known if ':' not in name)}, "
                "step:NAME and kind:NAME",
                fix=f"--fail-if '{known[0]}>+5%'",
            )
    return [
        CheckOutcome(check, *(numbers.get(check.name) for numbers in found)) for check in checks
    ]


def numbers_of(report: Report) -> Mapping[str, float | None]:
    """Return the numbers that checks may name; None for those that are not modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> numbers = numbers_of(pl.Engine(graph, pl.Copy(a, b)).report())
    >>> numbers["cycles"] == numbers["copy"] * 4 == numbers["step:a to b"]
    True
    """
    execution, memory = execution_of(report), report.compilation.modelled
    modelled = execution.cycles is not None
    busy = execution.tile_cycles
    most = int(busy.max(initial=0))
    found: dict[str, float | None] = {
        "cycles": execution.cycles,
        "fullest": None if memory is None else memory.including_gaps.most,
        "bytes": None if memory is None else memory.including_gaps.total,
        BALANCE: 100 * float(busy.mean()) / most if most else (100.0 if modelled else None),
        "sync": execution.sync_cycles if modelled else None,
    }
    phases = execution.phase_cycles()
    found |= {kind: phases[kind] if modelled else None for kind in PHASE_KINDS}
    spent = execution.time_parts()
    found |= {part: spent[part] if modelled else None for part in spent if part not in found}
    for step in execution.steps:
        name = f"step:{step.name}"
        found[name] = (found.get(name) or 0) + step.cycles
    if memory is not None:
        found |= {f"kind:{name}": each.total for name, each in memory.categories().items()}
    return found


def _number(number: float) -> str:
    return f"{number:,.1f}" if isinstance(number, float) else f"{number:,}"


# -- sweeps ----------------------------------------------------------------------------------------


MOST_ROWS = 300
"""Maximum rows of bars; with more values, each row shows the least of several."""

LONGEST_NAME = 24
STEPS = 1_000
"""Number of steps of bars and shades between the least and the most."""

BAR = Role("the measure", "█", "q5", 0, "#")

MOST_LISTED = 3
"""Maximum number of different messages of failed points that are shown."""


@frozen(eq=False)
class SweepGrid(PictureData):
    """A measure of a sweep by one or two parameters.

    Attributes:
        sweep: all of it.
        by: the measure.
        over: the one or two parameters.
        values: the values of each of these, in the order of the sweep.
        least: float64[values, ...], the least of all points there; NaN where all failed.
        best: where the least of all is, a position for each parameter; None if all failed.
        failures: messages of points that failed, and how many have each, the most frequent first.
    """

    sweep: Sweep
    by: str
    over: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    least: npt.NDArray[np.float64]
    best: tuple[int, ...] | None
    failures: tuple[tuple[str, int], ...]

    KIND: ClassVar[str] = "sweep grid"

    @property
    def heading(self) -> str:
        """The contents of the picture, in one line."""
        others = [name for name in self.sweep.parameters if name not in self.over]
        least = f", the least over {', '.join(map(name_text, others))}" if others else ""
        return f"{self.by} by {' and '.join(map(name_text, self.over))}{least}"

    @property
    def facts(self) -> tuple[str, ...]:
        """The text next to the numbers."""
        sweep = self.sweep
        facts = [amount(sweep.num_points, "point")]
        row = sweep.best_row(self.by)
        if self.best is not None and row is not None:
            at = ", ".join(f"{k} = {name_text(names_of(sweep, k)[row])}" for k in sweep.parameters)
            facts.append(f"least: {self.measured(float(self.least[self.best]))} at {at}")
        for message, count in self.failures[:MOST_LISTED]:
            facts.append(f"{count:,} failed: {name_text(message)}")
        if len(self.failures) > MOST_LISTED:
            facts.append(f"... {len(self.failures) - MOST_LISTED:,} other messages")
        return tuple(facts)

    def measured(self, value: float) -> str:
        """Return a number of the measure as text."""
        if math.isnan(value):
            return "failed"
        if self.by in SECONDS:
            return f"{value:.3g} s"
        return size_text(int(value)) if self.by in BYTES else f"{int(value):,}"

    def picture(self) -> Picture:
        """Return a bar for each value of a parameter, or a cell for each pair of two."""
        mark = self._listing() if len(self.over) == 1 else self._cells()
        return composed(self.heading, mark, notes=self.facts)

    def _listing(self) -> Listing:
        columns = (
            ListColumn(name_text(self.over[0]), "name", most=LONGEST_NAME),
            ListColumn(self.by),
            ListColumn("", "bar", most=40, whole=STEPS),
        )
        return Listing(columns, tuple(self._rows()))

    def _rows(self) -> Iterator[ListRow]:
        """Yield a row for each value, or for several of them the least."""
        values, names = self.least.tolist(), self.values[0]
        most = max((value for value in values if value > 0), default=1.0)  # NaN is not
        block = -(-len(values) // MOST_ROWS)
        for first in range(0, len(values), block):
            last = min(first + block, len(values)) - 1
            known = [value for value in values[first : last + 1] if not math.isnan(value)]
            value = min(known, default=math.nan)
            name = name_text(names[first] if first == last else f"{names[first]} to {names[last]}")
            length = max(1.0, STEPS * max(value / most, 0.0)) if known else 0.0
            is_best = self.best is not None and first <= self.best[0] <= last
            yield ListRow(
                (name, self.measured(value), ((BAR, length),)),
                tone="strong" if is_best else "plain" if known else "soft",
                tip=f"{name_text(self.over[0])} {name}: {self.measured(value)}",
            )

    def _cells(self) -> Matrix:
        """Return a cell for each pair of values, deeper for larger values."""
        across, down = map(name_text, self.over)
        names, rows = (tuple(map(name_text, each)) for each in self.values)

        def text(row: int, column: int) -> str:
            return self.measured(float(self.least[column, row]))

        def tip(row: int, column: int) -> str:
            return f"{across} {names[column]}, {down} {rows[row]}: {text(row, column)}"

        best = None if self.best is None else (self.best[1], self.best[0])
        shades, corner = Shades(STEPS + 1), f"{down} \\ {across}"
        return Matrix(rows, names, self._steps(), shades, tip, best, text, corner)

    def _steps(self) -> npt.NDArray[np.int64]:
        """Return steps from 1 on by row and column; -1 where all failed."""
        if self.best is None:
            return np.full(self.least.T.shape, -1)
        shares = self.least.T / (float(np.nanmax(np.abs(self.least))) or 1.0)
        low, high = float(np.nanmin(shares)), float(np.nanmax(shares))
        steps = 1 + np.round((shares - low) / ((high - low) or 1.0) * STEPS)
        return np.where(np.isnan(steps), -1, steps).astype(np.int64)

    def data(self) -> dict[str, object]:
        """Return the measure for each value, or for each pair of values, row by row."""
        least = [None if math.isnan(value) else value for value in self.least.reshape(-1).tolist()]
        found = by_name(self, "by", "over", "values", "failures")
        return found | {"least": least, "points": self.sweep.num_points}

    def table(self) -> Table:
        """Return all columns of the sweep, a line for each point."""
        columns = [
            ["" if isinstance(v, float) and math.isnan(v) else v for v in values.tolist()]
            for values in self.sweep.values()
        ]
        return list(self.sweep), list(zip(*columns, strict=True))


def sweep_grid(sweep: Sweep, by: str = "cycles", over: Sequence[str] = ()) -> SweepGrid:
    """Return a measure of a sweep by parameters.

    Args:
        sweep: of any number of parameters.
        by: the measure.
        over: one or two parameters; by default the first ones that have several values.

    Raises:
        UnknownName: for a measure or a parameter that the sweep does not have.
        ControlProgramError: for three parameters, or one twice.
    """
    measured = sweep.measure(by)
    chosen = tuple(over) or _varying(sweep)
    for name in chosen:
        if name not in sweep.parameters:
            raise UnknownName(
                f"the sweep has no parameter {clipped(name)}{did_you_mean(name, sweep.parameters)}",
                at=None,
                found=f"parameters: {', '.join(sweep.parameters)}",
                fix=f"--over {sweep.parameters[0]}",
            )
    if len(set(chosen)) < len(chosen) or len(chosen) > 2:
        raise ControlProgramError(
            f"a sweep is drawn over one parameter or two different ones, not {' '.join(chosen)}",
            at=None,
            found=f"parameters: {', '.join(sweep.parameters)}",
            fix=f"--over {' '.join(sweep.parameters[:2])}",
        )
    places, values = [], []
    for name in chosen:
        texts = names_of(sweep, name)
        known = {text: position for position, text in enumerate(dict.fromkeys(texts))}
        values.append(tuple(known))
        places.append([known[text] for text in texts])
    least = np.full([len(each) for each in values], np.inf)
    np.fmin.at(least, tuple(map(np.array, places)), measured)
    least[np.isinf(least)] = np.nan
    row = sweep.best_row(by)
    best = None if row is None else tuple(each[row] for each in places)
    return SweepGrid(sweep, by, chosen, tuple(values), least, best, _failures(sweep))


def names_of(sweep: Sweep, name: str) -> list[str]:
    """Return the values of a parameter as text, as literals if 1 and '1' both occur."""
    values = sweep[name].tolist()
    written, texts = list(map(repr, values)), list(map(str, values))
    return texts if len(set(texts)) == len(set(written)) else written


def _varying(sweep: Sweep) -> tuple[str, ...]:
    several = [name for name in sweep.parameters if len(set(names_of(sweep, name))) > 1]
    return tuple((several or list(sweep.parameters))[:2])


def _failures(sweep: Sweep) -> tuple[tuple[str, int], ...]:
    """Return the first line of each message, and how many points have it."""
    counts: dict[str, int] = {}
    for message in sweep["error"].tolist():
        if message:
            line = message.partition("\n")[0]
            counts[line] = counts.get(line, 0) + 1
    return tuple(sorted(counts.items(), key=lambda pair: -pair[1]))
