"""A tensor laid flat on a page: the places of its elements, and the part that is drawn.

A tensor of any rank is folded to rows and columns that keep its row-major order: the
trailing axes run across, the leading ones down.  A run of elements then covers at most
three rectangles, and rectangles that repeat from row to row are joined::

    run [5, 18) of a 4 x 6 page        rectangles
      . . . . . .                      head  row 0, columns 5-5
      ...        [5, 18)               body  rows 1-2, columns 0-5
                                       tail  none

NumPy works on runs here, never on elements: the cost depends on the number of runs, not on the
size of the tensor.

In SVG up to six tiles take a colour of their own; more share the six so that neighbours differ.
Where their parts are too small for that, they take steps of the ramp, in the order of their
numbers.  At most 4,000 rectangles are drawn: beyond, elements are drawn in larger cells, and where
most cells would hold several tiles, the first part of the tensor is drawn instead.  A notice says
so.  In text, rows that look the same are one line; tiles too narrow for their number are joined::

         0                16               32               48
       0 │0               │1               │2               │3               │
      16 │4               │5               │6               │7               │
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.graph.tile_mapping import NO_TILE
from poplite.text import amount
from poplite.viz.colours import CATEGORIES, RAMP, Role
from poplite.viz.draw.svg import Canvas, box, text_width
from poplite.viz.draw.words import DEFAULT_STYLE, Style, wrapped
from poplite.viz.marks import Legend, Sketch

ASPECT = 2.0
"""Preferred ratio of columns to rows of a folded page."""

MIXED = -2
"""Value of a cell whose elements have several values."""


@frozen
class Page:
    """How a tensor is folded.

    Attributes:
        leading: how many leading axes run down; the others run across.  -1 when the
            tensor's single axis is wrapped like text.
    """

    shape: tuple[int, ...]
    rows: int
    columns: int
    leading: int

    def row_label(self, row: int) -> str:
        """Return the indices of the leading axes at a row, or the first element of a wrapped line.

        >>> fold((2, 3, 40)).row_label(4)
        '1, 1'
        """
        if self.leading < 0:
            return f"{row * self.columns:,}"
        place = np.unravel_index(row, self.shape[: self.leading])
        return ", ".join(f"{i:,}" for i in place)

    @property
    def size(self) -> int:
        """Elements of the tensor."""
        return math.prod(self.shape)

    @property
    def row_unit(self) -> int:
        """Rows to one index of the first axis; 1 when only one axis runs down."""
        return math.prod(self.shape[1 : self.leading]) if self.leading > 1 else 1

    @property
    def column_unit(self) -> int:
        """Columns to one index of the first axis that runs across."""
        return math.prod(self.shape[self.leading + 1 :]) if self.leading >= 0 else 1

    def column_label(self, column: int) -> str:
        """Return the index of the first axis that runs across, at a multiple of `column_unit`.

        Wrapped elements have a plus sign before it.

        >>> fold((427, 640, 4)).column_label(320)
        '80'
        """
        if self.leading < 0:
            return f"{column:,}" if self.rows == 1 else f"+{column:,}"
        return f"{column // self.column_unit:,}"

    def place(self, top: int, bottom: int, left: int, right: int) -> str:
        """Return a rectangle of the page as an index of the tensor.

        If it is not an index, it is described by element numbers, or by rows and columns.

        >>> fold((64, 128)).place(0, 16, 32, 64), fold((427, 640, 4)).place(0, 11, 0, 68)
        ('[0:16, 32:64]', '[0:11, 0:17, :]')
        """
        if self.leading < 0:
            first, last = top * self.columns + left, (bottom - 1) * self.columns + right
            return f"elements {first:,}-{last - 1:,}"
        rows, columns = self.row_unit, self.column_unit
        ends = (top, rows), (bottom, rows), (left, columns), (right, columns)
        if not self.shape or any(end % unit for end, unit in ends):
            return f"rows {top:,}-{bottom - 1:,}, columns {left:,}-{right - 1:,}"
        t, b, lo, hi = (end // unit for end, unit in ends)
        down = [f"{t}:{b}"] + [":"] * (self.leading - 1) if self.leading else []
        across = [f"{lo}:{hi}"] + [":"] * (len(self.shape) - self.leading - 1)
        return f"[{', '.join([*down, *across])}]"

    def caption(self) -> str:
        """Return the axes that run down and across, on one line.

        >>> fold((64, 128)).caption()
        'axis 0 down, axis 1 across'
        >>> fold((8192,)).caption()
        'wrapped every 128 elements'
        """
        if self.leading < 0:
            one_line = self.rows == 1
            return "axis 0 across" if one_line else f"wrapped every {self.columns:,} elements"
        rank = len(self.shape)
        down, across = _axes(0, self.leading), _axes(self.leading, rank)
        if not rank:
            return "one element"
        return f"{down} down, {across} across" if down else f"{across} across"


def _axes(begin: int, end: int) -> str:
    if begin == end:
        return ""
    if end - begin == 1:
        return f"axis {begin}"
    return "axes " + ", ".join(str(axis) for axis in range(begin, end))


def fold(shape: Sequence[int]) -> Page:
    """Fold a shape without zeros to rows and columns.

    One axis is wrapped into lines of a power of two, beyond 64 elements; several are cut where
    the page comes nearest to twice as wide as tall.

    >>> fold((427, 640, 4))
    Page(shape=(427, 640, 4), rows=427, columns=2560, leading=1)
    """
    shape = tuple(shape)
    if len(shape) == 1:
        columns = _line(shape[0])
        return Page(shape, -(-shape[0] // columns), columns, -1)
    cuts = range(1, len(shape)) if len(shape) > 1 else range(1)
    sizes = [(math.prod(shape[:cut]), math.prod(shape[cut:]), cut) for cut in cuts]
    rows, columns, cut = min(
        sizes, key=lambda size: (abs(math.log(size[1] / size[0] / ASPECT)), -size[2])
    )
    return Page(shape, rows, columns, cut)


def tick_step(extent: int, at_most: int) -> int:
    """Return a round distance between at most `at_most` ticks.

    It is a power of two, or a 1, 2 or 5 with zeros, and divides the axis if that costs at most
    half of the ticks.

    >>> tick_step(128, 10), tick_step(100, 8), tick_step(640, 8)
    (16, 20, 128)
    """
    powers = {1 << k for k in range(62)}
    decimals = {base * 10**k for k in range(18) for base in (1, 2, 5)}
    enough = sorted(step for step in powers | decimals if step * max(1, at_most) >= extent)
    least = enough[0]
    return next((step for step in enough if extent % step == 0 and step <= 2 * least), least)


def _line(count: int) -> int:
    """Return the elements of a line when one axis is wrapped."""
    if count <= 64:
        return min(count, 16) if count > 32 else count
    return 1 << math.ceil(math.log2(math.sqrt(count * ASPECT)))


@frozen(eq=False)
class Rectangles:
    """Rectangles of a page, each with one value.

    Attributes:
        top: int64[n], first rows.
        bottom: int64[n], one past the last rows.
        left: int64[n], first columns.
        right: int64[n], one past the last columns.
        value: int64[n], usually a tile.
    """

    top: Int64
    bottom: Int64
    left: Int64
    right: Int64
    value: Int64

    def __len__(self) -> int:
        return len(self.value)

    def clipped(self, rows: int, columns: int) -> Rectangles:
        """Return the parts within the first rows and columns, in the same order.

        >>> page = rectangles(np.array([0]), np.array([12]), np.array([7]), columns=4)
        >>> page.clipped(2, 3).bottom, page.clipped(2, 3).right
        (array([2]), array([3]))
        """
        kept = self.picked((self.top < rows) & (self.left < columns))
        bottom, right = np.minimum(kept.bottom, rows), np.minimum(kept.right, columns)
        return replace(kept, bottom=bottom, right=right)

    def picked(self, at: npt.NDArray[Any]) -> Rectangles:
        """Return the rectangles at some positions, or selected by a mask."""
        return Rectangles(*(getattr(self, each.name)[at] for each in fields(self)))


def rectangles(begin: Int64, length: Int64, value: Int64, columns: int) -> Rectangles:
    """Lay disjoint, rising runs of elements on a page; all arrays are int64[n], lengths above 0.

    Rectangles go from top to bottom, then from left to right; those that continue each other
    downwards are joined.

    >>> found = rectangles(np.array([1, 5]), np.array([2, 2]), np.array([9, 9]), columns=4)
    >>> found.top, found.bottom, found.left, found.right
    (array([0]), array([2]), array([1]), array([3]))
    """
    end = begin + length
    first, last = begin // columns, (end - 1) // columns
    one_row = first == last
    head = ~one_row & (begin % columns != 0)
    tail = ~one_row & (end % columns != 0)
    body_top, body_bottom = first + head, last + 1 - tail
    body = ~one_row & (body_top < body_bottom)
    zero, full = np.zeros_like(begin), np.full_like(begin, columns)
    pieces = [
        (one_row, first, first + 1, begin - first * columns, end - first * columns),
        (head, first, first + 1, begin - first * columns, full),
        (body, body_top, body_bottom, zero, full),
        (tail, last, last + 1, zero, end - last * columns),
    ]
    parts = [[*(side[keep] for side in sides), value[keep]] for keep, *sides in pieces]
    return _joined(*(np.concatenate(side) for side in zip(*parts, strict=True)))


def _joined(top: Int64, bottom: Int64, left: Int64, right: Int64, value: Int64) -> Rectangles:
    order = np.lexsort((top, value, right, left))
    top, bottom, left, right, value = (a[order] for a in (top, bottom, left, right, value))
    starts = np.ones(len(top), np.bool_)
    starts[1:] = top[1:] != bottom[:-1]
    for column in (left, right, value):
        starts[1:] |= column[1:] != column[:-1]
    ends = np.roll(starts, -1)
    top, left = top[starts], left[starts]
    found = Rectangles(top, bottom[ends], left, right[starts], value[starts])
    return found.picked(np.lexsort((left, top)))


def coarse(page: Rectangles, rows: int, columns: int, cells: tuple[int, int]) -> Rectangles:
    """Redraw a page with fewer, larger cells.

    A cell with several values has the value `MIXED`; gaps in the page leave cells out.

    >>> fine = rectangles(np.array([0, 5]), np.array([5, 3]), np.array([1, 2]), columns=8)
    >>> coarse(fine, 1, 8, (1, 2)).value
    array([ 1, -2])
    """
    down, across = cells
    top, bottom = page.top * down // rows, (page.bottom - 1) * down // rows + 1
    left, right = page.left * across // columns, (page.right - 1) * across // columns + 1
    low = np.full((down, across), np.iinfo(np.int64).max)
    high = np.full((down, across), np.iinfo(np.int64).min)
    tall = np.arange(len(page))
    for down_by in range(int((bottom - top).max(initial=0))):
        tall = tall[top[tall] + down_by < bottom[tall]]
        wide = tall
        for right_by in range(int((right - left)[tall].max(initial=0))):
            wide = wide[left[wide] + right_by < right[wide]]
            place = top[wide] + down_by, left[wide] + right_by
            np.minimum.at(low, place, page.value[wide])
            np.maximum.at(high, place, page.value[wide])
    value = np.where(low == high, low, MIXED).ravel()
    known = np.flatnonzero(low.ravel() <= high.ravel())
    return rectangles(known, np.ones_like(known), value[known], across)


# -- colours ---------------------------------------------------------------------------------------


@frozen
class TileColors:
    """The classes that tiles have in SVG, rising: of the ramp where they are in its order.

    Attributes:
        kinds: for each tile its class.
    """

    kinds: dict[int, str]

    def kind(self, tile: int) -> str:
        """Return the class of elements on one tile, on none, or on several."""
        return self.kinds.get(tile, "mixed" if tile == MIXED else "unmapped")

    def ink(self, tile: int) -> str:
        """Return the class of text on a tile."""
        kind = self.kinds.get(tile, "soft")
        return kind.replace("q", "i").replace("c", "k") if tile >= 0 else kind

    def legend(self, shown: Int64, view: str | None = None) -> Legend:
        """Return a legend of all tiles, of other shown values, and of a view."""
        roles = [Role(f"tile {tile}", "", kind) for tile, kind in self.kinds.items()]
        if len(roles) > len(CATEGORIES):
            tiles, kinds = [*self.kinds], sorted({*self.kinds.values()}, key=lambda k: int(k[1:]))
            differ = "" if kinds[0][0] == "q" else ": neighbours differ in colour"
            label = f"tiles {tiles[0]} to {tiles[-1]}{differ}"
            roles = [Role(label if kind == kinds[-1] else "", "", kind) for kind in kinds]
        others = {NO_TILE: ("unmapped", "no tile"), MIXED: ("mixed", "several tiles")}
        roles += [Role(words, "", kind) for tile, (kind, words) in others.items() if tile in shown]
        roles += [Role(f"view [{view}]", "", "mark")] * (view is not None)
        return Legend(tuple(roles), in_text=False)


def colors_of(page: Rectangles, tiles: Int64, *, is_fine: bool = False) -> TileColors:
    """Return colours of tiles, ascending: from the ramp if over six have parts too fine to see.

    >>> page = rectangles(np.arange(0, 32, 4), np.full(8, 4), np.arange(8), 8)
    >>> colors_of(page, np.arange(8), is_fine=False).kind(7)
    'c1'
    """
    letter, numbers = "c", tile_colors(page, tiles)
    if is_fine and len(tiles) > len(CATEGORIES):
        letter, numbers = "q", [k * len(RAMP) // len(tiles) for k in range(len(tiles))]
    kinds = (f"{letter}{number}" for number in numbers)
    return TileColors(dict(zip(tiles.tolist(), kinds, strict=True)))


def tile_colors(page: Rectangles, tiles: Int64) -> list[int]:
    """Return the category of each tile, ascending, so that neighbours on a page differ.

    Up to six tiles have a category each.  More share the six: a tile takes the one of its place
    among the tiles, unless a neighbour has it already, then the next that no neighbour has.  Where
    all six are taken, the one that touches least of the tile's own sides is used again::

         0  1  2  3          colours of a 4 x 4 grid       0 1 2 3
         4  5  6  7                                        4 5 0 1
         8  9 10 11                                        2 3 4 5
        12 13 14 15                                        0 1 2 3

    >>> page = rectangles(np.arange(0, 32, 4), np.full(8, 4), np.arange(8), 8)
    >>> tile_colors(page, np.arange(8))
    [0, 1, 2, 3, 4, 5, 0, 1]
    """
    beside = _neighbours(page)
    color: dict[int, int] = {}
    for rank, tile in enumerate(tiles.tolist()):
        taken = [0] * len(CATEGORIES)
        for other, sides in beside.get(tile, {}).items():
            if other in color:
                taken[color[other]] += sides
        turned = [(rank + k) % len(CATEGORIES) for k in range(len(CATEGORIES))]
        color[tile] = min(turned, key=taken.__getitem__)
    return list(color.values())


def _neighbours(page: Rectangles) -> dict[int, dict[int, int]]:
    """Return for each value the neighbouring values, with the number of shared sides."""
    found: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    across = _touching(page.left, page.right, page.top, page.bottom)
    down = _touching(page.top, page.bottom, page.left, page.right)
    value = page.value.tolist()
    for sides in (across, down):
        for k, j in sides:
            a, b = value[k], value[j]
            if a != b:
                found[a][b] += 1
                found[b][a] += 1
    return found


def _touching(near: Int64, far: Int64, low: Int64, high: Int64) -> Iterator[tuple[int, int]]:
    """Yield pairs of intervals [low, high) that overlap, one of which ends where the other begins.

    Rectangles do not overlap, so those that begin at one place are disjoint.
    """
    begins: dict[int, list[int]] = defaultdict(list)
    for k in np.lexsort((low, near)).tolist():
        begins[near[k].item()].append(k)
    lows = {place: low[members] for place, members in begins.items()}
    highs = {place: high[members] for place, members in begins.items()}
    for k, place in enumerate(far.tolist()):
        if place in begins:
            first = int(np.searchsorted(highs[place], low[k], side="right"))
            last = int(np.searchsorted(lows[place], high[k], side="left"))
            yield from ((k, other) for other in begins[place][first:last])


Float = npt.NDArray[np.floating[Any]]

LARGEST = 760.0, 460.0
LEAST = 240.0, 36.0
LARGEST_CELL = 30

MOST_RECTANGLES = 4000
COARSE_CELLS = 48, 80
MOST_TIPS = 2000
MOST_NUMBERS = 600
SEAM_FROM = 2.5
"""Rectangles narrower than this, in pixels, touch: a seam would hide them."""
LEAST_SEEN_APART = 8.0
"""Rectangles narrower than this, in pixels, show tiles by the ramp."""
LEAST_OUTLINE = 2.0
"""Parts of a view narrower than this, in pixels, are outlined together."""
FINE_BELOW = 10.0
"""Parts of a view narrower than this, in pixels, get a thin outline."""
LABELS, NOTICE = 20, 18
"""Pixels above a page for its labels, and for each notice."""


class Plot:
    """The drawn form of a page: all of it exactly, in larger cells, or its first part.

    Attributes:
        blocks: rectangles by tile, of elements of the page or of larger cells.
        notices: texts about omitted parts.
    """

    def __init__(
        self,
        page: Page,
        tiles: Rectangles,
        view: Rectangles | None = None,
        largest: tuple[float, float] = LARGEST,
    ) -> None:
        self.page, self.tiles, self.view = page, tiles, view
        self.rows, self.columns = page.rows, page.columns
        self.blocks, self.cells = tiles, (page.rows, page.columns)
        self.notices: list[str] = []
        if len(tiles) > MOST_RECTANGLES:
            self._shrink(tiles)
        self.width = max(LEAST[0], min(self.columns * LARGEST_CELL, largest[0]))
        self.height = max(LEAST[1], min(self.rows * LARGEST_CELL, largest[1]))
        self.places = self._placed(self.blocks, self.cells)
        self.side = float(np.median(np.minimum(*self.places[2:])))
        """The shorter side of a rectangle in pixels, the median of all."""
        self.outline = None if view is None else self._outline(view)

    def colors(self, tiles: Int64) -> TileColors:
        """Return the colours of tiles, rising, on this page."""
        return colors_of(self.blocks, tiles, is_fine=self.side < LEAST_SEEN_APART)

    def _shrink(self, tiles: Rectangles) -> None:
        """Draw larger cells, or the first rows and columns where most cells have several tiles."""
        rows, columns = self.rows, self.columns
        down, across = min(rows, COARSE_CELLS[0]), min(columns, COARSE_CELLS[1])
        blocks = coarse(tiles, rows, columns, (down, across))
        area = (blocks.bottom - blocks.top) * (blocks.right - blocks.left)
        if area[blocks.value == MIXED].sum() * 2 <= area.sum():
            said = f"drawn in cells of about {rows / down:,.0f} x {columns / across:,.0f} elements"
            self.blocks, self.cells = blocks, (down, across)
        else:
            while len(tiles.clipped(rows, columns)) > MOST_RECTANGLES // 2:
                wide = columns > 2 * rows
                rows, columns = (rows, -(-columns // 2)) if wide else (-(-rows // 2), columns)
            of = f"{amount(self.rows, 'row')} and {columns:,} of {amount(self.columns, 'column')}"
            said = f"only the first {rows:,} of {of} are drawn"
            self.blocks = tiles.clipped(rows, columns)
            self.rows, self.columns, self.cells = rows, columns, (rows, columns)
        self.notices.append(f"{len(tiles):,} separate parts: {said}")

    def _placed(
        self, found: Rectangles, cells: tuple[int, int]
    ) -> tuple[Float, Float, Float, Float]:
        """Return left and top edges, widths and heights of rectangles, in pixels."""
        row, column = self.height / cells[0], self.width / cells[1]
        wide, high = found.right - found.left, found.bottom - found.top
        return found.left * column, found.top * row, wide * column, high * row

    def _outline(self, whole: Rectangles) -> tuple[Float, Float, Float, Float] | None:
        """Return the parts of the view; their bounding box when they are too small or too many."""
        view = whole.clipped(self.rows, self.columns)
        if not len(view):
            self.notices.append("the view lies outside what is drawn")
            return None
        x, y, wide, high = placed = self._placed(view, (self.rows, self.columns))
        fine = len(view) > MOST_TIPS or min(wide.min(), high.min()) < LEAST_OUTLINE
        if len(view) == 1 or not fine:
            return placed
        said = f"the view's {len(view):,} parts are too fine to draw: the outline encloses them"
        self.notices.append(said)
        left, top, right, bottom = x.min(), y.min(), (x + wide).max(), (y + high).max()
        edges = (np.array([each]) for each in (left, top, right - left, bottom - top))
        return next(edges), next(edges), next(edges), next(edges)

    def draw(self, canvas: Canvas, colors: TileColors, left: float, top: float) -> None:
        """Add the rectangles, with tips where they are few, the view's outline and numbers."""
        page, blocks = self.page, self.blocks
        exact = self.cells == (self.rows, self.columns) and len(blocks) <= MOST_TIPS
        sides = (blocks.top, blocks.bottom, blocks.left, blocks.right, blocks.value, *self.places)
        canvas.open("seam" if self.side >= SEAM_FROM else "flush")
        for t, b, lo, hi, tile, x, y, w, h in zip(*(s.tolist() for s in sides), strict=True):
            count = amount((b - t) * (hi - lo), "element")
            who = "no tile" if tile == NO_TILE else f"tile {tile}"
            tip = f"{who}: {page.place(t, b, lo, hi)}, {count}" if exact else ""
            canvas.rect(left + x, top + y, w, h, colors.kind(tile), tip=tip)
        canvas.close()
        if self.outline is not None:
            x, y, wide, high = self.outline
            parts = ((left + x).tolist(), (top + y).tolist(), wide.tolist(), high.tolist())
            holes = "".join(box(*part) for part in zip(*parts, strict=True))
            canvas.path(box(left, top, self.width, self.height) + holes, "veil")
            is_fine = min(wide.min(), high.min()) < FINE_BELOW
            canvas.path(holes, f"mark{' fine' * bool(is_fine)}")
        self._write_numbers(canvas, colors, left, top)

    def _write_numbers(self, canvas: Canvas, colors: TileColors, left: float, top: float) -> None:
        """Write tile numbers into the rectangles that have room; outlines may cross them."""
        x, y, wide, high = self.places
        tiles, longest = self.blocks.value, text_width(f"{self.blocks.value.max()}", 11)
        roomy = np.flatnonzero((high >= 13) & (wide >= longest + 6) & (tiles >= 0))
        for k in roomy.tolist() if len(roomy) <= MOST_NUMBERS else ():
            middle, base = left + float(x[k] + wide[k] / 2), top + float(y[k] + high[k] / 2) + 3.5
            tile = int(tiles[k])
            kind = f"{colors.ink(tile)} mid" if self.outline is None else "ink mid halo"
            canvas.text(middle, base, f"{tile}", kind)


def page_sketch(plot: Plot, colors: TileColors) -> Sketch:
    """Return a page with the labels of its rows and columns."""
    page, ticks = plot.page, _row_ticks(plot)
    labels = [page.row_label(row) for row in ticks]
    left = round(10 + max(text_width(label, 11) for label in labels))
    above = NOTICE * len(plot.notices) + LABELS
    width = max(left + plot.width, *(text_width(line, 12) for line in plot.notices), 0.0)

    def draw(canvas: Canvas, x: float, y: float) -> None:
        for k, line in enumerate(plot.notices):
            canvas.text(x, y + 14 + NOTICE * k, line, "line soft")
        x, y = x + left, y + above
        row, column = plot.height / plot.rows, plot.width / plot.columns
        for tick, label in zip(ticks, labels, strict=True):
            canvas.text(x - 8, y + tick * row + min(row, 26) / 2 + 4, label, "soft end")
        unit = page.column_unit
        step = tick_step(plot.columns // unit or 1, max(1, int(plot.width / 48))) * unit
        for tick in range(0, plot.columns, step):
            at = x + tick * column + min(column, 30) / 2
            canvas.text(at, y - 6, page.column_label(tick), "soft mid")
        plot.draw(canvas, colors, x, y)

    lines = partial(page_lines, page, plot.tiles, plot.view)
    return Sketch(width, above + plot.height + 12, draw, lines)


def _row_ticks(plot: Plot) -> range:
    unit = plot.page.row_unit
    step = tick_step(plot.rows // unit or 1, max(1, int(plot.height / 26))) * unit
    return range(0, plot.rows, step)


# -- text ------------------------------------------------------------------------------------------

SHOWN_LINES = 40
LINES_BEFORE = 3
"""Lines shown before the view's first one when there are too many."""
WIDEST_ELEMENT = 8
"""Columns of text for one element, at most."""


def page_lines(
    page: Page, tiles: Rectangles, view: Rectangles | None, style: Style = DEFAULT_STYLE
) -> list[str]:
    """Return a page as lines, with the elements of a view marked, and a legend.

    >>> from poplite.viz.tensors.flat_page import fold, rectangles
    >>> page = rectangles(np.array([0, 3]), np.array([3, 1]), np.array([0, -1]), 4)
    >>> for line in page_lines(fold((4,)), page, None, Style(ascii_only=True)):
    ...     print(line)
       0       1       2       3
    0 |0                      |///////|
    <BLANKLINE>
    numbers are tiles, / unmapped
    """
    full, part = _VIEW_MARKS[style.ascii_only]
    said = ["numbers are tiles", *(["/ unmapped"] if (tiles.value < 0).any() else [])]
    said += [f"{full} in the view", f"{part} partly in the view"] if view else []
    legend = [style.faint(line) for line in wrapped(", ".join(said), style.columns)]
    return [*_picture(page, tiles, view, style), "", *legend]


_VIEW_MARKS = {False: ("█", "▒"), True: ("#", "+")}


@frozen
class _Ruler:
    """Turns columns of the page into columns of text."""

    columns: int
    width: int

    def at(self, column: Int64) -> Int64:
        return column * self.width // self.columns

    def covered(self) -> tuple[Int64, Int64]:
        """First page column of every text column, and one past the last."""
        text = np.arange(self.width)
        if self.width >= self.columns:
            low = text * self.columns // self.width
            return low, low + 1
        edges = -(-np.arange(self.width + 1) * self.columns // self.width)
        return edges[:-1], edges[1:]


def _picture(page: Page, tiles: Rectangles, view: Rectangles | None, style: Style) -> list[str]:
    turns = [tiles.top, tiles.bottom, *([view.top, view.bottom] if view else [])]
    starts = np.unique(np.concatenate(turns))
    starts = starts[starts < page.rows]
    first, stop = (0, len(starts)) if style.full else _window(starts, view)
    labels = [page.row_label(row) for row in starts[first:stop].tolist()]
    margin = max(len(label) for label in labels)
    room = style.columns - margin - 3
    element = min(WIDEST_ELEMENT, room // page.columns)
    ruler = _Ruler(page.columns, page.columns * element if element else room)
    rows = [_across(tiles, row) for row in starts[first:stop].tolist()]
    views = [_across(view, row) if view else None for row in starts[first:stop].tolist()]
    need = _least_room(rows, ruler) + (view is not None)
    lines = [style.faint(" " * (margin + 2) + _ticks(page, ruler))]
    lines += [f"... {first:,} lines before"] if first else []
    for label, row, seen in zip(labels, rows, views, strict=True):
        lines.append(style.faint(f"{label:>{margin}} ") + _row(row, seen, ruler, need, style))
    if stop < len(starts):
        begin = page.row_label(int(starts[stop]))
        more = f"{len(starts) - stop:,} more lines, from {begin} on"
        lines += wrapped(f"... {more}; -o FILE.txt writes them all", style.columns)
    return lines


def _window(starts: Int64, view: Rectangles | None) -> tuple[int, int]:
    """Return the lines to draw if there are too many: the first, or those of the view."""
    if len(starts) <= SHOWN_LINES:
        return 0, len(starts)
    first = 0 if view is None else int(np.searchsorted(starts, view.top.min())) - LINES_BEFORE
    first = max(0, min(first, len(starts) - SHOWN_LINES))
    return first, first + SHOWN_LINES - 1


def _ticks(page: Page, ruler: _Ruler) -> str:
    extent = page.columns // page.column_unit
    step = tick_step(extent, max(1, ruler.width // 8)) * page.column_unit
    text = ""
    for column in range(0, page.columns, step):
        place = column * ruler.width // page.columns
        label = page.column_label(column)
        if place >= len(text) and place + len(label) <= ruler.width + 1:
            text = text.ljust(place) + label + " "
    return text.rstrip()


def _across(page: Rectangles, row: int) -> Rectangles:
    """Return the rectangles that a row cuts, from left to right."""
    keep = np.flatnonzero((page.top <= row) & (row < page.bottom))
    return page.picked(keep[np.argsort(page.left[keep])])


def _row(tiles: Rectangles, view: Rectangles | None, ruler: _Ruler, need: int, style: Style) -> str:
    bar = style.faint("|" if style.ascii_only else "│")
    marks = _marks(tiles, view, ruler, style)
    text = ""
    for first, last, start, stop in _segments(tiles, ruler, need):
        group = tiles.value[first:last]
        label = _label(group)[: stop - start - 1]
        body = label + "".join(marks[start + 1 + len(label) : stop])
        outside = view is not None and not body.strip("/ ").removeprefix(label)
        plain = outside or group[0] < 0
        text += bar + (style.faint(body) if plain else style.category(body, int(group[0])))
    return text + bar


def _marks(tiles: Rectangles, view: Rectangles | None, ruler: _Ruler, style: Style) -> list[str]:
    """Return for each text column whether it is in the view, unmapped or blank."""
    low, high = ruler.covered()
    lost = tiles.value < 0
    missing = _count(tiles.left[lost], tiles.right[lost], low, high)
    marks = np.where(missing * 2 >= high - low, "/", " ")
    if view is not None:
        full, part = _VIEW_MARKS[style.ascii_only]
        seen = _count(view.left, view.right, low, high)
        marks = np.where(seen >= high - low, full, np.where(seen > 0, part, marks))
    return list(marks)


def _count(left: Int64, right: Int64, low: Int64, high: Int64) -> Float:
    """Count the elements of each `[low, high)` that lie in disjoint, rising intervals."""
    total = np.cumsum(right - left)
    ends = np.stack([left, right], axis=1).ravel()
    before = np.stack([total - (right - left), total], axis=1).ravel()
    return np.diff(np.interp((low, high), ends, before), axis=0)[0] if len(left) else low * 0.0


def _least_room(rows: list[Rectangles], ruler: _Ruler) -> int:
    """Return the width of a segment at which every label fits, bar included."""
    need = 2
    while True:
        wanted = need
        for row in rows:
            for first, last, start, stop in _segments(row, ruler, need):
                length = 1 + len(_label(row.value[first:last]))
                if length > stop - start:
                    wanted = max(wanted, length)
        if wanted == need or wanted > ruler.width:
            return need
        need = wanted


def _segments(tiles: Rectangles, ruler: _Ruler, need: int) -> list[tuple[int, int, int, int]]:
    """Join neighbours until each segment is as wide as needed.

    Each is `(first, last, start, stop)`: rectangles `first:last`, text columns `start:stop`.
    """
    left = ruler.at(tiles.left)
    cuts = np.flatnonzero(np.diff(left, prepend=-1))
    bounds = [*cuts.tolist(), len(left)]
    places = [*left[cuts].tolist(), int(ruler.at(tiles.right[-1:])[0])]
    segments: list[tuple[int, int, int, int]] = []
    begin = 0
    for k in range(1, len(bounds)):
        if places[k] - places[begin] >= need:
            segments.append((bounds[begin], bounds[k], places[begin], places[k]))
            begin = k
    if begin < len(cuts):  # the rest has no room of its own
        first, _, start, _ = segments.pop() if segments else (0, 0, 0, 0)
        segments.append((first, bounds[-1], start, places[-1]))
    return segments


def _label(tiles: Int64) -> str:
    """Return the tile of a segment, or a short list of its tiles."""
    if len(tiles) == 1:
        return f"{tiles[0]}" if tiles[0] >= 0 else ""
    if (np.diff(tiles) == 1).all() and tiles[0] >= 0:
        return f"{tiles[0]}-{tiles[-1]}"
    known = np.unique(tiles[tiles >= 0])
    return f"{len(known):,} tiles" if len(known) > 1 else f"{known[0]}.." if len(known) else ""
