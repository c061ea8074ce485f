"""The compute sets for one reduction.

Each compute set leaves fewer elements to combine: at first elements of the tensor, then partial
results.

    tiles       combines the elements of each output that are on the same tile
    workers     combines the results of the workers of a tile, if they divided an output
    groups      combines the results of groups of tiles, in the cheapest number of steps
    final       combines the remaining partial results
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, Mask, distinct, repeated
from poplite.arrays.series import Digit, row_major
from poplite.expr.tree import ElementClass, Shape
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.partitioners import map_linearly
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.fuse.classes import class_of
from poplite.ops.fuse.maps import Mappings, Sending, add_copy, least_map_cycles, map_cycles
from poplite.ops.fuse.pricing import Bound, HeldShare, ReadOperand, Remembered, computed_of
from poplite.ops.fuse.recipe import ReductionRecipe, Straight
from poplite.ops.planning import received_cycles
from poplite.ops.reductions.first_extremes import OF_ROWS, FirstExtremes
from poplite.ops.reductions.plan import (
    Order,
    Plan,
    Problem,
    ReductionWay,
    Stage,
    Types,
    is_cheaper_in_one,
    ordered,
    plan_for,
)
from poplite.ops.reductions.stage import StageWork
from poplite.program.recording import Recorder
from poplite.types import FLOAT, HALF, ElementType
from poplite.vertex.vertex import Vertex
from poplite.vertices import reduce as library

# -- building --------------------------------------------------------------------------------------


class ReduceOperation(NamedTuple):
    """A way of combining many elements into one.

    Attributes:
        rows: the vertex for elements that are adjacent.
        columns: the vertex for elements at a stride.
        columns_of_tile: the vertex for elements at a stride that runs on all workers of a tile.
        identity: the result for no elements; an infinity means the limit of an integer type.
        widens: whether HALF elements are combined in FLOAT.
    """

    rows: type[Vertex]
    columns: type[Vertex]
    columns_of_tile: type[Vertex]
    identity: float
    widens: bool = False


def _operation(name: str, identity: float, *, widens: bool = False) -> ReduceOperation:
    """Return the operation whose vertex classes have a name."""
    forms = "Rows", "Columns", "ColumnsOfTile"
    rows, columns, of_tile = (getattr(library, f"{name}{form}") for form in forms)
    return ReduceOperation(rows, columns, of_tile, identity, widens)


OPERATIONS = {
    "add": _operation("Sum", 0, widens=True),
    "mul": _operation("Product", 1, widens=True),
    "min": _operation("Min", math.inf),
    "max": _operation("Max", -math.inf),
    "logical_and": _operation("All", True),
    "logical_or": _operation("Any", False),
}
"""The operations by name, as in poplibs' `popops::Operation`."""


class Builder:
    """Creates the compute sets for one reduction.

    Args:
        graph: the graph of the compute sets.
        way: the operation.
        order: the tensor and the order in which its elements are reduced.
        output: the tensor for the result, if it already exists.
        result_type: the element type of a new result.
        recorder: receives the steps.
        fused: an expression to reduce, mapped like the tensor; None to reduce the tensor itself.
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
        """The mapping of the operand."""
        return self.graph.tile_mapping(self.order.tensor)

    def build(self, result: Tensor) -> None:
        """Create the compute sets, and map the result."""
        graph, self._result = self.graph, self.order.result(result)
        plan = self._plan
        for each in plan.stages:
            partials = self._partials(each)
            self._add(each.name, each.work, partials)
            if partials is not None:
                # The elements of the operand that are not combined yet come first.
                self._source = concat(self._source, partials) if each.has_kept else partials
        if self._output is None:
            graph.set_tile_mapping(self._result, plan.mapping(graph.target))

    def ways(
        self, fused: Fused, stored: Order, here: Sending, mapping: TileMapping, there: Sending
    ) -> tuple[ReductionWay, ReductionWay]:
        """Return two ways: the expression computed where it is reduced, and stored first.

        Args:
            fused: the expression, for whose elements there is a price.
            stored: the order of a tensor that stores the expression.
            here: the exchange of the operands to the tiles of this reduction, if a map that stores
                the expression would be on other tiles.
            mapping: the mapping of the tensor that a map stores.
            there: the exchange of the operands to the tiles of that map, if they are on other
                tiles.
        """
        adds = self.way is OPERATIONS["add"]
        problem = self._stored(stored, mapping)
        digits: tuple[Digit, ...] = ((problem.mapping.num_elements, 1),)
        if not stored.is_row_major:  # priced as if it had the layout of the operand
            digits = tuple(stored.tensor.view.flat_digits())
        entire = (ReadOperand(digits, self._element.size_bytes),)
        target, is_sent, begun = self.graph.target, there.cycles > 0, here.received
        if is_sent and fused.is_sent:
            begun = max(begun, received_cycles(target, 0))
        made = cache(lambda: fused.map_cycles(mapping, target, is_sent=is_sent))
        least = there.received + fused.least_map_cycles(mapping, target)
        return (
            ReductionWay(
                self._problem,
                lambda: self._plan,
                fused.read,
                adds,
                lambda: begun,
                begun,
                fused.computed,
                here.sent,
            ),
            ReductionWay(
                problem,
                lambda: plan_for(target, problem),
                entire,
                adds,
                lambda: max(there.received + made(), there.sent),
                least,
            ),
        )

    @cached_property
    def _plan(self) -> Plan:
        return plan_for(self.graph.target, self._problem)

    @cached_property
    def _problem(self) -> Problem:
        """The problem to plan."""
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
        """Return the reduction of a new tensor with a mapping, as `reduce_into` will see it."""
        tensors = []
        if not order.is_row_major:  # priced as if it had the layout of the operand
            tensors, mapping = [order.tensor], self.graph.tile_mapping(order.tensor)
        breaks = self._breaks(tensors, mapping, order.inner)
        types = Types(self._element, self._partial_type, self._result_type)
        return Problem(mapping, self._wanted(order), order.reduced, order.inner, types, breaks)

    def _wanted(self, order: Order) -> TileMapping | None:
        """Return the mapping of an existing result, in the given order."""
        return None if self._output is None else self.graph.tile_mapping(order.result(self._output))

    def _breaks(self, tensors: Sequence[Tensor], mapping: TileMapping, inner: int) -> Int64 | None:
        """Return the ends of ranges that are contiguous in a tile's memory, in every given tensor.

        Return None if rows are adjacent anyway. Also return None if rows are far apart or tensors
        are on other tiles, since each vertex would then get a copy that includes the elements
        between its rows.
        """
        if inner == 1 or any(each.num_regions() > each.num_elements // inner for each in tensors):
            return None
        if any(self.graph.tile_mapping(each) != mapping for each in tensors):
            return None
        ends = [each.contiguous_regions().end for each in tensors]
        return distinct(np.concatenate([mapping.end, *ends]))

    def _partials(self, made: Stage) -> Tensor | None:
        """Return a variable for the partial results of a stage; None if it has none."""
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
        """Return each tensor to write, a mask of the vertices that write it, and an offset.

        The offset is that of partial results in the tensor. If results and partial results have the
        same type, they are concatenated to a single tensor.
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
        """Add the chosen vertices of a stage, which have one class and write to one tensor."""
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


# -- fused -----------------------------------------------------------------------------------------
# Reductions of expressions: the first stage computes the elements that it combines.
#
#     sum((x - y) ** 2)     a worker reads its elements of x and y, and writes one partial sum
#
# The values of the expression are not stored unless storing them takes fewer cycles. The elements
# are mapped like one of the expression's tensors, so they are combined in the order of that tensor.
# Computed elements take longer, so shorter rows are already divided among workers.


class Fused:
    """An expression to reduce.

    Args:
        body: the lines of the expression.
        element_type: the type of its elements.
        how: the reduction.
        main: a tensor of the expression's shape, whose mapping it takes.
        order: the order in which its elements are combined.
        operands: the tensors of `body`, broadcast to the shape of the expression, or with a single
            element.
        shares: for each operand, the fraction that is on the tiles of `main`.

    Attributes:
        element_type: the type of its elements.
        body: the lines of the expression.
        tensors: the operands with many elements by field name, flattened in `order`.
        read: the operands that are at least partly on the tiles that read them.
        computed: the computation for each element; None if an operation has no price.
    """

    def __init__(
        self,
        body: Straight,
        element_type: ElementClass,
        how: str,
        main: Tensor,
        order: Order,
        operands: list[Tensor],
        shares: Sequence[HeldShare],
    ) -> None:
        self.element_type = element_type
        self.body, self._how, self._shape, self._shares = body, how, main.shape, shares
        self._scalars = {f"x{n}": t for n, t in enumerate(operands) if not t.shape}
        self.tensors = {
            f"x{n}": order.arranged(tensor) for n, tensor in enumerate(operands) if tensor.shape
        }
        read = [(int(name[1:]), each) for name, each in self.tensors.items()]
        self.read = tuple([_read(shares[n], operands[n], t) for n, t in read if shares[n].share])
        self.computed = computed_of(self._recipe(element_type, is_columns=False))

    def vertex(self, out: ElementClass, *, is_columns: bool) -> type[Vertex]:
        """Return the vertex class that combines rows or columns, for outputs of the given type."""
        return class_of(self._recipe(out, is_columns=is_columns))

    @property
    def is_sent(self) -> bool:
        """Whether an operand with many elements is at least partly on tiles other than `main`'s."""
        return any(self._shares[int(name[1:])].share < 1 for name in self.tensors)

    @property
    def slots(self) -> float:
        """Number of slots for computing and combining an element; 0 if there is no price."""
        return 0 if self.computed is None else self.computed.with_join

    def map_cycles(self, mapping: TileMapping, target: Target, *, is_sent: bool) -> float:
        """Return the cycles of a map that stores the expression with the given mapping.

        `is_sent` means that operands of the expression's shape are on other tiles.
        """
        elsewhere = [is_sent and each.shape == self._shape for each in self.body.tensors]
        shares = [
            HeldShare(0) if far else has for far, has in zip(elsewhere, self._shares, strict=True)
        ]
        return map_cycles(self.body, self._shape, self.element_type, mapping, target, shares)

    def least_map_cycles(self, mapping: TileMapping, target: Target) -> float:
        """Return a lower bound on the cycles of that map, computed from its fullest tile."""
        return least_map_cycles(self.body, self._shape, self.element_type, mapping, target)

    def _recipe(self, out: ElementClass, *, is_columns: bool) -> ReductionRecipe:
        scalars = tuple([int(name[1:]) for name in self._scalars])
        return ReductionRecipe(self.body.body, scalars, self._how, out, is_columns)

    def numbers(self, count: int) -> dict[str, Any]:
        """Return the fields of `count` vertices for operands with one element and for numbers."""
        made: dict[str, Any] = {
            name: tensor.reshape((1,)).broadcast(count, 0) for name, tensor in self._scalars.items()
        }
        return made | {f"k{n}": each.value.item() for n, each in enumerate(self.body.numbers)}


def _read(own: HeldShare, tensor: Tensor, arranged: Tensor) -> ReadOperand:
    """Return the elements that vertices read from a tensor in the order of the reduction."""
    digits = arranged.view.flat_digits()
    is_repeated = any(stride == 0 for _, stride in digits)  # it then has fewer elements
    is_in_order = not is_repeated and digits == tensor.view.flat_digits()
    return own.of(digits, tensor.element_type.size_bytes, is_in_order=is_in_order)


_IN_ONE = Remembered[bool](most=64)
"""Cached decisions whether to fuse a reduction, by everything that the prices depend on."""


class FusedReduction:
    """A reduction of an expression, computed where it is reduced or stored first.

    Args:
        recorder: receives the steps.
        fused: the expression.
        main: a tensor of the expression's shape, whose mapping it takes.
        order: the order in which its elements are combined.
        dims: the dimensions that are reduced.
        how: the reduction.
        output: the tensor for the result; None for a new tensor of `result_type`.
        result_type: the element type of a new result.
        sent: the exchange of the operands to the tiles of `main`, if a tensor that stored the
            expression would be on other tiles.
        stored: the mapping of a tensor that stores the expression, and the exchange of the operands
            to its tiles.
        key: the key for the mappings of the operands, from `Mappings.key`.

    Attributes:
        main: a tensor of the expression's shape, whose mapping it takes.
        body: the lines of the expression.
        is_spread: whether the price includes the exchange of operands to the tiles of `main`.
        key: a key of everything that the price depends on; None if it cannot be cached.
    """

    def __init__(
        self,
        recorder: Recorder,
        fused: Fused,
        main: Tensor,
        order: Order,
        dims: Collection[int],
        how: str,
        output: Tensor | None,
        result_type: ElementClass,
        sent: Sending,
        stored: tuple[TileMapping, Sending],
        key: object,
    ) -> None:
        self._graph, self._dims = recorder.graph, dims
        self.key: object = None
        if key is not None:
            self.key = self._graph.target, fused.body.body, key, main.shape, dims, how, result_type
        self._fused, self.main, self._output = fused, main, output
        self._type, self.body = result_type, fused.body
        way = OPERATIONS[how]
        self._builder = Builder(recorder.graph, way, order, output, result_type, recorder, fused)
        self._sent, self._stored = sent, stored
        self.is_spread = sent.cycles > 0

    @cached_property
    def _ways(self) -> tuple[ReductionWay, ReductionWay]:
        """The two ways: the expression fused, and the expression stored first."""
        return self._builder.ways(self._fused, self._stored_order, self._sent, *self._stored)

    @cached_property
    def _stored_order(self) -> Order:
        return ordered(self.main, self._dims, row_major(self.main.shape))

    @cached_property
    def is_in_one(self) -> bool:
        """Whether the fused way takes no more cycles than storing the expression."""
        if self._fused.computed is None:
            return True
        target = self._graph.target
        return _IN_ONE.of(self.key, lambda: is_cheaper_in_one(target, *self._ways))

    def bounds(self) -> Iterator[Bound]:
        """Yield bounds on the cycles of the cheaper way; the last is exact, and needs plans."""
        target = self._graph.target
        if self._fused.computed is None:
            yield Bound(0)
        else:
            yield min(next(way.bounds(target)) for way in self._ways)
        yield Bound(self._ways[0 if self.is_in_one else 1].total(target), is_exact=True)

    def result_mapping(self) -> TileMapping:
        """Return the mapping of a new result in the cheaper way."""
        target = self._graph.target
        order = self._builder.order if self.is_in_one else self._stored_order
        made = Graph(target).add_variable(self._type, self._kept, "result")
        made.graph.set_tile_mapping(
            order.result(made), self._ways[not self.is_in_one].plan().mapping(target)
        )
        return made.graph.tile_mapping(made)

    def stored_bytes(self) -> int:
        """Return the bytes of the stored expression on its fullest tile."""
        mapping, _ = self._stored
        return int(mapping.elements_per_tile.max()) * self._fused.element_type.size_bytes

    @property
    def _kept(self) -> Shape:
        """The shape of the result."""
        sizes = enumerate(self.main.shape)
        return tuple([size for d, size in sizes if d not in self._dims])

    def build(self, name: str) -> Tensor:
        """Record the steps of the fused way, and return the result."""
        result = self._output
        if result is None:
            result = self._graph.add_variable(self._type, self._kept, name)
        with self._graph.scope(name):
            self._builder.build(result)
        return result


# -- reductions ------------------------------------------------------------------------------------
# Reductions of tensors: sums, products, extremes, and logical operations along dimensions.
#
# Elements stay on their tiles as long as possible. First, each tile combines its elements of every
# output. Then the results of the tiles are combined on one of them; if an output has elements on
# many tiles, this takes several steps, in the cheapest number (`plan`)::
#
#     tile 0   0 0 0 0 1 1    ->   p0 p1
#     tile 1   1 1 1 1 1 1    ->      p1     ->   p0, and p1 + p1 + p1
#     tile 2   1 1 1 1 1 1    ->      p1
#
# The order of combination depends only on the shape, the mapping and the target, so float sums and
# products are bit-identical in every run; with a different mapping, their last bits may differ
# (`poplite.vertices.reduce` documents the order within a vertex). Other results do not depend on
# the order.
#
# Semantics: poplibs, `popops::reduce`. The layout of the elements is derived from the strides of
# the view (poplibs groups regions instead); `plan` and `stage` make the plan.


def reduce_into(
    recorder: Recorder,
    tensor: Tensor,
    dims: Sequence[int],
    operation: str,
    output: Tensor | None,
    name: str,
    element: ElementClass | None = None,
) -> Tensor:
    """Reduce dimensions of a tensor and return the result; the arguments are already checked.

    A new result has the type of the tensor if no `element` is given.
    """
    graph, result, made = recorder.graph, output, element or tensor.element_type
    if result is None:
        kept = tuple(size for d, size in enumerate(tensor.shape) if d not in dims)
        result = graph.add_variable(made, kept, name)
    with graph.scope(name):
        if operation in OF_ROWS:
            order = ordered(tensor, dims)
            wanted = None if output is None else graph.tile_mapping(order.result(output))
            FirstExtremes(recorder, order, operation, order.result(result), wanted).build()
            return result
        way = OPERATIONS[operation]
        if tensor.num_elements:
            order = ordered(tensor, dims)
            Builder(graph, way, order, output, made, recorder).build(result)
        else:
            _fill(recorder, way, result, output is not None)
    return result


def _fill(recorder: Recorder, way: ReduceOperation, result: Tensor, has_tiles: bool) -> None:
    """Record the step that fills the result of a reduction over no elements."""
    if not result.num_elements:
        return
    graph = recorder.graph
    if not has_tiles:
        map_linearly(graph, result)
    value = _in_range(way.identity, result.element_type)
    one = graph.add_constant(result.element_type, (), value, "identity", mapping=0)
    add_copy(recorder, Mappings(graph), one, result, "fill")


def _in_range(value: float, element: type[ElementType[Any]]) -> float:
    """Return a number; for an integer type, an infinity is replaced by the type's limit."""
    if math.isfinite(value) or element.is_floating_point:
        return value
    limits: Any = np.iinfo(element.dtype)
    return int(limits.max if value > 0 else limits.min)
