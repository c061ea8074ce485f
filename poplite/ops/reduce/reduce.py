"""Reductions of tensors: sums, products, extremes, and truth along dimensions.

Elements stay where they are as long as that helps.  First each tile joins what it holds of every
output; then what tiles came to is joined on one of them, in as many steps as are cheapest where an
output has elements on many tiles (`levels`)::

    tile 0   0 0 0 0 1 1    ->   p0 p1
    tile 1   1 1 1 1 1 1    ->      p1     ->   p0, and p1 + p1 + p1
    tile 2   1 1 1 1 1 1    ->      p1

What is joined in which order follows from the shape, the mapping and the target alone, so float
sums and products have the same bits in every run; with another mapping their last bits may
differ (`poplite.vertices.reduce` says in which order a vertex goes).  Nothing else depends on it.

Semantics: poplibs, `popops::reduce`.  How the elements lie is found by the strides of the view, as
poplibs does with its grouping of regions; the plan is made by `pieces`, `ranges` and `stage`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from poplite.expr.tree import ElementClass
from poplite.graph.partition import map_linearly
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.maps import add_copy
from poplite.ops.fuse.placement import Mappings
from poplite.ops.reduce.build import OPERATIONS, Builder, ReduceOperation
from poplite.ops.reduce.first_extremes import OF_ROWS, FirstExtremes
from poplite.ops.reduce.order import ordered
from poplite.program.recording import Recorder
from poplite.types import ElementType


def reduce_into(
    recorder: Recorder,
    tensor: Tensor,
    dims: Sequence[int],
    operation: str,
    output: Tensor | None,
    name: str,
    element: ElementClass | None = None,
) -> Tensor:
    """Reduce dimensions of a tensor, which were checked, and return the result.

    A new result is of the type of the tensor where no `element` is named.
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
    """Record the step that fills a result that no element takes part in."""
    if not result.num_elements:
        return
    graph = recorder.graph
    if not has_tiles:
        map_linearly(graph, result)
    value = _in_range(way.identity, result.element_type)
    one = graph.add_constant(result.element_type, (), value, "identity", mapping=0)
    add_copy(recorder, Mappings(graph), one, result, "fill")


def _in_range(value: float, element: type[ElementType[Any]]) -> float:
    """Return a number, or for an infinity that integers have not their least or greatest."""
    if math.isfinite(value) or element.is_floating_point:
        return value
    limits: Any = np.iinfo(element.dtype)
    return int(limits.max if value > 0 else limits.min)
