"""Pictures as text, for terminals of any width from 40 columns on.

    memory: fits; fullest tile 1: 2,712 B of 4,096 B, 66.2%

     4,096 B │            │
     2,048 B │▇▇▇▇▇▇▃▃▃   │

Numbers are never cut: columns of a listing give way in the order that they say, then names are cut
in their middles.  Everything can be distinguished without colours, and in ASCII as well.

>>> legend = marks.Legend((PHASES["copy"],))
>>> print(paint_text(marks.Picture("", (marks.Words("tiles: 4"), legend))), end="")
tiles: 4
▓ copied on its tile
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import groupby
from math import ceil
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.text import amount
from poplite.viz import marks
from poplite.viz.colours import PHASES as PHASES, Role
from poplite.viz.draw.words import (
    DEFAULT_STYLE,
    LEAST_NAME,
    Style,
    cells,
    cut,
    fitted,
    shortened,
    widest,
    wrapped,
)

EIGHTHS, ASCII_EIGHTHS = " ▁▂▃▄▅▆▇█", " .:-=+*%#"
FILLS, ASCII_FILLS = " ▁▂▃▄▅▆▇█", " ..::==##"
"""The same for bars, whose ASCII needs to look like a level and not like a shade."""

QUARTERS, ASCII_QUARTERS = " ░▒▓█", " .+%#"

COLUMNS = (64, 32, 24, 16)
"""Cells across of bars and maps; the most that fit."""

WIDEST_BAR = 8
"""Cells of the bar of one place."""

STEP, LEAST_TITLE, LEAST_DEEP = 2, 24, 4
"""Cells of a level of a tree, those of a name in any level, and levels that have indents."""

LEAST_WORDS = 30
"""Minimum room in cells for words next to a row; otherwise they go on separate lines."""
WORDS_BELOW = 8

SHORTEST_BAR = 4
"""Cells of a bar in a listing, below which it shows nothing and is left out."""

HISTOGRAM = (32, 16)
"""Bars of a histogram; the most that fit."""

_Number = TypeVar("_Number", int, npt.NDArray[np.int64])


def paint_text(picture: marks.Picture, style: Style = DEFAULT_STYLE) -> str:
    """Paint a picture as lines of text, each ended by a newline."""
    lines = [line.rstrip() for mark in picture.marks for line in painted_lines(mark, style)]
    return "".join(f"{line}\n" for line in lines)


@singledispatch
def painted_lines(mark: marks.Mark, style: Style) -> Iterable[str]:
    """Return the lines of a mark."""
    raise NotImplementedError(type(mark).__name__)


@painted_lines.register
def _words(words: marks.Words, style: Style) -> list[str]:
    paint = style.warning if words.warns else _toned(words.tone, style)
    return [paint(line) for line in wrapped(words.text, style.columns)]


@painted_lines.register
def _gap(_: marks.Gap, style: Style) -> list[str]:
    return [""]


@painted_lines.register
def _sketch(sketch: marks.Sketch, style: Style) -> list[str]:
    return sketch.lines(style)


@painted_lines.register
def _legend(legend: marks.Legend, style: Style) -> list[str]:
    lines, used = [""] * legend.in_text, 0
    for role in legend.roles if legend.in_text else ():
        character = role.character(ascii_only=style.ascii_only)
        mark = "blank" if character == " " else painted(character, role, style)
        room = cells(character if character != " " else mark) + 1 + cells(role.words)
        if used and used + 2 + room > style.columns:
            lines.append("")
            used = 0
        lines[-1] += f"{'  ' * bool(used)}{mark} {role.words}"
        used += room + 2 * bool(used)
    return lines


@painted_lines.register
def _facts(facts: marks.FactList, style: Style) -> Iterator[str]:
    wide = max((cells(name) for name, _ in facts.rows), default=0)
    for name, text in facts.rows:
        paint = style.warning if text.startswith("!") else str
        first, *rest = wrapped(text, style.columns - wide - 2)
        yield f"{style.faint(name)}{'':{wide - cells(name)}}  {paint(first)}"
        yield from (f"{'':{wide}}  {paint(line)}" for line in rest)


def _toned(tone: marks.Tone, style: Style) -> Callable[[str], str]:
    """Return the function that paints text of a tone."""
    paints = {"head": style.bold, "strong": style.bold, "soft": style.faint}
    return paints.get(tone, str)


def painted(text: str, role: Role, style: Style) -> str:
    """Return text in the colour of a role."""
    return style.faint(text) if role.category is None else style.category(text, role.category)


def _cells_of(role: Role, count: int, style: Style) -> str:
    """Return so many cells of a role, in its colour."""
    return painted(role.character(ascii_only=style.ascii_only) * count, role, style)


def _framed(label: str, side: int, drawn: str, style: Style) -> str:
    """Return a line of cells between walls, after its label, padded to a width."""
    edge = wall(style)
    return f"{style.faint(_right(label, side))} {edge}{drawn}{edge}"


def _right(text: str, room: int) -> str:
    """Return text that ends on the right of its room."""
    return " " * (room - cells(text)) + text


def wall(style: Style) -> str:
    """Return the walls of a line of cells."""
    return style.faint("|" if style.ascii_only else "│")


# -- rows ------------------------------------------------------------------------------------------


@painted_lines.register
def _listing(listing: marks.Listing, style: Style) -> Iterator[str]:
    shown = listing.rows if style.full or listing.most is None else listing.rows[: listing.most]
    table = _Table(listing, shown, style)
    yield from [""] * bool(listing.aside)
    if listing.has_titles:
        titles = table.lines(marks.ListRow(listing.titles()))
        yield from map(style.faint, map(str.rstrip, titles))
    for row in shown:
        yield from map(_toned(row.tone, style), map(str.rstrip, table.lines(row)))
    if more := len(listing.rows) - len(shown):
        yield from map(style.faint, wrapped(f"... {more:,} {listing.rest}", style.columns))


class _Table:
    """The columns of a listing that fit, and their widths."""

    def __init__(self, listing: marks.Listing, rows: Sequence[marks.ListRow], style: Style) -> None:
        self.columns, self.style, self.wholes = listing.columns, style, listing.wholes()
        self.room, self.kept = style.columns, {*range(len(self.columns))}
        self.last = max(self._of("name"), default=-1)
        self.wide = [self._widest(k, listing, rows) for k in range(len(self.columns))]
        least = [self._least(k) for k in range(len(self.columns))]
        spared = [k for k, column in enumerate(self.columns) if column.spare]
        spared.sort(key=lambda k: self.columns[k].spare)
        kept = self._fitting(least, spared)
        self.kept = {k for k in kept if self.wide[k] or self.columns[k].form == "bar"}
        self.room -= sum(self.wide[k] + 2 for k in self._of("number"))
        if listing.columns[-1].form == "words":
            words = [listing.columns[-1].title, *(str(row.cells[-1]) for row in rows)]
            self.words = min(LEAST_WORDS, max(map(cells, words)))
            self.room -= self.words + 2
        self._narrow_names()
        self._fit_bars()
        if 0 <= self.last < max(self.kept) and not self._of("bar"):  # numbers end on the right
            self.wide[self.last] += style.columns + 2 - sum(self.wide[k] + 2 for k in self.kept)
        self.deepest = max(LEAST_DEEP, (self.room - LEAST_TITLE) // (2 * STEP))

    def _fitting(self, least: Sequence[int], spared: Sequence[int]) -> list[int]:
        """Return the columns that fit, given the minimum of each."""
        kept = [*range(len(least))]
        for k in spared:
            needed = sum(least[column] + 2 for column in kept)
            if self.columns[k].form == "number" and self.columns[k].least:
                of_name = min(self.wide[self.last], self.columns[k].least)
                needed += max(0, of_name - least[self.last])
            if needed <= self.room + 2:
                break
            kept.remove(k)
        return kept

    def _of(self, form: str) -> list[int]:
        """Return the columns of a form that are kept."""
        return [k for k in sorted(self.kept) if self.columns[k].form == form]

    def _least(self, k: int) -> int:
        """Return the cells that a column has before others are left out for it."""
        column = self.columns[k]
        if column.form == "name":
            return min(self.wide[k], column.least or LEAST_NAME)
        return self.wide[k] if column.form == "number" else column.least or -2

    def _widest(self, k: int, listing: marks.Listing, rows: Sequence[marks.ListRow]) -> int:
        """Return the cells that a column of texts needs."""
        column = self.columns[k]
        if column.form in ("bar", "words"):
            return 0
        title = [cells(column.title)] if listing.has_titles else []
        step = STEP if k == self.last else 0
        texts = [cells(str(row.cells[k])) + step * row.level for row in rows]
        if k == self.last:
            beside = (cells(row.aside) + 2 * bool(row.aside) for row in rows)
            texts = [text + more for text, more in zip(texts, beside, strict=True)]
        return min(max([*title, *texts], default=0), column.most or marks.WIDTH)

    def _narrow_names(self) -> None:
        """Cut the longest names where bars need room: to three fifths, if bars are asked for."""
        names, bars = self._of("name"), self._of("bar")
        least = sum(self.columns[k].least + 2 for k in bars if self.columns[k].least)
        room = self.room - 2 * (len(names) - 1) - least
        if least:
            room = min(room, max(LEAST_NAME * len(names), (self.room - 2) * 3 // 5))
        for left, k in enumerate(sorted(names, key=lambda k: self.wide[k])):
            share = max(LEAST_NAME, room // (len(names) - left))
            self.wide[k] = min(self.wide[k], share)
            room -= self.wide[k]

    def _fit_bars(self) -> None:
        """Give bars the remaining room."""
        bars = self._of("bar")
        room = self.room - sum(self.wide[k] + 2 for k in self._of("name"))
        for k in bars:
            wide = min(self.columns[k].most or room, room // len(bars))
            least = SHORTEST_BAR * (2 if self.columns[k].signed else 1)
            self.wide[k] = wide if wide >= least else 0
            self.kept -= {k} if not self.wide[k] else set()

    def lines(self, row: marks.ListRow) -> list[str]:
        """Return a row as lines: words are next to it, or below if there is little room."""
        line, indent = self.line(row), sum(self.wide[k] + 2 for k in self.kept)
        if self.columns[-1].form != "words":
            return [line]
        below = self.style.columns - indent < self.words
        indent = WORDS_BELOW if below else indent
        words = wrapped(str(row.cells[-1]), self.style.columns - indent)
        first, *rest = (f"{'':{indent}}{each}" for each in words)
        return [line, first, *rest] if below else [f"{line}  {words[0]}", *rest]

    def line(self, row: marks.ListRow) -> str:
        """Return a row as a line, with the text after its last name if that fits."""
        if self.last == 0 and row.cells[0] and not any(row.cells[1:]):
            return cut(f"{'  ' * row.level}{row.cells[0]}", self.style.columns)
        parts = [self._cell(k, row) for k in sorted(self.kept)]
        return "  ".join(parts)

    def _cell(self, k: int, row: marks.ListRow) -> str:
        column, cell, wide = self.columns[k], row.cells[k], self.wide[k]
        if column.form == "bar":
            draw = _signed_bar if column.signed else _bar
            return draw(marks.bar_of(cell), wide, self.wholes[k], self.style)
        if column.form == "number":
            return _right(str(cell), wide)
        if k == self.last:
            return self._last_name(row)
        shown = fitted(str(cell), wide)
        return shown + " " * (wide - cells(shown))

    def _last_name(self, row: marks.ListRow) -> str:
        column, wide = self.columns[self.last], self.wide[self.last]
        cell = str(row.cells[self.last])
        steps, beyond = marks.indent_of(row.level, self.deepest)
        indent = " " * STEP * steps + beyond
        name = fitted(cell, max(3, wide - len(indent)))
        room = (wide if self.last < len(self.columns) - 1 else self.room) - len(indent)
        beside = cells(row.aside) + 2 * bool(row.aside)
        if column.keeps_aside and cells(name) + beside > room:
            shorter = shortened(cell, room - beside)
            name = shorter if cells(shorter) + beside <= room else name
        beside = beside if cells(name) + beside <= room else 0
        more = " " * (wide - len(indent) - cells(name) - beside)
        shown = painted(name, row.role, self.style) if row.role else name
        aside = f"  {self.style.faint(row.aside)}" if beside else ""
        return f"{self.style.faint(indent)}{shown}{aside}{more}"


def _signed_bar(parts: marks.BarCell, room: int, whole: float, style: Style) -> str:
    """Return a bar from the middle on, to the left where its size is below 0."""
    half = (room - 1) // 2
    if not parts:
        return " " * room
    less = sum(size for _, size in parts) < 0
    drawn = _bar(tuple((role, abs(size)) for role, size in parts), half, whole, style)
    bar = drawn.rstrip(" ")
    rest, edge = " " * (half - len(bar)), wall(style)
    return f"{rest}{bar}{edge}{' ' * half}" if less else f"{' ' * half}{edge}{drawn}"


def _bar(parts: marks.BarCell, room: int, whole: float, style: Style) -> str:
    """Return a bar, with each part rounded to whole cells; no part vanishes."""
    total = sum(size for _, size in parts)
    # A part of a damaged report may be longer than its whole.
    length = min(max(round(room * total / whole), 1), room) if total else 0
    sizes: dict[str, float] = {}
    for role, size in parts:
        sizes[role.words] = sizes.get(role.words, 0) + size
    roles = {role.words: role for role, _ in parts}
    counts = shared([ceil(size) for size in sizes.values()], length)
    drawn = (_cells_of(roles[words], n, style) for words, n in zip(sizes, counts, strict=True))
    return "".join(drawn) + " " * (room - sum(counts))


def shared(numbers: Sequence[int], whole: int) -> list[int]:
    """Return whole numbers that add up to `whole`, in proportion to these.

    >>> shared([1000, 900, 5640], 3), shared([1, 1], 3), shared([0, 0], 0)
    ([1, 0, 2], [2, 1], [0, 0])
    """
    total = sum(numbers)
    if not total:
        return [0] * len(numbers)
    taken = [number * whole // total for number in numbers]
    order = sorted(range(len(numbers)), key=lambda k: -(numbers[k] * whole % total))
    for k in order[: whole - sum(taken)]:
        taken[k] += 1
    return taken


# -- bars of places --------------------------------------------------------------------------------


@painted_lines.register
def _bars(bars: marks.StackedBars, style: Style) -> Iterator[str]:
    grid = _BarGrid(bars, style)
    for row in grid.labels:
        if grid.scale == grid.limit and row == bars.lines:
            rule = ("-" if style.ascii_only else "╌") * grid.length
            yield grid.framed("limit", style.faint(rule))
        yield grid.line(row)
    left, middle, right = bars.axis
    room = max(len(middle) + 2, grid.length - len(left) - len(right))
    yield grid.below(f"{left}{middle:^{room}}{right}")
    if grid.each > 1:
        yield grid.below(f"each column is the fullest of {amount(grid.each, bars.noun)}")


class _BarGrid:
    """The layout of bars: rows of sizes, and columns of places."""

    def __init__(self, bars: marks.StackedBars, style: Style) -> None:
        totals, high = bars.totals(), bars.lines
        most, self.limit, self.style, self.high = bars.highest(), bars.limit, style, high
        self.scale = bars.drawn_limit() or max(most, 1)
        over = max(0, most - self.scale)
        self.above = min(high, -(-over * high // self.scale))
        rows = range(high + self.above, 0, -1)
        self.labels = {row: bars.unit(self.scale * row // high) for row in rows}
        if (top := high + self.above) > high and most * high > self.scale * top:
            self.labels[top] = bars.unit(most)  # the highest bars are cut
        self.indent = max(map(len, self.labels.values())) + 2
        room = style.columns - self.indent - 2
        shown, self.each = bars.fullest(widest(COLUMNS, room))
        self.across = min(WIDEST_BAR, min(COLUMNS[0], room) // len(shown))
        self.sizes = [int(each) for each in totals[shown]]

    @property
    def length(self) -> int:
        """Cells of a line of bars."""
        return self.across * len(self.sizes)

    def line(self, row: int) -> str:
        """Return a line of bars; row 1 is the lowest."""
        drawn = "".join(self._cell(size, row) * self.across for size in self.sizes)
        return self.framed(self.labels[row], self.style.shade(drawn))

    def framed(self, label: str, drawn: str) -> str:
        """Return a line between walls, after its label."""
        return _framed(label, self.indent - 1, drawn, self.style)

    def below(self, text: str) -> str:
        """Return a line below the bars."""
        indent = max(0, min(self.indent + 1, self.style.columns - len(text)))
        return self.style.faint(f"{'':>{indent}}{text}")

    def _cell(self, size: int, row: int) -> str:
        if row > self.high:
            return "!" if size > self.scale and size * self.high > self.scale * (row - 1) else " "
        filled = -(-size * self.high * 8 // self.scale) - (row - 1) * 8
        return (ASCII_FILLS if self.style.ascii_only else FILLS)[min(8, max(0, filled))]


# -- shades ----------------------------------------------------------------------------------------


def _ramp(style: Style) -> str:
    return ASCII_EIGHTHS if style.ascii_only else EIGHTHS


def _shades(style: Style) -> str:
    return ASCII_QUARTERS if style.ascii_only else QUARTERS


def _level(value: _Number, largest: int, ramp: str, base: int = 0) -> _Number:
    """Return the position in a ramp of the character for a value; the first one is only for 0."""
    level: _Number = -(-(value - base) * (len(ramp) - 1) // (largest - base))
    return np.maximum(level, 1) if base else level


def _shaded(values: Int64, shades: marks.Shades, ramp: str) -> npt.NDArray[np.str_]:
    levels = np.array(list(ramp))[_level(values, max(1, shades.largest), ramp, shades.base)]
    return np.where(values == 0, " ", levels)


@painted_lines.register
def _tiles(tiles: marks.TileCells, style: Style) -> Iterator[str]:
    last = tiles.first + len(tiles.values) - 1
    side = max(3, len(f"{last:,}"))
    across = next(n for n in COLUMNS[:2] if n <= style.columns - side - 3)
    shaded = _shaded(tiles.values, tiles.shades, _ramp(style))
    drawn = "".join(np.where(tiles.over, "!", shaded))
    for group, first, stop in tiles.lines(across):
        if caption := tiles.caption(group, first):
            yield style.faint(caption)
        label = f"{tiles.first + first:,}"
        yield _framed(label, side, style.shade(drawn[first:stop]), style)


@painted_lines.register
def _scale(scale: marks.ShadeScale, style: Style) -> list[str]:
    shades, ramp = scale.shades, _ramp(style) if scale.steps == 8 else _shades(style)
    largest, unit = shades.largest, shades.unit
    over = [f"! over {shades.limit}"] if shades.limit else []
    if not largest:
        said = f"scale: blank {unit(0)}"
    elif shades.base:
        parts = [f"{ramp[1]} from {unit(shades.base)}", f"{ramp[-1]} up to {unit(largest)}", *over]
        said = f"scale from the least: {', '.join(parts)}"
    else:
        first = max(1, largest // (len(ramp) - 1))
        low = [f"{ramp[_level(first, largest, ramp)]} up to {unit(first)}"]
        parts = [f"blank {unit(0)}", *(low if first < largest else ())]
        said = f"scale: {', '.join([*parts, f'{ramp[-1]} up to {unit(largest)}', *over])}"
    return [style.faint(line) for line in wrapped(said, style.columns)]


@painted_lines.register
def _histogram(histogram: marks.Histogram, style: Style) -> list[str]:
    values, unit, noun = histogram.values, histogram.shades.unit, histogram.noun
    least, most = (unit(int(each)) for each in (values.min(), values.max()))
    if least == most:
        return [style.faint(f"all {noun}s: {least}")]
    room = style.columns - len(f"{noun}s: {least} || {most}")
    counts = histogram.bins(widest(HISTOGRAM, room))
    highest, ramp = max(counts), _ramp(style)
    bars = "".join(ramp[_level(count, highest, ramp)] for count in counts)
    drawn = f"{wall(style)}{style.shade(bars)}{wall(style)}"
    most_places = f"the highest bar is {amount(highest, noun)}"
    if room < HISTOGRAM[1]:
        below = wrapped(f"from {least} to {most}; {most_places}", style.columns)
        return [f"{style.faint(f'{noun}s:')} {drawn}", *map(style.faint, below)]
    indent = min(len(f"{noun}s: {least} |"), style.columns - len(most_places))
    line = f"{style.faint(f'{noun}s:')} {least} {drawn} {most}"
    return [line, style.faint(f"{'':>{indent}}{most_places}")]


@painted_lines.register
def _matrix(matrix: marks.Matrix, style: Style) -> Iterable[str]:
    if matrix.texts is None:
        return _shaded_rows(matrix, style)
    return _written_columns(matrix, matrix.texts, style)


def _written_columns(
    matrix: marks.Matrix, texts: Callable[[int, int], str], style: Style
) -> Iterator[str]:
    """Yield a table, in several parts where its columns do not fit."""
    longest = style.columns // 2 - 3
    rows = range(len(matrix.rows))
    heads = [cut(text, longest) for text in (matrix.corner, *matrix.rows)]
    columns = [
        [cut(name, longest), *(texts(row, k) for row in rows)]
        for k, name in enumerate(matrix.columns)
    ]
    room = style.columns - 2 - max(map(cells, heads))
    each = max(1, room // (2 + max(cells(text) for column in columns for text in column)))
    for begin in range(0, len(columns), each):
        part = [heads, *columns[begin : begin + each]]
        wide = [max(map(cells, column)) for column in part]
        yield from [""] * bool(begin)
        for row in zip(*part, strict=True):
            yield "  " + "  ".join(map(_right, row, wide))


def _shaded_rows(matrix: marks.Matrix, style: Style) -> Iterator[str]:
    ramp, (first, *_, last) = _shades(style), (*matrix.columns, matrix.columns[-1])
    side = max(cells(name) for name in (matrix.corner, *matrix.rows))
    each = 2 if side + 3 + 2 * len(matrix.columns) <= style.columns else 1
    if (room := each * len(matrix.columns) - cells(last)) > cells(first):
        axis = f"{first}{'':>{room - cells(first)}}{last}"
    else:
        axis = first
    yield style.faint(f"{_right(matrix.corner, side)}  {axis}")
    for name, values in zip(matrix.rows, matrix.values, strict=True):
        drawn = "".join(str(shade) * each for shade in _shaded(values, matrix.shades, ramp))
        yield _framed(name, side, style.shade(drawn), style)


# -- lengths ---------------------------------------------------------------------------------------


@painted_lines.register
def _strip(strip: marks.LengthStrip, style: Style) -> Iterator[str]:
    side = len(f"{strip.extent:,}") + 2
    room = widest(COLUMNS, style.columns - side - 3)
    count = max(1, min(strip.lines, -(-strip.extent // room)))
    parts = strip.cells(room * count)
    for line in range(count):
        at = range(line * room, line * room + room)
        found = ((parts[k], _is_over(strip, k, room * count)) for k in at)
        drawn = "".join(_run(*key, len(list(run)), style) for key, run in groupby(found))
        yield _framed(f"{strip.extent * line // count:,}", side, drawn, style)


def _is_over(strip: marks.LengthStrip, cell: int, count: int) -> bool:
    return strip.limit is not None and cell * strip.extent >= strip.limit * count


def _run(part: marks.StripPart | None, is_over: bool, count: int, style: Style) -> str:
    if is_over:
        return style.warning("!" * count)
    if part is None:
        return style.faint("." * count)
    return _cells_of(part.role, count, style)


# -- time ------------------------------------------------------------------------------------------


@painted_lines.register
def _lanes(lanes: marks.TimeLanes, style: Style) -> Iterator[str]:
    side = max(len("steps"), *map(len, (lanes.noun, *lanes.labels, *lanes.borders.values())))
    room = style.columns - side - 3
    yield style.faint(f"{'steps':>{side}}  {_numbers(lanes, room)}".rstrip())
    dash = "-" if style.ascii_only else "─"
    rows = zip(lanes.labels, lanes.states(room).tolist(), strict=True)
    for number, (label, row) in enumerate(rows):
        if number in lanes.borders:
            bar = "|" if style.ascii_only else "│"
            yield style.faint(f"{lanes.borders[number]:>{side}} {bar}{dash * room}{bar}")
        runs = groupby(row)
        drawn = (_cells_of(lanes.roles[state], len(list(run)), style) for state, run in runs)
        yield _framed(label, side, "".join(drawn), style)
    end = f"{lanes.length:,}"
    axis = f"0{lanes.unit:^{max(0, room - 1 - len(end))}}{end}"
    yield style.faint(f"{lanes.noun:>{side}}  {axis}")


def _numbers(lanes: marks.TimeLanes, columns: int) -> str:
    """Return the numbers of intervals at their starts, as far as there is room."""
    line = ""
    for number, _, begin, _ in lanes.stretches:
        at, text = begin * columns // lanes.length, f"{number}"
        if (not line or at > len(line)) and at + len(text) <= columns:
            line = f"{line:<{at}}{text}"
    return line
