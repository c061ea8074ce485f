"""Products of matrices and vectors, as expressions.

    ops.map(a @ b)                                  planned, and stored where the plan makes it
    ops.map(ops.maximum(a @ b + bias, 0))           the rest is computed where sums end

Semantics: `numpy.matmul`, and poplibs' `poplin::matMul` and `matMulGrouped`.
"""

from __future__ import annotations

from collections.abc import Mapping

from poplite.errors import InvalidOption, TensorCreationError
from poplite.expr.build import apply, as_expr, contraction
from poplite.expr.formula import formula
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr, Leaf, Weak
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import wrong_kind
from poplite.ops.products.layout import Options, checked_options, request_of
from poplite.ops.products.plan import MatMulPlan
from poplite.text import clipped
from poplite.types import ElementTypeLike


def matmul(
    a: Operand,
    b: Operand,
    plan: MatMulPlan | None = None,
    *,
    partials: ElementTypeLike | None = None,
    result: ElementTypeLike | None = None,
    memory: float = 0.6,
    constraints: Mapping[str, int] | None = None,
) -> Expr:
    """Return the product of matrices; `a @ b` where no option is needed.

    An element is the sum of its products in the order of k, in float32, for each slice of k that
    the plan makes; and then of these sums, in their order. HALF is rounded once, at the end.
    A product of one row by one column is `ops.sum(a * b)` instead, in the order of that, as long
    as neither a plan nor constraints, memory or partials of HALF are asked for; so is one by a
    single row or column where the operands lie so that this takes fewer cycles.

    Args:
        a: a vector [k], a matrix [m, k], or several [..., m, k], of HALF or FLOAT.
        b: [k], [k, n] or [..., k, n] of the same type. Dimensions before the last two are
            broadcast.
        plan: how tiles share the work, of `ops.plan_matmul`. Left out, one is made with the
            options that follow, when the product is recorded; an equal one is made only once.
        partials: the type in which tiles add up, as in `ops.plan_matmul`.
        result: the type of the product, likewise.
        memory: the share of a tile's memory that it may take, likewise.
        constraints: numbers that are fixed, likewise.

    Raises:
        ElementTypeError: for types that differ, or that the AMP unit does not multiply.
        TensorCreationError: for shapes that do not fit each other, and an invalid plan.
        InvalidOption: for options given with a plan, and as in `ops.plan_matmul`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 3), "a", mapping=0, initial_value=[[1, 2, 3]] * 2)
    >>> b = graph.add_variable(pl.FLOAT, (3,), "b", mapping=1, initial_value=[1, 0, 2])
    >>> product = pl.ops.map(matmul(a, b) + 0.5, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(product)
    array([7.5, 7.5], dtype=float32)
    """
    what = "ops.matmul"
    options = checked_options(what, partials, result, memory, constraints)
    if plan is None:
        return product(a, b, options)
    if not isinstance(plan, MatMulPlan):
        raise wrong_kind(
            what, plan, "is not a plan", "ops.plan_matmul(graph, m=64, k=128, n=32, type=pl.HALF)"
        )
    if (partials, result, memory, constraints) != (None, None, 0.6, None):
        raise InvalidOption(
            f"{what}: options with a plan, which was made with its own",
            found=f"partials={clipped(partials)}, result={clipped(result)}, "
            f"memory={clipped(memory)}, constraints={clipped(constraints)}",
            fix="ops.plan_matmul(graph, ..., partials=, result=, memory=, constraints=)",
        )
    return contraction(a, b, plan, result=plan.layout.request.result, what=what)


def product(a: Operand, b: Operand, options: Options, call: str = "ops.matmul({}, {})") -> Expr:
    """Return the product of matrices, planned by options; `call` is what messages advise."""
    made = contraction(a, b, options, result=options.result, what=options.what, call=call)
    if not made.is_open:  # refuses types
        request_of((1, 1, 1, 1), made.operands[0].element_type, options)
    return made


def outer(a: Operand, b: Operand) -> Expr:
    """Return the products of each element of a vector with each of another one, [m, n].

    They are multiplied by element, `a` along rows and `b` along columns; nothing is planned.

    Args:
        a: a tensor [m] of any number type.
        b: a tensor or an expression [n] of the same type.

    Raises:
        TensorCreationError: for operands that are no vectors.
        ElementTypeError: for types that differ, and an expression as `a`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> a, b = (graph.add_variable(pl.INT, (size,), name) for size, name in ((2, "a"), (3, "b")))
    >>> outer(a, b).shape
    (2, 3)
    """
    one, other = as_expr(a, "ops.outer"), as_expr(b, "ops.outer")
    for each in (one, other):
        if isinstance(each, Weak) or each.is_open or each.rank != 1:
            raise TensorCreationError(
                f"ops.outer: {formula(each)} is not a vector",
                fix="two tensors of rank 1, such as t.flatten()",
            )
    if not isinstance(one, Leaf) or not isinstance(one.tensor, Tensor):
        raise TensorCreationError(
            "ops.outer: the left operand is an expression",
            found=repr(one),
            fix="a = ops.map(expression)",
        )
    return apply("multiply", one.tensor.reshape((one.tensor.shape[0], 1)), other)
