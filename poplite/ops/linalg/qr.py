"""QR by Householder's reflections, and the inverse.

columns 0 to b      some tiles find V and T of the block: a = (I - V T V') R
columns behind      A -= V (T' (V' A)), three products that all tiles share
Q                   from the identity, block after block from the last: Q -= V (T (V' Q))
"""

from __future__ import annotations

from poplite.errors import TensorCreationError, checked_truth
from poplite.expr.build import cast
from poplite.expr.operand import Operand
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.choices import where
from poplite.ops.convolution.call import ConvolutionCall
from poplite.ops.linalg.panel import Reflected, reflect_block, width_of
from poplite.ops.linalg.work import (
    LinalgSteps,
    check_matrices,
    check_one_matrix,
    identity,
    triangle,
)
from poplite.ops.operands import called, described
from poplite.ops.record import map as stored
from poplite.program import Sequence as Steps


def qr(
    a: Operand,
    *,
    complete: bool = False,
    block: int = 8,
    name: str = "qr",
    program: Steps | None = None,
) -> tuple[Tensor, Tensor]:
    """Record steps that factor a matrix into Q with orthogonal columns and a triangle R.

    Args:
        a: [m, n] of FLOAT or HALF with m >= n, a tensor or an expression.
        complete: whether Q is [m, m] and R [m, n], or [m, n] and [n, n]: NumPy's modes "complete"
            and "reduced".
        block: columns that are reflected at a time; fewer where tiles have no room for them.
        name: of the steps, and what those of the results begin with.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        New variables Q and R, of the type of a. A number on the diagonal of R has the other sign
        than what it was made of, as in LAPACK, so that it may be negative.

    Raises:
        ElementTypeError: for other types, and a `complete` that is not true or false.
        TensorCreationError: for what is no matrix, or has more columns than rows.
        GraphMemoryAllocationError: for a column that is too long for all tiles.
        SizeOverflowError: for a block below 1.
        ControlProgramError: without `program=` outside of all steps.

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
    call = ConvolutionCall(what, name, program)
    (given,) = call.operands((a, "a"))
    if given.rank != 2 or given.shape[0] < given.shape[1]:
        raise TensorCreationError(
            f"{what}: {called(given)} is of shape {given.shape}",
            found=described(given),
            fix="a matrix with as many rows as columns, or more",
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
    """Record steps that invert a matrix: the solution of `R x = Q'`, of its factors.

    Args:
        a: [n, n] of FLOAT or HALF, a tensor or an expression.
        block: columns that are reflected, and rows that are solved, at a time.
        name: of the result and of the steps.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        A new variable of the shape and type of a; of a singular matrix infinities and NaN, or
        very large numbers.

    Raises:
        the errors of `qr`.

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
    call = ConvolutionCall(what, name, program)
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
    """Make R of the first n columns of x, in its upper triangle, and return the blocks.

    The other columns are multiplied by Q'.
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
