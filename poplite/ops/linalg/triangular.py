"""Triangular matrices: systems of equations, and masks.

Source of the meaning: PopLibs, `poplin/TriangularSolve.hpp`.
"""

from __future__ import annotations

from poplite.errors import TensorCreationError, checked_truth
from poplite.expr.build import iota
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.choices import where
from poplite.ops.comparisons import equal
from poplite.ops.convolution.call import ConvolutionCall
from poplite.ops.linalg.work import LinalgSteps, check_matrices, triangle
from poplite.ops.operands import FLOATS, called, check_type, operand
from poplite.program import Sequence as Steps
from poplite.types import INT


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
    """Record steps that solve triangular systems: `scipy.linalg.solve_triangular`.

    Args:
        a: [..., n, n] of FLOAT or HALF. Only one triangle is looked at.
        b: [..., n, k], or [..., k, n] where a stands at the right; of the same type.
        left: solve `a x = b`; else `x a = b`.
        lower: whether it is the lower triangle, or the upper one.
        unit_diagonal: take the diagonal of a for 1; it is not looked at.
        block: rows of the blocks that one worker solves.
        name: of the result and of the steps.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        A new variable of the shape and type of b. Where the diagonal has a 0, the solution has
        infinities and NaN.

    Raises:
        ElementTypeError: for other types, and for what is not true or false.
        TensorCreationError: for shapes that do not fit.
        SizeOverflowError: for a block below 1.
        ControlProgramError: without `program=` outside of all steps.

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
    call = ConvolutionCall(what, name, program)
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
            f"{what}: {called(given)} of shape {given.shape} and {called(right)} of shape "
            f"{right.shape} do not fit",
            found=f"a has {n} rows, b {own}" if own != n else "other matrices in front",
            fix="b of shape (..., n, k), or left=False and (..., k, n)",
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
    """Return a triangle of matrices: `numpy.tril` or `triu`.

    Args:
        a: [..., n, n] of FLOAT or HALF.
        lower: the lower triangle, or the upper one.
        unit_diagonal: 1 on the diagonal, whatever a has there.

    Returns:
        An expression of the shape and type of a, 0 in the other triangle.

    Raises:
        ElementTypeError: for other types, and for what is not true or false.
        TensorCreationError: for what is no square matrix.

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
