"""Marks: the parts of every picture, before they are painted.

A picture is made in two steps, each a function: from a report to plain data, and from these data to
a `Picture`, which is marks from top to bottom.  Painters turn marks into text (`paint_text`), into
SVG and with it PNG (`paint_svg`); a page holds the SVG, and its script draws marks of these names
from the same data (`assets/view/plot.js`)::

    Report --memory_bars()--> MemoryBars --memory_picture()--> Picture --> text, SVG, PNG, page

A mark holds data at full resolution, a size of every tile for example, and nothing of any medium:
neither columns nor pixels.  How much fits is known to painters alone, so they choose what stands
for several: the largest one, or what most of them do.  Lengths that a picture asks for are in
*units*, of which `WIDTH` are across: a unit is a cell of a terminal of 80 columns.

    mark         shows                                         in text
    Words        a heading, a line, a warning                  lines that are wrapped
    Gap          nothing                                       an empty line
    Legend       which colours stand for what                  characters and words
    FactList     names and sentences                            two columns; sentences are wrapped
    Listing      rows of numbers, names and bars               a table; columns give way
    StackedBars  a size for each of many places, with a limit  bars of eighths of a cell
    TileCells    a shade for each of many places, in lines     a map of eighths
    ShadeScale   what shades mean                              a sentence
    Histogram    how many places have how much                 a line of eighths
    TimeLanes    what lanes do in time                         a character a cell
    LengthStrip  a length, and what lies where in it           a character a cell
    Matrix       a shade for each pair of row and column       four shades, or a table
    Sketch       shapes in places of their own                 lines that come with it

>>> Picture("tiles: 4", (Words("tiles: 4", "head"), Gap())).marks[0].warns
False
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.viz.colours import RAMP, Role, ramp_step
from poplite.viz.draw.svg import Canvas
from poplite.viz.draw.words import Style, size_text

WIDTH = 80
"""Units across."""

LEAST_SHARE = 0.5
"""Share of the limit from which on the fullest place is drawn against all of it."""

MOST_ROWS = 40
"""Rows of a long listing that standard output has unless all are asked for."""

Tone: TypeAlias = Literal["head", "strong", "plain", "note", "soft"]
"""How a line of words is said: headings of pictures and of parts, lines, what is said beside."""


@frozen
class Words:
    """A line of words; it warns where it begins with an exclamation mark.

    Attributes:
        text: the words, which text breaks into as many lines as it takes.
        tone: how they are said.
        tip: further text, shown under the pointer.
    """

    text: str
    tone: Tone = "plain"
    tip: str = ""

    @property
    def warns(self) -> bool:
        """Whether these words are a warning."""
        return self.text.startswith("!")


@frozen
class Gap:
    """Room between two parts of a picture."""


@frozen
class Legend:
    """The meaning of colours.

    Attributes:
        roles: the roles; one without words belongs to the next one with words.
        in_text: whether text has the characters of the roles.
    """

    roles: tuple[Role, ...]
    in_text: bool = True


@frozen
class FactList:
    """Names, each with a text, which is wrapped; a text that begins with "!" is a warning.

    Attributes:
        rows: names and texts.
    """

    rows: tuple[tuple[str, str], ...]


# -- rows ------------------------------------------------------------------------------------------

BarCell: TypeAlias = "tuple[tuple[Role, float], ...]"
"""A bar in a row: its parts from left to right, each with its size."""


def bar_of(cell: str | BarCell) -> BarCell:
    """Return the parts of a bar; empty for text."""
    return () if isinstance(cell, str) else cell


@frozen
class ListColumn:
    """A column of a listing.

    Attributes:
        title: its heading.
        form: "number" stands to the right and is never cut; "name" is cut in its middle where
            there is no room; "words", the last column, are wrapped; "bar" takes the room that is
            left.
        spare: where there is no room, which numbers and names are left out first, from 1; 0: never.
        least: units that a bar has at least, for which names are cut; 0: it is left out instead.
            Units that a name has before numbers are left out for it; 0: a few.  Units that the
            last name has before this number is left out for it.
        most: units that a name or a bar has at most; 0: as many as there are.
        whole: the size of a whole bar; None: the largest of the rows.
        track: whether the whole of a bar is shown behind it.
        keeps_aside: whether names in quotes are shortened before what follows is left out.
        signed: whether bars begin in the middle, those of sizes below 0 to the left.
    """

    title: str
    form: Literal["number", "name", "words", "bar"] = "number"
    spare: int = 0
    least: int = 0
    most: int = 0
    whole: float | None = None
    track: bool = False
    keeps_aside: bool = False
    signed: bool = False


@frozen
class ListRow:
    """A row of a listing.

    Attributes:
        cells: for each column its text, or the parts of its bar.
        role: the role of the row, shown as a square before its name, and in text as its
            colour; None without.
        aside: muted text after the last name, if there is room.
        level: how deep the row is, in a tree.
        tone: "soft" for what matters less, "strong" for the row to look at.
        tip: all known facts, shown under the pointer.
    """

    cells: tuple[str | BarCell, ...]
    role: Role | None = None
    aside: str = ""
    level: int = 0
    tone: Tone = "plain"
    tip: str = ""


@frozen
class Listing:
    """Rows of numbers, names and bars, all bars of a column to one scale.

    Attributes:
        columns: the columns, which describe the cells of a row.
        rows: the rows.
        most: rows that are shown in a terminal unless all are asked for.
        has_titles: whether the titles of columns are shown.
        rest: text about the rows that are not shown.
        aside: where only text has it, the title under which a page has it below the picture.
    """

    columns: tuple[ListColumn, ...]
    rows: Sequence[ListRow]
    most: int | None = None
    has_titles: bool = True
    rest: str = "more"
    aside: str = ""

    def titles(self) -> tuple[str, ...]:
        """Return the headings of the columns; empty above bars."""
        return tuple("" if column.form == "bar" else column.title for column in self.columns)

    def wholes(self) -> list[float]:
        """Return the size of a whole bar of each column, at least 1; 1 for other columns."""
        found = []
        for k, column in enumerate(self.columns):
            rows = self.rows if column.form == "bar" else ()
            sizes = [abs(sum(size for _, size in bar_of(row.cells[k]))) for row in rows]
            found.append(column.whole or max([*sizes, 1]))
        return found


def indent_of(level: int, deepest: int) -> tuple[int, str]:
    """Return how many steps a row is indented, and the number of levels beyond the deepest.

    >>> indent_of(3, 8), indent_of(12, 8)
    ((3, ''), (8, '+4 '))
    """
    return min(level, deepest), f"+{level - deepest:,} " if level > deepest else ""


# -- places ----------------------------------------------------------------------------------------


@frozen(eq=False)
class BarPart:
    """A part of stacked bars, from below.

    Attributes:
        role: what it stands for.
        sizes: int64[places].
    """

    role: Role
    sizes: Int64


@frozen(eq=False)
class StackedBars:
    """A bar for each place, mostly a tile; where several share a column, the fullest is shown.

    Attributes:
        parts: the parts of the bars, from bottom to top.
        order: int64[places], the places from left to right.
        axis: labels below: left, centre, right.
        limit: maximum for a place; None if there is none.
        noun: the word for a place, such as "tile".
        unit: how a size is written.
        lines: height in lines of text.
        most: the size of the highest, where other bars have the same scale; None: the highest bar.
    """

    parts: tuple[BarPart, ...]
    order: Int64
    axis: tuple[str, str, str]
    limit: int | None = None
    noun: str = "tile"
    unit: Callable[[int], str] = size_text
    lines: int = 4
    most: int | None = None

    def highest(self) -> int:
        """Return the size up to which bars are drawn."""
        return int(self.totals().max()) if self.most is None else self.most

    def drawn_limit(self) -> int | None:
        """Return the limit, unless the fullest place has too little to be drawn against it."""
        limit = self.limit
        return limit if limit is not None and self.highest() > LEAST_SHARE * limit else None

    def totals(self) -> Int64:
        """Return the size of each bar, by the number of its place."""
        total: Int64 = np.sum([part.sizes for part in self.parts], axis=0, dtype=np.int64)
        return total

    def fullest(self, columns: int) -> tuple[Int64, int]:
        """Return the fullest place of each column, in order, and how many places each has.

        There are `columns` of them at most.
        """
        each = -(-len(self.order) // columns)
        totals = self.totals()[self.order]
        firsts = range(0, len(self.order), each)
        shown = [first + int(totals[first : first + each].argmax()) for first in firsts]
        return self.order[shown], each


@frozen(eq=False)
class Shades:
    """How quantities become shades.

    Attributes:
        largest: the quantity of the deepest shade.
        base: the quantity at which shades begin; 0, which is blank, is below it.
        unit: how a quantity is written.
        limit: maximum for a place, in words; empty if there is none.
    """

    largest: int
    base: int = 0
    unit: Callable[[int], str] = size_text
    limit: str = ""

    def kind(self, value: int, *, over: bool = False) -> str:
        """Return the class in SVG of a quantity.

        >>> Shades(1200).kind(101), Shades(1200).kind(0), Shades(1200).kind(1300, over=True)
        ('q1', 'none', 'over')
        """
        if over or not value:
            return "over" if over else "none"
        return f"q{ramp_step(value, self.largest, self.base)}"

    def lowest(self) -> tuple[int, int]:
        """Return the lowest quantity that a scale names, and its step: few numbers take few."""
        low = self.base or max(1, self.largest // len(RAMP))
        return low, ramp_step(low, self.largest, self.base) if self.largest else 0


@frozen(eq=False)
class TileCells:
    """A shade for each of many places, in lines that are wrapped.

    Attributes:
        values: int64[places].
        over: bool[places], whether it is more than a place may have.
        tips: text about each place, shown after its number.
        shades: how quantities become shades.
        first: number of the first place.
        groups: how many equal groups begin lines of their own, under captions such as "IPU 1".
        noun: the word for a place, such as "tile".
    """

    values: Int64
    over: npt.NDArray[np.bool_]
    tips: Sequence[str]
    shades: Shades
    first: int = 0
    groups: int = 1
    noun: str = "tile"

    def lines(self, across: int) -> list[tuple[int, int, int]]:
        """Return group, first place and one past the last of each line of at most `across`.

        >>> TileCells(np.arange(6), np.arange(6) > 9, [""] * 6, Shades(5), groups=2).lines(2)
        [(0, 0, 2), (0, 2, 3), (1, 3, 5), (1, 5, 6)]
        """
        each = len(self.values) // self.groups
        return [
            (group, first, min(first + across, group * each + each))
            for group in range(self.groups)
            for first in range(group * each, group * each + each, across)
        ]

    def caption(self, group: int, first: int) -> str:
        """Return the caption of a line: its group, if it begins one of several."""
        begins = self.groups > 1 and first == group * (len(self.values) // self.groups)
        return f"IPU {group}" if begins else ""


@frozen(eq=False)
class ShadeScale:
    """The scale of shades.

    Attributes:
        shades: how quantities become shades.
        steps: how many shades text has: 4 of a matrix, 8 of others.
    """

    shades: Shades
    steps: Literal[4, 8] = 8


@frozen(eq=False)
class Histogram:
    """A histogram of quantities over places.

    Attributes:
        values: int64[places].
        shades: how quantities become shades.
        noun: the word for a place, such as "tile".
    """

    values: Int64
    shades: Shades
    noun: str = "tile"

    def bins(self, count: int) -> list[int]:
        """Return the counts of a histogram with this number of bins, from least to most.

        >>> Histogram(np.array([4, 4, 5, 8]), Shades(8)).bins(2)
        [3, 1]
        """
        least, most = int(self.values.min()), int(self.values.max(initial=0))
        # Numbers are counted from the least, as floats tell few bits.
        counts, _ = np.histogram(self.values - least, count, (0, max(most, 1) - least))
        return [int(each) for each in counts]


@frozen(eq=False)
class TimeLanes:
    """The activity of lanes, mostly blocks of tiles, over time.

    Attributes:
        labels: of the lanes, from above.
        states: from a number of columns to uint8[lanes, columns], what takes most of each cell, as
            a number in `roles`.
        roles: the activities; the last one is painted first, as the background.
        length: how long it takes.
        stretches: number, name, begin and tip of what follows each other in time, above the lanes.
        borders: captions of lanes that are drawn below a border, by lane.
        noun: the word for a lane.
        unit: the unit of time.
    """

    labels: tuple[str, ...]
    states: Callable[[int], npt.NDArray[np.uint8]]
    roles: tuple[Role, ...]
    length: int
    stretches: tuple[tuple[int, str, int, str], ...]
    borders: dict[int, str]
    noun: str = "tiles"
    unit: str = "cycles"


@frozen(eq=False)
class Matrix:
    """A shade for each pair of a row and a column.

    Attributes:
        rows: names of the rows, from above.
        columns: names of the columns.
        values: int64[rows, columns]; 0 is blank, and negative values are unknown.
        shades: how quantities become shades.
        tip: text about a row and a column.
        chosen: a row and a column that are framed.
        texts: what is written for a row and a column, in SVG where there is room; None: nothing,
            and text has shades.
        corner: text in the corner, next to the names of columns.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Int64
    shades: Shades
    tip: Callable[[int, int], str]
    chosen: tuple[int, int] | None = None
    texts: Callable[[int, int], str] | None = None
    corner: str = ""


@frozen
class StripPart:
    """A part of a strip.

    Attributes:
        begin: where it begins.
        size: its length.
        role: what it stands for.
        name: text on it, if there is room.
        tip: all known facts about it.
    """

    begin: int
    size: int
    role: Role
    name: str = ""
    tip: str = ""


@frozen
class LengthStrip:
    """A strip, such as the memory of a tile or all cycles, and its parts.

    Attributes:
        parts: its parts, in order; the gaps between them are free.
        extent: its length.
        limit: the position above which it is too much; None if there is none.
        lines: lines of text at most.
    """

    parts: tuple[StripPart, ...]
    extent: int
    limit: int | None = None
    lines: int = 1

    def cells(self, count: int) -> list[StripPart | None]:
        """Return the part at the centre of each of equally wide cells; None if it is free.

        >>> part = StripPart(2, 2, Role("x", "x", "c0"))
        >>> [each is part for each in LengthStrip((part,), 8).cells(4)]
        [False, True, False, False]
        """
        found: list[StripPart | None] = [None] * count
        for part in self.parts:
            first = -(-(2 * part.begin * count - self.extent) // (2 * self.extent))
            end = -(-(2 * (part.begin + part.size) * count - self.extent) // (2 * self.extent))
            for cell in range(max(0, first), min(count, max(end, 0))):
                found[cell] = part
        return found


@frozen(eq=False)
class Sketch:
    """Freely placed shapes, for content that no other mark shows: graphs, ribbons, addresses.

    Attributes:
        width: width of the shapes in pixels.
        height: their height in pixels.
        shapes: adds them to a canvas, with the corner of the sketch at a place.
        lines: the same as text, in a style.
    """

    width: float
    height: float
    shapes: Callable[[Canvas, float, float], None]
    lines: Callable[[Style], list[str]]


Mark: TypeAlias = (
    Words
    | Gap
    | Legend
    | FactList
    | Listing
    | StackedBars
    | TileCells
    | ShadeScale
    | Histogram
    | TimeLanes
    | LengthStrip
    | Matrix
    | Sketch
)


@frozen(eq=False)
class Picture:
    """A picture that can be painted.

    Attributes:
        title: alternative text, for screen readers.
        marks: from top to bottom.
    """

    title: str
    marks: tuple[Mark, ...]


def heading(text: str, *notes: str) -> tuple[Words, ...]:
    """Return the heading of a picture, and lines below it.

    >>> [each.tone for each in heading("tiles: 4", "16 B")]
    ['head', 'note']
    """
    return Words(text, "head"), *(Words(note, "note") for note in notes)


def left_out(count: int, words: str = "more") -> tuple[Words, ...]:
    """Return a line with the number of omitted items; empty if there are none.

    >>> left_out(1200)[0].text, left_out(0)
    ('... 1,200 more', ())
    """
    return (Words(f"... {count:,} {words}", "soft"),) if count > 0 else ()


def composed(title: str, *parts: Mark | Sequence[Mark], notes: Sequence[str] = ()) -> Picture:
    """Return a picture of a heading, its notes and parts, with a gap before each non-empty part.

    >>> len(composed("tiles: 4", Words("none"), ()).marks)
    3
    """
    marks: list[Mark] = [*heading(title, *notes)]
    for part in parts:
        each = part if isinstance(part, Sequence) else (part,)
        marks += [Gap(), *each] if each else []
    return Picture(title, tuple(marks))
