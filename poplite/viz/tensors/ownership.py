"""The tiles of the elements of a tensor, drawn on a page, and as a table of intervals.

Elements are numbered in row-major order of the tensor that is drawn.  Runs of elements of
one tile cover them all; the view that is pointed out is runs as well.

    >>> owned = Ownership(
    ...     "v", "float32", 4, (4,), np.array([0, 3]), np.array([3, 1]), np.array([0, -1]), None
    ... )
    >>> owned.title, owned.placement()
    ("'v' float32[4]", 'on 1 tile (0), 16 B, 1 element unmapped')

Of a saved file, which has the variables of a graph and their tiles, a graph of these is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import ClassVar

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import UnknownName
from poplite.executable.parts import MOST_PIECES
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.space import variable_named
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import NO_TILE
from poplite.report.compilation import Variable as SavedVariable
from poplite.report.report import Report
from poplite.text import amount
from poplite.viz.draw.words import KEPT, name_text, shape_text, size_text
from poplite.viz.marks import Gap, ListColumn, Listing, ListRow, Mark, Picture, Words, heading
from poplite.viz.names import SAVE_AGAIN, TYPES, check_known
from poplite.viz.painters import PictureData, by_field
from poplite.viz.tensors.flat_page import Plot, fold, page_sketch, rectangles
from poplite.viz.tensors.frames import pieces_of, placement, tiles_or_none
from poplite.viz.tensors.views import Index, Selection, select

SHOWN_TILES = 40
SHOWN_INTERVALS = 4
"""Intervals of one tile in the table; more are counted."""


@frozen(eq=False)
class Ownership(PictureData):
    """The tiles of a tensor's elements.

    Attributes:
        type_name: the element type, as NumPy names it.
        begin: int64[runs], first elements, rising; runs cover all elements.
        length: int64[runs], elements of each run, above 0.
        tile: int64[runs], owner of each run, -1 for none.
        view: the highlighted view, or None.
    """

    KIND: ClassVar[str] = "tensor"
    PAGE: ClassVar[str] = "Tiles of a tensor"

    name: str
    type_name: str
    element_bytes: int
    shape: tuple[int, ...]
    begin: Int64
    length: Int64
    tile: Int64
    view: Selection | None

    @property
    def num_elements(self) -> int:
        """Elements of the tensor."""
        return math.prod(self.shape)

    @property
    def title(self) -> str:
        """Name, type and shape."""
        return f"'{name_text(self.name)}' {self.type_name}{shape_text(self.shape)}"

    def placement(self) -> str:
        """Return the tiles and the size, on one line."""
        where, unmapped = placement(self.tile, self.length)
        return f"{where}, {size_text(self.num_elements * self.element_bytes)}{unmapped}"

    def view_summary(self) -> str:
        """Return the highlighted view and its tiles; empty without a view."""
        if self.view is None:
            return ""
        tile, length = self.pieces_in_view()
        on = placement(tile, length)[0].removeprefix("on no tile")
        head = f"view [{self.view.text}]: shape {shape_text(self.view.shape)}"
        return f"{head}, {amount(int(length.sum()), 'element')} {on}".rstrip()

    def pieces_in_view(self) -> tuple[Int64, Int64]:
        """Cut the view where tiles change: `(tile, length)` of the pieces."""
        if self.view is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        end = self.view.begin + self.view.length
        first = np.searchsorted(self.begin, self.view.begin, side="right") - 1
        count = np.searchsorted(self.begin, end, side="left") - first
        source = np.repeat(np.arange(len(end)), count)
        run = first[source] + np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
        low = np.maximum(self.view.begin[source], self.begin[run])
        high = np.minimum(end[source], self.begin[run] + self.length[run])
        return self.tile[run], high - low

    def picture(self) -> Picture:
        """Return the tensor on a page and, in text, the intervals of each tile below it.

        >>> owned = Ownership(
        ...     "v", "float32", 4, (4,), np.array([0, 3]), np.array([3, 1]), np.array([0, -1]), None
        ... )
        >>> from poplite.viz.draw.words import Style
        >>> print(owned.text(Style(ascii_only=True)))
        'v' float32[4]
        on 1 tile (0), 16 B, 1 element unmapped
        axis 0 across
        <BLANKLINE>
           0       1       2       3
        0 |0                      |///////|
        <BLANKLINE>
        numbers are tiles, / unmapped
        <BLANKLINE>
        tile  elements  bytes  intervals
           0         3   12 B  [0, 3)
        none         1    4 B  [3, 4)
        <BLANKLINE>
        """
        notes = [line for line in (self.placement(), self.view_summary()) if line]
        marks: tuple[Mark, ...] = (Words("no elements", "soft"),)
        if self.num_elements:
            caption = Words(fold(self.shape).caption(), "soft")
            marks = (caption, Gap(), *_on_page(self), interval_table(self))
        return Picture(self.title, (*heading(self.title, *notes), *marks))

    def data(self) -> dict[str, object]:
        """Return an entry of `begin`, `length` and `tile` for each run; null means no tile."""
        view = self.view and by_field(self.view, "text") | {"index": self.view.text}
        found = {"element_type": self.type_name, "tile": tiles_or_none(self.tile), "view": view}
        return by_field(self, "type_name") | found

    def page_facts(self) -> dict[str, str]:
        """Return where the elements are.

        >>> x = Graph().add_variable("float32", (4,), "x", mapping=5)
        >>> "<td>[0, 4)</td>" in ownership_of(x).page()
        True
        """
        size = size_text(self.element_bytes)
        facts = {"elements": f"{self.num_elements:,} of {size} each"}
        facts["placement"] = self.placement()
        return facts | ({"view": self.view_summary().removeprefix("view ")} if self.view else {})


def ownership_of(tensor: Tensor, view: str | Index | tuple[Index, ...] | None = None) -> Ownership:
    """Find the tiles of a tensor's elements, and of a view to point out.

    The view is what `t[...]` takes, or the same as text.  Raises TensorIndexError when it does
    not fit the tensor.

    >>> x = Graph().add_variable("float32", (8,), "x", mapping=[[(0, 4)], [(4, 8)]])
    >>> ownership_of(x[2:], "1:3").view_summary()
    'view [1:3]: shape [2], 2 elements on 2 tiles (0-1)'
    """
    kind, pieces = tensor.element_type, pieces_of(tensor)
    about = tensor.name, str(kind.dtype), kind.size_bytes, tensor.shape
    chosen = None if view is None else select(tensor.shape, view)
    return Ownership(*about, pieces.begin, pieces.length, pieces.tile, chosen)


def graph_of_variables(report: Report, names: Iterable[str] = ()) -> Graph:
    """Return a graph of the variables of a report, without their values.

    Raises UnknownName when the report does not know its variables, or there is none of one of the
    names, or its tiles are not known.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> x, y = (graph.add_variable(pl.INT, (8,), name, mapping="linear") for name in "xy")
    >>> graph_of_variables(pl.Engine(graph, pl.Copy(x, y)).report()).tensor("x")
    <Tensor 'x' int32[8] on 4 tiles (0-3), 32 B>
    """
    check_known(report)
    graph = Graph(report.compilation.target)
    for variable in report.compilation.variables:
        kind = TYPES[variable.element_type]
        if variable.constant:
            graph.add_constant(kind, variable.shape, 0, variable.name)
        else:
            graph.add_variable(kind, variable.shape, variable.name)
        _place(graph, variable)
    known = dict(zip(graph.variables, report.compilation.variables, strict=True))
    for name in names:
        found = variable_named(graph.space, name, at=None)
        if known[found].first is None and found.num_elements:
            raise UnknownName(
                f"the file does not say on which tiles {name!r} lies",
                at=None,
                fix=f"{SAVE_AGAIN}, unless mappings have over {MOST_PIECES:,} pieces",
            )
    return graph


def _place(graph: Graph, variable: SavedVariable) -> None:
    """Put the elements of the last variable of a graph on their tiles."""
    if variable.first is None or variable.tiles is None:
        return
    first, tile = variable.first.array(), variable.tiles.array()
    end = np.append(first[1:], math.prod(variable.shape))
    mapped = tile >= 0
    graph.variables[-1].mapping.paint_many(first[mapped], end[mapped], tile[mapped])


# -- picture ---------------------------------------------------------------------------------------


def _on_page(owned: Ownership) -> tuple[Mark, ...]:
    page, view = fold(owned.shape), None
    tiles = rectangles(owned.begin, owned.length, owned.tile, page.columns)
    if (chosen := owned.view) is not None:
        ones = np.ones_like(chosen.begin)
        view = rectangles(chosen.begin, chosen.length, ones, page.columns)
    plot = Plot(page, tiles, view)
    colors = plot.colors(np.unique(owned.tile[owned.tile >= 0]))
    legend = colors.legend(plot.blocks.value, chosen.text if chosen else None)
    return page_sketch(plot, colors), legend


# -- table of intervals ----------------------------------------------------------------------------


@frozen(eq=False)
class TileRow:
    """The intervals of one tile.

    Attributes:
        tile: its number, -1 for elements without a tile.
        begin: int64[n], first elements.
        length: int64[n], elements of each interval.
        in_view: how many of the elements are in the view.
    """

    tile: int
    begin: Int64
    length: Int64
    in_view: int

    @property
    def elements(self) -> int:
        """Elements of the tile."""
        return int(self.length.sum())


def tile_rows(owned: Ownership) -> list[TileRow]:
    """Return a row for each tile with elements, by tile number; elements without a tile last.

    >>> owned = Ownership(
    ...     "v", "int32", 4, (4,), np.array([0, 3]), np.array([3, 1]), np.array([5, 2]), None
    ... )
    >>> [(row.tile, row.elements) for row in tile_rows(owned)]
    [(2, 1), (5, 3)]
    """
    last = np.int64(np.iinfo(np.int64).max)
    order = np.argsort(np.where(owned.tile < 0, last, owned.tile), kind="stable")
    tile, begin, length = owned.tile[order], owned.begin[order], owned.length[order]
    cuts = np.flatnonzero(np.diff(tile, prepend=tile[:1] - 1)).tolist()
    viewed_tile, viewed_length = owned.pieces_in_view()
    seen = np.bincount(viewed_tile + 1, viewed_length, int(tile.max(initial=0)) + 2)
    return [
        TileRow(int(tile[a]), begin[a:b], length[a:b], int(seen[tile[a] + 1]))
        for a, b in zip(cuts, [*cuts[1:], len(tile)], strict=True)
    ]


def interval_table(owned: Ownership) -> Listing:
    r"""Return a row for each tile or series of tiles.

    Tiles that follow each other share a row when their intervals do: one after the other, or
    the same ones moved by the same distance::

        tile      elements          bytes  intervals
        0-31  742-743 each  2,968-2,972 B  [0, 23,776) end to end
         0-3      512 each        2,048 B  [0, 32) [128, 160), then +32 a tile

    >>> runs = np.arange(0, 8, 2), np.full(4, 2), np.arange(4)
    >>> interval_table(Ownership("v", "int32", 4, (8,), *runs, None)).rows[0].cells
    ('0-3', '2 each', '8 B', '[0,\xa08) end to end')
    """
    groups = list(_series(tile_rows(owned)))
    if len(groups) > SHOWN_TILES:
        groups.sort(key=lambda group: group[0].in_view == 0)  # those in the view come first
    sizes = [ListColumn("elements", spare=2), ListColumn("bytes", spare=1)]
    seen = [ListColumn("in view")] * (owned.view is not None)
    columns = (ListColumn("tile"), *sizes, *seen, ListColumn("intervals", "words"))
    rows = tuple(ListRow((*_cells(group, owned), _intervals(group))) for group in groups)
    rest = "more rows; -o FILE.txt writes them all"
    return Listing(columns, rows, SHOWN_TILES, rest=rest, aside="intervals of each tile")


def _series(rows: list[TileRow]) -> Iterator[list[TileRow]]:
    """Group tiles that follow each other and whose intervals make a series."""
    group: list[TileRow] = []
    for row in rows:
        if group and not _joins(group, row):
            yield from _worthwhile(group)
            group = []
        group.append(row)
    yield from _worthwhile(group)


def _joins(group: list[TileRow], row: TileRow) -> bool:
    last = group[-1]
    if row.tile != last.tile + 1:
        return False
    if _follows(last, row):
        return len(group) == 1 or _follows(group[-2], last)
    distance = _distance(last, row)
    return distance is not None and (len(group) == 1 or _distance(group[-2], last) == distance)


def _follows(row: TileRow, after: TileRow) -> bool:
    """Whether one interval ends where the other begins; both in the view, or neither."""
    single = len(row.begin) == 1 == len(after.begin)
    if not single or row.begin[0] + row.length[0] != after.begin[0]:
        return False
    nothing = row.in_view == 0 == after.in_view
    return nothing or (row.in_view == row.elements and after.in_view == after.elements)


def _distance(row: TileRow, after: TileRow) -> int | None:
    """Return the offset between intervals, or None if they differ otherwise."""
    if row.in_view != after.in_view or not np.array_equal(row.length, after.length):
        return None
    moved = after.begin - row.begin
    return int(moved[0]) if (moved == moved[0]).all() else None


def _worthwhile(group: list[TileRow]) -> list[list[TileRow]]:
    """Keep two tiles separate unless they join: a series of two says little."""
    if len(group) == 2 and not _follows(*group):
        return [[row] for row in group]
    return [group] if group else []


def _cells(group: list[TileRow], owned: Ownership) -> list[str]:
    row = group[0]
    several = len(group) > 1
    sizes = [member.elements for member in group]
    tiles = f"{row.tile}-{group[-1].tile}" if several else f"{row.tile}"
    cells = [
        tiles if row.tile != NO_TILE else "none",
        f"{_span(sizes)}{' each' if several else ''}",
        f"{_span([size * owned.element_bytes for size in sizes])} B",
    ]
    return [*cells, _span([member.in_view for member in group])] if owned.view else cells


def _span(values: list[int]) -> str:
    least, most = min(values), max(values)
    return f"{least:,}" if least == most else f"{least:,}-{most:,}"


def _intervals(group: list[TileRow]) -> str:
    """Return the first intervals of the first tile, and how those of the others follow."""
    row, count = group[0], len(group[0].begin)
    if len(group) > 1 and _follows(*group[:2]):
        end = group[-1].begin[0] + group[-1].length[0]
        return f"[{row.begin[0]:,},{KEPT}{end:,}) end to end"
    first = zip(row.begin.tolist(), row.length.tolist(), strict=True)
    text = " ".join(f"[{b:,},{KEPT}{b + n:,})" for b, n in islice(first, SHOWN_INTERVALS))
    more = f" and {count - SHOWN_INTERVALS:,} more" if count > SHOWN_INTERVALS else ""
    moved = f", then {group[1].begin[0] - row.begin[0]:+,} a tile" if len(group) > 1 else ""
    return f"{text}{more}{moved}"
