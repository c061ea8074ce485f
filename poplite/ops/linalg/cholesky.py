"""The Cholesky factorisation.

Source of the way: PopLibs, `poplin/Cholesky.hpp`: in halves, down to blocks.
"""

from __future__ import annotations

from poplite.errors import checked_truth
from poplite.expr.operand import Operand
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.choices import where
from poplite.ops.convolution.call import ConvolutionCall
from poplite.ops.linalg.work import LinalgSteps, check_matrices, triangle
from poplite.program import Sequence as Steps


def cholesky(
    a: Operand,
    *,
    lower: bool = True,
    block: int = 8,
    name: str = "cholesky",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that factor symmetric positive definite matrices: `numpy.linalg.cholesky`.

    Args:
        a: [..., n, n] of FLOAT or HALF, a tensor or an expression. One triangle is looked at: the
            lower one, or the upper one.
        lower: whether the result is L with L L' = a, or U with U' U = a.
        block: rows of the blocks that one worker factors.
        name: of the result and of the steps.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        A new variable of the shape and type of a: the factor, and 0 in its other triangle. Of a
        matrix that is not positive definite, the rows before the first one for which it is not are
        right, the diagonal there is NaN, and so is all that depends on it; nothing stops the
        program, unless `SetFloatingPointBehaviour` traps invalid operations.

    Raises:
        ElementTypeError: for other types, and a `lower` that is not true or false.
        TensorCreationError: for what is no square matrix.
        SizeOverflowError: for a block below 1.
        ControlProgramError: without `program=` outside of all steps.

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
    call = ConvolutionCall(what, name, program)
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
