"""Slices at places that the program computes: `dynamic_slice` and `dynamic_update`.

The sliced dimensions are one dimension of a table, and the elements of a slice rows of it:

    x[6, 4, 5], dims (0, 1)              table of 24 rows of 5
    slice of sizes (2, 3) at (o, p)      rows ((o + i) % 6) * 4 + (p + j) % 4  for i < 2, j < 3

So a table that lies as `create_sliceable` makes it is read where it lies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence as Several
from typing import Any

from poplite.errors import TensorCreationError
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.elementwise import iota, where
from poplite.ops.operands import (
    Given,
    called,
    check_like,
    graph_of,
    own_operand,
    steps_for,
    the_tensor,
    writeable,
)
from poplite.ops.record import map as stored
from poplite.ops.slices.choice import EmbeddingPlan, plan_embedding
from poplite.ops.slices.gather import (
    as_tensor,
    check_indices,
    gather_matrix,
    indices_of,
    is_strict,
    sliced,
)
from poplite.ops.slices.update import SET, update_matrix
from poplite.program import Sequence
from poplite.program.control import check_graph
from poplite.program.recording import deciding_tiles, recorder, target
from poplite.types import UNSIGNED_INT, ElementTypeLike

NO_ROW = (1 << 32) - 1
"""An index that no table has."""


def dynamic_slice(
    x: Tensor,
    offset: Operand,
    dims: Several[int],
    sizes: Several[int],
    *,
    out_of_range: str = "error",
    name: str = "dynamic_slice",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that read a slice of a tensor at a place that the program computes.

    A slice that goes past the end of a dimension wraps around.

    Args:
        x: of any type.
        offset: INT or UNSIGNED_INT, one for each of `dims`.
        dims: the dimensions that are sliced.
        sizes: of the slice along each of them.
        out_of_range: "error" stops the run at an offset out of range of its dimension;
            "popops" gives a slice of 0, where PopLibs' is undefined.
        name: of the result and of the steps.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        A new variable: the shape of x, with the sizes in place of those of `dims`.

    Raises:
        ElementTypeError: for offsets of another type.
        TensorCreationError: for another number of offsets.
        TensorIndexError: for a dimension that x does not have, and a slice longer than it; when
            the program runs, for an offset out of range.
        InvalidOption: for a dimension twice.
        ControlProgramError: without `program=` outside of all steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (6,), "x", mapping="linear", initial_value=range(6))
    >>> o = graph.add_constant(pl.UNSIGNED_INT, (1,), [4], mapping=0)
    >>> y = dynamic_slice(x, o, [0], [3], program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [4, 5, 0]
    """
    what = "ops.dynamic_slice"
    x = the_tensor(what, "x", x)
    strict, (dims, sizes) = is_strict(what, out_of_range), sliced(what, x, dims, sizes)
    graph = graph_of(what, x, program, offset)
    begin = _offsets(what, graph, offset, dims, name, program)
    with deciding_tiles(graph):
        rows = _rows(what, graph, x, begin, dims, sizes, strict, name, program)
    made = gather_matrix(what, graph, _matrix(x, dims), rows, None, False, name, program)
    rest = [dim for dim in range(x.rank) if dim not in dims]
    shape = (*sizes, *(x.shape[dim] for dim in rest))
    back = {dim: k for k, dim in enumerate((*dims, *rest))}
    return made.reshape(shape).dim_shuffle([back[dim] for dim in range(x.rank)])


def dynamic_update(
    x: Tensor,
    s: Operand,
    offset: Operand,
    dims: Several[int],
    sizes: Several[int],
    *,
    out_of_range: str = "error",
    name: str = "dynamic_update",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that replace a slice of a tensor at a place that the program computes.

    A slice that goes past the end of a dimension wraps around.

    Args:
        x: the tensor to change, of any type.
        s: the new slice: the shape of x, with the sizes in place of those of `dims`.
        offset: INT or UNSIGNED_INT, one for each of `dims`.
        dims: the dimensions that are sliced.
        sizes: of the slice along each of them.
        out_of_range: "error" stops the run at an offset out of range of its dimension, before
            anything is changed; "popops" changes nothing then.
        name: of the steps.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        x.

    Raises:
        TensorCreationError: for a slice of another shape or type.
        GraphConnectionError: for an x that cannot be written.
        the errors of `ops.dynamic_slice`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (6,), "x", mapping="linear", initial_value=0)
    >>> s = graph.add_constant(pl.INT, (3,), [7, 8, 9], mapping=0)
    >>> o = graph.add_constant(pl.UNSIGNED_INT, (1,), [4], mapping=0)
    >>> _ = dynamic_update(x, s, o, [0], [3], program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x).tolist()
    [9, 0, 0, 0, 7, 8]
    """
    what = "ops.dynamic_update"
    x = writeable(what, x)
    strict, (dims, sizes) = is_strict(what, out_of_range), sliced(what, x, dims, sizes)
    graph = graph_of(what, x, program, s, offset)
    given = own_operand(what, graph, s, program, "s")
    shape = list(x.shape)
    for dim, size in zip(dims, sizes, strict=True):
        shape[dim] = size
    check_like(what, "s", given, tuple(shape), ("x", x))
    begin = _offsets(what, graph, offset, dims, name, program)
    new = as_tensor(given, f"{name}/s", program)
    with deciding_tiles(graph):
        rows = _rows(what, graph, x, begin, dims, sizes, strict, name, program)
    if new.num_elements:
        place = target(graph, program, what)
        matrix, part = _matrix(x, dims), _matrix(new, dims)
        update_matrix(SET, graph, matrix, part, rows, None, False, name, place, {})
    return x


def create_sliceable(
    graph: Graph,
    element_type: ElementTypeLike,
    shape: Several[int],
    dims: Several[int],
    sizes: Several[int],
    name: str = "sliceable",
) -> Tensor:
    """Make a variable that lies as slices along some dimensions want it.

    Args:
        graph: where it goes.
        element_type: of its elements.
        shape: of the variable, without sizes of 0.
        dims: the dimensions that are sliced.
        sizes: of slices along each of them.
        name: of the variable.

    Returns:
        The variable. `ops.dynamic_slice`, `ops.dynamic_update` and, of one dimension,
        `ops.multi_slice` and its kin read and change it where it lies.

    Raises:
        TensorCreationError: for a shape with a size of 0.
        the errors of `ops.dynamic_slice`.

    >>> import poplite as pl
    >>> x = create_sliceable(pl.Graph(pl.Target(tiles=8)), pl.FLOAT, (1000, 16), [0], [1])
    >>> x.var_regions()
    <VarRegions 8,000 ranges: 'sliceable' [0, 2) 8 times every 2,000, 1,000 times every 2>
    """
    what = "ops.create_sliceable"
    check_graph(f"{what}(graph, element_type, shape, dims, sizes)", graph)
    # A variable of this shape, to look at: nothing is added to the graph.
    like = Graph(graph.target).add_variable(element_type, shape, name)
    dims, sizes = sliced(what, like, dims, sizes)
    if not like.num_elements:
        raise TensorCreationError(
            f"{what}: no elements", found=type_and_shape(like), fix="sizes from 1"
        )
    entries = math.prod(like.shape[dim] for dim in dims)
    plan = plan_embedding(
        graph,
        entries=entries,
        width=like.num_elements // entries,
        lookups=max(1, math.prod(sizes)),
        type=element_type,
        used_for="read",
    )
    return sliceable_of(plan, like.shape, dims, name)


def sliceable_of(plan: EmbeddingPlan, shape: Several[int], dims: Several[int], name: str) -> Tensor:
    """Make a variable of a shape whose sliced dimensions are the entries of a plan."""
    order = [*dims, *(dim for dim in range(len(shape)) if dim not in dims)]
    made = plan.create_table(name).reshape([shape[dim] for dim in order])
    return made.dim_shuffle([order.index(dim) for dim in range(len(shape))])


def _matrix(x: Tensor, dims: Several[int]) -> Tensor:
    """Return a tensor as rows: the sliced dimensions, and the others."""
    rest = [dim for dim in range(x.rank) if dim not in dims]
    rows = math.prod(x.shape[dim] for dim in dims)
    width = math.prod(x.shape[dim] for dim in rest)
    return x.dim_shuffle([*dims, *rest]).reshape((rows, width))


def _offsets(
    what: str,
    graph: Graph,
    offset: Operand,
    dims: Several[int],
    name: str,
    program: Sequence | None,
) -> Given:
    """Return the offsets, one for each of dims, or raise; the steps that follow are not refused."""
    begin = indices_of(what, graph, offset, program, is_read=True, name="offset")
    if begin.num_elements != len(dims):
        raise TensorCreationError(
            f"{what}: {begin.num_elements} offsets for {len(dims)} dimensions",
            found=f"offset {called(begin)}",
            fix="an offset for each of dims",
        )
    steps_for(what, graph, name, program)
    return begin


def _rows(
    what: str,
    graph: Graph,
    x: Tensor,
    offset: Given,
    dims: Several[int],
    sizes: Several[int],
    strict: bool,
    name: str,
    program: Sequence | None,
) -> Tensor:
    """Record which rows the slice has, and return them: UNSIGNED_INT[product of sizes]."""
    begin = as_tensor(offset, f"{name}/indices", program).flatten()
    if strict:
        place = target(graph, program, what)
        record = recorder(graph, place)
        for k, dim in enumerate(dims):
            check_indices(record, begin[k : k + 1], x.shape[dim], f"{name}/offset_{k}")
        record.uses(name, [begin], [])
        record.finish(place, name)
    if not dims:
        return stored(iota((1,), UNSIGNED_INT), name=f"{name}/numbers", program=program)
    number = begin.reinterpret(UNSIGNED_INT)
    row: Any = 0
    is_inside: Any = True
    for k, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
        length, first = x.shape[dim], number[k]
        position = first + iota((size, *(1 for _ in dims[k + 1 :])), UNSIGNED_INT)
        along = where(position < length, position, position - length)
        row = row * length + along if k else along
        is_inside = (first < length) & is_inside if k else first < length
    found: Expr = where(is_inside, row, NO_ROW)
    return stored(found, name=f"{name}/numbers", program=program).flatten()
