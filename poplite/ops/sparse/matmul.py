"""Products of a sparse and a dense matrix, and their gradients: recorded steps.

    y = ops.sparse_matmul(pattern, values, x)                          y = A x
    by_x = ops.sparse_matmul(pattern, values, gradient, transpose=True)         A' g
    by_values = ops.sparse_matmul_gradient(pattern, gradient, x)       (g x') where A is not 0

Each is one compute set. A tile has some rows of the sparse matrix (`poplite.ops.sparse.layout`),
and gets those rows of the dense one that they meet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import TensorCreationError, checked_truth
from poplite.expr.build import cast
from poplite.expr.operand import Operand
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.slices import SliceLists, Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolution.call import ConvolutionCall
from poplite.ops.operands import Given, called, described
from poplite.ops.record import map as stored
from poplite.ops.reductions import sum as sum_of
from poplite.ops.sparse.layout import best_layout
from poplite.ops.sparse.pattern import SparsePattern
from poplite.ops.sparse.plan import check_pattern
from poplite.program import Sequence as Steps
from poplite.program.recording import Recorder, recorder
from poplite.types import FLOAT, UNSIGNED_INT
from poplite.vertices.sparse import SparseDots, SparseRows


def sparse_matmul(
    pattern: SparsePattern,
    values: Operand,
    x: Operand,
    *,
    transpose: bool = False,
    name: str = "sparse_matmul",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that multiply a sparse matrix by a dense one.

    Args:
        pattern: where the non-zeros of the sparse matrix are, of shape (m, k).
        values: their values, [non-zeros] of FLOAT or HALF, a tensor or an expression.
            `ops.plan_sparse_matmul(...).create_values()` makes a tensor that lies where it is used.
        x: the dense matrix, [k, n], or a vector [k], of the same type.
        transpose: multiply by the transposed matrix; then x has m rows, and the result k. That is
            the gradient by x. Each value goes to the tile that has its column.
        name: of the result and of the steps.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        A new variable [m, n], or [m], on the tiles that make it. An element is the sum of its
        products from 0 on, in the order of the non-zeros of the row, in float32; HALF is rounded
        once.

    Raises:
        ElementTypeError: for other types, no pattern, or a `transpose` that is not true or false.
        TensorCreationError: for values or x of another shape.
        ControlProgramError: without `program=` outside of all steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> pattern = SparsePattern((3, 4), [0, 2, 2, 3], [1, 3, 0])
    >>> a = graph.add_variable(pl.FLOAT, (3,), "a", mapping=0, initial_value=[5, 6, 7])
    >>> x = graph.add_variable(pl.FLOAT, (4,), "x", mapping="linear", initial_value=[1, 2, 3, 4])
    >>> y = sparse_matmul(pattern, a, x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [34.0, 0.0, 7.0]
    """
    what = "ops.sparse_matmul"
    check_pattern(what, pattern)
    call = ConvolutionCall(what, name, program)
    given, dense = call.operands((values, "values"), (x, "x"))
    _check(what, given, (pattern.count,), "values")
    transpose = checked_truth(transpose, f"{what}: transpose")
    rows = pattern.shape[0] if transpose else pattern.shape[1]
    _check(what, dense, (rows,) if dense.rank == 1 else (rows, *dense.shape[1:2]), "x")
    own, order = pattern.transposed if transpose else (pattern, None)
    numbers, matrix = call.stored(given, "values"), call.stored(dense, "x")
    columns = int(np.prod(dense.shape[1:]))
    shape = (own.shape[0], *dense.shape[1:])
    if not own.shape[0] * columns * own.count:
        return call.zeros(numbers.element_type, shape, name)
    work = _Work(call, own, numbers.element_type, columns)
    return work.product(numbers, order, matrix.flatten()).reshape(shape)


def sparse_matmul_gradient(
    pattern: SparsePattern,
    gradient: Operand,
    x: Operand,
    *,
    name: str = "sparse_matmul_gradient",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that make the gradient of `sparse_matmul` by its values.

    Args:
        pattern: of the sparse matrix, of shape (m, k).
        gradient: of the product, [m, n] or [m], of FLOAT or HALF.
        x: the dense matrix, [k, n] or [k], of the same type.
        name: of the result and of the steps.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        A new variable [non-zeros], in the order of the pattern: for the non-zero in row r and
        column k the product of row r of the gradient and row k of x, on the tile of that row. Of
        each part of the columns that a tile has, lane j of 64 adds up the products j, j + 64, ...
        in float32, and the halves of lanes are added; then the parts, by `ops.sum`.

    Raises:
        ElementTypeError: for other types, or no pattern.
        TensorCreationError: for a gradient or x of another shape.
        ControlProgramError: without `program=` outside of all steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> pattern = SparsePattern((3, 4), [0, 2, 2, 3], [1, 3, 0])
    >>> g = graph.add_variable(pl.FLOAT, (3,), "g", mapping=0, initial_value=[1, 2, 10])
    >>> x = graph.add_variable(pl.FLOAT, (4,), "x", mapping="linear", initial_value=[1, 2, 3, 4])
    >>> by_values = sparse_matmul_gradient(pattern, g, x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(by_values).tolist()
    [2.0, 4.0, 10.0]
    """
    what = "ops.sparse_matmul_gradient"
    check_pattern(what, pattern)
    call = ConvolutionCall(what, name, program)
    given, dense = call.operands((gradient, "gradient"), (x, "x"))
    rest = given.shape[1:2] if given.rank > 1 else ()
    _check(what, given, (pattern.shape[0], *rest), "gradient")
    _check(what, dense, (pattern.shape[1], *rest), "x")
    by, matrix = call.stored(given, "gradient"), call.stored(dense, "x")
    columns = int(np.prod(rest))
    if not pattern.count * columns:
        return call.zeros(by.element_type, (pattern.count,), name)
    return _Work(call, pattern, by.element_type, columns).dots(by.flatten(), matrix.flatten())


def _check(what: str, x: Given, shape: tuple[int, ...], role: str) -> None:
    """Refuse an operand of another shape."""
    if x.shape != shape:
        raise TensorCreationError(
            f"{what}, {role}: {called(x)} is of shape {x.shape}",
            found=described(x),
            fix=f"of shape {shape}",
        )


class _Work:
    """The vertices of a call."""

    def __init__(
        self, call: ConvolutionCall, pattern: SparsePattern, element: Any, columns: int
    ) -> None:
        self.call, self.graph, self.element, self.pattern = call, call.graph, element, pattern
        self.layout = best_layout(self.graph.target, pattern, element, columns)

    def product(self, values: Tensor, order: Int64 | None, x: Tensor) -> Tensor:
        """Record the product, and return it: [rows, columns]."""
        call, layout = self.call, self.layout
        record = recorder(self.graph, call.steps)
        out, parts = self._variable(call.name, self.pattern.shape[0], layout.widths, layout.blocks)
        first, end = self._within(self.pattern.row_starts)
        numbers = Slices(values, 0, first, end)
        if order is not None:
            runs = self.pattern.row_starts[layout.blocks]
            numbers = Slices(values, 0, order, order + 1, runs)
        self._vertices(record, SparseRows, x, {"values": numbers}, parts)
        record.uses(call.name, [values, x], [out])
        record.finish(call.steps, call.name)
        shape = self.pattern.shape[0]
        return concat([each.reshape((shape, each.num_elements // shape)) for each in parts], 1)

    def dots(self, gradient: Tensor, x: Tensor) -> Tensor:
        """Record the products of rows, and return them: [non-zeros]."""
        call, layout, count = self.call, self.layout, self.pattern.count
        record = recorder(self.graph, call.steps)
        ends = self.pattern.row_starts[layout.blocks]
        element = self.element if layout.parts == 1 else FLOAT
        name = call.name if layout.parts == 1 else f"{call.name}/parts"
        each = [(0, 1)] * layout.parts
        out, parts = self._variable(name, count, each, ends, element)
        self._vertices(record, SparseDots, x, {"gradient": gradient}, parts)
        record.uses(call.name, [gradient, x], [out])
        record.finish(call.steps, call.name)
        if layout.parts == 1:
            return out
        total = sum_of(out.reshape((layout.parts, count)), 0)
        home = self.graph.add_variable(
            self.element,
            (count,),
            call.name,
            mapping=TileMapping(self.graph.target.tiles, layout.tile(0), np.diff(ends)),
        )
        return stored(
            cast(total, self.element), out=home, name=f"{call.name}/sum", program=call.program
        )

    def _variable(
        self,
        name: str,
        size: int,
        widths: list[tuple[int, int]],
        ends: Int64,
        element: Any = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Make a result of some parts, one behind the other: `size` rows of a width each."""
        tile = np.concatenate([self.layout.tile(part) for part in range(len(widths))])
        lengths = np.concatenate([np.diff(ends) * (high - low) for low, high in widths])
        mapping = TileMapping(self.graph.target.tiles, tile, lengths)
        total = int(lengths.sum())
        made = self.graph.add_variable(element or self.element, (total,), name, mapping=mapping)
        cuts = np.cumsum([0, *(size * (high - low) for low, high in widths)]).tolist()
        return made, [made[low:high] for low, high in zip(cuts[:-1], cuts[1:], strict=True)]

    def _within(self, ends: Int64) -> tuple[Int64, Int64]:
        """Return where what each block has begins and ends."""
        at = ends[self.layout.blocks]
        return at[:-1], at[1:]

    def _vertices(
        self,
        record: Recorder,
        vertex: type[SparseRows[Any, Any]] | type[SparseDots[Any, Any]],
        x: Tensor,
        fields: dict[str, Any],
        parts: list[Tensor],
    ) -> None:
        """Add a vertex for each block of rows and part of the columns."""
        layout = self.layout
        met, first, places = layout.met
        blocks = np.arange(len(layout.blocks) - 1)
        low, high = layout.blocks[:-1], layout.blocks[1:]
        values = self._within(self.pattern.row_starts)
        workers = self.graph.target.workers + 1
        starts = [self.pattern.row_starts[a : b + 1] for a, b in zip(low, high, strict=True)]
        numbers = {
            "starts": (np.concatenate([s - s[0] for s in starts]), low + blocks, high + blocks + 1),
            "places": (places, *values),
            "shares": (
                (layout.shares - low[:, None]).ravel(),
                blocks * workers,
                (blocks + 1) * workers,
            ),
        }
        step = record.compute_set(self.call.name)
        for part, (begin, end) in enumerate(layout.widths):
            width = end - begin
            rows = Slices(x, 0, met * layout.columns + begin, met * layout.columns + end)
            more = dict(fields)
            out = Slices(parts[part], 0, low * width, high * width)
            if vertex is SparseDots:
                out = Slices(parts[part], 0, *values)
                more["gradient"] = self._rows_of(fields["gradient"], begin, end)
            self.graph.add_vertices(
                step,
                vertex,
                tile=layout.tile(part),
                x=SliceLists(rows, first),
                out=out,
                columns=np.full(len(blocks), width),
                busiest=layout.busiest,
                **{field: self._constant(field, part, *each) for field, each in numbers.items()},
                **more,
            )

    def _rows_of(self, gradient: Tensor, begin: int, end: int) -> Slices:
        """Return the columns of a part, of the rows of each block."""
        low, high = self.layout.blocks[:-1], self.layout.blocks[1:]
        whole = gradient.reshape((self.pattern.shape[0], self.layout.columns))
        width = end - begin
        return Slices(whole[:, begin:end].flatten(), 0, low * width, high * width)

    def _constant(self, name: str, part: int, numbers: Int64, low: Int64, high: Int64) -> Slices:
        """Return numbers of blocks, on the tile of each block and part."""
        mapping = TileMapping(self.graph.target.tiles, self.layout.tile(part), high - low)
        made = self.graph.add_constant(
            UNSIGNED_INT, (len(numbers),), numbers, f"{self.call.name}/{name}", mapping=mapping
        )
        return Slices(made, 0, low, high)
