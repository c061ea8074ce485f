"""The compute sets of one reduction.

Each makes fewer elements of those that are left: `pieces` of the tensor, then of partial results.

    tiles       joins what each tile holds of an output
    workers     joins what the workers of a tile came to, where they share an output
    groups      joins the results of groups of tiles, in as many steps as `levels` finds cheapest
    final       joins what is left
"""

from __future__ import annotations

import math
from dataclasses import replace
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
from poplite.ops.reduce.order import Order
from poplite.ops.reduce.pieces import repeated
from poplite.ops.reduce.plan import Plan, Problem, Stage, Types, plan_for
from poplite.ops.reduce.ranges import Mask
from poplite.ops.reduce.stage import StageWork
from poplite.ops.reduce.worth import is_cheaper_in_one
from poplite.program.recording import Recorder
from poplite.types import FLOAT, HALF
from poplite.vertex.vertex import Vertex
from poplite.vertices.reduce import (
    AllColumns,
    AllColumnsOfTile,
    AllRows,
    AnyColumns,
    AnyColumnsOfTile,
    AnyRows,
    MaxColumns,
    MaxColumnsOfTile,
    MaxRows,
    MinColumns,
    MinColumnsOfTile,
    MinRows,
    ProductColumns,
    ProductColumnsOfTile,
    ProductRows,
    SumColumns,
    SumColumnsOfTile,
    SumRows,
)

if TYPE_CHECKING:
    from poplite.ops.reduce.fused import Fused


class ReduceOperation(NamedTuple):
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
    "add": ReduceOperation(SumRows, SumColumns, SumColumnsOfTile, 0, widens=True),
    "mul": ReduceOperation(ProductRows, ProductColumns, ProductColumnsOfTile, 1, widens=True),
    "min": ReduceOperation(MinRows, MinColumns, MinColumnsOfTile, math.inf),
    "max": ReduceOperation(MaxRows, MaxColumns, MaxColumnsOfTile, -math.inf),
    "logical_and": ReduceOperation(AllRows, AllColumns, AllColumnsOfTile, True),
    "logical_or": ReduceOperation(AnyRows, AnyColumns, AnyColumnsOfTile, False),
}
"""By name, as in poplibs' `popops::Operation`."""


class Builder:
    """Makes the compute sets of one reduction.

    Args:
        graph: where they go.
        way: the operation.
        order: the tensor.
        output: the result, where it is on tiles already.
        recorder: what takes the steps.
        fused: an expression that is reduced, which lies as the tensor; None for the tensor itself.
    """

    def __init__(
        self,
        graph: Graph,
        way: ReduceOperation,
        order: Order,
        output: Tensor | None,
        recorder: Recorder,
        fused: Fused | None = None,
    ) -> None:
        self._recorder = recorder
        self.graph, self.way, self.order = graph, way, order
        self._output = None if output is None else order.result(output)
        self._fused = fused
        self._source = order.tensor
        self._element = order.tensor.element_type if fused is None else fused.element_type
        widens = self._element is HALF and way.widens
        self._partial_type = FLOAT if widens else self._element

    @cached_property
    def _mapping(self) -> TileMapping:
        """The tiles of what is reduced."""
        return self.graph.tile_mapping(self.order.tensor)

    def build(self, result: Tensor) -> None:
        """Make them, and put the result on tiles."""
        graph, self._result = self.graph, self.order.result(result)
        plan = self._plan
        for each in plan.stages:
            partials = self._partials(each)
            self._add(each.name, each.work, partials)
            if partials is not None:
                # What is still read stands before.
                self._source = concat(self._source, partials) if each.has_kept else partials
        if self._output is None:
            tile, low, high = plan.homes
            first = np.argsort(low)
            found = TileMapping(graph.target.tiles, tile[first], (high - low)[first])
            graph.set_tile_mapping(self._result, found)

    def is_cheaper_in_one(self, spread: tuple[TileMapping, float] | None) -> bool:
        """Return whether the expression takes fewest cycles where it is reduced.

        `spread` has the tiles of a map of it, and the cycles of sending them its operands; None
        for a map that lies as the tensor.
        """
        fused, target = self._fused, self.graph.target
        if fused is None or not fused.slots:  # nothing to compare
            return True
        problem, sent = self._problem, 0.0
        if spread is not None and problem.is_whole:
            mapping, sent = spread
            problem = replace(problem, mapping=mapping)
        most, own = (
            int(each.elements_per_tile.max(initial=0)) for each in (problem.mapping, self._mapping)
        )
        stored, copied = fused.map_cycles(most, target), fused.copied_cycles(own, target)
        return is_cheaper_in_one(
            self.graph, problem, self._plan, self._element, stored + sent, copied
        )

    @cached_property
    def _plan(self) -> Plan:
        return plan_for(self.graph, self._problem)

    @cached_property
    def _problem(self) -> Problem:
        """What is planned."""
        order, graph, fused, output = self.order, self.graph, self._fused, self._output
        first = [] if fused is None else [*fused.tensors.values()]
        is_whole = all(each.num_regions() == 1 for each in (order.tensor, *first))
        agree = is_whole and all(graph.tile_mapping(each) == self._mapping for each in first)
        element = order.tensor.element_type
        result = self._element if output is None else output.element_type
        return Problem(
            self._mapping,
            None if output is None else graph.tile_mapping(output),
            order.reduced,
            order.inner,
            Types(element, self._partial_type, result)
            if fused is None
            else Types(element, self._partial_type, result, True, fused.slots),
            self._lie_together,
            is_whole,
            agree,
        )

    def _lie_together(self, computes: bool, begin: Int64, end: Int64) -> Mask:
        """Tell which ranges of the flattened tensor are one range of the memory of one tile.

        Partial results of a tile are, as they are laid out by tile. Of an expression all tensors
        have to: of others each vertex would get a copy, with what lies between its rows.
        """
        graph, mapping = self.graph, self._mapping
        together = np.ones(len(begin), np.bool_)
        tensors = [self.order.tensor]
        if computes and self._fused is not None:
            tensors = [*self._fused.tensors.values()]
            if any(graph.tile_mapping(each) != mapping for each in tensors):
                return ~together
        for each in tensors:
            if not len(begin) or each.num_regions() > each.num_elements // self.order.inner:
                return ~together
            ends = distinct(np.r_[each.contiguous_regions().end, mapping.end])
            together &= np.searchsorted(ends, begin, "right") == np.searchsorted(ends, end)
        return together

    def _partials(self, made: Stage) -> Tensor | None:
        """Return a variable for partial results, or None for none."""
        if not len(made.length):
            return None
        mapping = TileMapping(self.graph.target.tiles, made.tile, made.length)
        size = int(made.length.sum())
        return self.graph.add_variable(
            self._partial_type, (size,), f"{made.name}/partials", mapping=mapping
        )

    def _add(self, name: str, work: StageWork, partials: Tensor | None) -> None:
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
        for target, is_target, before in self._targets(work, partials):
            for vertex, is_kind in kinds:
                chosen = np.flatnonzero(is_target & is_kind)
                if len(chosen):
                    begin = np.where(work.is_final[chosen], 0, before)
                    out = Slices(target, 0, work.low[chosen] + begin, work.high[chosen] + begin)
                    self._add_vertices(compute_set, vertex, out, work, chosen)

    def _targets(self, work: StageWork, partials: Tensor | None) -> list[tuple[Tensor, Mask, int]]:
        """Return what vertices write, which do, and what stands before partial results in it.

        It is one tensor where the types are equal.
        """
        result, final = self._result, work.is_final
        if partials is None or final.all():
            return [(result, final, 0)]
        if not final.any():
            return [(partials, ~final, 0)]
        if partials.element_type is not result.element_type:
            return [(result, final, 0), (partials, ~final, 0)]
        return [(concat(result, partials), np.ones_like(final), result.num_elements)]

    def _add_vertices(
        self,
        compute_set: ComputeSet,
        vertex: type[Vertex],
        out: Slices,
        work: StageWork,
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
            vertex = self._fused.vertex(out.tensor.element_type, is_columns=is_columns)
            inputs = self._fused.tensors
            fields |= self._fused.numbers(len(chosen))
        for name, tensor in inputs.items():
            fields[name] = Slices(tensor, 0, begin, end, None if one_each else first)
        self.graph.add_vertices(
            compute_set,
            vertex,
            tile=work.tile[chosen],
            out=out,
            **fields,
        )
