"""Reductions of expressions: the first stage computes the elements that it joins.

    sum((x - y) ** 2)     a worker reads its elements of x and y, and writes one partial sum

Nothing of the size of the expression is stored, unless that takes fewer cycles. The elements lie as
one of its tensors, so they are joined in the order in which that tensor would be; but as elements
that are computed take longer, workers share shorter rows of them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from poplite.expr.tree import ElementClass
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.ops.fuse.classes import class_of
from poplite.ops.fuse.joining import computed_of
from poplite.ops.fuse.pricing import steps_of
from poplite.ops.fuse.recipe import ReductionRecipe
from poplite.ops.fuse.straight import Straight
from poplite.ops.reduce.build import OPERATIONS, Builder
from poplite.ops.reduce.order import Order, ordered
from poplite.program.recording import Recorder
from poplite.vertex.vertex import Vertex
from poplite.vertices.estimators.maps import map_slots
from poplite.vertices.estimators.poplibs import share
from poplite.view import num_runs


class Fused:
    """An expression that is reduced.

    Args:
        body: its lines.
        element_type: of its elements.
        how: the reduction.
        order: in which its elements are joined.
        operands: the tensors of `body`, stretched to the shape of the expression, or of one
            element.

    Attributes:
        tensors: the operands of many elements by field, flattened in that order.
        stretched: those that are broadcast, which vertices have as copies.
    """

    def __init__(
        self,
        body: Straight,
        element_type: ElementClass,
        how: str,
        order: Order,
        operands: list[Tensor],
    ) -> None:
        self.element_type = element_type
        self._body, self._how = body, how
        self._scalars = {f"x{n}": t for n, t in enumerate(operands) if not t.shape}
        self.tensors = {
            f"x{n}": order.arranged(tensor) for n, tensor in enumerate(operands) if tensor.shape
        }
        self.stretched = [each for each in self.tensors.values() if each.contains_aliases()]

    def vertex(self, out: ElementClass, *, is_columns: bool) -> type[Vertex]:
        """Return the class that joins rows, or columns, and writes elements of a type."""
        return class_of(self._recipe(out, is_columns=is_columns))

    @property
    def slots(self) -> float:
        """Slots of computing and joining an element; 0 where no table has them."""
        found = computed_of(self._recipe(self.element_type, is_columns=False))
        return 0 if found is None else found.with_join

    def map_cycles(self, elements: int, target: Target) -> float:
        """Return the cycles of a map that stores so many elements of a tile."""
        own, workers = share(elements, target), target.workers
        tensors = range(len(self._body.body.tensors))
        kinds = ["n" if f"x{n}" in self._scalars else "v" for n in tensors]
        steps = steps_of(self._body.body, kinds)
        assert steps is not None, "what is priced for a reduction is for a map"
        loads = [each.element_type for each in self.tensors.values()]
        return workers * map_slots([own], steps, loads, target)

    def copied_cycles(self, elements: int, target: Target) -> float:
        """Return the cycles of stretching operands for so many elements of a tile."""
        total, cost = 0.0, target.cost
        for tensor in self.stretched:
            size, width = tensor.num_elements, tensor.element_type.size_bytes
            runs = num_runs(tensor.view)
            if 2 * runs > size:
                total += elements * width / cost("strided_copy_bytes_per_cycle")
            else:
                total += elements * runs / size * cost("copy_piece_cycles")
                total += elements * width / cost("memcpy_bytes_per_cycle")
        return cost("worker_call") + total if self.stretched else 0

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
    dims: Collection[int],
    how: str,
    output: Tensor | None,
    name: str,
    spread: tuple[TileMapping, float] | None,
) -> Tensor | None:
    """Reduce an expression, and return the result: `output`, or a new tensor.

    The elements lie as `main`, a tensor of its shape; `operands` are as `Fused` takes them. None
    where it takes fewer cycles to store the expression first: as `main` lies, or on other tiles,
    which `spread` has with the cycles of sending them the operands.
    """
    graph, result = recorder.graph, output
    order = ordered(main, dims)
    fused = Fused(body, element_type, how, order, operands)
    builder = Builder(graph, OPERATIONS[how], order, output, recorder, fused)
    if not builder.is_cheaper_in_one(spread):
        return None
    if result is None:
        kept = tuple(size for d, size in enumerate(main.shape) if d not in dims)
        result = graph.add_variable(element_type, kept, name)
    with graph.scope(name):
        builder.build(result)
    return result
