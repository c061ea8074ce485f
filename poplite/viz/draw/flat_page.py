"""Where elements lie when a tensor is laid flat on a page.

A tensor of any rank is folded to rows and columns that keep its row-major order: the
trailing axes run across, the leading ones down.  A run of elements then covers at most
three rectangles, and rectangles that repeat from row to row are joined::

    run [5, 18) of a 4 x 6 page        rectangles
      . . . . . .                      head  row 0, columns 5-5
      ...        [5, 18)               body  rows 1-2, columns 0-5
                                       tail  none

NumPy works on runs here, never on elements: the cost depends on the number of runs, not on the
size of the tensor.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.graph.tile_mapping import NO_TILE
from poplite.viz.colours import CATEGORIES, RAMP

ASPECT = 2.0
"""Columns over rows that a folded page comes nearest to."""

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

        One that is no index is described by element numbers, or by rows and columns.

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
        """Return what runs down and what runs across, on one line.

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
    """Rectangles of a page, each of one value.

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
        keep = (self.top < rows) & (self.left < columns)
        return Rectangles(
            self.top[keep],
            np.minimum(self.bottom[keep], rows),
            self.left[keep],
            np.minimum(self.right[keep], columns),
            self.value[keep],
        )


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
    starts[1:] = (
        (top[1:] != bottom[:-1])
        | (left[1:] != left[:-1])
        | (right[1:] != right[:-1])
        | (value[1:] != value[:-1])
    )
    ends = np.roll(starts, -1)
    top, bottom = top[starts], bottom[ends]
    left, right, value = left[starts], right[starts], value[starts]
    order = np.lexsort((left, top))
    return Rectangles(top[order], bottom[order], left[order], right[order], value[order])


def coarse(page: Rectangles, rows: int, columns: int, cells: tuple[int, int]) -> Rectangles:
    """Redraw a page in fewer, larger cells, at most as many as its rows and columns.

    A cell of several values has the value `MIXED`; gaps in the page leave cells out.

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
    """The classes that tiles have in SVG.

    Attributes:
        tiles: int64[n], the tiles, rising.
        numbers: for each tile its category, or its step of the ramp.
        is_ramp: whether they are steps of the ramp, in the order of the tiles.
    """

    tiles: Int64
    numbers: dict[int, int]
    is_ramp: bool

    def kind(self, tile: int) -> str:
        """Return the class of what lies on a tile, on none, or on several."""
        if tile < 0:
            return "mixed" if tile == MIXED else "unmapped"
        return f"{'q' if self.is_ramp else 'c'}{self.numbers[tile]}"

    def ink(self, tile: int) -> str:
        """Return the class of text upon a tile."""
        return "soft" if tile < 0 else f"{'i' if self.is_ramp else 'k'}{self.numbers[tile]}"

    def legend(self, shown: Int64) -> list[tuple[list[str], str]]:
        """Return classes and words of each entry of a legend, for all tiles and what is shown."""
        tiles = self.tiles.tolist()
        entries = [([self.kind(tile)], f"tile {tile}") for tile in tiles]
        if self.is_ramp:
            entries = [([f"q{k}" for k in range(len(RAMP))], f"tiles {tiles[0]} to {tiles[-1]}")]
        elif len(tiles) > len(CATEGORIES):
            label = f"tiles {tiles[0]} to {tiles[-1]}: neighbours differ in colour"
            entries = [([f"c{k}" for k in range(len(CATEGORIES))], label)]
        others = {NO_TILE: ("unmapped", "no tile"), MIXED: ("mixed", "several tiles")}
        return entries + [([k], words) for tile, (k, words) in others.items() if tile in shown]


def colors_of(page: Rectangles, tiles: Int64, *, is_fine: bool = False) -> TileColors:
    """Return colours of tiles, rising: of the ramp where over six have parts too fine to see.

    >>> page = rectangles(np.arange(0, 32, 4), np.full(8, 4), np.arange(8), 8)
    >>> colors_of(page, np.arange(8), is_fine=False).kind(7)
    'c1'
    """
    if is_fine and len(tiles) > len(CATEGORIES):
        steps = np.arange(len(tiles)) * len(RAMP) // len(tiles)
        return TileColors(tiles, dict(zip(tiles.tolist(), steps.tolist(), strict=True)), True)
    categories = tile_colors(page, tiles)
    return TileColors(tiles, dict(zip(tiles.tolist(), categories, strict=True)), False)


def tile_colors(page: Rectangles, tiles: Int64) -> list[int]:
    """Return the category of each of the tiles, rising, so that neighbours on a page differ.

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
    """Return for each value the others that share sides with it, and how many sides."""
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
