"""Slices at positions that the program computes.

The sliced dimensions are combined to one dimension of a table, so a slice consists of its rows:

    x[6, 4, 5], dims (0, 1)              table of 24 rows of 5
    slice of sizes (2, 3) at (o, p)      rows ((o + i) % 6) * 4 + (p + j) % 4  for i < 2, j < 3

So a table with the layout of `create_sliceable` is read in place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence as Several
from typing import Any, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import ElementTypeError, TensorCreationError
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Slices, Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.graph.tile_mapping import TileMapping
from poplite.ops.elements import iota, where
from poplite.ops.operands import (
    NUMBERS,
    Given,
    bits_of,
    called,
    check_like,
    check_type,
    described,
    dimension,
    graph_of,
    own_operand,
    steps_for,
    the_tensor,
    writeable,
)
from poplite.ops.record import map as stored
from poplite.ops.slices.choice import (
    EmbeddingPlan,
    Shared,
    check_plan,
    plan_embedding,
    way_to_change,
)
from poplite.ops.slices.gather import (
    as_tensor,
    check_indices,
    check_rows,
    gather_matrix,
    indices_of,
    is_strict,
    sliced,
)
from poplite.ops.slices.grid import (
    Changing,
    blocks_to_try,
    in_blocks,
    moved_to_blocks,
    owned,
    unshared,
)
from poplite.program import Copy, Sequence
from poplite.program.control import check_graph
from poplite.program.recording import Recorder, deciding_tiles, recorder, target
from poplite.public import arguments_of
from poplite.types import UNSIGNED_INT, UNSIGNED_SHORT, ElementTypeLike
from poplite.vertex.vertex import Vertex
from poplite.vertices.slices import (
    AddListed,
    ListRows,
    MaxListed,
    MulListed,
    MultiUpdate,
    MultiUpdateAdd,
    MultiUpdateMax,
    MultiUpdateMul,
    SetListed,
)

# -- changing rows of a table by index -------------------------------------------------------------
# Changing rows of a table by index: `multi_update` and related functions.
#
#     check          CheckIndices, where the indices are mapped
#     table, s       copies in blocks, unless they already have that layout
#     lists          ListRows: indices sorted by owner, a part on each tile          if cheaper
#     rows           MultiUpdate or SetListed: each part of the table, pass after pass
#     back           a copy back to the table, if it was copied
#
# An owner is a worker with consecutive rows. Each row is changed by its owner only, pass after
# pass, and within a pass from the first index of each list to the last. So with every plan, changes
# are made in the order of the indices.


class Join(NamedTuple):
    """The vertex classes for one way of combining new rows with those of a table.

    Attributes:
        rows: the vertex that reads all indices.
        listed: the vertex that reads a list.
    """

    rows: type[Vertex]
    listed: type[Vertex]


SET = Join(MultiUpdate, SetListed)
ADD = Join(MultiUpdateAdd, AddListed)
MAX = Join(MultiUpdateMax, MaxListed)
MUL = Join(MultiUpdateMul, MulListed)


def multi_update(
    x: Tensor,
    s: Operand,
    indices: Operand,
    dim: int = 0,
    *,
    plan: EmbeddingPlan | None = None,
    out_of_range: str = "error",
    name: str = "multi_update",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that replace slices of a tensor by index: `x[indices] = s`.

    Among equal indices, the last one determines the slice.

    Args:
        x: the tensor to change, of any type.
        s: the new slices: the shape of x, with the shape of the indices in place of `dim`.
        indices: INT or UNSIGNED_INT of any shape.
        dim: the dimension along which x is sliced.
        plan: a plan from `ops.plan_embedding`, for a table that it created; any other table is
            copied, changed and copied back. By default, the table is changed in place, or copied if
            that is cheaper.
        out_of_range: "error" stops the run at an index out of range for x, before anything is
            changed; "popops" skips such slices.
        name: the name of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        x.

    Raises:
        ElementTypeError: for indices that are not INT or UNSIGNED_INT.
        TensorCreationError: for slices of the wrong shape or type.
        TensorIndexError: for a dimension that x does not have; when the program runs, for an
            index out of range.
        GraphConnectionError: for an x that cannot be written.
        InvalidOption: for a plan that was made for a different table.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=0)
    >>> k = graph.add_constant(pl.UNSIGNED_INT, (3,), [3, 1, 3], mapping=0)
    >>> s = graph.add_constant(pl.INT, (3,), [5, 6, 7], mapping=0)
    >>> _ = multi_update(x, s, k, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x).tolist()
    [0, 6, 0, 7]
    """
    return _update("ops.multi_update", SET, x, s, indices, dim, plan, out_of_range, name, program)


def multi_update_add(
    x: Tensor,
    s: Operand,
    indices: Operand,
    dim: int = 0,
    *,
    scale: Operand | float = 1,
    plan: EmbeddingPlan | None = None,
    out_of_range: str = "error",
    name: str = "multi_update_add",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that add to slices of a tensor by index: `np.add.at(x, indices, scale * s)`.

    Terms are added to a slice in the order of the indices, so results are bit-identical for all
    tiles and plans. HALF is computed in FLOAT and rounded after each term.

    Args:
        x: the tensor to change, of a number type.
        s: the terms: the shape of x, with the shape of the indices in place of `dim`.
        indices: INT or UNSIGNED_INT of any shape.
        dim: the dimension along which x is sliced.
        scale: a number, or a scalar of the type of x that the program or the host may change.
        plan: as in `ops.multi_update`.
        out_of_range: as in `ops.multi_update`.
        name: the name of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        x.

    Raises:
        ElementTypeError: for types without arithmetic, or a scale whose type is not that of x.
        whatever `ops.multi_update` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (4, 2), "x", mapping="linear", initial_value=0)
    >>> k = graph.add_constant(pl.UNSIGNED_INT, (3,), [3, 1, 3], mapping=0)
    >>> s = graph.add_constant(pl.FLOAT, (3, 2), [[1, 2], [3, 4], [5, 6]], mapping=0)
    >>> _ = multi_update_add(x, s, k, scale=-0.5, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x).tolist()
    [[0.0, 0.0], [-1.5, -2.0], [0.0, 0.0], [-3.0, -4.0]]
    """
    what = "ops.multi_update_add"
    return _update(what, ADD, x, s, indices, dim, plan, out_of_range, name, program, scale)


@arguments_of(multi_update_add)
def multi_update_max(
    x: Tensor,
    s: Operand,
    indices: Operand,
    dim: int = 0,
    *,
    plan: EmbeddingPlan | None = None,
    out_of_range: str = "error",
    name: str = "multi_update_max",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that keep the larger element: `np.maximum.at(x, indices, s)`.

    The arguments and errors are those of `ops.multi_update_add`, without a scale. NaN counts as
    the largest number.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=5)
    >>> k = graph.add_constant(pl.UNSIGNED_INT, (3,), [3, 1, 3], mapping=0)
    >>> s = graph.add_constant(pl.INT, (3,), [7, 2, 6], mapping=0)
    >>> _ = pl.ops.multi_update_max(x, s, k, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x).tolist()
    [5, 5, 5, 7]
    """
    what = "ops.multi_update_max"
    return _update(what, MAX, x, s, indices, dim, plan, out_of_range, name, program)


@arguments_of(multi_update_add)
def multi_update_mul(
    x: Tensor,
    s: Operand,
    indices: Operand,
    dim: int = 0,
    *,
    plan: EmbeddingPlan | None = None,
    out_of_range: str = "error",
    name: str = "multi_update_mul",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that multiply slices of a tensor by index: `np.multiply.at(x, indices, s)`.

    The arguments and errors are those of `ops.multi_update_add`, without a scale.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=5)
    >>> k = graph.add_constant(pl.UNSIGNED_INT, (3,), [3, 1, 3], mapping=0)
    >>> s = graph.add_constant(pl.INT, (3,), [7, 2, 6], mapping=0)
    >>> _ = pl.ops.multi_update_mul(x, s, k, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x).tolist()
    [5, 10, 5, 210]
    """
    what = "ops.multi_update_mul"
    return _update(what, MUL, x, s, indices, dim, plan, out_of_range, name, program)


def _update(
    what: str,
    join: Join,
    x: Tensor,
    s: Operand,
    indices: Operand,
    dim: int,
    plan: EmbeddingPlan | None,
    out_of_range: str,
    name: str,
    program: Sequence | None,
    scale: Operand | float = 1,
) -> Tensor:
    x = writeable(what, x)
    dim, strict = dimension(what, x, dim), is_strict(what, out_of_range)
    graph = graph_of(what, x, program, s, indices, scale)
    if join is not SET:
        check_type(what, x, NUMBERS, "x")
    given = indices_of(what, graph, indices, program, is_read=strict)
    rows_given = own_operand(what, graph, s, program, "s")
    check_rows(what, x, x.shape[dim], given.num_elements)
    rest = x.shape[:dim] + x.shape[dim + 1 :]
    shape = x.shape[:dim] + given.shape + x.shape[dim + 1 :]
    check_like(what, "s", rows_given, shape, ("x", x))
    width = int(np.prod(rest))
    matrix = x.dim_roll(dim, 0).reshape((x.shape[dim], width))
    check_plan(what, plan, matrix)
    place = steps_for(what, graph, name, program)
    fields = {}
    if join is ADD and width and given.num_elements:
        fields["scale"] = _scale(what, graph, x, scale, name, program)
    numbers = as_tensor(given, f"{name}/indices", program)
    new = as_tensor(rows_given, f"{name}/s", program)
    # The sliced dimension is moved to the front of both tensors.
    sliced = range(dim, dim + numbers.rank)
    order = [*sliced, *(each for each in range(new.rank) if each not in sliced)]
    rows = new.dim_shuffle(order).reshape((numbers.num_elements, width))
    if width and numbers.num_elements:
        update_matrix(join, graph, matrix, rows, numbers, plan, strict, name, place, fields)
    return x


def _scale(
    what: str, graph: Graph, x: Tensor, scale: Operand | float, name: str, program: Sequence | None
) -> Tensor:
    """Return the scale as a scalar of the type of x; if it is invalid, nothing is recorded."""
    if isinstance(scale, (int, float)):
        return graph.add_constant(x.element_type, (), scale, f"{name}/scale", mapping=0)
    found = own_operand(what, graph, scale, program, "scale")
    if found.element_type is not x.element_type or found.num_elements != 1:
        raise ElementTypeError(
            f"{what}: scale {called(found)} is {described(found)}",
            found=f"x '{x.name}' is {type_and_shape(x)}",
            fix=f"pass a scalar of {x.element_type!r}",
        )
    return as_tensor(found, f"{name}/scale", program).reshape(())


def update_matrix(
    join: Join,
    graph: Graph,
    matrix: Tensor,
    rows: Tensor,
    indices: Tensor,
    plan: EmbeddingPlan | None,
    strict: bool,
    name: str,
    place: Sequence,
    fields: dict[str, Tensor],
) -> None:
    """Record changes to rows of a matrix; `fields` are passed to every vertex."""
    lookups, (entries, width) = indices.num_elements, matrix.shape
    shared = way_to_change(graph, matrix, rows, indices, plan)
    graph, way, columns = shared.graph, shared.way, shared.way.columns
    record = recorder(graph, place)
    if strict:
        check_indices(record, indices, entries, name)
    near = matrix
    if shared.tile is None:
        near = moved_to_blocks(record, matrix, columns, f"{name}/table")
    if near is matrix:  # it is changed in place
        rows = unshared(record, rows, matrix, f"{name}/s")
        indices = unshared(record, indices, matrix, f"{name}/indices")
        fields = {key: unshared(record, fields[key], matrix, f"{name}/{key}") for key in fields}
    x = in_blocks(near, columns)
    s = in_blocks(moved_to_blocks(record, rows, columns, f"{name}/s"), columns)
    if join is SET:
        x, s = bits_of(x), bits_of(s)
    numbers = indices.reinterpret(UNSIGNED_INT).flatten()
    work = _Owners(shared, entries, lookups, width // columns)
    if way.lists:
        work.add_listed(
            record, join.listed, x, s, work.add_lists(record, numbers, name), name, fields
        )
    else:
        work.add_rows(record, join.rows, x, s, numbers, name, fields)
    if near is not matrix:
        record.add(Copy(near, matrix))
    record.uses(name, [indices, rows, *fields.values()], [matrix])
    record.finish(place, name)


class _Lists(NamedTuple):
    """The sorted indices: rows and positions in each part, and the end of each owner's entries."""

    row: Tensor
    place: Tensor
    ends: Tensor


class _Owners:
    """The rows of each vertex and, in each pass, its indices."""

    def __init__(self, shared: Shared[Changing], entries: int, lookups: int, width: int) -> None:
        graph, way = shared.graph, shared.way
        self.graph, self.way, self.entries, self.width = graph, way, entries, width
        self.lookups = lookups
        self.share, self.count = owned(entries, way.parts, graph.target)
        # A pass has lists of equal length, except for the last pass.
        self.block = -(-lookups // (way.passes * max(1, way.lists)))
        self.length = self.block * max(1, way.lists)
        tiles = max(1, graph.target.tiles // way.columns)
        self.column, self.owner = (each.ravel() for each in np.indices((way.columns, self.count)))
        spread = self.column * tiles + self.owner * tiles // self.count
        self.tile: Int64 = spread if shared.tile is None else shared.tile
        self.first: Int64 = self.owner * self.share
        self.last = np.minimum(self.first + self.share, entries)

    def passes(self) -> list[tuple[int, int]]:
        """Return the first index of each pass, and one past its last."""
        begins = range(0, self.lookups, self.length)
        return [(begin, min(begin + self.length, self.lookups)) for begin in begins]

    def _fields(self, x: Tensor, s: Tensor, begin: int, end: int) -> dict[str, Any]:
        base, width = self.column * self.entries, self.width
        rows = self.column * self.lookups
        return {
            "tile": self.tile,
            "x": Slices(x, 0, (base + self.first) * width, (base + self.last) * width),
            "s": Slices(s, 0, (rows + begin) * width, (rows + end) * width),
            "width": np.full(len(self.tile), width),
        }

    def _same(self, part: Tensor) -> Tensor:
        """Return a vector that every vertex reads."""
        return part.reshape((1, part.num_elements)).broadcast(len(self.tile), 0)

    def _everywhere(self, fields: dict[str, Tensor]) -> dict[str, Any]:
        count = len(self.tile)
        return {name: each.reshape((1,)).broadcast(count, 0) for name, each in fields.items()}

    def add_rows(
        self,
        record: Recorder,
        vertex: type[Vertex],
        x: Tensor,
        s: Tensor,
        indices: Tensor,
        name: str,
        fields: dict[str, Tensor],
    ) -> None:
        """Add the vertices that read all indices."""
        for begin, end in self.passes():
            self.graph.add_vertices(
                record.compute_set(f"{name}/rows"),
                vertex,
                index=self._same(indices[begin:end]),
                first=self.first,
                **self._fields(x, s, begin, end),
                **self._everywhere(fields),
            )

    def add_lists(self, record: Recorder, indices: Tensor, name: str) -> _Lists:
        """Add the vertices that sort indices by owner, one list on each tile."""
        graph, block = self.graph, self.block
        begin = np.arange(0, self.lookups, block)
        end = np.minimum(begin + block, self.lookups)
        tiles = graph.target.tiles
        tile = np.arange(len(begin)) * tiles // len(begin)
        made = [
            graph.add_variable(
                element,
                (int(length.sum()),),
                f"{name}/lists/{part}",
                mapping=TileMapping(tiles, tile, length),
            )
            for part, element, length in (
                ("row", UNSIGNED_SHORT, end - begin),
                ("place", UNSIGNED_SHORT, end - begin),
                ("ends", UNSIGNED_INT, np.full(len(begin), self.count)),
            )
        ]
        row, place, ends = made
        number = np.arange(len(begin))
        graph.add_vertices(
            record.compute_set(f"{name}/lists"),
            ListRows,
            tile=tile,
            index=Slices(indices, 0, begin, end),
            row=Slices(row, 0, begin, end),
            place=Slices(place, 0, begin, end),
            ends=Slices(ends, 0, number * self.count, (number + 1) * self.count),
            begin=begin % self.length,
            share=np.full(len(begin), self.share),
            size=np.full(len(begin), self.entries),
        )
        return _Lists(row, place, ends)

    def add_listed(
        self,
        record: Recorder,
        vertex: type[Vertex],
        x: Tensor,
        s: Tensor,
        lists: _Lists,
        name: str,
        fields: dict[str, Tensor],
    ) -> None:
        """Add the vertices that read lists."""
        count = len(self.tile)
        for begin, end in self.passes():
            low, high = begin // self.block, -(-end // self.block)
            self.graph.add_vertices(
                record.compute_set(f"{name}/rows"),
                vertex,
                row=self._same(lists.row[begin:end]),
                place=self._same(lists.place[begin:end]),
                ends=self._same(lists.ends[low * self.count : high * self.count]),
                owner=self.owner,
                owners=np.full(count, self.count),
                length=np.full(count, self.block),
                **self._fields(x, s, begin, end),
                **self._everywhere(fields),
            )


NO_ROW = (1 << 32) - 1
"""An index that is out of range for every table."""


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
    """Record steps that read a slice of a tensor at a position that the program computes.

    A slice that goes past the end of a dimension wraps around.

    Args:
        x: a tensor of any type.
        offset: INT or UNSIGNED_INT, one for each of `dims`.
        dims: the sliced dimensions.
        sizes: the sizes of the slice along them.
        out_of_range: "error" stops the run at an offset out of range for its dimension;
            "popops" returns a slice of zeros, which PopLibs leaves undefined.
        name: the name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new variable with the shape of x, but with `sizes` along `dims`.

    Raises:
        ElementTypeError: for offsets that are not INT or UNSIGNED_INT.
        TensorCreationError: if the number of offsets differs from that of `dims`.
        TensorIndexError: for a dimension that x does not have, or a slice longer than the
            dimension; when the program runs, for an offset out of range.
        InvalidOption: for a dimension listed twice.
        ControlProgramError: if `program` is omitted outside any block of steps.

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
    """Record steps that replace a slice of a tensor at a position that the program computes.

    A slice that goes past the end of a dimension wraps around.

    Args:
        x: the tensor to change, of any type.
        s: the new slice, with the shape of x, but with `sizes` along `dims`.
        offset: INT or UNSIGNED_INT, one for each of `dims`.
        dims: the sliced dimensions.
        sizes: the sizes of the slice along them.
        out_of_range: "error" stops the run at an offset out of range for its dimension, before
            anything is changed; "popops" leaves the tensor unchanged.
        name: the name of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        x.

    Raises:
        TensorCreationError: for a slice of the wrong shape or type.
        GraphConnectionError: for an x that cannot be written.
        whatever `ops.dynamic_slice` raises.

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
    """Create a variable with a layout suitable for slices along some dimensions.

    Args:
        graph: the graph of the variable.
        element_type: the type of its elements.
        shape: the shape of the variable, without sizes of 0.
        dims: the sliced dimensions.
        sizes: the sizes of slices along them.
        name: the name of the variable.

    Returns:
        The variable. `ops.dynamic_slice`, `ops.dynamic_update` and, for a single dimension,
        `ops.multi_slice` and `ops.multi_update` read and change it in place.

    Raises:
        TensorCreationError: for a shape with a size of 0.
        whatever `ops.dynamic_slice` raises.

    >>> import poplite as pl
    >>> x = create_sliceable(pl.Graph(pl.Target(tiles=8)), pl.FLOAT, (1000, 16), [0], [1])
    >>> x.var_regions()
    <VarRegions 8,000 ranges: 'sliceable' [0, 2) 8 times every 2,000, 1,000 times every 2>
    """
    what = "ops.create_sliceable"
    check_graph(f"{what}(graph, element_type, shape, dims, sizes)", graph)
    return sliceable(what, graph, element_type, shape, dims, sizes, name)


def sliceable(
    what: str,
    graph: Graph,
    element_type: ElementTypeLike,
    shape: Several[int],
    dims: Several[int],
    sizes: Several[int],
    name: str,
    least: int = 0,
) -> Tensor:
    """Create a tensor whose slices have at least `least` elements on each of their tiles.

    A `least` of 0 means the number of elements that is fastest to read.
    """
    # A variable of this shape for inspection: nothing is added to the graph.
    like = Graph(graph.target).add_variable(element_type, shape, name)
    dims, sizes = sliced(what, like, dims, sizes)
    if not like.num_elements:
        raise TensorCreationError(
            f"{what}: the shape has no elements",
            found=type_and_shape(like),
            fix="pass sizes from 1",
        )
    entries = math.prod(like.shape[dim] for dim in dims)
    width, tiles = like.num_elements // entries, graph.target.tiles
    most = -(-width // max(-(-width // tiles), least))
    fitting = [each for each in blocks_to_try(width, tiles) if each <= most]
    plan = plan_embedding(
        graph,
        entries=entries,
        width=width,
        lookups=max(1, math.prod(sizes)),
        type=element_type,
        used_for="read",
        columns=max(fitting) if least else None,
    )
    order = [*dims, *(dim for dim in range(like.rank) if dim not in dims)]
    made = plan.create_table(name).reshape([like.shape[dim] for dim in order])
    return made.dim_shuffle([order.index(dim) for dim in range(like.rank)])


def _matrix(x: Tensor, dims: Several[int]) -> Tensor:
    """Return a tensor as a matrix: the sliced dimensions as rows, the others as columns."""
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
    """Return the offsets, one for each of `dims`, after all checks: later steps do not raise."""
    begin = indices_of(what, graph, offset, program, is_read=True, name="offset")
    if begin.num_elements != len(dims):
        raise TensorCreationError(
            f"{what}: {begin.num_elements} offsets for {len(dims)} dimensions",
            found=f"offset {called(begin)}",
            fix="pass an offset for each of dims",
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
    """Record the row indices of the slice, and return them: UNSIGNED_INT[product of sizes]."""
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
    if strict and [*sizes] == [1] and not begin.intersects_with(x):
        return number  # the run has stopped if there is no such row
    row: Any = 0
    is_inside: Any = True
    for k, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
        length, first = x.shape[dim], number[k]
        along: Any = first
        if size > 1:
            position = first + iota((size, *(1 for _ in dims[k + 1 :])), UNSIGNED_INT)
            along = where(position < length, position, position - length)
        row = row * length + along if k else along
        is_inside = (first < length) & is_inside if k else first < length
    found: Expr = where(is_inside, row, NO_ROW)
    return stored(found, name=f"{name}/numbers", program=program).flatten()
