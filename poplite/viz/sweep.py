"""A measure of a sweep by one parameter, or by two: what its pictures show.

    --over split            a bar for each value of split
    --over split tiles      a cell for each pair of values, split across and tiles down

Of points that differ in other parameters, the one with the least is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from poplite.errors import ControlProgramError, UnknownName, did_you_mean
from poplite.frozen import frozen
from poplite.report.sweep import BYTES, SECONDS, Sweep
from poplite.text import amount, clipped
from poplite.viz.colours import Role
from poplite.viz.draw.units import name_text, size_text
from poplite.viz.marks import ListColumn, Listing, ListRow, Matrix, Picture, Shades, composed
from poplite.viz.painters import PictureData

MOST_ROWS = 300
"""Rows of bars; where there are more values, each row has the least of several."""

LONGEST_NAME = 24
STEPS = 1_000
"""Steps between the least and the most, of which bars and shades are made."""

BAR = Role("the measure", "█", "q5", 0, "#")

MOST_LISTED = 3
"""Messages of failed points that are shown, of different texts."""


@frozen(eq=False)
class SweepGrid(PictureData):
    """A measure of a sweep by one or two parameters.

    Attributes:
        sweep: all of it.
        by: the measure.
        over: the one or two parameters.
        values: the values of each of these, in the order of the sweep.
        least: float64[values, ...], the least of all points there; NaN where all failed.
        best: where the least of all is, a position for each parameter; None where all failed.
        failures: messages of points that failed, and how many have each, the most frequent first.
    """

    sweep: Sweep
    by: str
    over: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    least: npt.NDArray[np.float64]
    best: tuple[int, ...] | None
    failures: tuple[tuple[str, int], ...]

    KIND: ClassVar = "sweep grid"

    @property
    def heading(self) -> str:
        """What the picture shows, in a line."""
        others = [name for name in self.sweep.parameters if name not in self.over]
        least = f", the least over {', '.join(map(name_text, others))}" if others else ""
        return f"{self.by} by {' and '.join(map(name_text, self.over))}{least}"

    @property
    def facts(self) -> tuple[str, ...]:
        """What is said of it beside the numbers."""
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
        """Return a cell for each pair of values, the deeper the more."""
        across, down = map(name_text, self.over)
        names, rows = (tuple(map(name_text, each)) for each in self.values)

        def text(row: int, column: int) -> str:
            return self.measured(float(self.least[column, row]))

        def tip(row: int, column: int) -> str:
            return f"{across} {names[column]}, {down} {rows[row]}: {text(row, column)}"

        return Matrix(
            rows,
            names,
            self._steps(),
            Shades(STEPS + 1),
            tip,
            chosen=None if self.best is None else (self.best[1], self.best[0]),
            texts=text,
            corner=f"{down} \\ {across}",
        )

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
        return {
            "by": self.by,
            "over": self.over,
            "values": self.values,
            "least": least,
            "points": self.sweep.num_points,
            "failures": self.failures,
        }

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
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
    """Return the values of a parameter as text; as Python writes them where 1 and '1' are two."""
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
