"""The LU factorisation, without exchanging rows.

A11 A12     A11 becomes L and U on one worker
A21 A22     A12 and A21 are solved, A22 -= A21 A12, and so on with A22
"""

from __future__ import annotations

from poplite.expr.operand import Operand
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.choices import where
from poplite.ops.convolution.call import ConvolutionCall
from poplite.ops.linalg.work import LinalgSteps, check_one_matrix, identity, triangle
from poplite.ops.record import map as stored
from poplite.program import Sequence as Steps
from poplite.types import FLOAT
from poplite.vertices.linear import LuBlock


def lu(
    a: Operand, *, block: int = 8, name: str = "lu", program: Steps | None = None
) -> tuple[Tensor, Tensor]:
    """Record steps that factor a matrix into a lower and an upper triangle: a = L U.

    Args:
        a: [m, n] of FLOAT or HALF, a tensor or an expression.
        block: rows of the blocks that one worker factors.
        name: of the steps, and what those of the results begin with.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        New variables L, [m, m] with 1 on its diagonal, and U, [m, n], of FLOAT, as PopLibs'
        `LUFactorization`. No rows are exchanged: where a number on the diagonal of U is 0, or
        small, results have infinities and NaN, or few right digits. `qr` has no such limit.

    Raises:
        ElementTypeError: for other types.
        TensorCreationError: for what is no matrix.
        SizeOverflowError: for a block below 1.
        ControlProgramError: without `program=` outside of all steps.

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
    call = ConvolutionCall(what, name, program)
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
    """Factor the first rows and columns of a matrix, and subtract their product from the rest."""
    corner, right, below = a[:block, :block], a[:block, block:], a[block:, :block]
    (tile,) = work.tiles(1)
    with work.step("block", corner) as step:
        work.graph.add_vertex(step, LuBlock, tile=tile, a=corner)
    if right.num_elements:
        work.solve(corner.expand([0]), right.expand([0]), lower=True, unit=True)
    if below.num_elements:
        turned = (each.transpose().expand([0]) for each in (corner, below))
        work.solve(*turned, lower=True, unit=False)
    if right.num_elements and below.num_elements:
        work.subtract(a[block:, block:], below, right)
