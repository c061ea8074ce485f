"""The slots of vertices that reduce rows or columns.

    of_rows       `Reduce` of one vector, or of contiguous regions
    of_columns    `StridedReduce`

Computations on the elements take slots in addition to those of PopLibs' estimator, for each 64-bit
vector that it reduces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.target import Target
from poplite.types import ElementType
from poplite.vertices.estimators import (
    Count,
    loaded_at_once,
    reduce_columns,
    reduce_one,
    reduce_rows,
    words,
)

Element = type[ElementType[Any]]

Slots = npt.NDArray[np.float64]


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
    """Return the estimate of reducing equal parts of a vector.

    Args:
        element: the element type of the vector.
        result: the element type of the results.
        outputs: number of parts.
        elements: number of elements of all parts.
        target: the machine.
        slots: slots to compute an element.
        flops: flops to compute an element.

    >>> from poplite.types import FLOAT
    >>> of_rows(FLOAT, FLOAT, 1, 1000, Target()).cycles
    517
    >>> of_rows(FLOAT, FLOAT, 1, 1000, Target(), slots=1).cycles     # of a product of two vectors
    1517
    """
    cycles = int(rows_slots(element, result, outputs, elements, target, slots))
    return VertexPerfEstimate(cycles, _flops(element, elements, outputs, flops))


def rows_slots(
    element: Element,
    result: Element,
    outputs: Int64 | int,
    elements: Int64 | int,
    target: Target,
    slots: float = 0,
) -> Slots:
    """Return the slots of vertices that reduce equal parts of vectors, as in `of_rows`.

    >>> from poplite.types import FLOAT
    >>> rows_slots(FLOAT, FLOAT, np.array([1, 4]), np.array([1000, 1000]), Target()).tolist()
    [517.0, 565.0]
    """
    count, joined = np.asarray(outputs), np.asarray(elements)
    length = joined // np.maximum(count, 1)
    loaded = loaded_at_once(element, target)
    made = np.where(
        count == 1,
        reduce_one(element, result, joined, target),
        reduce_rows(element, count, length, target),
    )
    computed = np.ceil(count * -(-length // loaded) * loaded * slots)
    return np.asarray(made + computed, np.float64)


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
    """Return the estimate of reducing each column of a matrix.

    Args:
        element: the element type of the matrix.
        result: the element type of the results.
        outputs: number of columns.
        elements: number of elements from the first of the first row to the last of the last row.
        stride: elements from one row to the next.
        target: the machine.
        adds: whether the elements are summed.
        slots: slots to compute an element.
        flops: flops to compute an element.

    >>> from poplite.types import FLOAT
    >>> of_columns(FLOAT, FLOAT, 32, 320, 32, Target(), adds=True, slots=1)
    VertexPerfEstimate(cycles=655, flops=288)
    """
    rows = (elements - outputs) // stride + 1
    cycles = columns_slots(element, result, outputs, rows, stride, target, adds, slots)
    return VertexPerfEstimate(int(cycles), _flops(element, outputs * rows, outputs, flops))


def columns_slots(
    element: Element,
    result: Element,
    outputs: Count,
    rows: Count,
    stride: Count,
    target: Target,
    adds: bool,
    slots: float = 0,
) -> Slots:
    """Return the slots of vertices that reduce columns of matrices, as in `of_columns`.

    >>> from poplite.types import FLOAT
    >>> sizes = np.array([32, 31]), np.array([10, 10]), np.array([32, 31])
    >>> columns_slots(FLOAT, FLOAT, *sizes, Target(), adds=True, slots=1).tolist()
    [655.0, 1255.0]
    """
    joined = reduce_columns(element, result, outputs, rows, stride, target, adds=adds)
    loaded = loaded_at_once(element, target)
    computed = np.ceil(words(outputs, loaded, stride) * rows * loaded * slots)
    return np.asarray(joined + computed, np.float64)


def _flops(element: Element, elements: int, outputs: int, flops: int) -> int:
    joined = max(0, elements - outputs) if element.is_floating_point else 0
    return joined + elements * flops
