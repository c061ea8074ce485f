"""Positions of the largest or smallest element of contiguous rows, in one pass.

The stages:

    tiles      each worker finds the extreme of its parts of rows, and its position
    workers    combines the results of the workers of a tile for one row
    groups     combines the results of groups of tiles, in the cheapest number of steps
    final      combines the remaining results

A tensor on few tiles is first sent to all tiles if that is faster than scanning it in place.

Source: PopLibs, `popnn::argMax`, whose vertices also return an element with its position.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, Mask, distinct, overlay, repeated
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.ops.fuse.maps import Mappings, spread_evenly
from poplite.ops.fuse.pricing import exchange_cycles
from poplite.ops.reductions.plan import Levels, Order, RemainingPartials, cheapest_levels
from poplite.program.recording import Recorder
from poplite.vertex.vertex import Vertex
from poplite.vertices.reduce import (
    FirstGreatest,
    FirstGreatestRows,
    FirstLeast,
    FirstLeastRows,
)

LEAST_PART = 32
"""Minimum number of elements per part of a row: combining costs as much as scanning a dozen."""

OF_ROWS: dict[str, type[Vertex]] = {"argmax": FirstGreatestRows, "argmin": FirstLeastRows}
OF_FOUND: dict[str, type[Vertex]] = {"argmax": FirstGreatest, "argmin": FirstLeast}


def has_rows_in_order(order: Order) -> bool:
    """Return whether the rows of a tensor are contiguous, with positions in ascending order."""
    return order.is_row_major and order.inner == 1


class RowParts(NamedTuple):
    """Parts of rows, in the order of the elements; all int64[n].

    Attributes:
        tile: the tile of each part.
        row: the row of each part.
        begin: the first element of each part.
        end: one past the last element of each part.
    """

    tile: Int64
    row: Int64
    begin: Int64
    end: Int64


class FoundExtremes(NamedTuple):
    """Extremes of parts of rows that remain to be combined, sorted by row; all int64[n].

    Attributes:
        tile: the tile of each extreme.
        row: the row of each extreme.
        at: the index of each extreme among all results so far.
    """

    tile: Int64
    row: Int64
    at: Int64


class FirstExtremes:
    """Creates the compute sets that find positions.

    Results are numbered: those of rows first, then those of parts.

    Args:
        recorder: receives the steps.
        order: the tensor, with contiguous rows.
        how: "argmax" or "argmin".
        result: the tensor for the positions, in the order of the rows.
        wanted: the mapping of the positions; None to leave them where they are found.
    """

    def __init__(
        self,
        recorder: Recorder,
        order: Order,
        how: str,
        result: Tensor,
        wanted: TileMapping | None,
    ) -> None:
        self._recorder, self._graph, self._how = recorder, recorder.graph, how
        self._x, self._length, self._wanted = order.tensor, order.reduced, wanted
        self._positions = result
        self._values = self._graph.add_variable(
            self._x.element_type, (result.num_elements,), "extremes"
        )

    def build(self) -> None:
        """Create the compute sets, and map the positions."""
        parts = _parts(self._graph, self._x, self._length)
        homes = self._homes(parts)
        found = self._scan(parts)
        if _have_several(found, found.tile) and len(distinct(found.tile)) > 1:
            found = self._join("workers", found, found.tile, homes)
        if not len(found.row):
            return
        tiles = distinct(found.tile)
        for groups in self._levels(found, len(tiles)):
            group = np.searchsorted(tiles, found.tile) * groups // len(tiles)
            found = self._join("groups", found, group, homes)
        self._join("final", found, np.zeros_like(found.row), homes)

    def _homes(self, parts: RowParts) -> Int64:
        """Return the tile for the result of each row; map results there if they are unmapped."""
        rows, tiles = self._positions.num_elements, self._graph.target.tiles
        homes = np.zeros(rows, np.int64)
        if self._wanted is not None:
            _, end, tile = self._wanted.in_order()
            homes = tile[np.searchsorted(end, np.arange(rows), "right")]
        else:
            homes[parts.row[::-1]] = parts.tile[::-1]  # the tile of the first part of each row
            self._graph.set_tile_mapping(self._positions, _one_each(tiles, homes))
        self._graph.set_tile_mapping(self._values, _one_each(tiles, homes))
        return homes

    def _levels(self, found: FoundExtremes, tiles: int) -> Levels:
        """Return the numbers of groups into which tiles are divided, in each level but the last."""
        rows, total = int(np.bincount(found.row).max()), len(found.row)
        spread = RemainingPartials(self._x.element_type, rows, total, tiles)
        return cheapest_levels(self._graph.target, spread)

    def _scan(self, parts: RowParts) -> FoundExtremes:
        """Add the vertices that scan parts of rows, and return the results to be combined."""
        is_whole = parts.end - parts.begin == self._length
        some = ~is_whole
        at = parts.row.copy()
        at[some] = self._new_results(parts.tile[some])
        first = _first_of_vertices(parts, is_whole, self._graph.target.workers)
        last = np.append(first[1:], len(at)) - 1
        self._graph.add_vertices(
            self._recorder.compute_set("tiles"),
            OF_ROWS[self._how],
            tile=parts.tile[first],
            x=Slices(self._x, 0, parts.begin[first], parts.end[last]),
            value=Slices(self._values, 0, at[first], at[last] + 1),
            position=Slices(self._positions, 0, at[first], at[last] + 1),
            first=parts.begin[first] - parts.row[first] * self._length,
        )
        return FoundExtremes(parts.tile[some], parts.row[some], at[some])

    def _join(self, name: str, found: FoundExtremes, group: Int64, homes: Int64) -> FoundExtremes:
        """Add the vertices that combine results of a group and a row; return what remains."""
        order = np.lexsort((group, found.row))
        found, group = FoundExtremes(*(column[order] for column in found)), group[order]
        is_new = np.append(True, (np.diff(found.row) != 0) | (np.diff(group) != 0))
        first = np.flatnonzero(is_new)
        ends = np.append(first, len(group))
        row, tile = found.row[first], found.tile[first]
        is_last = np.bincount(row)[row] == 1
        tile = np.where(is_last, homes[row], tile)
        is_joined = is_last | (np.diff(ends) > 1)
        at, more = found.at[first], is_joined & ~is_last
        at[is_last] = row[is_last]
        values, positions = self._values, self._positions  # `_new_results` appends to these
        at[more] = self._new_results(tile[more])
        chosen = np.flatnonzero(is_joined)
        source, copy = repeated(np.diff(ends)[chosen])
        own = found.at[ends[chosen][source] + copy]
        each = np.append(0, np.cumsum(np.diff(ends)[chosen]))
        self._graph.add_vertices(
            self._recorder.compute_set(name),
            OF_FOUND[self._how],
            tile=tile[chosen],
            values=Slices(values, 0, own, own + 1, each),
            positions=Slices(positions, 0, own, own + 1, each),
            value=Slices(self._values, 0, at[chosen], at[chosen] + 1),
            position=Slices(self._positions, 0, at[chosen], at[chosen] + 1),
        )
        left = ~is_last
        return FoundExtremes(tile[left], row[left], at[left])

    def _new_results(self, tile: Int64) -> Int64:
        """Add one element for a result on each of the given tiles, and return their indices."""
        number, graph = self._positions.num_elements, self._graph
        mapping = _one_each(graph.target.tiles, tile)
        made = [
            graph.add_variable(each.element_type, (len(tile),), name, mapping=mapping)
            for each, name in ((self._values, "extremes"), (self._positions, "positions"))
        ]
        self._values = concat(self._values, made[0])
        self._positions = concat(self._positions, made[1])
        return number + np.arange(len(tile))


def _one_each(tiles: int, tile: Int64) -> TileMapping:
    """Return the mapping of a tensor with one element on each of the given tiles."""
    return TileMapping(tiles, tile, np.ones_like(tile))


def _have_several(found: FoundExtremes, tile: Int64) -> bool:
    """Return whether a tile has several extremes of one row."""
    pairs = np.unique(np.stack([found.row, tile]), axis=1)
    return int(pairs.shape[1]) < len(found.row)


def _scan_mapping(graph: Graph, x: Tensor) -> TileMapping:
    """Return the mapping by which elements are scanned: that of x, or a linear one if cheaper.

    Combining the results of all tiles is assumed to take two more steps than with x's own tiles.
    """
    mappings, target = Mappings(graph), graph.target
    own = mappings.of(x)
    even, sending = spread_evenly(mappings, x.num_elements, [x], x.element_type)
    fewer = int(own.elements_per_tile.max(initial=0)) - int(even.elements_per_tile.max(initial=0))
    entry = target.workers * target.cost("extreme_sparse_entry")
    step = exchange_cycles(target, 0, 0) + target.cost("worker_call") + entry
    return even if sending.cycles + 2 * step < fewer * target.cost("extreme_element") else own


def _parts(graph: Graph, x: Tensor, length: int) -> RowParts:
    """Return the parts of rows for workers: enough to keep the workers of each tile busy."""
    begin, end, tile = _scan_mapping(graph, x).in_order()
    source, row, begin, end = overlay(begin, end, np.arange(0, x.num_elements + 1, length))
    tile, size = tile[source], end - begin
    total = np.bincount(tile, size).astype(np.int64)[tile]
    shares = np.minimum(-(-size * graph.target.workers // total), -(-size // LEAST_PART))
    part, copy = repeated(shares)
    edges = [begin[part] + (copy + k) * size[part] // shares[part] for k in (0, 1)]
    return RowParts(tile[part], row[part], *edges)


def _first_of_vertices(parts: RowParts, is_whole: Mask, workers: int) -> Int64:
    """Return the first part of each vertex, which has whole rows of a tile or one part of a row."""
    is_new = np.ones(len(parts.row), np.bool_)
    is_new[1:] = ~(is_whole[1:] & is_whole[:-1]) | (np.diff(parts.tile) != 0)
    run = np.cumsum(is_new) - 1
    start = np.flatnonzero(is_new)[run]
    rows = np.bincount(parts.tile[is_whole], minlength=parts.tile.max() + 1)[parts.tile]
    most = np.maximum(1, -(-rows // workers))
    is_new |= (np.arange(len(run)) - start) % most == 0
    found: Int64 = np.flatnonzero(is_new)
    return found
