"""The tiles of the elements of a view: for each tile, intervals of the flattened view.

    view       0 0 0 1 1 . 0 0        ptr    0, 2, 3
    tile 0     [0, 3) [6, 8)          begin  0, 6, 3
    tile 1     [3, 5)                 end    3, 8, 5

A mapping is three arrays (compressed rows), never a list per tile: the intervals of a tile are
slices of two of them. The arrays are computed on first access; the number of elements on each tile,
and whether all elements have a tile, can be found without them.

    >>> mapping = TileMapping(2, np.array([0, 1, NO_TILE, 0]), np.array([3, 2, 1, 2]))
    >>> mapping[0], mapping.elements_per_tile.tolist(), mapping.unmapped
    ([Interval(begin=0, end=3), Interval(begin=6, end=8)], [5, 2], [Interval(begin=5, end=6)])

Users' mappings are checked here, and converted to arrays (`intervals_of`).

Mappings are stored with the tile numbers of the top-level graph; a virtual graph numbers its own
tiles from 0. Its arguments are converted to top-level numbers (`to_top_level`), and its
results from them (`from_top_level`)::

    machine               0  1  2  3 | 4  5  6  7        two IPUs of four tiles
    top-level graph       0  1  2  3   4  5  6  7        AllTiles
    virtual graph (4, 8)               0  1  2  3        SomeTiles
    of that, [3, 1]                       1     0        SomeTiles
    the same, for operations      0  1  0  1   0  1  1  0        NearTiles

Semantics: Poplar API reference, `getTileMapping`, `Graph::createVirtualGraph`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise, zip_longest
from operator import index
from typing import TYPE_CHECKING, ClassVar, SupportsIndex

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, Intervals, merge, place, sorted_order
from poplite.display import Displayed
from poplite.errors import SHOWN_FAULTS, ConstantRemappedWarning, InvalidTileMapping
from poplite.graph.variable_mapping import NO_TILE as NO_TILE, Cut
from poplite.jit.build import address, native
from poplite.jit.kernels_tiles import by_tile
from poplite.source import SourceLocation
from poplite.text import amount, clipped, element_range, integer_or_none, of_type
from poplite.types import unmasked

if TYPE_CHECKING:
    from poplite.machine.target import Target

MOST_TILES = 1 << 31
"""Upper bound for the number of tiles of a mapping."""


class TileMapping(Displayed):
    """For each tile, the elements of a flattened view that it stores.

    `mapping[t]` behaves like a list of intervals, as `set_tile_mapping` accepts it; `len(mapping)`
    is the number of tiles of the graph. A mapping is equal to any nested list with the same
    intervals; tiles beyond the end of the list count as empty.

    Args:
        num_tiles: number of tiles of the graph.
        tile: int[n], tile of each piece of the view, or `NO_TILE`.
        length: int64[n], number of elements of each piece, in the order of the view.

    Attributes:
        num_elements: number of elements of the view.

    >>> mapping = TileMapping(3, np.array([1, 0, 1]), np.array([2, 3, 4]))
    >>> mapping[1]
    [Interval(begin=0, end=2), Interval(begin=5, end=9)]
    >>> mapping == [[(2, 5)], [(0, 2), (5, 9)]]
    True
    """

    __slots__ = ("_cut", "_in_order", "_rows", "_totals", "num_elements")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # equal to lists, which are not hashable

    def __init__(self, num_tiles: int, tile: npt.NDArray[np.integer], length: Int64) -> None:
        _check_pieces(num_tiles, tile, length)
        end = np.cumsum(length, dtype=np.int64)
        self.num_elements: int = int(end[-1]) if len(end) else 0
        begin, end, tile = merge(end - length, end, tile.astype(np.int64))
        # In both arrays, elements without a tile come first.
        self._totals = np.zeros((num_tiles + 1, 2), np.int64)
        try:
            counts = np.bincount(tile + 1, minlength=num_tiles + 1)
        except ValueError:  # for a tile below NO_TILE
            raise _unfit_pieces(num_tiles, tile, length) from None
        if len(counts) > num_tiles + 1:
            raise _unfit_pieces(num_tiles, tile, length)
        self._totals[:, 0] = counts
        np.add.at(self._totals[:, 1], tile + 1, end - begin)
        # NumPy's radix sort for 16-bit integers is faster.
        order = np.argsort(tile.astype(np.int16) if num_tiles < 1 << 15 else tile, kind="stable")
        self._rows: Int64 | None = np.stack([begin, end], axis=1)[order]
        self._cut: Cut | None = None
        self._in_order: tuple[Int64, Int64, Int64] | None = None

    @classmethod
    def of(cls, num_tiles: int, cut: Cut) -> TileMapping:
        """Return the mapping of a cut view, computed on first access."""
        mapping = cls.__new__(cls)  # `__init__` counts the pieces
        mapping._totals = np.zeros((num_tiles + 1, 2), np.int64)
        mapping.num_elements, mapping._cut = cut.num_elements, cut
        mapping._rows = mapping._in_order = None
        return mapping

    @property
    def _counted(self) -> Int64:
        """int64[tiles + 1, 2]: numbers of intervals and elements; row 0 is for no tile."""
        if self._cut is not None and not self._totals.any():
            self._totals = self._cut.totals(len(self))
        return self._totals

    def _list(self) -> Int64:
        """Return begin and end of all intervals, int64[n, 2]; those without a tile come first."""
        if self._rows is None:
            assert self._cut is not None, "either the intervals or the cut that they come from"
            self._totals, tile, end = self._cut.pieces(len(self))
            cursors = np.cumsum(self._totals[:, 0]) - self._totals[:, 0]
            self._rows = np.empty((len(end), 2), np.int64)
            places = address(tile), address(end), len(end), address(cursors), address(self._rows)
            native(by_tile)(*places)
            self._cut = None
        return self._rows

    @property
    def ptr(self) -> Int64:
        """int64[tiles + 1]; the intervals of tile `t` are `ptr[t]` to `ptr[t + 1]`."""
        self._list()  # callers read the intervals next
        ptr: Int64 = np.cumsum(self._counted[:, 0])
        ptr -= ptr[0]
        return ptr

    @property
    def begin(self) -> Int64:
        """int64[n], first elements of the intervals, by tile."""
        return self._list()[self._counted[0, 0] :, 0]

    @property
    def end(self) -> Int64:
        """int64[n], one past the last elements of the intervals, by tile."""
        return self._list()[self._counted[0, 0] :, 1]

    def in_order(self) -> tuple[Int64, Int64, Int64]:
        """Return begin, end and tile of non-empty intervals by ascending begin; cached.

        >>> mapping = TileMapping(2, np.array([1, 0]), np.array([2, 3]))
        >>> [column.tolist() for column in mapping.in_order()]
        [[0, 2], [2, 5], [1, 0]]
        """
        if self._in_order is None:
            begin, end = self.begin, self.end
            order = np.argsort(begin)
            order = order[begin[order] < end[order]]
            tile = np.repeat(np.arange(len(self)), np.diff(self.ptr))
            self._in_order = begin[order], end[order], tile[order]
        return self._in_order

    @property
    def unmapped(self) -> Intervals:
        """Intervals of the elements without a tile."""
        return Intervals(*self._list()[: self._counted[0, 0]].T)

    def __len__(self) -> int:
        return len(self._totals) - 1

    def __getitem__(self, tile: int) -> Intervals:
        tile = place(tile, len(self), "tile")
        ptr = self.ptr
        mine = slice(ptr[tile], ptr[tile + 1])
        return Intervals(self.begin[mine], self.end[mine])

    def __iter__(self) -> Iterator[Intervals]:
        ptr, begin, end = self.ptr.tolist(), self.begin, self.end
        return (Intervals(begin[a:b], end[a:b]) for a, b in pairwise(ptr))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TileMapping | list | tuple):
            return NotImplemented
        if isinstance(other, TileMapping):
            mine, theirs = (np.trim_zeros(np.diff(x.ptr), "b") for x in (self, other))
            return (
                np.array_equal(mine, theirs)
                and np.array_equal(self.begin, other.begin)
                and np.array_equal(self.end, other.end)
            )
        nothing = self.unmapped[:0]
        return all(a == b for a, b in zip_longest(self, other, fillvalue=nothing))

    @property
    def tiles(self) -> Int64:
        """The tiles that store an element, sorted."""
        return np.flatnonzero(self._counted[1:, 1])

    @property
    def elements_per_tile(self) -> Int64:
        """int64[tiles]: number of elements of the view on each tile."""
        return self._counted[1:, 1].copy()

    @property
    def num_unmapped(self) -> int:
        """Number of elements without a tile."""
        return int(self._counted[0, 1])

    @property
    def is_complete(self) -> bool:
        """Whether every element has a tile."""
        return self.num_unmapped == 0

    def renumbered(self, number: Int64, num_tiles: int) -> TileMapping:
        """Return the same mapping with other tile numbers, such as those of a virtual graph.

        Args:
            number: int64[tiles], the new number of each tile, or `NO_TILE`.
            num_tiles: number of tiles in the new numbering.

        >>> mapping = TileMapping(3, np.array([2, 1, 0]), np.array([4, 4, 4]))
        >>> mapping.renumbered(np.array([NO_TILE, 1, 0]), 2)
        <TileMapping 12 elements, 2 tiles, max 4 min 4, 2 intervals, 4 unmapped>
        """
        begin, end = self._list().T
        old = np.repeat(np.arange(-1, len(self)), self._counted[:, 0])
        order = np.argsort(begin)
        new = np.append(number, NO_TILE)[old]  # NO_TILE itself is the last entry
        return TileMapping(num_tiles, new[order], (end - begin)[order])

    def __repr__(self) -> str:
        per_tile = self.elements_per_tile[self.tiles]
        spread = f"max {per_tile.max():,} min {per_tile.min():,}, " if len(per_tile) else ""
        return (
            f"<TileMapping {amount(self.num_elements, 'element')}, "
            f"{amount(len(per_tile), 'tile')}, {spread}"
            f"{amount(int(self._counted[1:, 0].sum()), 'interval')}"
            + (f", {self.num_unmapped:,} unmapped>" if self.num_unmapped else ">")
        )


def remapped(
    name: str, made_at: SourceLocation, before: TileMapping, after: TileMapping
) -> ConstantRemappedWarning | None:
    """Return the warning for a constant that moves to other tiles; None if nothing moves.

    The usual reason is a loop that names the wrong tensor::

        before   0 0 0 0 . .        tile of each element, or none
        after    0 0 3 3 3 3
        moved        3 3            elements that had another tile before

    >>> from poplite.source import here
    >>> from_tile_1, to_tile_2 = (TileMapping(3, np.array([t]), np.array([4])) for t in (1, 2))
    >>> print(remapped("taps", here(), from_tile_1, to_tile_2).what)
    constant 'taps': 4 of 4 elements move to another tile
    """
    cuts = np.unique(np.concatenate([before.begin, before.end, after.begin, after.end]))
    old, new = _tiles_of(before, cuts[:-1]), _tiles_of(after, cuts[:-1])
    moved = np.flatnonzero((old != NO_TILE) & (old != new))
    if not len(moved):
        return None
    count, first = int(np.diff(cuts)[moved].sum()), moved[0]
    return ConstantRemappedWarning(
        f"constant '{name}': {count:,} of {amount(before.num_elements, 'element')} "
        f"{'moves' if count == 1 else 'move'} to another tile",
        found=f"element {cuts[first]:,} was on tile {old[first]} and is on tile {new[first]} now; "
        f"the constant was made at {made_at}",
        fix="map each element once; create several constants for the same values on several tiles",
    )


def _tiles_of(mapping: TileMapping, elements: Int64) -> Int64:
    """Return the tile, or `NO_TILE`, of each element."""
    begin, end, tile = mapping.in_order()
    at = np.searchsorted(begin, elements, side="right") - 1
    return np.asarray(np.where((at >= 0) & (elements < end[at]), tile[at], NO_TILE))


def ranges(numbers: Iterable[int], limit: int = 4) -> str:
    """Return ascending integers as ranges, at most `limit` of them.

    >>> ranges([0, 1, 2, 7, 9, 10])
    '0-2, 7, 9-10'
    """
    if isinstance(numbers, range) and numbers.step == 1:  # it may be long, so it is not listed
        parts = [(numbers[0], numbers[-1])] if numbers else []
    else:
        values = np.fromiter(numbers, np.int64)
        cuts = np.flatnonzero(np.diff(values) != 1) + 1
        parts = [(part[0], part[-1]) for part in np.split(values, cuts) if len(part)]
    if not parts:
        return "none"
    shown = [f"{a}" if a == b else f"{a}-{b}" for a, b in parts[:limit]]
    return ", ".join([*shown, "..."] if len(parts) > limit else shown)


def _check_pieces(num_tiles: object, tile: object, length: object) -> None:
    """Refuse a number of tiles or arrays of pieces that are not whole numbers."""
    for pieces in (tile, length):
        unmasked(pieces, "TileMapping")
    is_fit = (
        isinstance(tile, np.ndarray)
        and isinstance(length, np.ndarray)
        and tile.ndim == 1
        and tile.shape == length.shape
        and tile.dtype.kind in "iu"
        and length.dtype.kind in "iu"
    )
    number = integer_or_none(num_tiles)
    if not is_fit or number is None or not 0 <= number < MOST_TILES:
        raise _unfit_pieces(num_tiles, tile, length)


def _unfit_pieces(num_tiles: object, tile: object, length: object) -> InvalidTileMapping:
    return InvalidTileMapping(
        f"TileMapping: num_tiles={clipped(num_tiles)}, tile={clipped(tile)}, "
        f"length={clipped(length)}",
        found=", ".join(of_type(each) for each in (num_tiles, tile, length)),
        fix="TileMapping(4, np.array([0, 3]), np.array([8, 8])): for each piece a tile less than "
        "the number of tiles, and a length",
    )


def intervals_of(
    mapping: TileMapping | Iterable[Iterable[tuple[int, int]]],
    num_tiles: int,
    num_elements: int,
    *,
    what: str,
) -> tuple[Int64, Int64, Int64]:
    """Return a nested mapping as arrays `(begin, end, tile)` after checking it.

    They are sorted by begin, without empty intervals. `what` is the name in the message.

    >>> [a.tolist() for a in intervals_of([[(3, 4)], [(0, 3)]], 2, 4, what="'a'")]
    [[0, 3], [3, 4], [1, 0]]
    """
    if isinstance(mapping, TileMapping):
        begin, end, tile = mapping.in_order()
        if not len(tile) or (tile.max() < num_tiles and end[-1] <= num_elements):
            return begin, end, tile
    else:
        tile, begin, end = _listed(mapping, what)
    some = begin != end
    tile, begin, end = tile[some], begin[some], end[some]
    wrong = (tile >= num_tiles) | (begin < 0) | (begin > end) | (end > num_elements)
    if wrong.any():
        at_fault = np.flatnonzero(wrong)[np.argmin(begin[wrong])]
        row = int(tile[at_fault]), int(begin[at_fault]), int(end[at_fault])
        raise _unfit(row, num_tiles, num_elements, what)
    order = sorted_order(begin)
    tile, begin, end = tile[order], begin[order], end[order]
    twice = np.flatnonzero(begin[1:] < end[:-1])
    if len(twice):
        i = twice[0]
        raise InvalidTileMapping(
            f"{what}: element {begin[i + 1]} is mapped to tile {tile[i]} and to tile {tile[i + 1]}",
            found=f"[{begin[i]}, {end[i]}) on tile {tile[i]}, "
            f"[{begin[i + 1]}, {end[i + 1]}) on tile {tile[i + 1]}",
            fix="pass intervals that do not overlap, or set the second one in another call",
        )
    return begin, end, tile


def _listed(mapping: Iterable[Iterable[tuple[int, int]]], what: str) -> tuple[Int64, Int64, Int64]:
    try:
        rows = [(t, index(a), index(b)) for t, own in enumerate(mapping) for a, b in own]
    except (TypeError, ValueError):
        raise InvalidTileMapping(
            f"{what}: {clipped(mapping, 60)} is not a tile mapping",
            found=f"its type is {type(mapping).__name__}",
            fix="pass a tile number, or for each tile a list of intervals: [[(0, 4)], [(4, 8)]]",
        ) from None
    try:
        table = np.array(rows, np.int64).reshape(-1, 3)
    except OverflowError:  # the caller refuses it, with the number in the message
        table = np.array(rows, np.object_)
    return table[:, 0], table[:, 1], table[:, 2]


def _unfit(
    row: tuple[int, int, int],
    num_tiles: int,
    num_elements: int,
    what: str,
) -> InvalidTileMapping:
    tile, begin, end = row
    if tile >= num_tiles:
        return no_such_tile(what, tile, num_tiles)
    return InvalidTileMapping(
        f"{what}: interval [{begin}, {end}) of tile {tile} is not within "
        f"the view's {amount(num_elements, 'element')}",
        found="it ends before it begins"
        if begin > end
        else f"{amount(max(0, -begin) + max(0, end - num_elements), 'element')} too many",
        fix=f"pass intervals over the flattened view, from 0 to {num_elements}",
    )


def tile_number(tile: object, what: str, num_tiles: int) -> int:
    """Return a tile number after checking it."""
    number = integer_or_none(tile)
    if number is None:
        raise InvalidTileMapping(
            f"{what}: {clipped(tile, 60)} is neither a tile number nor a list of intervals",
            fix=f"pass a tile from 0 to {num_tiles - 1}, or [[(0, 4)], [(4, 8)]]",
        )
    if not 0 <= number < num_tiles:
        raise no_such_tile(what, number, num_tiles)
    return number


def unmapped_error(
    name: str,
    mapping: TileMapping,
    num_tiles: int,
    at: SourceLocation | None,
    where: str = "",
    *,
    shape: tuple[int, ...],
    view: bool = False,
) -> InvalidTileMapping:
    """Return the error for elements without a tile.

    `at` is the line that created the variable, `where` the program step that uses it; with `view`,
    the mapping is that of a view, not of the entire variable.

    >>> answer = TileMapping(4, np.array([0, -1]), np.array([96, 32]))
    >>> print(unmapped_error("bias", answer, 4, None, shape=(128,)))
    'bias': elements [96, 128) of 128 have no tile
      mapped so far: [0, 96) on tile 0; the graph has 4 tiles
      try: graph.set_tile_mapping(bias.flatten()[96:128], tile), or mapping="linear"
    """
    first = mapping.unmapped[0]
    tensor = "view" if view else name.rpartition("/")[2]
    holes = ", ".join(
        _range(hole.begin, hole.end, shape) for hole in mapping.unmapped[:SHOWN_FAULTS]
    )
    more = len(mapping.unmapped) - SHOWN_FAULTS
    mapped = [
        _range(int(a), int(b), shape)
        for a, b in zip(mapping.begin[:3], mapping.end[:3], strict=True)
    ] + ["..."] * (len(mapping.begin) > 3)
    at_fault = _range(first.begin, first.end, shape)
    if len(shape) < 2 or " to " in at_fault:
        at_fault = f".flatten()[{first.begin}:{first.end}]"
    so_far = f"{', '.join(mapped)} on {_tiles(mapping)}" if mapped else "nothing"
    title = f"view of '{name}'" if view else f"'{name}'"
    rest = f" and {amount(more, 'more interval')}" if more > 0 else ""
    return InvalidTileMapping(
        f"{title}: elements {holes}{rest} of {mapping.num_elements:,} have no tile",
        at=at,
        where=where,
        found=f"mapped so far: {so_far}; the graph has {amount(num_tiles, 'tile')}",
        fix=f'graph.set_tile_mapping({tensor}{at_fault}, tile), or mapping="linear"',
    )


def _range(begin: int, end: int, shape: tuple[int, ...]) -> str:
    """Return a range of elements as indices into a shape; for a vector, as an interval."""
    if len(shape) < 2:
        return f"[{begin}, {end})"
    return element_range("", shape, begin, end).replace("''", "")


def _tiles(mapping: TileMapping) -> str:
    return f"tile{'s' * (len(mapping.tiles) != 1)} {ranges(mapping.tiles)}"


def no_such_tile(what: str, tile: object, num_tiles: int) -> InvalidTileMapping:
    """Return the error for a tile that the graph does not have.

    >>> print(no_such_tile("'a'", 4, 4))
    'a': tile 4, but the graph has 4 tiles  (...)
      tiles are 0-3
      try: use a smaller tile number, or 5 tiles: Graph(Target(tiles=5))
    """
    larger = isinstance(tile, int) and 0 <= tile < 2**32
    return InvalidTileMapping(
        f"{what}: tile {clipped(tile)}, but the graph has {amount(num_tiles, 'tile')}",
        found=f"tiles are {ranges(range(num_tiles))}",
        fix=f"use a smaller tile number, or {tile + 1} tiles: "  # type: ignore[operator]
        f"Graph(Target(tiles={tile + 1}))"  # type: ignore[operator]
        if larger
        else "pass a non-negative whole number",
    )


# -- tile numbers of graphs ------------------------------------------------------------------------


class AllTiles:
    """The tile numbers of a top-level graph: those of its machine."""

    __slots__ = ("num_tiles",)

    home: SomeTiles | None = None
    """The virtual graph whose variables are created with these numbers; here None."""

    def __init__(self, num_tiles: int) -> None:
        self.num_tiles: int = num_tiles

    def checked(self, tile: object, what: str) -> int:
        """Return the top-level number of a user's tile, or refuse it, naming it `what`."""
        return tile_number(tile, what, self.num_tiles)

    def in_range(self, tile: object) -> int | None:
        """Return the top-level number of a valid int; None if `checked` must decide."""
        return tile if type(tile) is int and 0 <= tile < self.num_tiles else None

    def number_of(self, tile: object, call: str) -> int:
        """Return this graph's number of a top-level tile, or refuse it."""
        return tile_number(tile, call, self.num_tiles)

    def to_top_level(self, tiles: Int64) -> Int64:
        """Return the top-level numbers of tiles of this graph."""
        return tiles

    def from_top_level(self, tiles: Int64) -> Int64:
        """Return this graph's numbers of top-level tiles; `NO_TILE` for tiles outside it."""
        return tiles

    def of_clone(self, tiles: Int64) -> Int64:
        """Return the top-level tiles of a clone of elements on some tiles: the same."""
        return tiles

    def renumbered(self, mapping: TileMapping) -> TileMapping:
        """Return a mapping of the top-level graph with this graph's tile numbers."""
        return mapping

    def check_complete(self, name: str, mapping: TileMapping, top_level: TileMapping) -> None:
        """Accept every mapping: no tile is outside the top-level graph."""


class SomeTiles:
    """The tile numbers of a virtual graph; its repr represents the virtual graph in messages.

    `tiles` is the top-level number of each tile, `num_top_level` the number of top-level tiles.

    >>> import poplite as pl
    >>> tiles = SomeTiles(np.array([6, 4]), pl.Graph(pl.Target(tiles=8)), 8)
    >>> tiles.checked(1, "'x'"), tiles.number_of(4, "call")
    (4, 1)
    """

    __slots__ = ("_from", "_top_level", "num_tiles", "tiles")
    num_tiles: int
    tiles: Int64

    def __init__(self, tiles: Int64, top_level: object, num_top_level: int) -> None:
        self.num_tiles, self.tiles, self._top_level = len(tiles), tiles, top_level
        # The last entry, at index -1, is for `NO_TILE`.
        self._from = np.full(num_top_level + 1, NO_TILE)
        self._from[tiles] = np.arange(len(tiles))

    @property
    def home(self) -> SomeTiles | None:
        """The virtual graph whose variables are created with these numbers."""
        return self

    def checked(self, tile: object, what: str) -> int:
        """Return the top-level number of a user's tile, or refuse it."""
        number = integer_or_none(tile)
        if number is not None and number >= self.num_tiles:
            raise InvalidTileMapping(
                f"{what}: tile {number}, but the virtual graph has "
                f"{amount(self.num_tiles, 'tile')}",
                found=f"its tiles are numbered from 0: {self!r}",
                fix=f"convert a number of the top-level graph: "
                f"virtual.convert_top_level_graph_tile_to_tile({number})",
            )
        return int(self.tiles[tile_number(tile, what, self.num_tiles)])

    def in_range(self, tile: object) -> int | None:
        """Return the top-level number of an int that is a tile; else None."""
        return int(self.tiles[tile]) if type(tile) is int and 0 <= tile < self.num_tiles else None

    def number_of(self, tile: object, call: str) -> int:
        """Return this graph's number of a top-level tile, or refuse it."""
        number = tile_number(tile, call, len(self._from) - 1)
        own = int(self._from[number])
        if own == NO_TILE:
            raise InvalidTileMapping(
                f"tile {number} of the top-level graph is not among the {self.num_tiles:,} tiles "
                "of this virtual graph",
                found=f"it has tiles {ranges(np.sort(self.tiles))}",
                fix=f"pass one of these, or create a virtual graph that includes tile {number}",
            )
        return own

    def to_top_level(self, tiles: Int64) -> Int64:
        """Return the top-level numbers of tiles of this graph."""
        return self.tiles[tiles]

    def from_top_level(self, tiles: Int64) -> Int64:
        """Return this graph's numbers of top-level tiles; `NO_TILE` for tiles outside it."""
        return self._from[tiles]

    def of_clone(self, tiles: Int64) -> Int64:
        """Return the top-level tiles of a clone of elements on some tiles: the same."""
        return tiles

    def renumbered(self, mapping: TileMapping) -> TileMapping:
        """Return a mapping of the top-level graph with this graph's tile numbers."""
        return mapping.renumbered(self._from[:-1], self.num_tiles)

    def check_complete(self, name: str, mapping: TileMapping, top_level: TileMapping) -> None:
        """Refuse elements on tiles outside this graph.

        `top_level` is the same mapping with top-level numbers, where all elements have a tile.
        """
        if mapping.is_complete:
            return
        first = mapping.unmapped[0]
        others = top_level.tiles[self._from[top_level.tiles] == NO_TILE]
        raise InvalidTileMapping(
            f"'{name}': {mapping.num_unmapped:,} of "
            f"{amount(mapping.num_elements, 'element')}, the first [{first.begin}, "
            f"{first.end}), are on no tile of this virtual graph",
            found=f"they are on tile{'s' * (len(others) > 1)} {ranges(others)} of the top-level "
            f"graph; {self!r}",
            fix="graph.top_level_graph.tile_mapping(tensor), or require_complete=False",
        )

    def __repr__(self) -> str:
        rising = (np.diff(self.tiles) > 0).all()
        names = ranges(self.tiles) if rising else clipped(self.tiles.tolist(), 40).strip("[]")
        return f"<VirtualGraph of tiles {names} of {self._top_level!r}>"


class NearTiles(SomeTiles):
    """The tile numbers that operations on a virtual graph use, with other tiles mapped to its own.

    Elements on other tiles are read and written from tiles of the graph, which are assigned to the
    other tiles round robin.

    >>> import poplite as pl
    >>> tiles = NearTiles(SomeTiles(np.array([6, 4]), pl.Graph(pl.Target(tiles=8)), 8))
    >>> tiles.from_top_level(np.arange(8)).tolist()
    [0, 1, 0, 1, 1, 0, 0, 1]
    """

    __slots__ = ("_own",)

    def __init__(self, own: SomeTiles) -> None:
        super().__init__(own.tiles, own._top_level, len(own._from) - 1)
        others = np.flatnonzero(self._from[:-1] == NO_TILE)
        self._from[others] = np.arange(len(others)) % self.num_tiles
        self._own = own

    def of_clone(self, tiles: Int64) -> Int64:
        """Return the top-level tiles of a clone: the graph's own for elements on other tiles."""
        return np.where(tiles == NO_TILE, NO_TILE, self.tiles[self._from[tiles]])

    @property
    def home(self) -> SomeTiles | None:
        """The virtual graph whose variables are created with these numbers."""
        return self._own


TileNumbers = AllTiles | SomeTiles
"""The tile numbers of a graph."""


def tile_of_pair(target: Target, ipu: object, tile: object) -> int:
    """Return the machine's number for a tile of an IPU, after checking both numbers."""
    numbers = []
    for what, number, count in (("IPU", ipu, target.ipus), ("tile", tile, target.tiles_per_ipu)):
        whole = integer_or_none(number)
        if whole is None or not 0 <= whole < count:
            raise InvalidTileMapping(
                f"{what} {clipped(number)} in a pair (IPU, tile), but there "
                f"{'is' if count == 1 else 'are'} {amount(count, what)}",
                found=repr(target),
                fix=f"pass a whole number from 0 to {count - 1}",
            )
        numbers.append(whole)
    return numbers[0] * target.tiles_per_ipu + numbers[1]


# -- tiles of virtual graphs -----------------------------------------------------------------------


def chosen_tiles(tiles: object, upper: object, count: int, graph: object) -> Int64:
    """Return the tiles of a virtual graph of a graph that has `count`; `graph` is for messages.

    Raises `InvalidTileMapping` for tiles that the graph does not have, and for none.
    """
    if isinstance(tiles, SupportsIndex) and not isinstance(tiles, np.ndarray):
        low, high = (0, tiles) if upper is None else (tiles, upper)
        own = np.arange(_bound(low, count, graph), _bound(high, count, graph))
        asked = f"tiles {low!r} up to {high!r}"
    else:
        own, asked = _listed_tiles(tiles, upper, count, graph), "tiles []"
    if not len(own):
        raise _not_chosen(f"{asked} selects no tile; at least 1 is needed", count, graph)
    return own


def _bound(value: object, count: int, graph: object) -> int:
    number = integer_or_none(value)
    if number is None:
        raise _not_chosen(f"{clipped(value)} is not a tile number", count, graph)
    if not 0 <= number <= count:
        has = amount(count, "tile")
        raise _not_chosen(f"tiles up to {number}, but the graph has {has}", count, graph)
    return number


def _listed_tiles(tiles: object, upper: object, count: int, graph: object) -> Int64:
    """Return a list of tiles after checking it."""
    try:
        own = np.asarray(unmasked(tiles, "create_virtual_graph"))
    except ValueError:  # lists of different lengths
        own = np.empty((0, 0))
    what = ""
    if own.ndim != 1 or (len(own) and own.dtype.kind not in "iu") or upper is not None:
        also = "" if upper is None else f" with upper={clipped(upper)}"
        what = f"{clipped(tiles, 60)}{also} is not a list of tile numbers"
    elif len(wrong := own[(own < 0) | (own >= count)]):
        what = f"tile {wrong[0]}, but the graph has {amount(count, 'tile')}"
    elif len(np.unique(own)) < len(own):
        numbers, times = np.unique(own, return_counts=True)
        twice = int(numbers[times > 1][0])
        at = np.flatnonzero(own == twice)
        what = f"tile {twice} is listed as tile {at[0]} and as tile {at[1]}"
    if what:
        raise _not_chosen(what, count, graph)
    return own.astype(np.int64)


def _not_chosen(what: str, count: int, graph: object) -> InvalidTileMapping:
    return InvalidTileMapping(
        f"create_virtual_graph: {what}",
        found=f"tiles are {ranges(range(count))} in {graph!r}",
        fix="create_virtual_graph(4) for tiles 0-3, (4, 8) for tiles 4-7, or ([0, 2, 5])",
    )
