"""Rows of a table, or elements of its rows, by index.

For `indices[n]`, these steps make `out[n, width]`:

    check          CheckIndices, where the indices are mapped       nothing is written
    table          a copy in blocks, unless x has that layout
    rows           MultiSlice: each part of the table               [parts, n, width], or the result
    sum            the bits of the parts are added                  all but one are 0
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import (
    ElementTypeError,
    InvalidOption,
    TensorCreationError,
    TensorIndexError,
    checked_items,
)
from poplite.expr.build import typed_number
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr, Number
from poplite.graph.graph import Graph
from poplite.graph.host_values import check_room
from poplite.graph.tensor.tensor import Slices, Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.graph.tile_mapping import TileMapping
from poplite.ops.elements import equal, iota, where
from poplite.ops.fuse.maps import cuts, held
from poplite.ops.operands import (
    FLOATS,
    INDICES,
    Given,
    bits_of,
    called,
    check_placed,
    check_type,
    count_of,
    dimension,
    graph_of,
    invalid_value,
    operand,
    own_operand,
    steps_for,
    the_tensor,
    writeable,
)
from poplite.ops.record import assign, map as stored
from poplite.ops.reductions.expressions import sum as sum_of
from poplite.ops.slices.choice import EmbeddingPlan, Shared, check_plan, way_to_read
from poplite.ops.slices.grid import (
    Reading,
    home_mapping,
    in_blocks,
    moved_to_blocks,
    of_blocks,
)
from poplite.program import Sequence as Steps
from poplite.program.recording import Recorder, recorder, target
from poplite.text import clipped
from poplite.types import BOOL, FLOAT, UNSIGNED_INT, ElementTypeLike, element_type
from poplite.vertices.slices import CheckIndices, MultiSlice

MOST_ROWS = 1 << 31
"""Maximum number of rows of a table: as UNSIGNED_INT, the index -1 is then out of range."""


def sliced(
    what: str, x: Tensor, dims: Sequence[int], sizes: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return the sliced dimensions, and the sizes of slices."""
    listed = [
        checked_items(each, f"{what}: {name}", f"pass a list, such as {name}=[1]")
        for name, each in (("dims", dims), ("sizes", sizes))
    ]
    found = [dimension(what, x, dim) for dim in listed[0]]
    lengths = [count_of(what, "size", size) for size in listed[1]]
    if len(found) != len(lengths) or len(set(found)) != len(found):
        raise InvalidOption(
            f"{what}: dims {listed[0]} do not match sizes {listed[1]}",
            found="a dimension occurs twice" if len(set(found)) != len(found) else "",
            fix="list each dimension once, and a size for each",
        )
    for dim, size in zip(found, lengths, strict=True):
        if size > x.shape[dim]:
            raise TensorIndexError(
                f"{what}: cannot slice {size} elements along dimension {dim} of '{x.name}'",
                found=type_and_shape(x),
                fix=f"pass a size from 0 to {x.shape[dim]}",
            )
    return found, lengths


def is_strict(what: str, out_of_range: object) -> bool:
    """Return whether an index out of range stops the run."""
    if not isinstance(out_of_range, str) or out_of_range not in ("error", "popops"):
        raise InvalidOption(
            f"{what}: out_of_range is {clipped(out_of_range)}", fix='pass "error" or "popops"'
        )
    return out_of_range == "error"


def indices_of(
    what: str,
    graph: Graph,
    x: object,
    program: Steps | None,
    *,
    is_read: bool,
    name: str = "indices",
) -> Given:
    """Return indices of INT or UNSIGNED_INT, or raise; indices read by vertices must be mapped."""
    found = own_operand(what, graph, x, program, name)
    check_type(what, found, INDICES, name)
    if is_read:
        check_placed(found)
    return found


def as_tensor(x: Given, name: str, program: Steps | None) -> Tensor:
    """Return a tensor as it is, and store an expression that was already checked."""
    return stored(x, name=name, program=program) if isinstance(x, Expr) else x


def check_indices(recorder: Recorder, indices: Tensor, size: int, name: str) -> None:
    """Record a check that stops the run at an index that is not less than `size`."""
    graph, flat = recorder.graph, indices.flatten()
    if not flat.num_elements:
        return
    found = cuts(*held(graph.tile_mapping(flat)), graph.target.workers, 2)
    graph.add_vertices(
        recorder.compute_set(f"{name}/check"),
        CheckIndices,
        tile=found.tile,
        index=Slices(flat, 0, found.begin, found.end),
        size=np.full(len(found.tile), size),
    )


def check_rows(what: str, x: Tensor, rows: int, lookups: int) -> None:
    """Raise an error for a table without rows or with too many rows."""
    if lookups and not 0 < rows < MOST_ROWS:
        raise TensorIndexError(
            f"{what}: '{x.name}' has {rows:,} rows for {lookups:,} indices",
            found=type_and_shape(x),
            fix=f"pass a tensor with 1 to {MOST_ROWS - 1:,} rows",
        )


# -- rows by index ---------------------------------------------------------------------------------


def multi_slice(
    x: Tensor,
    indices: Operand,
    dim: int = 0,
    *,
    plan: EmbeddingPlan | None = None,
    out_of_range: str = "error",
    name: str = "multi_slice",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that gather slices of a tensor by index: `np.take(x, indices, dim)`.

    Args:
        x: a tensor of any type.
        indices: INT or UNSIGNED_INT of any shape, a tensor or an expression.
        dim: the dimension along which x is sliced.
        plan: a plan from `ops.plan_embedding`, for a table that it created; any other table is
            copied each time. By default, the table is read in place, or copied each time if that is
            cheaper.
        out_of_range: "error" stops the run at an index out of range for x; "popops" returns
            a slice of zeros, which PopLibs leaves undefined.
        name: the name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new variable with the shape of x, in which the shape of the indices replaces `dim`.

    Raises:
        ElementTypeError: for indices that are not INT or UNSIGNED_INT.
        TensorIndexError: for a dimension that x does not have; when the program runs, for an
            index out of range.
        InvalidOption: for a plan that was made for a different table.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> numbers = [[0, 1], [2, 3], [4, 5]]
    >>> x = graph.add_variable(pl.INT, (3, 2), "x", mapping="linear", initial_value=numbers)
    >>> k = graph.add_constant(pl.UNSIGNED_INT, (4,), [2, 0, 2, 1], mapping=0)
    >>> y = multi_slice(x, k, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[4, 5], [0, 1], [4, 5], [2, 3]]
    """
    what = "ops.multi_slice"
    x = the_tensor(what, "x", x)
    dim = dimension(what, x, dim)
    strict = is_strict(what, out_of_range)
    graph = graph_of(what, x, program, indices)
    given = indices_of(what, graph, indices, program, is_read=strict)
    check_rows(what, x, x.shape[dim], given.num_elements)
    turned = x.dim_roll(dim, 0)
    rest = turned.shape[1:]
    matrix = turned.reshape((x.shape[dim], int(np.prod(rest))))
    check_plan(what, plan, matrix)
    steps_for(what, graph, name, program)
    numbers = as_tensor(given, f"{name}/indices", program)
    made = gather_matrix(what, graph, matrix, numbers, plan, strict, name, program)
    shape = (*numbers.shape, *rest)
    order = [*range(numbers.rank, numbers.rank + dim), *range(numbers.rank)]
    order += range(numbers.rank + dim, len(shape))
    return made.reshape(shape).dim_shuffle(order)


def embedding(
    table: Tensor,
    indices: Operand,
    *,
    plan: EmbeddingPlan | None = None,
    out_of_range: str = "error",
    name: str = "embedding",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that look up rows of a table: `ops.multi_slice` along dimension 0.

    The gradient of the table is `ops.multi_update_add(zeros, gradient, indices, plan=plan)`. A step
    of gradient descent calls the same function on the table itself with `scale=-rate`, so that only
    the rows used are changed.

    Args:
        table: the table, [entries, width].
        indices: INT or UNSIGNED_INT of any shape.
        plan: the plan that created the table.
        out_of_range: as in `ops.multi_slice`.
        name: the name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new variable: the shape of the indices, followed by the width.

    Raises:
        whatever `ops.multi_slice` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> table = graph.add_variable(pl.FLOAT, (100, 16), "table", mapping="linear")
    >>> words = graph.add_constant(pl.UNSIGNED_INT, (2, 3), [[7, 0, 2], [1, 7, 9]], mapping=0)
    >>> pl.ops.embedding(table, words, program=program).shape
    (2, 3, 16)
    """
    return multi_slice(
        table, indices, plan=plan, out_of_range=out_of_range, name=name, program=program
    )


def gather_matrix(
    what: str,
    graph: Graph,
    matrix: Tensor,
    indices: Tensor,
    plan: EmbeddingPlan | None,
    strict: bool,
    name: str,
    program: Steps | None,
) -> Tensor:
    """Record steps that gather rows of a matrix, and return them: [indices, width]."""
    lookups, (entries, width) = indices.num_elements, matrix.shape
    place = target(graph, program, what)
    if not lookups or not width:
        return graph.add_variable(matrix.element_type, (lookups, width), name, mapping="linear")
    shared = way_to_read(graph, matrix, indices, plan)
    graph, way, columns = shared.graph, shared.way, shared.way.columns
    record = recorder(graph, place)
    if strict:
        check_indices(record, indices, entries, name)
    if shared.tile is None:
        matrix = moved_to_blocks(record, matrix, columns, f"{name}/table")
    flat = bits_of(in_blocks(matrix, columns))
    shape = (columns, lookups, width // columns)
    found = _Pieces(shared, entries, lookups, width // columns)
    mapping = found.mapping if way.parts == 1 else home_mapping(graph, lookups, width, columns)
    variable = graph.add_variable(matrix.element_type, shape, name, mapping=mapping)
    out = bits_of(variable).flatten()
    partials = out
    if way.parts > 1:
        partials = graph.add_variable(
            out.element_type,
            (way.parts * out.num_elements,),
            f"{name}/parts",
            mapping=found.mapping,
        )
    graph.add_vertices(
        record.compute_set(f"{name}/rows"),
        MultiSlice,
        tile=found.tile,
        x=Slices(flat, 0, *found.read),
        index=Slices(indices.reinterpret(UNSIGNED_INT).flatten(), 0, *found.indices),
        out=Slices(partials, 0, *found.written),
        first=found.first,
        width=np.full(len(found.tile), shape[2]),
    )
    record.uses(name, [matrix, indices], [variable])
    record.finish(place, name)
    if way.parts > 1:
        total = sum_of(partials.reshape((way.parts, out.num_elements)), 0)
        stored(total, out=out, name=f"{name}/sum", program=program)
    return of_blocks(variable)


class _Pieces:
    """The slices that vertices read and write: arrays with one entry per vertex."""

    def __init__(self, shared: Shared[Reading], entries: int, lookups: int, width: int) -> None:
        graph, way = shared.graph, shared.way
        workers, tiles = graph.target.workers, max(1, graph.target.tiles // way.columns)
        shares = way.shares if shared.tile is not None else min(lookups, way.shares * workers)
        columns, parts, share = (
            each.ravel() for each in np.indices((way.columns, way.parts, shares))
        )
        low, high = (each * lookups // shares for each in (share, share + 1))
        first, last = parts * entries // way.parts, (parts + 1) * entries // way.parts
        within = (parts * way.shares + share * way.shares // shares) * tiles
        self.tile: Int64 = columns * tiles + within // (way.parts * way.shares)
        if shared.tile is not None:
            self.tile = shared.tile[columns * way.parts + parts]
        self.first: Int64 = first
        self.read = ((columns * entries + first) * width, (columns * entries + last) * width)
        self.indices = (low, high)
        begin = (parts * way.columns + columns) * lookups
        self.written = ((begin + low) * width, (begin + high) * width)
        order = np.argsort(self.written[0], kind="stable")
        lengths = (self.written[1] - self.written[0])[order]
        self.mapping = TileMapping(graph.target.tiles, self.tile[order], lengths)


# -- one element of each row -----------------------------------------------------------------------
# One element of each row, by index: selected, changed, or set.
#
# These functions are elementwise operations and reductions that read all elements in place.


MASKED = (1 << 32) - 1
"""The index of rows that popops skips: `MASKED_LABEL_CODE`."""


def one_hot(
    indices: Operand,
    depth: int,
    *,
    on: float = 1,
    off: float = 0,
    dtype: ElementTypeLike = FLOAT,
    out_of_range: str = "error",
    name: str = "one_hot",
    program: Steps | None = None,
) -> Tensor:
    """Record the creation of a row for each index, with `on` at the index and `off` elsewhere.

    Args:
        indices: INT or UNSIGNED_INT of any shape.
        depth: the number of elements in a row.
        on: the value at the index; for BOOL, 1 is true.
        off: the value everywhere else.
        dtype: the element type.
        out_of_range: "error" stops the run at an index that is not less than `depth`; "popops"
            makes a row of `off`.
        name: the name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new variable: the shape of the indices, followed by the depth.

    Raises:
        ElementTypeError: for indices that are not INT or UNSIGNED_INT, or values that `dtype`
            cannot represent.
        InvalidOption: if `on` or `off` is not a number.
        TensorIndexError: when the program runs, for an index out of range.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> k = graph.add_constant(pl.UNSIGNED_INT, (2,), [2, 0], mapping=0)
    >>> y = one_hot(k, 3, dtype=pl.INT, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    what = "ops.one_hot"
    depth, kind = count_of(what, "depth", depth), element_type(dtype)
    one, other = (_element(what, *each, kind) for each in (("on", on), ("off", off)))
    columns = iota((depth,), UNSIGNED_INT)
    where(equal(columns, 0), one, other)  # checks types before anything is recorded
    given = operand(what, indices, program, "indices")
    graph = graph_of(what, given, program)
    check_room(graph.space, UNSIGNED_INT, (depth,), f"{what}, depth")
    numbers = _checked(what, graph, given, depth, out_of_range, name, program)
    is_on = equal(columns, numbers.reshape((*numbers.shape, 1)))
    found = where(is_on, one, other)
    return stored(found, name=name, program=program)


def _element(what: str, name: str, value: object, kind: ElementClass) -> Number:
    """Return a number as a value of an element type, or raise."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float):
        raise invalid_value(what, name, value, f"a number, such as {name}=1")
    if kind is BOOL and value in (0, 1):
        value = bool(value)
    return typed_number(value, kind, f"{what}, {name}")


def select_from_rows(
    x: Tensor,
    indices: Operand,
    *,
    out_of_range: str = "error",
    name: str = "select_from_rows",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that select one element of each row by index: `x[range(rows), indices]`.

    Args:
        x: FLOAT or HALF [rows, columns].
        indices: INT or UNSIGNED_INT [rows].
        out_of_range: "error" stops the run at an index that is not less than the number of columns;
            "popops" returns NaN, and 0 for the index 0xFFFFFFFF.
        name: the name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new variable, [rows].

    Raises:
        ElementTypeError: for an x that is not FLOAT or HALF, or indices of an unsupported type.
        TensorCreationError: for tensors of any other shape.
        TensorIndexError: when the program runs, for an index out of range.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> numbers = [[1, 2], [3, 4]]
    >>> x = graph.add_variable(pl.FLOAT, (2, 2), "x", mapping="linear", initial_value=numbers)
    >>> k = graph.add_constant(pl.UNSIGNED_INT, (2,), [1, 0], mapping=0)
    >>> y = select_from_rows(x, k, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [2.0, 3.0]
    """
    what = "ops.select_from_rows"
    x = the_tensor(what, "x", x)
    _check_table(what, x)
    numbers, is_there = _of_rows(what, x, indices, out_of_range, name, program)
    found = sum_of(where(is_there, x, -0.0), 1)  # -0.0 + x is x, even if x is -0.0
    if out_of_range == "popops":
        found = where(numbers < x.shape[1], found, math.nan)
        found = where(equal(numbers, MASKED), 0, found)
    return stored(found, name=name, program=program)


def update_from_rows(
    x: Tensor,
    indices: Operand,
    *,
    by: float = -1,
    out_of_range: str = "error",
    name: str = "update_from_rows",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that add a number to one element of each row, given by index.

    This turns probabilities into the gradient of a cross entropy.

    Args:
        x: FLOAT or HALF [rows, columns], changed in place.
        indices: INT or UNSIGNED_INT [rows].
        by: the number to add.
        out_of_range: "error" stops the run at an index that is not less than the number of columns,
            before anything is changed; "popops" fills such a row with NaN, but leaves it unchanged
            for the index 0xFFFFFFFF.
        name: the name of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        x.

    Raises:
        GraphConnectionError: for an x that cannot be written.
        whatever `ops.select_from_rows` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (2, 2), "x", mapping="linear", initial_value=1)
    >>> k = graph.add_constant(pl.UNSIGNED_INT, (2,), [1, 0], mapping=0)
    >>> _ = update_from_rows(x, k, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    what = "ops.update_from_rows"
    x = writeable(what, x)
    _check_table(what, x)
    added = x + _element(what, "by", by, x.element_type)
    numbers, is_there = _of_rows(what, x, indices, out_of_range, name, program)
    changed = where(is_there, added, x)
    if out_of_range == "popops":
        column = numbers.reshape((*numbers.shape, 1))
        is_known = (column < x.shape[1]) | equal(column, MASKED)
        changed = where(is_known, changed, math.nan)
    return assign(x, changed, name=name, program=program)


def _checked(
    what: str,
    graph: Graph,
    indices: Operand,
    size: int,
    out_of_range: str,
    name: str,
    program: Steps | None,
) -> Tensor:
    """Return indices as UNSIGNED_INT; record the run-time check if there is one."""
    strict = is_strict(what, out_of_range)
    given = indices_of(what, graph, indices, program, is_read=True)
    place = steps_for(what, graph, name, program)
    found = as_tensor(given, f"{name}/indices", program)
    if strict:
        record = recorder(graph, place)
        check_indices(record, found, size, name)
        record.uses(name, [found], [])
        record.finish(place, name)
    return found.reinterpret(UNSIGNED_INT)


def _check_table(what: str, x: Tensor) -> None:
    """Raise an error unless the table is a matrix of floats."""
    if x.element_type not in FLOATS or x.rank != 2:
        raise ElementTypeError(
            f"{what}: x '{x.name}' is {type_and_shape(x)}",
            fix="pass rows of FLOAT or HALF, [rows, columns]",
        )


def _of_rows(
    what: str,
    x: Tensor,
    indices: Operand,
    out_of_range: str,
    name: str,
    program: Steps | None,
) -> tuple[Tensor, Expr]:
    """Return the index of each row, and a mask of the elements at these indices."""
    graph = graph_of(what, x, program, indices)
    given = own_operand(what, graph, indices, program, "indices")
    check_placed(x)
    if given.shape != x.shape[:1]:
        raise TensorCreationError(
            f"{what}: indices {called(given)} have shape {given.shape}, but there are "
            f"{x.shape[0]} rows",
            found=f"x '{x.name}' is {type_and_shape(x)}",
            fix="pass an index for each row",
        )
    numbers = _checked(what, graph, given, x.shape[1], out_of_range, name, program)
    column = numbers.reshape((*numbers.shape, 1))
    return numbers, equal(iota((x.shape[1],), UNSIGNED_INT), column)
