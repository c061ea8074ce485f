"""The compute sets of one reduction.

Each makes fewer elements of those that are left: `pieces` of the tensor, then of partial results.

    tiles       joins what each tile holds of an output
    workers     joins what the workers of a tile came to, where they share an output
    groups      joins the results of groups of tiles, in as many steps as `levels` finds cheapest
    final       joins what is left
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, distinct
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.reduce.levels import Spread, cheapest_levels
from poplite.ops.reduce.order import Order
from poplite.ops.reduce.pieces import Pieces, joined, pieces_of, repeated
from poplite.ops.reduce.ranges import Mask
from poplite.ops.reduce.stage import (
    Work,
    plan_contiguous_outputs,
    plan_runs,
    stage,
    together,
)
from poplite.program.recording import Recorder
from poplite.types import FLOAT, HALF
from poplite.vertex.vertex import Vertex
from poplite.vertices.reduce import (
    TYPES_OF_TILE,
    AllColumns,
    AllColumnsOfTile,
    AllRows,
    AnyColumns,
    AnyColumnsOfTile,
    AnyRows,
    GreatestColumns,
    GreatestColumnsOfTile,
    GreatestRows,
    LeastColumns,
    LeastColumnsOfTile,
    LeastRows,
    ProductColumns,
    ProductColumnsOfTile,
    ProductRows,
    SumColumns,
    SumColumnsOfTile,
    SumRows,
)

if TYPE_CHECKING:
    from poplite.ops.reduce.fused import Fused


class Operation(NamedTuple):
    """A way of making one element of many.

    Attributes:
        rows: the vertex for elements that lie together.
        columns: the vertex for elements that lie apart.
        columns_of_tile: the same, for all workers of a tile.
        identity: what it makes of no elements; of integers an infinity is the limit of the type.
        widens: whether HALF is joined in FLOAT.
    """

    rows: type[Vertex]
    columns: type[Vertex]
    columns_of_tile: type[Vertex]
    identity: float
    widens: bool = False


OPERATIONS = {
    "add": Operation(SumRows, SumColumns, SumColumnsOfTile, 0, widens=True),
    "mul": Operation(ProductRows, ProductColumns, ProductColumnsOfTile, 1, widens=True),
    "min": Operation(LeastRows, LeastColumns, LeastColumnsOfTile, math.inf),
    "max": Operation(GreatestRows, GreatestColumns, GreatestColumnsOfTile, -math.inf),
    "logical_and": Operation(AllRows, AllColumns, AllColumnsOfTile, True),
    "logical_or": Operation(AnyRows, AnyColumns, AnyColumnsOfTile, False),
}
"""By name, as in poplibs' `popops::Operation`."""


class Builder:
    """Makes the compute sets of one reduction.

    Args:
        graph: where they go.
        way: the operation.
        order: the tensor, and its result.
        has_tiles: whether the result is on tiles already.
        recorder: what takes the steps.
        fused: an expression that is reduced, which lies as the tensor; None for the tensor itself.
    """

    def __init__(
        self,
        graph: Graph,
        way: Operation,
        order: Order,
        has_tiles: bool,
        recorder: Recorder,
        fused: Fused | None = None,
    ) -> None:
        self._recorder = recorder
        self.graph, self.way, self.order, self.has_tiles = graph, way, order, has_tiles
        self._fused = fused
        self._source = order.tensor
        self._homes: list[Int64] = []
        self._groups: list[int] | None = None
        element = order.tensor.element_type if fused is None else fused.element_type
        self._loaded = int(graph.target.cost("load_bytes_per_cycle"))
        self._partial_type = FLOAT if element is HALF and way.widens else element

    @cached_property
    def _mapping(self) -> TileMapping:
        """The tiles of what is reduced."""
        return self.graph.tile_mapping(self.order.tensor)

    def build(self) -> None:
        """Make them, and put the result on tiles."""
        order, graph, workers = self.order, self.graph, self.graph.target.workers
        mapping = self._mapping
        held = np.stack([repeated(np.diff(mapping.ptr))[0], mapping.begin, mapping.end])
        works = []
        if order.inner == 1:
            work, homes, held = plan_contiguous_outputs(held, order.reduced, workers)
            self._homes.append(homes)
            works.append(work)
        runs, held = plan_runs(held, order.reduced, order.inner, workers, self._may_share())
        tile, begin, end = held
        pieces = pieces_of(tile, begin, end, order.reduced, order.inner)
        name, group, wanted = "tiles", pieces.tile, None
        while len(pieces.tile) or len(runs.tile):
            is_expression = self._fused is not None and self._source is order.tensor
            may_keep = self._source.element_type is self._partial_type and not is_expression
            outcome = stage(
                pieces,
                group,
                runs,
                inner=order.inner,
                workers=workers,
                grain=max(1, self._loaded // self._source.element_type.size_bytes),
                straight=self._lie_together,
                may_keep=may_keep,
                may_share=self._may_share(),
                wanted=wanted,
            )
            partials = self._partials(name, outcome.partials)
            self._homes.append(outcome.homes)
            self._add(name, together([*works, outcome.work]), partials)
            works, runs = [], runs.take(np.zeros_like(runs.is_whole))
            has_kept = len(outcome.kept.tile) > 0
            pieces = joined([outcome.kept, self._reached(partials, outcome.partials, has_kept)])
            if len(pieces.tile):
                name, group = self._next(pieces, outcome.has_shares)
                wanted = self._wanted() if name == "final" and self.has_tiles else None
        if works:
            self._add(name, together(works), None)
        if not self.has_tiles:
            tile, low, high = np.concatenate(self._homes, axis=1)
            first = np.argsort(low)
            found = TileMapping(graph.target.tiles, tile[first], (high - low)[first])
            graph.set_tile_mapping(order.result, found)

    def _next(self, pieces: Pieces, has_shares: bool) -> tuple[str, Int64]:
        """Return which pieces are joined next, and what that step is called."""
        if has_shares:
            return "workers", pieces.tile
        tiles = distinct(pieces.tile)
        if self._groups is None:
            self._groups = [*cheapest_levels(self.graph.target, self._spread(pieces, len(tiles)))]
        if not self._groups:
            return "final", np.zeros_like(pieces.tile)
        return "groups", np.searchsorted(tiles, pieces.tile) * self._groups.pop(0) // len(tiles)

    def _spread(self, pieces: Pieces, tiles: int) -> Spread:
        """Return how partial results lie that are on several tiles."""
        rows = int(pieces.elements_by_output()[1].max())
        elements = int(((pieces.high - pieces.low) * pieces.rows).sum())
        final = len(distinct(self._wanted()[1])) if self.has_tiles else 0
        return Spread(self._partial_type, rows, elements, tiles, final)

    def _wanted(self) -> tuple[Int64, Int64]:
        """Return where the elements of the result are, as `(end, tile)` of intervals from 0."""
        _, end, tile = self.graph.tile_mapping(self.order.result).in_order()
        return end, tile

    def _may_share(self) -> tuple[bool, bool]:
        """Tell whether all workers of a tile may share partial results, and outputs.

        These are joined one by one, so they are of the type in which elements are joined, and of
        one that `columns_of_tile` has.
        """
        types = self._partial_type, self.order.result.element_type
        source = self._source.element_type
        if self._fused is not None and self._source is self.order.tensor:
            return False, False
        first, second = (each is source and each in TYPES_OF_TILE for each in types)
        return first, second

    def _lie_together(self, begin: Int64, end: Int64) -> Mask:
        """Tell which ranges of the flattened tensor are one range of the memory of one tile.

        Partial results of a tile are, as they are laid out by tile. Of an expression all tensors
        have to: of others each vertex would get a copy, with what lies between its rows.
        """
        tensor, graph, mapping = self.order.tensor, self.graph, self._mapping
        together = np.ones(len(begin), np.bool_)
        tensors = [tensor]
        if self._fused is not None and self._source is tensor:
            tensors = [*self._fused.tensors.values()]
            if any(graph.tile_mapping(each) != mapping for each in tensors):
                return ~together
        for each in tensors:
            if not len(begin) or each.num_regions() > each.num_elements // self.order.inner:
                return ~together
            ends = distinct(np.r_[each.contiguous_regions().end, mapping.end])
            together &= np.searchsorted(ends, begin, "right") == np.searchsorted(ends, end)
        return together

    def _partials(self, name: str, made: Pieces) -> Tensor | None:
        """Return a variable for partial results, or None for none."""
        length = made.high - made.low
        if not len(length):
            return None
        mapping = TileMapping(self.graph.target.tiles, made.tile, length)
        size = int(length.sum())
        return self.graph.add_variable(
            self._partial_type, (size,), f"{name}/partials", mapping=mapping
        )

    def _reached(self, partials: Tensor | None, made: Pieces, has_kept: bool) -> Pieces:
        """Put partial results behind what is still read, and return them as pieces of it."""
        if partials is None:
            return made
        if not has_kept:
            self._source = partials
            return made
        begin = made.begin + self._source.num_elements
        self._source = concat(self._source, partials)
        return made._replace(begin=begin)

    def _add(self, name: str, work: Work, partials: Tensor | None) -> None:
        """Add the compute set of a stage."""
        if not len(work.tile):
            return
        compute_set = self._recorder.compute_set(name)
        is_row = (work.stride == 1) & (work.high - work.low == 1) | work.is_rows
        is_shared = work.share > 0
        kinds = (
            (self.way.rows, is_row),
            (self.way.columns, ~is_row & ~is_shared),
            (self.way.columns_of_tile, is_shared),
        )
        for target, is_target in self._targets(work, partials):
            for vertex, is_kind in kinds:
                chosen = np.flatnonzero(is_target & is_kind)
                if len(chosen):
                    self._add_vertices(compute_set, vertex, target, work, chosen)

    def _targets(self, work: Work, partials: Tensor | None) -> list[tuple[Tensor, Mask]]:
        """Return what vertices write, and which: all at once where the types are equal."""
        result, final = self.order.result, work.is_final
        if partials is None or final.all():
            return [(result, final)]
        if not final.any():
            return [(partials, ~final)]
        if partials.element_type is not result.element_type:
            return [(result, final), (partials, ~final)]
        for column in (work.low, work.high):
            column[~final] += result.num_elements
        return [(concat(result, partials), np.ones_like(final))]

    def _add_vertices(
        self,
        compute_set: ComputeSet,
        vertex: type[Vertex],
        target: Tensor,
        work: Work,
        chosen: Int64,
    ) -> None:
        """Add those vertices of a stage that are of one class and write one tensor."""
        source, copy = repeated(np.diff(work.ptr)[chosen])
        reads = work.ptr[chosen][source] + copy
        first = np.searchsorted(source, np.arange(len(chosen) + 1))
        begin, end = work.begin[reads], work.end[reads]
        one_each = len(reads) == len(chosen)
        fields: dict[str, Any] = {}
        if vertex is not self.way.rows:
            fields["stride"] = work.stride[chosen]
        if vertex is self.way.columns_of_tile:
            fields |= {"first": work.first[chosen], "share": work.share[chosen]}
        inputs = {"x": self._source}
        if self._fused is not None and self._source is self.order.tensor:
            is_columns = vertex is self.way.columns
            vertex = self._fused.vertex(target.element_type, is_columns=is_columns)
            inputs = self._fused.tensors
            fields |= self._fused.numbers(len(chosen))
        for name, tensor in inputs.items():
            fields[name] = Slices(tensor, 0, begin, end, None if one_each else first)
        self.graph.add_vertices(
            compute_set,
            vertex,
            tile=work.tile[chosen],
            out=Slices(target, 0, work.low[chosen], work.high[chosen]),
            **fields,
        )
