"""Pictures as SVG, and by its shapes as PNG.

Marks are painted from top to bottom, each as wide as the picture or as it needs; the picture is as
large as what was painted.  Where places are narrower than `SEPARATE` allows, bars are areas without
gaps and tips: a few lines for any number of tiles.

>>> paint_svg(marks.Picture("tiles: 4", (marks.Words("tiles: 4", "head"),)))[:4]
'<svg'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from itertools import groupby, pairwise
from math import ceil

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.text import amount
from poplite.viz import marks
from poplite.viz.colours import RAMP, Role
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, box, number, text_width
from poplite.viz.draw.words import cut, fitted, wrapped

MARGIN, ROW, GAP = 20, 20, 16
WIDE = 768
"""Width in pixels, without margins and labels on the left."""

UNIT = WIDE / marks.WIDTH

LONGEST_LINE, LONGEST_FACT = 120, 100
"""Cells of a line of words, and of words next to a name."""

MOST_ROWS = 300
"""Most rows of a listing; the JSON has all."""

LEAST_BAR = 420
"""Pixels of the whole of a bar in a listing, unless it is to be shorter."""

STEP, DEEPEST = 16, 20
"""Pixels of a level of a tree, and its deepest level with an indent of its own."""

HIGH = 55
"""Pixels of bars for a line of text."""

SEPARATE = 128
"""Maximum number of places with separate bars and tips."""

DASH = 5
NUMBERED_SIDE = 30
"""Side of a square, in pixels, from which its number is written into it."""

HISTOGRAM, HISTOGRAM_HIGH = 32, 40
MATRIX = 512
LONGEST_SIDE = 24
"""Cells of a name next to a matrix."""

TONES: dict[marks.Tone, str] = {
    "head": "head ink",
    "strong": "line ink",
    "plain": "line ink",
    "note": "line soft",
    "soft": "line soft",
}


def paint_svg(picture: marks.Picture) -> SvgText:
    """Paint a picture as SVG."""
    pen = Pen(picture.title)
    for mark in picture.marks:
        paint_mark(mark, pen)
    return pen.picture()


class Pen:
    """The position of the next mark.

    Attributes:
        canvas: the canvas.
        y: the top of the next mark.
    """

    def __init__(self, title: str) -> None:
        self.canvas = Canvas(0, 0, title=title)
        self.y: float = MARGIN
        self._right: float = 0

    def reach(self, x: float) -> None:
        """Widen the picture to include `x`."""
        self._right = max(self._right, x)

    def picture(self) -> SvgText:
        """Return the painted picture."""
        self.canvas.width = max(round(self._right) + MARGIN, 320)
        self.canvas.height = max(round(self.y) + MARGIN, 40)
        return self.canvas.text_of()


@singledispatch
def paint_mark(mark: marks.Mark, pen: Pen) -> None:
    """Paint a mark, and move the pen below it."""
    raise NotImplementedError(type(mark).__name__)


@paint_mark.register
def _words(words: marks.Words, pen: Pen) -> None:
    kind = "line ink" if words.warns and words.tone != "head" else TONES[words.tone]
    is_head = words.tone == "head"
    lines = wrapped(words.text, LONGEST_HEADING if is_head else LONGEST_LINE)
    for line in lines:
        pen.canvas.text(MARGIN, pen.y + 14, line, kind, tip=words.tip)
        pen.reach(MARGIN + text_width(line, 16 if is_head else 12))
        pen.y += ROW


@paint_mark.register
def _gap(_: marks.Gap, pen: Pen) -> None:
    pen.y += GAP


@paint_mark.register
def _sketch(sketch: marks.Sketch, pen: Pen) -> None:
    sketch.shapes(pen.canvas, MARGIN, pen.y)
    pen.reach(MARGIN + sketch.width)
    pen.y += sketch.height


@paint_mark.register
def _legend(legend: marks.Legend, pen: Pen) -> None:
    x: float = MARGIN
    for role in legend.roles:
        wide = 17 + text_width(role.words, 11) + 14 if role.words else 12
        if x > MARGIN and x + wide > MARGIN + WIDE:
            x, pen.y = MARGIN, pen.y + ROW
        pen.canvas.rect(x, pen.y + 4, 12, 12, role.kind)
        pen.canvas.text(x + 17, pen.y + 14, role.words, "soft")
        x += wide
        pen.reach(x - 14 * bool(role.words))
    pen.y += ROW


@paint_mark.register
def _facts(facts: marks.FactList, pen: Pen) -> None:
    left = MARGIN + GAP + max((text_width(name, 12) for name, _ in facts.rows), default=0)
    for name, text in facts.rows:
        pen.canvas.text(MARGIN, pen.y + 14, name, "line soft")
        for line in wrapped(text, LONGEST_FACT):
            pen.canvas.text(left, pen.y + 14, line, "line ink")
            pen.reach(left + text_width(line, 12))
            pen.y += ROW


# -- rows ------------------------------------------------------------------------------------------


@paint_mark.register
def _listing(listing: marks.Listing, pen: Pen) -> None:
    rows = listing.rows[:MOST_ROWS]
    if not rows or listing.aside:
        return
    table = _Table(listing, rows)
    pen.reach(table.right)
    if listing.has_titles:
        table.paint(marks.ListRow(listing.titles(), tone="soft"), pen)
    table.join(rows, pen)
    for row in rows:
        table.paint(row, pen)
    if more := len(listing.rows) - len(rows):
        pen.canvas.text(MARGIN, pen.y + 14, f"... {more:,} {listing.rest}", "line soft")
        pen.y += ROW


class _Table:
    """The positions of the columns of a listing."""

    def __init__(self, listing: marks.Listing, rows: Sequence[marks.ListRow]) -> None:
        self.columns, self.wholes = listing.columns, listing.wholes()
        self.has_roles = any(row.role for row in rows)
        names = [k for k, column in enumerate(self.columns) if column.form == "name"]
        self.last = max(names, default=-1)
        self.wide = [self._width(k, column, rows) for k, column in enumerate(self.columns)]
        bars = [k for k, column in enumerate(self.columns) if column.form == "bar"]
        room = WIDE - sum(self.wide) - GAP * (len(self.wide) - 1)
        for k in bars:
            most = (self.columns[k].most or marks.WIDTH) * UNIT
            self.wide[k] = min(most, max(room / len(bars), LEAST_BAR))
        self.right = MARGIN + sum(self.wide) + GAP * (len(self.wide) - 1)

    def _width(self, k: int, column: marks.ListColumn, rows: Sequence[marks.ListRow]) -> float:
        if column.form == "bar":
            return 0
        wide = [text_width(column.title, 12)]
        for row in rows:
            aside = f"  {row.aside}" if k == self.last and row.aside else ""
            wide.append(text_width(self._text(row, k) + aside, 12))
            wide[-1] += STEP * min(row.level, DEEPEST) if k == self.last else 0
        return max(wide) + (16 if k == self.last and self.has_roles else 0)

    def paint(self, row: marks.ListRow, pen: Pen) -> None:
        """Paint a row, and move the pen below it."""
        x = float(MARGIN)
        for k, (column, wide) in enumerate(zip(self.columns, self.wide, strict=True)):
            if column.form == "bar":
                self._bar(row, k, x, pen)
            elif column.form == "number":
                kind = f"{TONES[row.tone]} end"
                pen.canvas.text(x + wide, pen.y + 14, str(row.cells[k]), kind)
            else:
                self._name(row, k, x, pen)
            x += wide + GAP
        pen.y += ROW

    def _name(self, row: marks.ListRow, k: int, x: float, pen: Pen) -> None:
        aside = ""
        if k == self.last:
            aside = row.aside
            x += STEP * min(row.level, DEEPEST)
            if row.role:
                pen.canvas.rect(x, pen.y + 5, 10, 10, row.role.kind)
            x += 16 if self.has_roles else 0
        text, kind = self._text(row, k), TONES[row.tone]
        pen.canvas.text(x, pen.y + 14, text, kind, aside=aside, tip=row.tip)

    def _text(self, row: marks.ListRow, k: int) -> str:
        """Return the text of a cell of names, and the levels beyond the deepest indent."""
        beyond = marks.indent_of(row.level, DEEPEST)[1] if k == self.last else ""
        return beyond + fitted(str(row.cells[k]), self.columns[k].most or marks.WIDTH)

    def join(self, rows: Sequence[marks.ListRow], pen: Pen) -> None:
        """Draw an elbow from each row of a tree to those below it; the pen is at the first."""
        left = MARGIN + sum(self.wide[: self.last]) + GAP * self.last
        above: dict[int, float] = {}
        lowest: dict[tuple[float, float], float] = {}
        ticks = []
        for k, row in enumerate(rows):
            x, y = left + STEP * min(row.level, DEEPEST), pen.y + ROW * (k + 0.5)
            above[row.level] = y
            if 0 < row.level <= DEEPEST and row.level - 1 in above:
                lowest[x - STEP + 5, above[row.level - 1] + 7] = y
                ticks.append(f"M{number(x - STEP + 5)} {number(y)}h{number(STEP - 7)}")
        stems = [f"M{number(x)} {number(top)}V{number(end)}" for (x, top), end in lowest.items()]
        if stems:
            pen.canvas.path("".join(stems + ticks), "rule flush")

    def _bar(self, row: marks.ListRow, k: int, x: float, pen: Pen) -> None:
        parts: marks.BarCell = marks.bar_of(row.cells[k])
        if self.columns[k].track and not isinstance(row.cells[k], str):
            pen.canvas.rect(x, pen.y + 3, self.wide[k], 14, "none")
        begin, scale = x, self.wide[k] / self.wholes[k]
        if self.columns[k].signed and parts:
            middle, scale = x + self.wide[k] / 2, scale / 2
            pen.canvas.path(f"M{number(middle)} {number(pen.y)}v{ROW}", "rule")
            x = middle + scale * min(0, sum(size for _, size in parts))
        for role, size in parts:
            if size:
                pen.canvas.rect(x, pen.y + 3, scale * abs(size), 14, role.kind, tip=row.tip)
            x += scale * abs(size)
        if row.tone == "strong" and parts:
            pen.canvas.path(box(begin, pen.y + 3, self.wide[k], 14), "mark")


# -- bars of places --------------------------------------------------------------------------------


@paint_mark.register
def _bars(bars: marks.StackedBars, pen: Pen) -> None:
    limit, drawn_limit = bars.limit, bars.drawn_limit()
    scale = max(bars.highest(), drawn_limit or 1)
    shows_limit = limit is not None and limit < 0.95 * scale
    labels = [bars.unit(scale), *([f"limit {bars.unit(limit or 0)}"] if shows_limit else [])]
    left = round(MARGIN + 8 + max(text_width(label, 10) for label in labels))
    top, high = pen.y + 6, HIGH * bars.lines
    bottom = top + high
    canvas = pen.canvas
    canvas.rect(left, top, WIDE, high, "none")
    for share in (0, 0.5, 1):
        y = bottom - high * share
        canvas.text(left - 8, y + 4, bars.unit(round(scale * share)), "small soft end")
    frame = _Frame(left, bottom, high / scale, drawn_limit)
    shown, _ = bars.fullest(WIDE)
    (_separate if len(shown) <= SEPARATE else _areas)(canvas, bars, shown, frame)
    if limit is not None and limit <= scale:
        y = bottom - frame.scale * limit
        dashes = f"h{DASH}m{DASH} 0" * -(-WIDE // (2 * DASH))
        canvas.path(f"M{number(left)} {number(y)}{dashes}", "mark")
        if shows_limit:
            canvas.text(left - 8, y + 4, labels[1], "small ink end")
    for k, text in enumerate(bars.axis):
        canvas.text(left + WIDE * k / 2, bottom + 16, text, f"small soft {('', 'mid', 'end')[k]}")
    pen.reach(left + WIDE)
    pen.y = bottom + 24


class _Frame:
    """The geometry of bars: left and lower edge, pixels per unit of size, and the limit."""

    def __init__(self, left: float, bottom: float, scale: float, limit: int | None) -> None:
        self.left, self.bottom, self.scale, self.limit = left, bottom, scale, limit


def _separate(canvas: Canvas, bars: marks.StackedBars, shown: Int64, frame: _Frame) -> None:
    """Paint a bar for each place, with tips."""
    side = WIDE / len(shown)
    wide = side - min(2.0, side / 5)
    totals = bars.totals()
    for column, place in enumerate(shown.tolist()):
        x, y = frame.left + column * side, frame.bottom
        name = f"{bars.noun} {place}"
        for part in bars.parts:
            if size := int(part.sizes[place]):
                y -= frame.scale * size
                tip = f"{name}: {part.role.words} {bars.unit(size)}"
                canvas.rect(x, y, wide, frame.scale * size, part.role.kind, tip=tip)
        over = 0 if frame.limit is None else int(totals[place]) - frame.limit
        if over > 0:
            tip = f"{name}: {bars.unit(over)} over the limit"
            canvas.rect(x, y, wide, frame.scale * over, "over", tip=tip)
            if side >= 8:
                canvas.text(x + wide / 2, y - 3, "!", "over mid")


def _areas(canvas: Canvas, bars: marks.StackedBars, shown: Int64, frame: _Frame) -> None:
    """Paint the parts as areas, the whole of each below the next: a few lines for all places."""
    side = WIDE / len(shown)
    heights = np.cumsum([part.sizes[shown] for part in bars.parts], axis=0) * frame.scale
    for part, high in reversed([*zip(bars.parts, heights, strict=True)]):
        data = _stairs(high.round(1).tolist(), side, frame.left, frame.bottom)
        canvas.path(data, f"{part.role.kind} flush")
    if frame.limit is not None:
        over = np.maximum(0, bars.totals()[shown] - frame.limit) * frame.scale
        if over.any():
            limit = frame.bottom - frame.scale * frame.limit
            canvas.path(_stairs(over.round(1).tolist(), side, frame.left, limit), "over flush")


def _stairs(heights: Sequence[float], side: float, left: float, bottom: float) -> str:
    """Return path commands of an area: its columns are that high, equal ones in one piece."""
    steps = "".join(_steps(heights, side, left, bottom))
    return f"M{number(left)} {number(bottom)}{steps}V{number(bottom)}z"


def _steps(heights: Sequence[float], side: float, left: float, bottom: float) -> Iterator[str]:
    before = 0.0
    for k, height in enumerate(heights):
        if height != before:
            at = f"H{number(left + k * side)}" if k else ""
            yield f"{at}V{number(bottom - height)}"
        before = height
    yield f"H{number(left + len(heights) * side)}"


# -- shades ----------------------------------------------------------------------------------------


@paint_mark.register
def _tiles(tiles: marks.TileCells, pen: Pen) -> None:
    count = len(tiles.values)
    across = _across(count // tiles.groups)
    side = min(36, WIDE // across)
    left = round(MARGIN + 8 + text_width(f"{tiles.first + count - 1:,}", 11))
    canvas = pen.canvas
    pen.y += 18
    for column in range(0, across, 8 if across > 16 else 4):
        canvas.text(left + column * side + side / 2, pen.y - 6, f"+{column}", "small soft mid")
    for group, first, stop in tiles.lines(across):
        if caption := tiles.caption(group, first):
            pen.y += 24
            canvas.text(left, pen.y - 7, caption, "soft")
        canvas.text(left - 8, pen.y + side / 2 + 3, f"{tiles.first + first:,}", "soft end")
        _squares(canvas, tiles, range(first, stop), side, left, pen.y)
        pen.y += side
    pen.reach(left + across * side)


def _across(tiles: int) -> int:
    """Return the number of places on a line."""
    if tiles <= 16:
        return tiles
    return 16 if tiles <= 256 else 32 if tiles <= 1024 else 64


def _squares(
    canvas: Canvas, tiles: marks.TileCells, row: range, side: int, left: float, y: float
) -> None:
    gap = 1 if side < 20 else 2
    for place in row:
        value, over = int(tiles.values[place]), bool(tiles.over[place])
        name = f"{tiles.first + place}"
        x, kind = left + (place - row.start) * side, tiles.shades.kind(value, over=over)
        tip = f"{tiles.noun} {name}: {tiles.tips[place]}"
        canvas.rect(x, y, side - gap, side - gap, kind, tip=tip)
        if over or side >= NUMBERED_SIDE:
            label = (name if side >= NUMBERED_SIDE else "") + "!" * over
            ink = "bang" if over else f"i{kind[1:]}" if value else "soft"
            canvas.text(x + (side - gap) / 2, y + side / 2 + 3, label, f"{ink} mid")


@paint_mark.register
def _scale(scale: marks.ShadeScale, pen: Pen) -> None:
    shades, canvas, y = scale.shades, pen.canvas, pen.y + 4
    unit, step = shades.unit, 18
    canvas.rect(MARGIN, y, 12, 12, "none")
    canvas.text(MARGIN + 17, y + 10, unit(0), "soft")
    left = MARGIN + 25 + round(text_width(unit(0), 11))
    low, first = shades.lowest()
    right: float = left + (len(RAMP) - first) * step
    if shades.largest:
        for k in range(first, len(RAMP)):
            canvas.rect(left + (k - first) * step, y, step, 12, f"q{k}")
        label = f"up to {unit(low)}" if first == 0 and not shades.base else unit(low)
        canvas.text(left, y + 26, label, "soft")
        if low < shades.largest:
            right = max(right, left + text_width(f"{label}  {unit(shades.largest)}", 11))
            canvas.text(right, y + 26, unit(shades.largest), "soft end")
    if shades.limit:
        canvas.rect(right + 24, y, 12, 12, "over")
        canvas.text(right + 30, y + 10, "!", "bang mid")
        canvas.text(right + 41, y + 10, f"over {shades.limit}", "soft")
        right += 41 + text_width(f"over {shades.limit}", 11)
    pen.reach(right)
    pen.y = y + 30


@paint_mark.register
def _histogram(histogram: marks.Histogram, pen: Pen) -> None:
    values, shades, canvas = histogram.values, histogram.shades, pen.canvas
    counts, least, most = histogram.bins(HISTOGRAM), int(values.min()), int(values.max())
    highest, side = max(counts), 12
    noun, unit = histogram.noun, shades.unit
    canvas.open("aside")  # of no place: Home and End in a page go past it
    said = f"{noun}s by quantity; the highest bar is {amount(highest, noun)}"
    canvas.text(MARGIN, pen.y + 20, said, "soft")
    bottom = pen.y + 32 + HISTOGRAM_HIGH
    for k, count in enumerate(counts):
        middle = least + (most - least) * (2 * k + 1) // (2 * HISTOGRAM)
        kind = shades.kind(middle) if most > shades.base else "none"
        high = max(HISTOGRAM_HIGH * count / highest, 1.5 if count else 0)
        tip = f"{amount(count, noun)} near {unit(middle)}"
        canvas.rect(MARGIN + k * side, bottom - high, side - 1, high, kind, tip=tip)
    right = MARGIN + HISTOGRAM * side
    canvas.text(MARGIN, bottom + 14, unit(least), "small soft")
    canvas.text(right, bottom + 14, unit(most), "small soft end")
    canvas.close()
    pen.reach(max(right, MARGIN + text_width(said, 11)))
    pen.y = bottom + 18


@paint_mark.register
def _matrix(matrix: marks.Matrix, pen: Pen) -> None:
    rows, columns = matrix.values.shape
    side = max(2.0, min(24.0, MATRIX / max(rows, columns)))
    wide, is_written = _cell_width(matrix, side)
    names = [cut(name, LONGEST_SIDE) for name in (matrix.corner, *matrix.rows)]
    left, top = MARGIN + 8 + max(text_width(name, 10) for name in names), pen.y + 18
    pen.canvas.rect(left, top, columns * wide, rows * side, "none")
    _names_of_cells(pen.canvas, matrix, (left, top), (wide, side))
    for row, column in zip(*(axis.tolist() for axis in np.nonzero(matrix.values)), strict=True):
        value = int(matrix.values[row, column])
        kind = "gaps" if value < 0 else matrix.shades.kind(value)
        x, y = left + column * wide, top + row * side
        pen.canvas.rect(x, y, wide - 1, side - 1, kind, tip=matrix.tip(row, column))
        if is_written and matrix.texts:
            ink = f"{'on-gaps' if value < 0 else f'i{kind[1:]}'} end"
            pen.canvas.text(x + wide - 5, y + side / 2 + 3, matrix.texts(row, column), ink)
    if matrix.chosen is not None:
        row, column = matrix.chosen
        frame = box(left + column * wide, top + row * side, wide - 1, side - 1)
        pen.canvas.path(frame, "mark")
    pen.reach(left + columns * wide)
    pen.y = top + rows * side


def _names_of_cells(
    canvas: Canvas, matrix: marks.Matrix, corner: tuple[float, float], cell: tuple[float, float]
) -> None:
    """Paint the names of columns and rows for which there is room."""
    (left, top), (wide, side) = corner, cell
    names = [cut(name, LONGEST_SIDE) for name in matrix.columns]
    canvas.text(left - 6, top - 6, cut(matrix.corner, LONGEST_SIDE), "small soft end")
    for k in range(0, len(names), ceil((4 + max(text_width(name, 10) for name in names)) / wide)):
        canvas.text(left + (k + 0.5) * wide, top - 6, names[k], "small soft mid")
    for k in range(0, len(matrix.rows), ceil(12 / side)):
        name = cut(matrix.rows[k], LONGEST_SIDE)
        canvas.text(left - 6, top + (k + 0.5) * side + 4, name, "small soft end")


def _cell_width(matrix: marks.Matrix, side: float) -> tuple[float, bool]:
    """Return how wide cells of a matrix are, and whether texts are written into them."""
    rows, columns = matrix.values.shape
    if matrix.texts is None or side < 16:
        return side, False
    texts = [matrix.texts(row, column) for row in range(rows) for column in range(columns)]
    texts += [cut(name, LONGEST_SIDE) for name in matrix.columns]
    wide = max(text_width(text, 11) for text in texts)
    return (wide + 10, True) if (wide + 10) * columns <= WIDE else (side, False)


# -- lengths ---------------------------------------------------------------------------------------

STRIP_HIGH, TICKS = 44, 4


@paint_mark.register
def _strip(strip: marks.LengthStrip, pen: Pen) -> None:
    canvas, top = pen.canvas, pen.y + 6
    scale = WIDE / max(1, strip.extent)
    canvas.rect(MARGIN, top, WIDE, STRIP_HIGH, "none")
    for part in strip.parts:
        x, wide = MARGIN + part.begin * scale, part.size * scale
        canvas.rect(x, top, wide, STRIP_HIGH, f"{part.role.kind} seam", tip=part.tip)
        if part.name and text_width(part.name, 10) + 8 < wide:
            canvas.text(x + 4, top + STRIP_HIGH / 2 + 4, part.name, f"small {part.role.ink}")
    bottom = top + STRIP_HIGH
    if strip.limit is not None and strip.extent > strip.limit:
        x = MARGIN + strip.limit * scale
        canvas.rect(x, bottom, MARGIN + WIDE - x, 6, "over")
    for k in range(TICKS + 1):
        kind = "small soft" + ("" if k == 0 else " end" if k == TICKS else " mid")
        text = f"{strip.extent * k // TICKS:,}"
        canvas.text(MARGIN + WIDE * k / TICKS, bottom + 18, text, kind)
    pen.reach(MARGIN + WIDE)
    pen.y = bottom + 26


# -- time ------------------------------------------------------------------------------------------


APART = 5
"""Between lanes that have a border."""


@paint_mark.register
def _lanes(lanes: marks.TimeLanes, pen: Pen) -> None:
    count, canvas = len(lanes.labels), pen.canvas
    side = 12 if count > 8 else 20
    labels = [
        f"{lanes.borders[lane]}: {label}" if lane in lanes.borders else label
        for lane, label in enumerate(lanes.labels)
    ]
    left = round(MARGIN + 8 + max(text_width(label, 10) for label in labels))
    _stretches(canvas, lanes, left, pen.y)
    y, states = pen.y + 22, lanes.states(WIDE).tolist()
    for first, end in pairwise([0, *lanes.borders, count]):
        _grid(canvas, lanes.roles, states[first:end], (left, y, side))
        for lane in range(first, end):
            if side >= 20 or (lane - first) % 2 == 0:
                middle = y + (lane - first + 0.5) * side
                canvas.text(left - 6, middle + 4, labels[lane], "small soft end")
        y += (end - first) * side + APART
    pen.y = y - APART + 15
    canvas.text(left, pen.y, "0", "small soft")
    canvas.text(left + WIDE / 2, pen.y, lanes.unit, "small soft mid")
    canvas.text(left + WIDE, pen.y, f"{lanes.length:,}", "small soft end")
    pen.reach(left + WIDE)
    pen.y += 7


def _grid(
    canvas: Canvas, roles: Sequence[Role], rows: list[list[int]], place: tuple[float, float, int]
) -> None:
    """Paint rows of cells at a place, which includes the height of a row."""
    left, top, side = place
    blank = len(roles) - 1
    canvas.rect(left, top, WIDE, len(rows) * side, roles[blank].kind)
    for x, y, length, high, state in _boxes(rows, blank):
        canvas.rect(left + x, top + y * side, length, high * side, f"{roles[state].kind} flush")


def _stretches(canvas: Canvas, lanes: marks.TimeLanes, left: float, y: float) -> None:
    """Paint the start and end of each interval, above the lanes."""
    ends = [*(begin for _, _, begin, _ in lanes.stretches[1:]), lanes.length]
    for k, ((number_, name, begin, tip), end) in enumerate(zip(lanes.stretches, ends, strict=True)):
        x, stop = (left + at * WIDE / lanes.length for at in (begin, end))
        kind = f"q{2 + k % 2 * 3}"
        canvas.rect(x, y, stop - x, 16, kind, tip=tip)
        whole = f"{number_} {name}"
        for text in (whole, cut(whole, 12), f"{number_}"):
            if text_width(text, 11) + 8 < stop - x:
                canvas.text(x + 4, y + 12, text, f"i{kind[1:]}")
                break


def _boxes(rows: list[list[int]], blank: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield rectangles of equal cells: column, row, columns, rows, state; not blank ones."""
    open_boxes: dict[tuple[int, int, int], int] = {}
    for lane, row in enumerate([*rows, []]):
        runs, at = set(), 0
        for state, run in groupby(row):
            length = len(list(run))
            if state != blank:
                runs.add((at, length, state))
            at += length
        for closed in sorted(open_boxes.keys() - runs):
            first = open_boxes.pop(closed)
            yield closed[0], first, closed[1], lane - first, closed[2]
        for begun in runs:
            open_boxes.setdefault(begun, lane)
