"""Elements along a dimension by positions that are known when the program runs."""

from __future__ import annotations

from poplite.errors import TensorCreationError
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.placement import grain_of, variable
from poplite.ops.operands import (
    INDICES,
    NUMBERS,
    called,
    check_placed,
    check_type,
    ordered_bits,
    own_operand,
)
from poplite.ops.order.rows import Rows, pieces, ranges
from poplite.ops.record import map as stored
from poplite.program import Sequence
from poplite.types import BOOL
from poplite.vertices.taking import TakePart

MOVED: tuple[ElementClass, ...] = (*NUMBERS, BOOL)

SHARE = 4
"""A quarter of a tile's memory, at most, is for a part of a row."""


def take_along_axis(
    x: Operand,
    indices: Operand,
    dim: int | None = -1,
    *,
    name: str = "take_along_axis",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that take elements along a dimension: `numpy.take_along_axis`.

    Args:
        x: of any type but QUARTER and CHAR. An expression is stored first.
        indices: INT or UNSIGNED_INT, read when the program runs; of the shape of x, but for the
            size of the dimension. Negative ones count from the end.
        dim: the dimension; negative ones count from the last. None is for all elements in row-major
            order.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        A new tensor of the shape of `indices`, which lies as they do. Every tile gets the rows that
        it takes elements of, a part at a time where they are long.

    Raises:
        ElementTypeError: for other elements or indices.
        TensorIndexError: for a dimension that x does not have.
        TensorCreationError: for indices of another shape.
        ControlProgramError: without `program=` outside of all steps.

    When the program runs, an index outside of a row is an IndexError.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (2, 3), "x", mapping=0, initial_value=[[3, 9, 4], [1, 2, 3]])
    >>> at = [[1, 1], [-1, 0]]
    >>> which = graph.add_variable(pl.INT, (2, 2), "which", mapping=1, initial_value=at)
    >>> y = take_along_axis(x, which, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[9, 9], [3, 1]]
    """
    what = "ops.take_along_axis"
    rows = Rows(what, x, dim, MOVED, name, program, indices)
    which = own_operand(what, rows.graph, indices, program, "indices")
    check_type(what, which, INDICES, "indices")
    check_placed(which)
    shape = which.shape if dim is not None else (which.num_elements,)
    there = rows.shape[: rows.dim] + rows.shape[rows.dim + 1 :]
    rest = shape[: rows.dim] + shape[rows.dim + 1 :]
    if len(shape) != len(rows.shape) or rest != there:
        raise TensorCreationError(
            f"{what}: indices of shape {shape} for {called(rows.given)} of shape {rows.shape}",
            fix=f"the same sizes in all dimensions but {rows.dim}",
        )
    if which.num_elements and not rows.size:
        raise TensorCreationError(
            f"{what}: {which.num_elements:,} elements of rows that have none",
            found=f"{called(rows.given)} has shape {rows.shape}",
        )
    if isinstance(which, Expr):
        which = stored(which, name=f"{name}/indices", program=program)
    rows.begin()
    return _taken(rows, which if which.shape == shape else which.flatten())


def _taken(rows: Rows, which: Tensor) -> Tensor:
    """Record the steps."""
    graph, count = rows.graph, which.shape[rows.dim]
    out = variable(rows.mappings, rows.element_type, which.shape, rows.name, [which])
    mine, wanted = rows.of(out), rows.of(which)
    held = graph.tile_mapping(mine)
    found = pieces(held, count, graph.target.workers, grain_of(out.element_type))
    length = graph.target.tile_memory_bytes // SHARE // rows.element_type.size_bytes
    at, size = found.row * count + found.begin, found.end - found.begin
    for part, begin in enumerate(range(0, rows.size if len(at) else 0, max(1, length))):
        end = min(begin + length, rows.size)
        rows.execute(
            f"/part {part}" if length < rows.size else "",
            TakePart,
            found.tile,
            x=ranges(ordered_bits(rows.rows), found.row * rows.size + begin, 0 * at + end - begin),
            indices=ranges(wanted, at, size),
            out=ranges(ordered_bits(mine), at, size),
            first=begin,
            size=rows.size,
        )
    rows.finish([rows.x, which], [out])
    return out
