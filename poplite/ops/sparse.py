"""Products of a sparse matrix with a dense matrix.

    y = ops.sparse_matmul(pattern, values, x)                          y = A x
    by_x = ops.sparse_matmul(pattern, values, gradient, transpose=True)         A' g
    by_values = ops.sparse_matmul_gradient(pattern, gradient, x)       g x' where A is not 0

The positions of the non-zeros are fixed when the graph is built, as compressed rows:

    . 5 . 6      row_starts   0 2 2 3        row r has the non-zeros row_starts[r] to
    . . . .      columns      1 3 0          row_starts[r + 1], in the columns listed there
    7 . . .      values       5 6 7          a tensor, which may change as the program runs
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import ElementTypeError, TensorCreationError, checked_kind, checked_truth
from poplite.expr.build import cast
from poplite.expr.operand import Operand
from poplite.graph.graph import Graph
from poplite.graph.partitioners import cut
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import SliceLists, Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.operands import FLOATS, Given, called, check_parts, count_of, described
from poplite.ops.planning import PricedWays, cheapest, received_cycles
from poplite.ops.record import OperationCall, map as stored
from poplite.ops.reductions.expressions import sum as sum_of
from poplite.program import Sequence as Steps
from poplite.program.control import check_graph
from poplite.program.recording import Recorder, recorder
from poplite.text import clipped, of_type
from poplite.types import FLOAT, UNSIGNED_INT, ElementType, ElementTypeLike, element_type, unmasked
from poplite.vertices.linear import SparseDots, SparseRows, sparse_rows

MOST = 2**63 - 1
"""The largest index in a pattern."""


class SparsePattern:
    """The positions of the non-zeros of a matrix, row after row.

    Args:
        shape: rows and columns.
        row_starts: int[rows + 1], the index of the first non-zero of each row; the last entry is
            the number of non-zeros.
        columns: int[non-zeros], the column of each non-zero. Within a row, columns may be in any
            order, and the values of a repeated column are added.

    Raises:
        TensorCreationError: for row starts or columns that are inconsistent.
        SizeOverflowError: for a negative size in the shape.
        InvalidOption: for an invalid shape.

    >>> pattern = SparsePattern((3, 4), [0, 2, 2, 3], [1, 3, 0])
    >>> pattern
    <SparsePattern 3 x 4, 3 non-zeros>
    """

    def __init__(
        self, shape: tuple[int, int], row_starts: npt.ArrayLike, columns: npt.ArrayLike
    ) -> None:
        what = "ops.SparsePattern"
        if not isinstance(shape, tuple | list) or len(shape) != 2:
            raise TensorCreationError(
                f"{what}: shape {clipped(shape)} is not that of a matrix",
                found=of_type(shape),
                fix="pass shape=(rows, columns)",
            )
        self.shape: tuple[int, int] = (
            count_of(what, "rows", shape[0]),
            count_of(what, "columns", shape[1]),
        )
        self.row_starts: Int64 = _whole(what, "row_starts", row_starts)
        self.columns: Int64 = _whole(what, "columns", columns)
        self._check(what)

    @classmethod
    def of(cls, matrix: Any) -> SparsePattern:
        """Return the pattern of a SciPy matrix in compressed rows; its `data` are the values.

        Args:
            matrix: `scipy.sparse.csr_array` or `csr_matrix`, or an object with the same `format`,
                `shape`, `indptr` and `indices`.

        Raises:
            TensorCreationError: for anything else.

        >>> from types import SimpleNamespace
        >>> csr = SimpleNamespace(format="csr", shape=(1, 2), indptr=[0, 1], indices=[1])
        >>> SparsePattern.of(csr)
        <SparsePattern 1 x 2, 1 non-zero>
        """
        if getattr(matrix, "format", None) != "csr":
            raise TensorCreationError(
                f"ops.SparsePattern.of: {clipped(matrix)} is not a matrix in compressed rows",
                found=of_type(matrix),
                fix="call SparsePattern.of(matrix.tocsr())",
            )
        return cls(tuple(matrix.shape), matrix.indptr, matrix.indices)

    @property
    def count(self) -> int:
        """The number of non-zeros."""
        return len(self.columns)

    @cached_property
    def rows(self) -> Int64:
        """The row of each non-zero."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.row_starts))

    @cached_property
    def transposed(self) -> tuple[SparsePattern, Int64]:
        """The pattern of the transposed matrix, and the index in `self` of each non-zero."""
        order = np.argsort(self.columns, kind="stable")
        counts = np.bincount(self.columns, minlength=self.shape[1])
        starts = np.r_[0, np.cumsum(counts)]
        return SparsePattern(self.shape[::-1], starts, self.rows[order]), order

    def __repr__(self) -> str:
        rows, columns = self.shape
        many = "" if self.count == 1 else "s"
        return f"<SparsePattern {rows:,} x {columns:,}, {self.count:,} non-zero{many}>"

    def _check(self, what: str) -> None:
        """Raise if the row starts and columns are inconsistent."""
        rows, columns = self.shape
        starts, count = self.row_starts, self.count
        found = ""
        if len(starts) != rows + 1:
            found = f"row_starts has {len(starts):,} numbers for {rows:,} rows"
        elif starts[0] != 0 or starts[-1] != count:
            ends = f"from {starts[0]:,} to {starts[-1]:,}"
            found = f"row_starts goes {ends}, but len(columns) is {count:,}"
        elif (np.diff(starts) < 0).any():
            row = int(np.argmax(np.diff(starts) < 0))
            found = f"row {row:,} goes from {starts[row]:,} to {starts[row + 1]:,}"
        elif count and not 0 <= int(self.columns.min()) <= int(self.columns.max()) < columns:
            bad = (self.columns < 0) | (self.columns >= columns)
            at = int(np.argmax(bad))
            found = f"non-zero {at:,} is in column {self.columns[at]:,}, but there are {columns:,}"
        if found:
            raise TensorCreationError(
                f"{what}: the non-zeros do not fit a matrix of {rows:,} x {columns:,}",
                found=found,
                fix="pass row_starts that rise from 0 to len(columns), and columns below shape[1]",
            )


def _whole(what: str, name: str, values: npt.ArrayLike) -> Int64:
    """Return a list of integers as a read-only array."""
    try:
        array = np.asarray(unmasked(values, f"{what}, {name}"))
    except ValueError:  # lists of different lengths
        array = np.asarray(values, object)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise TensorCreationError(
            f"{what}: {name} is not a list of whole numbers",
            found=f"{array.dtype} of shape {array.shape}",
            fix="pass `indptr` and `indices` of a scipy.sparse.csr_array",
        )
    if array.dtype.kind == "u" and (array > MOST).any():  # they would become negative
        at = int(np.argmax(array > MOST))
        raise TensorCreationError(
            f"{what}: {name}[{at:,}] is {int(array[at]):,}",
            found=f"numbers of {array.dtype}",
            fix="pass numbers of at most 63 bits",
        )
    kept = array.astype(np.int64)
    kept.flags.writeable = False
    return kept


# -- the division of a product among tiles ---------------------------------------------------------
# The rows of a sparse matrix are divided among tiles, and among the workers of each tile.
#
#     non-zeros    | tile 0    | tile 1    | tile 2    |       about the same number of slots on
#     of rows      | 0 1 2 3 4 | 5 6       | 7 8 ...   |       each tile; rows are not cut
#
# Each tile receives the rows of the dense matrix by which its non-zeros are multiplied, once each.
# If there are more tiles than the rows need, or the rows of the dense matrix are long, the columns
# of the dense matrix are also divided.


Element = type[ElementType[Any]]

CUTS_TRIED = 8
"""How many numbers of parts of the columns to try, starting at 1."""

WORTH = 1.25
"""Factor in cycles that more parts must save, as each repeats lists of rows and their exchange."""

MEMORY = 0.8
"""The fraction of a tile's memory that rows, values and results may take."""

_NUMBER = UNSIGNED_INT.size_bytes


@dataclass(frozen=True, eq=False)
class SparseLayout:
    """The division of a sparse product among tiles, by rows of the pattern and by columns.

    Attributes:
        target: the machine.
        pattern: sparsity pattern of the sparse matrix.
        element: the type of both matrices.
        columns: number of columns of the dense matrix.
        parts: number of parts into which the columns are divided.
    """

    target: Target
    pattern: SparsePattern
    element: Element
    columns: int
    parts: int

    @property
    def widths(self) -> list[tuple[int, int]]:
        """The first column of each part, and one past its last column."""
        ends = [cut(part, self.columns, self.parts) for part in range(self.parts + 1)]
        return list(zip(ends[:-1], ends[1:], strict=True))

    @property
    def width(self) -> int:
        """The number of columns of the widest part."""
        return -(-self.columns // self.parts)

    @cached_property
    def blocks(self) -> Int64:
        """int64[blocks + 1]: the first row of each tile's block of rows."""
        tiles = max(1, min(self.target.tiles // self.parts, self.pattern.shape[0]))
        return self._shared(np.array([0, self.pattern.shape[0]]), tiles).reshape(-1)

    @cached_property
    def shares(self) -> Int64:
        """int64[blocks, workers + 1]: the first row of each worker."""
        return self._shared(self.blocks, self.target.workers)

    @cached_property
    def busiest(self) -> Int64:
        """The maximum number of non-zeros of a worker, by block."""
        most: Int64 = np.diff(self.pattern.row_starts[self.shares], axis=1).max(1)
        return most

    @cached_property
    def met(self) -> tuple[Int64, Int64, Int64]:
        """The rows of the dense matrix that each block needs.

        Returns the rows block after block, the index of the first row of each block, and for each
        non-zero the position of its row among the rows of its block.
        """
        pattern, number = self.pattern, len(self.blocks) - 1
        block = np.repeat(np.arange(number), np.diff(pattern.row_starts[self.blocks]))
        size = max(1, pattern.shape[1])
        found, place = np.unique(block * size + pattern.columns, return_inverse=True)
        first = np.searchsorted(found // size, np.arange(number + 1))
        return found % size, first, place.reshape(-1) - first[block]

    @cached_property
    def cycles(self) -> int:
        """Cycles of the tile that receives the most rows, plus those of the busiest worker."""
        _, first, _ = self.met
        size = self.element.size_bytes
        arriving = int(np.diff(first).max(initial=0)) * self.width * size
        arriving += int(np.diff(self.pattern.row_starts[self.blocks]).max(initial=0)) * size
        rows = np.diff(self.shares, axis=1).max(1)
        made = sparse_rows(self.element, rows, self.busiest, self.width, self.target)
        return int(received_cycles(self.target, arriving) + made.max(initial=0))

    @cached_property
    def bytes(self) -> int:
        """Bytes on the fullest tile."""
        _, first, _ = self.met
        size = self.element.size_bytes
        values = np.diff(self.pattern.row_starts[self.blocks])
        held = np.diff(first) * (self.width * size + _NUMBER) + values * (size + _NUMBER)
        held = held + np.diff(self.blocks) * (self.width * size + _NUMBER)
        return int(held.max(initial=0))

    @property
    def excess(self) -> int:
        """Bytes by which the fullest tile exceeds its limit."""
        return max(0, self.bytes - int(MEMORY * self.target.tile_memory_bytes))

    def tile(self, part: int) -> Int64:
        """The tile of each block, for a part of the columns."""
        return np.arange(len(self.blocks) - 1) * self.parts + part

    def _shared(self, ends: Int64, number: int) -> Int64:
        """Divide the rows between successive `ends` into `number` shares of about equal slots."""
        pattern = self.pattern
        values = np.arange(3)
        none, one, two = (
            sparse_rows(self.element, *pair, self.width, self.target)
            for pair in zip(values[[0, 1, 0]], values[[0, 0, 1]], strict=True)
        )
        lengths = np.diff(pattern.row_starts)
        weight = np.r_[0, np.cumsum((one - none) + (two - none) * lengths)]
        low, high = weight[ends[:-1], None], weight[ends[1:], None]
        wanted = low + (high - low) * np.arange(number + 1) // number
        found = np.searchsorted(weight, wanted)
        # A row in which a share ends goes to the side that has more of it.
        before = np.maximum(found - 1, 0)
        nearer = np.abs(weight[before] - wanted) < np.abs(weight[found] - wanted)
        shared: Int64 = np.where(nearer, before, found)
        shared[:, 0], shared[:, -1] = ends[:-1], ends[1:]
        return shared


@lru_cache(maxsize=16)
def best_layout(
    target: Target, pattern: SparsePattern, element: Element, columns: int
) -> SparseLayout:
    """Return the layout with the fewest parts among those that fit and are nearly the fastest."""
    most = max(1, min(columns, target.tiles))
    numbers = np.unique(np.geomspace(1, most, CUTS_TRIED).round().astype(int)).tolist()
    tried = [SparseLayout(target, pattern, element, columns, number) for number in numbers]
    excess, cycles = np.array([(layout.excess, layout.cycles) for layout in tried], np.int64).T
    quickest = cycles[excess == excess.min()].min()
    ways = PricedWays((excess, cycles > WORTH * quickest), tried.__getitem__)
    best: SparseLayout = cheapest([ways], 1)[0].layout
    return best


# -- plans -----------------------------------------------------------------------------------------
# Plans of sparse products: the rows of each tile, and variables for values on these tiles.


class SparsePlan:
    """How a product of a sparse and a dense matrix is divided among the tiles of a graph.

    `plan_sparse_matmul` creates it; products make the same plan if none is given.

    Attributes:
        graph: the graph for which it was made.
        layout: the rows of each tile and worker.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> pattern = pl.ops.SparsePattern((3, 4), [0, 2, 2, 3], [1, 3, 0])
    >>> plan = pl.ops.plan_sparse_matmul(graph, pattern, columns=8)
    >>> plan, plan.create_values("a").shape
    (<SparsePlan of <SparsePattern 3 x 4, 3 non-zeros> on 3 tiles>, (3,))
    """

    graph: Graph
    layout: SparseLayout

    def __init__(self, graph: Graph, layout: SparseLayout) -> None:
        check_parts("SparsePlan", "plan_sparse_matmul", graph, "layout", layout, SparseLayout)
        self.graph, self.layout = graph, layout

    @property
    def tiles(self) -> int:
        """The number of tiles that take part."""
        return (len(self.layout.blocks) - 1) * self.layout.parts

    @property
    def cycles(self) -> int:
        """Estimated cycles: receiving on the tile that receives most, and the busiest worker."""
        return self.layout.cycles

    @property
    def bytes(self) -> int:
        """Bytes of rows, values and results on the fullest tile."""
        return self.layout.bytes

    def create_values(
        self, name: str = "values", *, initial_value: npt.ArrayLike | None = None
    ) -> Tensor:
        """Create a variable for the values of the non-zeros, each on a tile that uses it.

        Args:
            name: name of the variable.
            initial_value: initial value of the variable, as in `graph.add_variable`.

        Returns:
            A tensor of shape (non-zeros,).

        Raises:
            TensorCreationError: for an invalid name.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> pattern = SparsePattern((3, 4), [0, 2, 2, 3], [1, 3, 0])
        >>> plan_sparse_matmul(graph, pattern, 8).create_values("a").shape
        (3,)
        """
        layout = self.layout
        pattern = layout.pattern
        counts = pattern.row_starts[layout.blocks[1:]] - pattern.row_starts[layout.blocks[:-1]]
        mapping = TileMapping(self.graph.target.tiles, layout.tile(0), counts)
        return self.graph.add_variable(
            layout.element, (pattern.count,), name, mapping=mapping, initial_value=initial_value
        )

    def __str__(self) -> str:
        layout = self.layout
        return "\n".join(
            (
                f"{layout.pattern!r} times {layout.pattern.shape[1]:,} x {layout.columns:,}, "
                f"{layout.element!r}",
                f"  grid     {len(layout.blocks) - 1:,} x {layout.parts:,} over rows and columns, "
                f"{self.tiles:,} tiles",
                f"  busiest  {int(layout.busiest.max(initial=0)):,} non-zeros of a worker, "
                f"{layout.width:,} columns",
                f"  cycles   {self.cycles:,} by formulas",
                f"  memory   {self.bytes:,} B on a tile",
            )
        )

    def __repr__(self) -> str:
        return f"<SparsePlan of {self.layout.pattern!r} on {self.tiles:,} tiles>"


def plan_sparse_matmul(
    graph: Graph, pattern: SparsePattern, columns: int, type: ElementTypeLike = FLOAT
) -> SparsePlan:
    """Plan the product of a sparse and a dense matrix, dividing rows by their non-zeros.

    Args:
        graph: the graph of the tiles.
        pattern: sparsity pattern of the sparse matrix.
        columns: number of columns of the dense matrix.
        type: element type of both matrices, FLOAT or HALF.

    Raises:
        ElementTypeError: for a type other than FLOAT or HALF, or an invalid pattern.
        SizeOverflowError: for a negative number of columns, or 2**31 columns or more.
        ControlProgramError: for an invalid graph.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> pattern = SparsePattern((3, 4), [0, 2, 2, 3], [1, 3, 0])
    >>> print(plan_sparse_matmul(graph, pattern, columns=8))
    <SparsePattern 3 x 4, 3 non-zeros> times 4 x 8, FLOAT
      grid     3 x 1 over rows and columns, 3 tiles
      busiest  2 non-zeros of a worker, 8 columns
      cycles   609 by formulas
      memory   124 B on a tile
    """
    what = "ops.plan_sparse_matmul"
    check_graph("ops.plan_sparse_matmul(graph, pattern, columns)", graph)
    check_pattern(what, pattern)
    element = element_type(type)
    if element not in FLOATS:
        raise ElementTypeError(
            f"{what}: type is {element!r}",
            found="sparse products support FLOAT and HALF",
            fix="pass type=pl.FLOAT",
        )
    count = count_of(what, "columns", columns, end=1 << 31)
    return SparsePlan(graph, best_layout(graph.target, pattern, element, count))


def check_pattern(what: str, pattern: object) -> None:
    """Reject anything but a pattern."""
    fix = "pass ops.SparsePattern(shape, row_starts, columns), or SparsePattern.of(csr)"
    checked_kind(pattern, SparsePattern, f"{what}: pattern", fix)


# -- products --------------------------------------------------------------------------------------
# Each product is one compute set. A tile has some rows of the sparse matrix, and receives the rows
# of the dense matrix by which their non-zeros are multiplied.


def sparse_matmul(
    pattern: SparsePattern,
    values: Operand,
    x: Operand,
    *,
    transpose: bool = False,
    name: str = "sparse_matmul",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that multiply a sparse matrix by a dense matrix.

    Args:
        pattern: the positions of the non-zeros of the sparse matrix, of shape (m, k).
        values: the values of the non-zeros, [non-zeros] of FLOAT or HALF, a tensor or an
            expression. `ops.plan_sparse_matmul(...).create_values()` creates a tensor on the tiles
            that use it.
        x: the dense matrix, [k, n], or a vector [k], of the same type.
        transpose: whether to multiply by the transposed matrix, which gives the gradient with
            respect to x; then x has m rows, and the result k. Each value is sent to the tile that
            has its column.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new variable [m, n], or [m], on the tiles that compute it. An element is the sum of its
        products, starting from 0, in the order of the non-zeros of the row, in float32; HALF is
        rounded once.

    Raises:
        ElementTypeError: for types other than FLOAT and HALF, an invalid pattern, or a `transpose`
            that is not true or false.
        TensorCreationError: for values or an x of the wrong shape.
        ControlProgramError: if `program` is omitted outside any block of steps.

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
    call = OperationCall(what, name, program)
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
    """Record steps that compute the gradient of `sparse_matmul` with respect to its values.

    Args:
        pattern: sparsity pattern of the sparse matrix, of shape (m, k).
        gradient: gradient with respect to the product, [m, n] or [m], of FLOAT or HALF.
        x: the dense matrix, [k, n] or [k], of the same type.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new variable [non-zeros], in the order of the pattern: for the non-zero in row r and
        column k, the dot product of row r of the gradient and row k of x, on the tile of row r. For
        the part of the columns on a tile, lane j of 64 adds the products j, j + 64, ... in float32,
        and the lanes are added by halves; then `ops.sum` adds the parts.

    Raises:
        ElementTypeError: for types other than FLOAT and HALF, or an invalid pattern.
        TensorCreationError: for a gradient or an x of the wrong shape.
        ControlProgramError: if `program` is omitted outside any block of steps.

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
    call = OperationCall(what, name, program)
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
    """Reject an operand that does not have the given shape."""
    if x.shape != shape:
        raise TensorCreationError(
            f"{what}, {role}: {called(x)} has shape {x.shape}",
            found=described(x),
            fix=f"pass a tensor of shape {shape}",
        )


class _Work:
    """The vertices of a call."""

    def __init__(
        self, call: OperationCall, pattern: SparsePattern, element: Any, columns: int
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
        """Record the dot products of rows, and return them: [non-zeros]."""
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
        """Create a result of consecutive parts, each of `size` rows of the width of the part."""
        tile = np.concatenate([self.layout.tile(part) for part in range(len(widths))])
        lengths = np.concatenate([np.diff(ends) * (high - low) for low, high in widths])
        mapping = TileMapping(self.graph.target.tiles, tile, lengths)
        total = int(lengths.sum())
        made = self.graph.add_variable(element or self.element, (total,), name, mapping=mapping)
        cuts = np.cumsum([0, *(size * (high - low) for low, high in widths)]).tolist()
        return made, [made[low:high] for low, high in zip(cuts[:-1], cuts[1:], strict=True)]

    def _within(self, ends: Int64) -> tuple[Int64, Int64]:
        """Return the starts and ends of the non-zeros of blocks, given those of rows."""
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
        """Add a vertex for each block of rows and each part of the columns."""
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
        """Return the columns from `begin` to `end` of the rows of each block."""
        low, high = self.layout.blocks[:-1], self.layout.blocks[1:]
        whole = gradient.reshape((self.pattern.shape[0], self.layout.columns))
        width = end - begin
        return Slices(whole[:, begin:end].flatten(), 0, low * width, high * width)

    def _constant(self, name: str, part: int, numbers: Int64, low: Int64, high: Int64) -> Slices:
        """Return slices of a constant, with the values of each block on its tile."""
        mapping = TileMapping(self.graph.target.tiles, self.layout.tile(part), high - low)
        made = self.graph.add_constant(
            UNSIGNED_INT, (len(numbers),), numbers, f"{self.call.name}/{name}", mapping=mapping
        )
        return Slices(made, 0, low, high)
