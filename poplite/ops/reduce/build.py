"""The compute sets of one reduction.

Each makes fewer elements of those that are left: `pieces` of the tensor, then of partial results.

    tiles       joins what each tile holds of an output
    workers     joins what the workers of a tile came to, where they share an output
    groups      joins the results of groups of tiles, in as many steps as `levels` finds cheapest
    final       joins what is left
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from poplite.arrays.digits import Digit
from poplite.arrays.intervals import Int64, distinct
from poplite.expr.tree import ElementClass
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.gathering import ReadOperand
from poplite.ops.reduce.order import Order
from poplite.ops.reduce.pieces import repeated
from poplite.ops.reduce.plan import Plan, Problem, Stage, Types, plan_for
from poplite.ops.reduce.ranges import Mask
from poplite.ops.reduce.stage import StageWork
from poplite.ops.reduce.worth import ReductionWay
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
        result_type: the element type of another one.
        recorder: what takes the steps.
        fused: an expression that is reduced, which lies as the tensor; None for the tensor itself.
    """

    def __init__(
        self,
        graph: Graph,
        way: ReduceOperation,
        order: Order,
        output: Tensor | None,
        result_type: ElementClass,
        recorder: Recorder,
        fused: Fused | None = None,
    ) -> None:
        self._recorder = recorder
        self.graph, self.way, self.order = graph, way, order
        self._output = output
        self._fused = fused
        self._source = order.tensor
        self._element = order.tensor.element_type if fused is None else fused.element_type
        widens = self._element is HALF and way.widens
        self._partial_type = FLOAT if widens else self._element
        self._result_type = result_type if output is None else output.element_type

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

    def ways(
        self, fused: Fused, stored: Order, mapping: TileMapping, sent: float
    ) -> tuple[ReductionWay, ReductionWay]:
        """Return the expression computed where it is reduced, and stored first.

        Args:
            fused: the expression, whose elements have a price.
            stored: the order of a tensor that holds it.
            mapping: where a map puts that tensor.
            sent: the cycles of sending it the operands, beyond those of sending them here.
        """
        adds = self.way is OPERATIONS["add"]
        problem = self._stored(stored, mapping)
        digits: tuple[Digit, ...] = ((problem.mapping.num_elements, 1),)
        if not stored.is_row_major:  # as if it lay as what is reduced
            digits = tuple(stored.tensor.view.flat_digits())
        entire = (ReadOperand(digits, self._element.size_bytes),)
        target, begun = self.graph.target, 0.0
        before = sent + fused.map_cycles(mapping, target, is_sent=sent > 0)
        if sent and fused.is_sent:  # which is the same both ways where the map is on these tiles
            begun = target.cost("sync_cycles") + target.cost("latency_cycles")
        return (
            ReductionWay(
                self._problem, lambda: self._plan, fused.read, adds, begun, fused.computed
            ),
            ReductionWay(problem, lambda: plan_for(self.graph, problem), entire, adds, before),
        )

    @cached_property
    def _plan(self) -> Plan:
        return plan_for(self.graph, self._problem)

    @cached_property
    def _problem(self) -> Problem:
        """What is planned."""
        order, fused = self.order, self._fused
        element = order.tensor.element_type
        tensors = [order.tensor] if fused is None else [*fused.tensors.values()]
        return Problem(
            self._mapping,
            self._wanted(order),
            order.reduced,
            order.inner,
            Types(element, self._partial_type, self._result_type)
            if fused is None
            else Types(element, self._partial_type, self._result_type, True, fused.slots),
            self._breaks(tensors, self._mapping, order.inner),
        )

    def _stored(self, order: Order, mapping: TileMapping) -> Problem:
        """Return the reduction of a new tensor on some tiles, as `reduce_into` will have it."""
        tensors = []
        if not order.is_row_major:  # priced as if it lay as what is reduced
            tensors, mapping = [order.tensor], self.graph.tile_mapping(order.tensor)
        breaks = self._breaks(tensors, mapping, order.inner)
        types = Types(self._element, self._partial_type, self._result_type)
        return Problem(mapping, self._wanted(order), order.reduced, order.inner, types, breaks)

    def _wanted(self, order: Order) -> TileMapping | None:
        """Return where the result is to be, in an order."""
        return None if self._output is None else self.graph.tile_mapping(order.result(self._output))

    def _breaks(self, tensors: Sequence[Tensor], mapping: TileMapping, inner: int) -> Int64 | None:
        """Return where ranges of the memory of a tile end, in tensors and in a mapping.

        None where rows follow each other anyway; and where they lie apart, or tensors on other
        tiles: of those each vertex would get a copy, with what lies between its rows.
        """
        if inner == 1 or any(each.num_regions() > each.num_elements // inner for each in tensors):
            return None
        if any(self.graph.tile_mapping(each) != mapping for each in tensors):
            return None
        ends = [each.contiguous_regions().end for each in tensors]
        return distinct(np.concatenate([mapping.end, *ends]))

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
