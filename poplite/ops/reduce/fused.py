"""Reductions of expressions: the first stage computes the elements that it joins.

    sum((x - y) ** 2)     a worker reads its elements of x and y, and writes one partial sum

Nothing of the size of the expression is stored, unless that takes fewer cycles. The elements lie as
one of its tensors, so they are joined in the order in which that tensor would be; but as elements
that are computed take longer, workers share shorter rows of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
        self._body, self._how, self._shape, self._shares = body, how, main.shape, shares
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
    def slots(self) -> float:
        """Slots of computing and joining an element; 0 where no table has them."""
        return 0 if self.computed is None else self.computed.with_join

    def map_cycles(self, mapping: TileMapping, target: Target, *, is_sent: bool) -> float:
        """Return the cycles of a map that stores the expression on some tiles.

        `is_sent` says that these are others than those of the operands of its shape.
        """
        elsewhere = [is_sent and each.shape == self._shape for each in self._body.tensors]
        shares = [
            HeldShare(0) if far else has for far, has in zip(elsewhere, self._shares, strict=True)
        ]
        return map_cycles(self._body, self._shape, self.element_type, mapping, target, shares)

    def _recipe(self, out: ElementClass, *, is_columns: bool) -> ReductionRecipe:
        scalars = tuple([int(name[1:]) for name in self._scalars])
        return ReductionRecipe(self._body.body, scalars, self._how, out, is_columns)

    def numbers(self, count: int) -> dict[str, Any]:
        """Return the fields of single elements and numbers, for so many vertices."""
        made: dict[str, Any] = {
            name: tensor.reshape((1,)).broadcast(count, 0) for name, tensor in self._scalars.items()
        }
        return made | {f"k{n}": each.value.item() for n, each in enumerate(self._body.numbers)}


def reduce_fused(
    recorder: Recorder,
    body: Straight,
    element_type: ElementClass,
    main: Tensor,
    operands: list[Tensor],
    shares: Sequence[HeldShare],
    dims: Collection[int],
    how: str,
    output: Tensor | None,
    result_type: ElementClass,
    name: str,
    stored: tuple[TileMapping, float],
) -> Tensor | None:
    """Reduce an expression, and return the result: `output`, or a new tensor of `result_type`.

    The elements lie as `main`, a tensor of its shape; `operands` are as `Fused` takes them. None
    where it takes fewer cycles to store the expression first, on tiles that `stored` has with the
    cycles of sending them the operands.
    """
    graph, result = recorder.graph, output
    order = ordered(main, dims)
    fused = Fused(body, element_type, how, main, order, operands, shares)
    builder = Builder(graph, OPERATIONS[how], order, output, result_type, recorder, fused)
    if fused.computed is not None:
        of_stored = ordered(main, dims, row_major(main.shape))
        if not builder.is_cheaper_in_one(fused, of_stored, *stored):
            return None
    if result is None:
        kept = tuple(size for d, size in enumerate(main.shape) if d not in dims)
        result = graph.add_variable(result_type, kept, name)
    with graph.scope(name):
        builder.build(result)
    return result
