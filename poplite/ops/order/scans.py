"""Running sums and products along a dimension.

totals    TotalSum         each part of a row but the last
before    CumulativeSum    the totals of a row
running   CumulativeSum    each part

Parts depend on the size of the dimension alone, and so do the bits of a result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poplite.errors import checked_truth
from poplite.expr.operand import Operand
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import NUMBERS
from poplite.ops.order.rows import Rows, ranges
from poplite.program import Sequence
from poplite.types import FLOAT, HALF
from poplite.vertices.scans import (
    CumulativeProduct,
    CumulativeSum,
    TotalProduct,
    TotalSum,
    part_length,
)


def cumulative_sum(
    x: Operand,
    dim: int | None = -1,
    *,
    exclusive: bool = False,
    name: str = "cumulative_sum",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that add up the elements along a dimension, as far as each of them.

    A row of n elements is cut into parts of max(64, sqrt(n)) elements, the root rounded up. Sums
    within a part go from its first element to each; the totals of parts are added in order; and
    what is before a part is added to the sums within it. So the bits of a float sum depend on the
    size of the dimension alone, not on tiles: `poplite.vertices.scans.running_reference` has them
    in NumPy. HALF is added up in FLOAT and rounded once; integers wrap.

    Args:
        x: of any numbers but QUARTER, and any shape. An expression is stored first.
        dim: the dimension; negative ones count from the last. None is for all elements in row-major
            order, and the result has rank 1.
        exclusive: whether each sum is of the elements before it, the first one 0.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        A new tensor of the shape and type of x, whose parts are spread over the tiles.

    Raises:
        ElementTypeError: for other elements.
        TensorIndexError: for a dimension that x does not have.
        ControlProgramError: without `program=` outside of all steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=[3, 9, 4, 1])
    >>> y = cumulative_sum(x, program=program)
    >>> before = cumulative_sum(x, exclusive=True, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist(), engine.read(before).tolist()
    ([3, 12, 16, 17], [0, 3, 12, 16])
    """
    vertices = TotalSum, CumulativeSum
    return _running("ops.cumulative_sum", vertices, x, dim, exclusive, name, program)


def cumulative_product(
    x: Operand,
    dim: int | None = -1,
    *,
    exclusive: bool = False,
    name: str = "cumulative_product",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that multiply the elements along a dimension, as far as each of them.

    The order is that of `cumulative_sum`; exclusive products begin with 1.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=[3, 9, 4, 1])
    >>> y = cumulative_product(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [3, 27, 108, 108]
    """
    vertices = TotalProduct, CumulativeProduct
    return _running("ops.cumulative_product", vertices, x, dim, exclusive, name, program)


def _running(
    what: str,
    vertices: tuple[type[TotalSum[Any, Any]], type[CumulativeSum[Any, Any]]],
    x: Operand,
    dim: int | None,
    exclusive: bool,
    name: str,
    program: Sequence | None,
) -> Tensor:
    total_of, running_of = vertices
    rows = Rows(what, x, dim, NUMBERS, name, program)
    excludes = checked_truth(exclusive, f"{what}: exclusive")
    rows.begin()
    length = part_length(rows.size)
    parts = -(-rows.size // length)
    row, part = np.divmod(np.arange(rows.count * parts), max(parts, 1))
    begin = part * length
    size = np.minimum(begin + length, rows.size) - begin
    tile = np.arange(len(row)) * rows.graph.target.tiles // max(len(row), 1)
    out = rows.variable(rows.element_type, "", tile, size)
    wide = FLOAT if rows.element_type is HALF else rows.element_type
    inner = max(parts - 1, 0)  # parts of a row that others follow
    ones = np.ones(rows.count * inner, np.int64)
    before = rows.variable(wide, "/before", tile[part > 0], ones)
    if len(ones):
        totals = rows.variable(wide, "/parts", tile[part < inner], ones)
        mine = part < inner
        rows.execute(
            "/totals",
            total_of,
            tile[mine],
            x=ranges(rows.rows, (row * rows.size + begin)[mine], size[mine]),
            total=totals,
        )
        shape = (rows.count, inner)
        rows.execute(
            "/before",
            running_of,
            tile[part == 0],
            x=totals.reshape(shape),
            before=before[:0].reshape((1, 0)).broadcast(rows.count, 0),
            out=before.reshape(shape),
            excludes=False,
        )
    if len(row):
        is_later = (part > 0).astype(np.int64)
        rows.execute(
            "/running",
            running_of,
            tile,
            x=ranges(rows.rows, row * rows.size + begin, size),
            before=ranges(before, np.cumsum(is_later) - is_later, is_later),
            out=ranges(out, np.cumsum(size) - size, size),
            excludes=excludes,
        )
    result = rows.back(out.reshape((rows.count, rows.size)))
    rows.finish([rows.x], [result])
    return result
