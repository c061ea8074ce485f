"""Reductions of expressions: the first stage computes the elements that it joins.

    sum((x - y) ** 2)     a worker reads its elements of x and y, and writes one partial sum

Nothing of the size of the expression is stored, unless that takes fewer cycles. The elements lie as
one of its tensors, so they are joined in the order in which that tensor would be; but as elements
that are computed take longer, workers share shorter rows of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

from poplite.arrays.digits import row_major
from poplite.expr.tree import ElementClass
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.ops.fuse.classes import class_of
from poplite.ops.fuse.gathering import HeldShare
from poplite.ops.fuse.joining import computed_of
from poplite.ops.fuse.maps import map_cycles
from poplite.ops.fuse.recipe import ReductionRecipe
from poplite.ops.fuse.straight import Straight
from poplite.ops.reduce.build import OPERATIONS, Builder
from poplite.ops.reduce.order import Order, ordered
from poplite.ops.reduce.worth import ReductionWay, is_cheaper_in_one
from poplite.program.recording import Recorder
from poplite.vertex.vertex import Vertex


class Fused:
    """An expression that is reduced.

    Args:
        body: its lines.
        element_type: of its elements.
        how: the reduction.
        main: a tensor of its shape, which lies as it.
        order: in which its elements are joined.
        operands: the tensors of `body`, stretched to the shape of the expression, or of one
            element.
        shares: of each, how much of it is on the tiles of `main`.

    Attributes:
        element_type: of its elements.
        body: its lines.
        tensors: the operands of many elements by field, flattened in that order.
        read: the operands that are on the tiles that read them, at least a part of one.
        computed: what they compute of each element; None where no table has its price.
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
        self.read = tuple(
            [
                shares[n].of(each.view.flat_digits(), each.element_type.size_bytes)
                for n, each in ((int(name[1:]), each) for name, each in self.tensors.items())
                if shares[n].share
            ]
        )
        self.computed = computed_of(self._recipe(element_type, is_columns=False))

    def vertex(self, out: ElementClass, *, is_columns: bool) -> type[Vertex]:
        """Return the class that joins rows, or columns, and writes elements of a type."""
        return class_of(self._recipe(out, is_columns=is_columns))

    @property
    def is_sent(self) -> bool:
        """Whether an operand of many elements is on other tiles than `main`, or a part of it."""
        return any(self._shares[int(name[1:])].share < 1 for name in self.tensors)

    @property
    def slots(self) -> float:
        """Slots of computing and joining an element; 0 where no table has them."""
        return 0 if self.computed is None else self.computed.with_join

    def map_cycles(self, mapping: TileMapping, target: Target, *, is_sent: bool) -> float:
        """Return the cycles of a map that stores the expression on some tiles.

        `is_sent` says that these are others than those of the operands of its shape.
        """
        elsewhere = [is_sent and each.shape == self._shape for each in self.body.tensors]
        shares = [
            HeldShare(0) if far else has for far, has in zip(elsewhere, self._shares, strict=True)
        ]
        return map_cycles(self.body, self._shape, self.element_type, mapping, target, shares)

    def _recipe(self, out: ElementClass, *, is_columns: bool) -> ReductionRecipe:
        scalars = tuple([int(name[1:]) for name in self._scalars])
        return ReductionRecipe(self.body.body, scalars, self._how, out, is_columns)

    def numbers(self, count: int) -> dict[str, Any]:
        """Return the fields of single elements and numbers, for so many vertices."""
        made: dict[str, Any] = {
            name: tensor.reshape((1,)).broadcast(count, 0) for name, tensor in self._scalars.items()
        }
        return made | {f"k{n}": each.value.item() for n, each in enumerate(self.body.numbers)}


class FusedReduction:
    """A reduction of an expression that is to be computed where it is reduced, or stored first.

    Args:
        recorder: what takes the steps.
        fused: the expression.
        main: a tensor of its shape, which lies as it.
        order: in which its elements are joined.
        dims: the dimensions that are reduced.
        how: the reduction.
        output: what takes the result; None for a new tensor of `result_type`.
        result_type: of a new one.
        stored: the tiles of a tensor that would hold the expression, and the cycles of sending them
            the operands.

    Attributes:
        body: the lines of the expression.
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
        stored: tuple[TileMapping, float],
    ) -> None:
        self._graph, self._dims = recorder.graph, dims
        self._fused, self._main, self._output = fused, main, output
        self._type, self.body = result_type, fused.body
        way = OPERATIONS[how]
        self._builder = Builder(recorder.graph, way, order, output, result_type, recorder, fused)
        self._stored = stored

    @cached_property
    def _ways(self) -> tuple[ReductionWay, ReductionWay]:
        """The expression in one, and stored."""
        order = ordered(self._main, self._dims, row_major(self._main.shape))
        return self._builder.ways(self._fused, order, *self._stored)

    def is_in_one(self) -> bool:
        """Return whether it takes no more cycles than storing the expression."""
        if self._fused.computed is None:
            return True
        return is_cheaper_in_one(self._graph.target, *self._ways)

    def cycles(self) -> float:
        """Return the cycles of the cheaper way, where operands are on the tiles that read them."""
        target = self._graph.target
        return min(
            sum(way.cycles(target, across=across) for across in (False, True)) for way in self._ways
        )

    def stored_bytes(self) -> int:
        """Return the bytes of the expression on its fullest tile, where it is stored."""
        if self.is_in_one():
            return 0
        mapping, _ = self._stored
        return int(mapping.elements_per_tile.max()) * self._fused.element_type.size_bytes

    def build(self, name: str) -> Tensor:
        """Record the steps that compute it in one, and return the result."""
        result = self._output
        if result is None:
            sizes = enumerate(self._main.shape)
            kept = tuple([size for d, size in sizes if d not in self._dims])
            result = self._graph.add_variable(self._type, kept, name)
        with self._graph.scope(name):
            self._builder.build(result)
        return result
