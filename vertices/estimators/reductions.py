"""The slots of vertices that join rows or columns, and may compute what they join.

    of_rows       `Reduce` of one vector, or of continuous regions
    of_columns    `StridedReduce`

What is computed takes slots beside those of PopLibs' estimator, for vectors of 64 bits as it joins
them.
"""

from __future__ import annotations

from math import ceil, gcd
from typing import Any

from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.target import Target
from poplite.types import ElementType
from poplite.vertices.estimators.poplibs import (
    loaded_at_once,
    reduce_columns,
    reduce_one,
    reduce_rows,
)

Element = type[ElementType[Any]]


def of_rows(
    element: Element,
    result: Element,
    outputs: int,
    elements: int,
    target: Target,
    *,
    slots: float = 0,
    flops: int = 0,
) -> VertexPerfEstimate:
    """Return the estimate of joining equal parts of a vector.

    Args:
        element: the element type that is joined.
        result: the element type of the results.
        outputs: how many parts.
        elements: of all parts.
        target: the machine.
        slots: of computing an element.
        flops: of computing an element.

    >>> from poplite.types import FLOAT
    >>> of_rows(FLOAT, FLOAT, 1, 1000, Target()).cycles
    517
    >>> of_rows(FLOAT, FLOAT, 1, 1000, Target(), slots=1).cycles     # of a product of two vectors
    1517
    """
    length = elements // outputs if outputs else 0
    if outputs == 1:
        cycles = reduce_one(element, result, elements, target)
    else:
        cycles = reduce_rows(element, outputs, length, target)
    loaded = loaded_at_once(element, target)
    cycles += ceil(outputs * -(-length // loaded) * loaded * slots)
    return VertexPerfEstimate(cycles, _flops(element, elements, outputs, flops))


def of_columns(
    element: Element,
    result: Element,
    outputs: int,
    elements: int,
    stride: int,
    target: Target,
    *,
    adds: bool,
    slots: float = 0,
    flops: int = 0,
) -> VertexPerfEstimate:
    """Return the estimate of joining the rows of a matrix, column by column.

    Args:
        element: the element type that is joined.
        result: the element type of the results.
        outputs: number of columns.
        elements: from the first of the first row to the last of the last one.
        stride: elements from one row to the next.
        target: the machine.
        adds: whether the elements are added up.
        slots: of computing an element.
        flops: of computing an element.

    >>> from poplite.types import FLOAT
    >>> of_columns(FLOAT, FLOAT, 32, 320, 32, Target(), adds=True, slots=1)
    VertexPerfEstimate(cycles=655, flops=288)
    """
    rows = (elements - outputs) // stride + 1
    cycles = reduce_columns(element, result, outputs, rows, stride, target, adds=adds)
    loaded = loaded_at_once(element, target)
    vectors = -(-outputs // gcd(loaded, stride)) * rows
    cycles += ceil(vectors * loaded * slots)
    return VertexPerfEstimate(cycles, _flops(element, outputs * rows, outputs, flops))


def _flops(element: Element, elements: int, outputs: int, flops: int) -> int:
    joined = max(0, elements - outputs) if element.is_floating_point else 0
    return joined + elements * flops
