"""Blocked factorisations of matrices, with products divided among all tiles.

    a          cut into halves, down to blocks            products, divided among all tiles

    A11 .      solve A11 with the upper half of B         B2 -= A21 B1
    A21 A22    solve A22 with the lower half

Triangular systems and Cholesky factors are made by recursive halves, LU and QR block by block.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from poplite.errors import GraphMemoryAllocationError, TensorCreationError, checked_truth
from poplite.expr.build import cast, iota
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.partitioners import cut
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.elements import equal, less_equal, where
from poplite.ops.operands import FLOATS, Given, called, check_type, count_of, described, operand
from poplite.ops.products.matmul import product
from poplite.ops.products.matmul_layout import Options
from poplite.ops.record import OperationCall, assign, copy, map as stored, zero
from poplite.program import Execute, Repeat, Sequence as Steps
from poplite.program.recording import recorder
from poplite.types import FLOAT, INT
from poplite.vertices import linear as library

# -- blocks ----------------------------------------------------------------------------------------


def check_matrices(what: str, x: Given, role: str, *, square: bool = True) -> None:
    """Reject an operand whose last two dimensions are not those of matrices."""
    if x.rank < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise TensorCreationError(
            f"{what}, {role}: expected {kind}; {called(x)} has shape {x.shape}",
            found=described(x),
            fix=f"pass a tensor of shape {'(n, n), or (..., n, n)' if square else '(m, n)'}",
        )


def check_one_matrix(what: str, x: Given) -> None:
    """Reject anything but one matrix."""
    if x.rank != 2:
        raise TensorCreationError(
            f"{what}: {called(x)} has shape {x.shape}", found=described(x), fix="pass one matrix"
        )


def triangle(rows: int, columns: int, lower: bool) -> Expr:
    """Return BOOL[rows, columns]: whether an element is in a triangle, or on the diagonal."""
    row, column = iota((rows, 1), INT), iota((1, columns), INT)
    return less_equal(column, row) if lower else less_equal(row, column)


def identity(rows: int, columns: int) -> Expr:
    """Return FLOAT[rows, columns] with 1 on the diagonal."""
    return cast(equal(iota((rows, 1), INT), iota((1, columns), INT)), FLOAT)


class LinalgSteps:
    """The steps of one call.

    Args:
        call: the call with its checked operands.
        block: rows of the largest block that one worker handles.
    """

    def __init__(self, call: OperationCall, block: object) -> None:
        self.call, self.graph, self.name, self.program = call, call.graph, call.name, call.program
        self.block = count_of(call.what, "block", block, 1)
        self._turn = 0

    def copied(self, x: Given, role: str) -> Tensor:
        """Return a new variable of FLOAT, [groups, rows, columns], with the elements of x."""
        made = self.graph.add_variable(FLOAT, x.shape, f"{self.name}/{role}", mapping="linear")
        stored(cast(x, FLOAT), out=made, name=f"{self.name}/{role}", program=self.program)
        groups = int(np.prod(x.shape[:-2]))
        return made.reshape((groups, *x.shape[-2:]))

    def finished(self, x: Given, like: Given, shape: tuple[int, ...], role: str = "") -> Tensor:
        """Return a new variable of the type of an operand, with the elements of x."""
        name = f"{self.name}/{role}" if role else self.name
        made = self.graph.add_variable(like.element_type, shape, name, mapping="linear")
        stored(
            cast(x, like.element_type),
            out=made.reshape(x.shape),
            name=f"{self.name}/result",
            program=self.program,
        )
        return made

    def half(self, n: int) -> int:
        """Return the number of rows of the upper half, in whole blocks."""
        blocks = -(-n // self.block)
        return self.block * -(-blocks // 2)

    def factor(self, a: Tensor) -> None:
        """Replace the lower triangles of matrices [groups, n, n] by their Cholesky factors."""
        n = a.shape[1]
        if n <= self.block:
            with self.step("block", a) as step:
                for tile, each in zip(self.tiles(len(a)), a, strict=True):
                    self.graph.add_vertex(step, library.CholeskyBlock, tile=tile, a=each)
            return
        h = self.half(n)
        upper, lower = a[:, :h, :h], a[:, h:, h:]
        below = a[:, h:, :h]
        self.factor(upper)
        self.solve(upper, below.dim_shuffle((0, 2, 1)), lower=True, unit=False)
        self.subtract(lower, below, below.dim_shuffle((0, 2, 1)))
        self.factor(lower)

    def solve(self, a: Tensor, x: Tensor, *, lower: bool, unit: bool) -> None:
        """Replace x, [groups, n, columns], by the solutions of `a y = x`, a of [groups, n, n]."""
        n, columns = x.shape[1:]
        if n <= self.block:
            self._solve_block(a, x, lower, unit)
            return
        h = self.half(n)
        first, second = (x[:, :h], x[:, h:]) if lower else (x[:, h:], x[:, :h])
        one, other = (a[:, :h, :h], a[:, h:, h:])[:: 1 if lower else -1]
        between = a[:, h:, :h] if lower else a[:, :h, h:]
        self.solve(one, first, lower=lower, unit=unit)
        self.subtract(second, between, first)
        self.solve(other, second, lower=lower, unit=unit)

    def subtract(self, x: Tensor, a: Tensor, b: Tensor) -> None:
        """Record `x -= a @ b`."""
        rest = x - self._planned_product(a, b)
        assign(x, rest, name=f"{self.name}/rest", program=self.program)

    def product(self, a: Tensor, b: Tensor, role: str) -> Tensor:
        """Record `a @ b`, and return it."""
        made = self._planned_product(a, b)
        return stored(made, name=f"{self.name}/{role}", program=self.program)

    @contextmanager
    def step(
        self, role: str, *writes: Tensor, reads: Iterable[Tensor] = ()
    ) -> Iterator[ComputeSet]:
        """Record a compute set, whose vertices the `with` block adds."""
        record = recorder(self.graph, self.call.steps)
        yield record.compute_set(f"{self.name}/{role}")
        record.uses(self.name, [*reads, *writes], writes)
        record.finish(self.call.steps, f"{self.name}/{role}")

    def tiles(self, count: int) -> Iterable[int]:
        """Return tiles for the given number of blocks, round robin over all calls."""
        first, self._turn = self._turn, self._turn + count
        return (number % self.graph.target.tiles for number in range(first, first + count))

    def _planned_product(self, a: Tensor, b: Tensor) -> Expr:
        """Return `a @ b` with a plan that is made quickly.

        Each step of a factorisation has products of different sizes, and operands that are not
        mapped as plans expect: planning with exact costs would take ten times as long for no gain.
        """
        return product(a, b, Options(is_estimated=True, what=self.call.what))

    def _solve_block(self, a: Tensor, x: Tensor, lower: bool, unit: bool) -> None:
        """Solve the columns in parallel, each on one worker."""
        groups, _, columns = x.shape
        target = self.graph.target
        with self.step("solve", x, reads=[a]) as step:
            for number in range(groups):
                worker = np.arange(number * columns, (number + 1) * columns)
                self.graph.add_vertices(
                    step,
                    library.SolveColumn,
                    tile=worker // target.workers % target.tiles,
                    a=[a[number]] * columns,
                    x=x[number].transpose(),
                    lower=lower,
                    unit=unit,
                )


# -- triangular systems ----------------------------------------------------------------------------
# Systems of equations with triangular matrices, and masks.
#
# Semantics: PopLibs, `poplin/TriangularSolve.hpp`.


def triangular_solve(
    a: Operand,
    b: Operand,
    *,
    left: bool = True,
    lower: bool = True,
    unit_diagonal: bool = False,
    block: int = 8,
    name: str = "triangular_solve",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that solve triangular systems, like `scipy.linalg.solve_triangular`.

    Args:
        a: [..., n, n] of FLOAT or HALF. Only one triangle is read.
        b: [..., n, k], or [..., k, n] where a is on the right; of the same type.
        left: whether to solve `a x = b` rather than `x a = b`.
        lower: whether the lower triangle of a is read rather than the upper.
        unit_diagonal: whether to assume ones on the diagonal of a, which is then not read.
        block: rows of the blocks that one worker solves.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new variable of the shape and type of b. With a 0 on the diagonal, the solution contains
        infinities and NaN.

    Raises:
        ElementTypeError: for types other than FLOAT and HALF, and for flags that are not true or
            false.
        TensorCreationError: for shapes that do not match.
        SizeOverflowError: for a block below 1.
        ControlProgramError: if `program` is omitted outside any block of steps.

    The inverse of a triangular matrix is the solution for the identity.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> numbers = [[2, 0], [1, 4]]
    >>> a = graph.add_variable(pl.FLOAT, (2, 2), "a", mapping=0, initial_value=numbers)
    >>> b = graph.add_variable(pl.FLOAT, (2, 1), "b", mapping=1, initial_value=[[6], [11]])
    >>> x = triangular_solve(a, b, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x).tolist()
    [[3.0], [2.0]]
    """
    what = "ops.linalg.triangular_solve"
    call = OperationCall(what, name, program)
    given, right = call.operands((a, "a"), (b, "b"))
    left, lower, unit_diagonal = (
        checked_truth(each, f"{what}: {role}")
        for role, each in (("left", left), ("lower", lower), ("unit_diagonal", unit_diagonal))
    )
    check_matrices(what, given, "a")
    check_matrices(what, right, "b", square=False)
    n, own = given.shape[-1], right.shape[-2 if left else -1]
    if own != n or given.shape[:-2] != right.shape[:-2]:
        raise TensorCreationError(
            f"{what}: {called(given)} has shape {given.shape}, but {called(right)} has "
            f"{right.shape}",
            found=f"a has {n} rows, but b has {own}"
            if own != n
            else "their leading dimensions differ",
            fix="pass b of shape (..., n, k), or left=False and (..., k, n)",
        )
    work = LinalgSteps(call, block)
    if not right.num_elements:
        return call.zeros(right.element_type, right.shape, name)
    matrix, solution = work.copied(given, "a"), work.copied(right, "b")
    if left:
        work.solve(matrix, solution, lower=lower, unit=unit_diagonal)
    else:
        turned = (each.dim_shuffle((0, 2, 1)) for each in (matrix, solution))
        work.solve(*turned, lower=not lower, unit=unit_diagonal)
    return work.finished(solution, right, right.shape)


def triangular_mask(a: Operand, *, lower: bool = True, unit_diagonal: bool = False) -> Expr:
    """Return a triangle of matrices, like `numpy.tril` or `triu`.

    Args:
        a: [..., n, n] of FLOAT or HALF.
        lower: whether to keep the lower triangle rather than the upper.
        unit_diagonal: whether to replace the diagonal by ones.

    Returns:
        An expression of the shape and type of a, with zeros in the opposite triangle.

    Raises:
        ElementTypeError: for types other than FLOAT and HALF, and for flags that are not true or
            false.
        TensorCreationError: for a tensor that is not a square matrix.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 2), "a", mapping=0, initial_value=[[5, 6], [7, 8]])
    >>> x = pl.ops.map(triangular_mask(a, unit_diagonal=True), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x).tolist()
    [[1.0, 0.0], [7.0, 1.0]]
    """
    what = "ops.linalg.triangular_mask"
    given = operand(what, a, None, "a")
    check_type(what, given, FLOATS, "a")
    check_matrices(what, given, "a")
    n = given.shape[-1]
    kept = where(triangle(n, n, checked_truth(lower, f"{what}: lower")), given, 0)
    if not checked_truth(unit_diagonal, f"{what}: unit_diagonal"):
        return kept
    return where(equal(iota((n, 1), INT), iota((1, n), INT)), 1, kept)


# -- Cholesky --------------------------------------------------------------------------------------
# Method: PopLibs, `poplin/Cholesky.hpp`: recursive halves, down to blocks.


def cholesky(
    a: Operand,
    *,
    lower: bool = True,
    block: int = 8,
    name: str = "cholesky",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that factor symmetric positive definite matrices, like `numpy.linalg.cholesky`.

    Args:
        a: [..., n, n] of FLOAT or HALF, a tensor or an expression. Only the triangle that `lower`
            chooses is read.
        lower: whether the result is L with L L' = a, or U with U' U = a.
        block: rows of the blocks that one worker factors.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new variable of the shape and type of a: the factor, with zeros in its opposite triangle.
        If a matrix is not positive definite, rows are correct up to the first that reveals it;
        the diagonal of that row is NaN, and so is everything that depends on it. The program
        continues, unless `SetFloatingPointBehaviour` traps invalid operations.

    Raises:
        ElementTypeError: for types other than FLOAT and HALF, and a `lower` that is not true or
            false.
        TensorCreationError: for a tensor that is not a square matrix.
        SizeOverflowError: for a block below 1.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> numbers = [[4, 2], [2, 10]]
    >>> a = graph.add_variable(pl.FLOAT, (2, 2), "a", mapping=0, initial_value=numbers)
    >>> factor = cholesky(a, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(factor).tolist()
    [[2.0, 0.0], [1.0, 3.0]]
    """
    what = "ops.linalg.cholesky"
    call = OperationCall(what, name, program)
    (given,) = call.operands((a, "a"))
    lower = checked_truth(lower, f"{what}: lower")
    check_matrices(what, given, "a")
    work = LinalgSteps(call, block)
    if not given.num_elements:
        return call.zeros(given.element_type, given.shape, name)
    made = work.copied(given, "rest")
    work.factor(made if lower else made.dim_shuffle((0, 2, 1)))
    kept = where(triangle(given.shape[-1], given.shape[-1], lower), made, 0)
    return work.finished(kept, given, given.shape)


# -- LU --------------------------------------------------------------------------------------------
# LU without pivoting.
#
#     A11 A12     A11 becomes L and U on one worker
#     A21 A22     A12 and A21 are solved, A22 -= A21 A12, and so on with A22


def lu(
    a: Operand, *, block: int = 8, name: str = "lu", program: Steps | None = None
) -> tuple[Tensor, Tensor]:
    """Record steps that factor a matrix into a lower and an upper triangle: a = L U.

    Args:
        a: [m, n] of FLOAT or HALF, a tensor or an expression.
        block: rows of the blocks that one worker factors.
        name: name of the steps, and the prefix of the names of the results.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        New variables L, [m, m] with 1 on its diagonal, and U, [m, n], of FLOAT, as PopLibs'
        `LUFactorization`. There is no pivoting: with a 0 on the diagonal of U, results contain
        infinities and NaN, and with a small number there they are inaccurate. `qr` has no such
        limit.

    Raises:
        ElementTypeError: for types other than FLOAT and HALF.
        TensorCreationError: for a tensor that is not a matrix.
        SizeOverflowError: for a block below 1.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 2), "a", mapping=0, initial_value=[[2, 4], [1, 5]])
    >>> lower, upper = lu(a, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(lower).tolist(), engine.read(upper).tolist()
    ([[1.0, 0.0], [0.5, 1.0]], [[2.0, 4.0], [0.0, 3.0]])
    """
    what = "ops.linalg.lu"
    call = OperationCall(what, name, program)
    (given,) = call.operands((a, "a"))
    check_one_matrix(what, given)
    work, (m, n) = LinalgSteps(call, block), given.shape
    least = min(m, n)
    if least:
        rest = work.copied(given, "rest")[0]
        for first in range(0, least, work.block):
            _eliminate(work, rest[first:, first:], min(work.block, least - first))
        upper = stored(
            where(triangle(m, n, lower=False), rest, 0), name=f"{name}/upper", program=program
        )
    else:
        upper = call.zeros(FLOAT, (m, n), f"{name}/upper")
    if not m:
        return call.zeros(FLOAT, (m, m), f"{name}/lower"), upper
    lower = work.copied(identity(m, m), "lower")[0]
    if least:
        left, own = lower[:, :least], rest[:, :least]
        below = where(triangle(m, least, lower=False), left, own)
        stored(below, out=left, name=f"{name}/lower", program=program)
    return lower, upper


def _eliminate(work: LinalgSteps, a: Tensor, block: int) -> None:
    """Factor the first `block` rows and columns, and subtract their product from the others."""
    corner, right, below = a[:block, :block], a[:block, block:], a[block:, :block]
    (tile,) = work.tiles(1)
    with work.step("block", corner) as step:
        work.graph.add_vertex(step, library.LuBlock, tile=tile, a=corner)
    if right.num_elements:
        work.solve(corner.expand([0]), right.expand([0]), lower=True, unit=True)
    if below.num_elements:
        turned = (each.transpose().expand([0]) for each in (corner, below))
        work.solve(*turned, lower=True, unit=False)
    if right.num_elements and below.num_elements:
        work.subtract(a[block:, block:], below, right)


# -- QR --------------------------------------------------------------------------------------------
# QR by Householder reflections.
#
#     columns 0 to b      some tiles compute V and T of the block: a = (I - V T V') R
#     columns after       A -= V (T' (V' A)), three products divided among all tiles
#     Q                   from the identity, block after block from the last: Q -= V (T (V' Q))


def qr(
    a: Operand,
    *,
    complete: bool = False,
    block: int = 8,
    name: str = "qr",
    program: Steps | None = None,
) -> tuple[Tensor, Tensor]:
    """Record steps that factor a matrix into Q with orthonormal columns and an upper triangular R.

    Args:
        a: [m, n] of FLOAT or HALF with m >= n, a tensor or an expression.
        complete: whether Q is [m, m] and R [m, n], or [m, n] and [n, n]: NumPy's modes "complete"
            and "reduced".
        block: columns that are reflected at a time; fewer if they do not fit the tiles.
        name: name of the steps, and the prefix of the names of the results.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        New variables Q and R, of the type of a. As in LAPACK, each diagonal element of R has the
        opposite sign of the element that its reflection replaced, so it may be negative.

    Raises:
        ElementTypeError: for types other than FLOAT and HALF, and a `complete` that is not true or
            false.
        TensorCreationError: for a tensor that is not a matrix, or has more columns than rows.
        GraphMemoryAllocationError: for a column that does not fit all tiles together.
        SizeOverflowError: for a block below 1.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 1), "a", mapping=0, initial_value=[[3], [4]])
    >>> q, r = qr(a, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(r).tolist()
    [[-5.0]]
    """
    what = "ops.linalg.qr"
    call = OperationCall(what, name, program)
    (given,) = call.operands((a, "a"))
    if given.rank != 2 or given.shape[0] < given.shape[1]:
        raise TensorCreationError(
            f"{what}: {called(given)} has shape {given.shape}",
            found=described(given),
            fix="pass a matrix with at least as many rows as columns",
        )
    m, n = given.shape
    width = m if checked_truth(complete, f"{what}: complete") else n
    work = LinalgSteps(call, block)
    width_of(work, m)
    r = call.zeros(given.element_type, (width, n), f"{name}/r")
    if not m * width:
        return call.zeros(given.element_type, (m, width), f"{name}/q"), r
    q = work.copied(identity(m, width), "orthogonal")[0]
    if n:
        rest = work.copied(given, "rest")[0]
        blocks = _reflected(work, rest, n)
        upper = where(triangle(n, n, lower=False), rest[:n], 0)
        upper = cast(upper, given.element_type)
        stored(upper, out=r[:n], name=f"{name}/upper", program=program)
        for each in reversed(blocks):
            _reflect(work, each.v, each.t, q[each.first :])
    return work.finished(q, given, (m, width), "q"), r


def inverse(
    a: Operand, *, block: int = 8, name: str = "inverse", program: Steps | None = None
) -> Tensor:
    """Record steps that invert a matrix by its QR factors: the solution of `R x = Q'`.

    Args:
        a: [n, n] of FLOAT or HALF, a tensor or an expression.
        block: columns that are reflected, and rows that are solved, at a time.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new variable of the shape and type of a; for a singular matrix it contains infinities and
        NaN, or very large numbers.

    Raises:
        whatever `qr` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 2), "a", mapping=0, initial_value=[[0, 2], [4, 0]])
    >>> x = inverse(a, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> abs(engine.read(x)).tolist()
    [[0.0, 0.25], [0.5, 0.0]]
    """
    what = "ops.linalg.inverse"
    call = OperationCall(what, name, program)
    (given,) = call.operands((a, "a"))
    check_matrices(what, given, "a")
    check_one_matrix(what, given)
    n = given.shape[0]
    work = LinalgSteps(call, block)
    width_of(work, n)
    if not n:
        return call.zeros(given.element_type, given.shape, name)
    rest = work.copied(given, "rest")
    solution = work.copied(identity(n, n), "solution")
    _reflected(work, concat([rest[0], solution[0]], 1), n)
    work.solve(rest, solution, lower=False, unit=False)
    return work.finished(solution, given, given.shape)


def _reflected(work: LinalgSteps, x: Tensor, n: int) -> list[Reflected]:
    """Reduce the first n columns of x to R, in the upper triangle of x, and return the blocks.

    The remaining columns are multiplied by Q'.
    """
    m, columns = x.shape
    width, made = width_of(work, m), []
    for first in range(0, n, width):
        end = min(first + width, n)
        made.append(reflect_block(work, x, first, end - first))
        if end < columns:
            _reflect(work, made[-1].v, made[-1].t.transpose(), x[first:, end:])
    return made


def _reflect(work: LinalgSteps, v: Tensor, t: Tensor, x: Tensor) -> None:
    """Record `x -= v @ t @ v.T @ x`, small matrices first."""
    inner = work.product(v.transpose(), x, "inner")
    work.subtract(x, v, work.product(t, inner, "turned"))


# -- blocks of columns -----------------------------------------------------------------------------
# Workers of some tiles reflect a block of columns, with the vertices of `poplite.vertices.linear`.
#
#     rows       worker 0 of tile 0      each worker has some rows of all columns of the block,
#                worker 1                and the same rows of V
#                ...
#                worker 0 of tile 1      a loop over the columns: two compute sets for each
#
# T is computed row by row from the matrix product V' V.


MEMORY = 0.6
"""The fraction of a tile's memory that a block of columns and its V may take."""

WORKERS = 1.3
"""Workers per square root of the number of rows: by the cost model, a worker then takes about as
long to sum the partial results of all workers as to process its own rows."""


class Reflected(NamedTuple):
    """A block of columns that was reflected.

    Attributes:
        first: the first row and column of the block.
        v: [rows, columns], from row `first` on.
        t: [columns, columns].
    """

    first: int
    v: Tensor
    t: Tensor


def width_of(work: LinalgSteps, rows: int) -> int:
    """Return how many columns are reflected at a time, so that they and their V fit the tiles."""
    target = work.graph.target
    memory = target.tiles * target.tile_memory_bytes
    pair = 2 * max(1, rows) * FLOAT.size_bytes
    room = int(MEMORY * memory) // pair
    if not room:
        raise GraphMemoryAllocationError(
            f"{work.call.what}: columns of {rows:,} elements are too long for the tiles",
            found=f"a column and its reflector take {pair:,} B, but all tiles have {memory:,} B",
            fix="use fewer rows, or more tiles",
        )
    return min(work.block, room)


def reflect_block(work: LinalgSteps, rest: Tensor, first: int, columns: int) -> Reflected:
    """Reduce a block of columns, from row `first` on, to R in its upper triangle."""
    panel = _Panel(work, rest.shape[0] - first, columns)
    x = rest[first:, first : first + columns].transpose()
    program = work.program
    copy(x, panel.a, name=f"{work.name}/columns", program=program)
    zero(panel.column, name=f"{work.name}/column", program=program)
    panel.record_loop()
    copy(panel.a[:, :columns], x[:, :columns], name=f"{work.name}/columns", program=program)
    products = work.product(panel.v, panel.v.transpose(), "joined")
    t = panel.joined(products)
    return Reflected(first, panel.v.transpose(), t)


class _Panel:
    """A block of columns, divided among the workers of some of the tiles.

    Attributes:
        a: [columns, rows], the columns.
        v: [columns, rows], the reflectors.
        dots: [workers, columns], partial dot products of a reflector and the columns.
        taus: [workers, columns], the factors of the reflectors, the same for all workers.
        found: [workers, FOUND], the measurements of each worker for a column.
        column: [workers, 1], the index of the next column.
    """

    def __init__(self, work: LinalgSteps, rows: int, columns: int) -> None:
        self.work, self.rows = work, rows
        target = work.graph.target
        tiles = _tiles_of(work, rows, columns)
        self.parts = min(rows, tiles * target.workers)
        own = work.tiles(-(-self.parts // target.workers))
        self.tile = [tile for tile in own for _ in range(target.workers)][: self.parts]
        self.lows = [cut(part, rows, self.parts) for part in range(self.parts + 1)]
        self.a, self.v = (self._variable(role, columns) for role in "av")
        self.dots, self.taus, self.found, self.column = (
            self._of_workers(*each)
            for each in (
                ("dots", FLOAT, columns),
                ("taus", FLOAT, columns),
                ("found", FLOAT, library.FOUND),
                ("column", INT, 1),
            )
        )

    def record_loop(self) -> None:
        """Record the loop over the columns."""
        work, graph, columns = self.work, self.work.graph, len(self.a)
        record = recorder(graph, work.call.steps)
        update, reflect = (
            graph.add_compute_set(f"{work.name}/{role}") for role in ("update", "reflect")
        )
        dots, found = self.dots.flatten(), self.found.flatten()
        for part, tile in enumerate(self.tile):
            low, high = self.lows[part : part + 2]
            own = {
                "a": self.a[:, low:high],
                "v": self.v[:, low:high],
                "taus": self.taus[part],
                "column": self.column[part, 0],
                "first": low,
                "workers": self.parts,
            }
            graph.add_vertex(
                update, library.UpdateColumns, tile=tile, dots=dots, found=self.found[part], **own
            )
            graph.add_vertex(
                reflect, library.ReflectColumn, tile=tile, dots=self.dots[part], found=found, **own
            )
        record.add(Repeat(columns, Steps(Execute(update), Execute(reflect))))
        changed = self.a, self.v, self.taus, self.column, self.dots, self.found
        record.uses(work.name, changed, changed)
        record.finish(work.call.steps, f"{work.name}/block")

    def joined(self, products: Tensor) -> Tensor:
        """Record the computation of T from V' V, with rows divided among workers; return T."""
        work, graph, columns = self.work, self.work.graph, len(self.a)
        t = graph.add_variable(FLOAT, (columns, columns), f"{work.name}/t")
        taus = self.taus[0]
        with work.step("join", t, reads=[products, taus]) as step:
            for row in range(columns):
                tile = self.tile[row % self.parts]
                graph.set_tile_mapping(t[row], tile)
                own = {"products": products, "taus": taus, "t": t[row], "row": row}
                graph.add_vertex(step, library.JoinReflectors, tile=tile, **own)
        return t

    def _variable(self, role: str, columns: int) -> Tensor:
        """Create a variable with elements for each row, on the tiles of the rows' workers."""
        graph, name = self.work.graph, f"{self.work.name}/{role}"
        made = graph.add_variable(FLOAT, (columns, self.rows), name, initial_value=0)
        for part, tile in enumerate(self.tile):
            graph.set_tile_mapping(made[:, self.lows[part] : self.lows[part + 1]], tile)
        return made

    def _of_workers(self, role: str, element: ElementClass, count: int) -> Tensor:
        """Create a variable with `count` elements for each worker, on its tile."""
        graph, name = self.work.graph, f"{self.work.name}/{role}"
        made = graph.add_variable(element, (self.parts, count), name, initial_value=0)
        for part, tile in enumerate(self.tile):
            graph.set_tile_mapping(made[part], tile)
        return made


def _tiles_of(work: LinalgSteps, rows: int, columns: int) -> int:
    """Return the number of tiles: the cheapest, or more if the memory requires it."""
    target = work.graph.target
    held = 2 * rows * columns * FLOAT.size_bytes / (MEMORY * target.tile_memory_bytes)
    best = round(WORKERS * math.sqrt(rows) / target.workers)
    return min(max(1, best, math.ceil(held)), target.tiles)
