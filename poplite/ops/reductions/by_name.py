"""Reductions selected by the name of their operation, as in popops.

    ops.reduce(x, 0, "square_add", scale=0.5)            0.5 * sum(x ** 2, 0)
    ops.reduce(x, 0, "add", scale=rate, update=old)      rate * sum(x, 0) + old

Source: PopLibs, `popops/Reduce.hpp` and `popops/OperationDef.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poplite.errors import ElementTypeError, TensorCreationError, did_you_mean
from poplite.expr.build import apply, as_expr, cast, reduction
from poplite.expr.operand import Operand
from poplite.expr.operations import kind_of
from poplite.expr.tree import Expr, Reduction, Weak, new_parts, operation_name
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.control import together
from poplite.ops.record import map as stored
from poplite.ops.reductions.expressions import Dims, float_operand, known_operand
from poplite.program import Sequence as Steps
from poplite.program.recording import RecordedSteps as Block, Together, graph_for, innermost, target
from poplite.text import amount, clipped, of_type
from poplite.types import FLOAT, HALF

OPERATIONS = (
    "add",
    "square_add",
    "mul",
    "min",
    "max",
    "logical_and",
    "logical_or",
    "log_add",
)
"""The operations, named as in `popops::Operation`."""

SCALED = ("add", "square_add", "log_add")
"""The operations that take a scale and an update."""


def reduce(
    x: Operand,
    dims: Dims,
    op: str,
    *,
    keepdims: bool = False,
    scale: Operand | float | None = None,
    update: Operand | float | None = None,
) -> Expr:
    """Combine the elements along dimensions with an operation.

    For HALF, everything is computed in FLOAT, including squares, the scale and the update, and
    rounded once. Integers wrap.

    Args:
        x: a tensor or an expression. "logical_and" and "logical_or" take BOOL, "log_add" floats,
            the others all numbers except QUARTER.
        dims: a dimension, a list of them, or None for all; negative ones count from the last.
        op: "add", "square_add" (the sum of squares), "mul", "min", "max", "logical_and",
            "logical_or", or "log_add": `ops.log_sum_exp`. If there are no elements, "add" and
            "square_add" give 0, "mul" 1, "min" infinity or the largest integer of the type, "max"
            -infinity or the smallest integer, "logical_and" true and "logical_or" false; "log_add"
            raises.
        keepdims: whether the dimensions are kept, with size 1.
        scale: for "add" and "square_add", a factor for the result: a number, or a tensor
            or expression with one element; for "log_add", a term added to the result.
        update: for "add" and "square_add", a term added to the scaled result, of the same shape or
            one that broadcasts to it; for "log_add", `log(exp(result) + exp(update))` is returned.

    Raises:
        TensorCreationError: for an unknown operation, a scale or an update of the wrong shape, or
            "log_add" without elements.
        TensorIndexError: for a dimension that does not exist or is listed twice.
        ElementTypeError: for elements to which the operation does not apply, for a scale or an
            update of the wrong type, or for an operation that takes no scale or update.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> reduce(x, 0, "square_add", scale=0.5)
    <Expr sum(x ** 2, 0) * 0.5 float32[6]>
    """
    called = _checked_name(op)
    if op not in SCALED:
        _check_unscaled(op, scale, update)
        return reduction(op, x, dims, keepdims, called, may_be_empty=True)
    if op == "add" and scale is None and update is None:
        return reduction(op, x, dims, keepdims, called)
    operand = known_operand(x, called)
    element = operand.element_type
    wide = FLOAT if element is HALF else element
    if op == "log_add":
        result = log_sum_exp(cast(operand, wide), dims, keepdims=keepdims)
        scaled = "add"
    else:
        operand = cast(operand, wide)
        terms = apply("square", operand) if op == "square_add" else operand
        result = reduction("add", terms, dims, keepdims, called)
        scaled = "multiply"
    if scale is not None:
        result = apply(scaled, result, _one(scale, result, called))
    if update is not None:
        old = _fitting(update, result, called)
        is_log = op == "log_add"
        result = _logarithms_added(result, old) if is_log else apply("add", result, old)
    return cast(result, element)


def log_sum_exp(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:
    """Return the logarithm of the sum of exponentials of floats along dimensions.

    The largest element is subtracted first to avoid overflow. For FLOAT, the error is a few units
    in the last place of the result or of the largest element, whichever is larger. If all elements
    are -inf, the result is -inf; with an inf it is inf, with a NaN it is NaN. For HALF, it is
    computed in FLOAT and rounded once. PopLibs: `LOG_ADD`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> log_sum_exp(x, 1).shape
    (4,)
    """
    called = "ops.log_sum_exp"
    operand = float_operand(x, called)
    wide = cast(operand, FLOAT)
    most, kept = (
        _finite_or_0(reduction("max", wide, dims, keep, called)) for keep in (keepdims, True)
    )
    powers = reduction("add", apply("exp", apply("subtract", wide, kept)), dims, keepdims)
    return cast(apply("add", apply("log", powers), most), operand.element_type)


_OTHER_NAMES = {
    "sum": "add",
    "prod": "mul",
    "product": "mul",
    "multiply": "mul",
    "all": "logical_and",
    "any": "logical_or",
    "log_sum_exp": "log_add",
}
"""The names of these operations in NumPy and `ops`."""


def _checked_name(op: str) -> str:
    if not isinstance(op, str) or op not in OPERATIONS:
        meant = _OTHER_NAMES.get(op, op) if isinstance(op, str) else op
        near = did_you_mean(meant, OPERATIONS)
        raise TensorCreationError(
            f"ops.reduce: {clipped(op)} is not an operation{near}",
            found=f"the operations are {', '.join(map(repr, OPERATIONS))}",
            fix='ops.reduce(x, 0, "add")',
        )
    return f"ops.reduce {op!r}"


def _check_unscaled(op: str, scale: object, update: object) -> None:
    for name, value in (("scale", scale), ("update", update)):
        if value is not None:
            raise ElementTypeError(
                f"ops.reduce: {op!r} takes no {name}",
                found=f"{name}={clipped(value)}",
                fix=f"use one of {', '.join(map(repr, SCALED))}",
            )


def _one(scale: Operand | float, result: Expr, called: str) -> Expr:
    """Return a scale as an operand that does not change the shape of the result."""
    made = _of_type(as_expr(scale, f"{called}, scale"), result)
    if isinstance(made, Weak):
        return made
    if made.num_elements != 1:
        raise TensorCreationError(
            f"{called}: scale has shape {made.shape}, but must have one element",
            found=repr(made),
            fix="pass a number or one element; scale elementwise with ops.sum(x, 0) * y",
        )
    return made if made.rank <= result.rank else reduction("add", made, None, False)


def _fitting(update: Operand | float, result: Expr, called: str) -> Expr:
    """Return an update as an operand of the result's shape, or one that broadcasts to it."""
    made = _of_type(as_expr(update, f"{called}, update"), result)
    if isinstance(made, Weak):
        return made
    sizes = zip(made.shape[::-1], result.shape[::-1], strict=False)
    if made.rank > result.rank or any(a not in (1, b) for a, b in sizes):
        raise TensorCreationError(
            f"{called}: update has shape {made.shape}, but the result has shape {result.shape}",
            found=repr(made),
            fix=f"pass one of shape {result.shape}",
        )
    return made


def _of_type(value: Expr, result: Expr) -> Expr:
    """Return floats in the type in which a result is computed, and other values unchanged."""
    if isinstance(value, Weak):
        return value
    if value.is_open:
        raise ElementTypeError(
            "ops.reduce: a scale or an update cannot contain arguments (ops.arg)",
            found=repr(value),
            fix="pass a tensor or an expression of tensors",
        )
    is_float = all(kind_of(each.element_type) == "float" for each in (value, result))
    return cast(value, result.element_type) if is_float else value


def _logarithms_added(a: Expr, b: Expr) -> Expr:
    """Return `log(exp(a) + exp(b))`, correct even if one of them is infinite."""
    most = apply("maximum", a, b)
    least = apply("minimum", a, b)
    both = apply("add", most, apply("log1p", apply("exp", apply("subtract", least, most))))
    return apply("select", both, most, apply("is_finite", most))


def _finite_or_0(x: Expr) -> Expr:
    return apply("select", x, 0, apply("is_finite", x))


# -- several at once -------------------------------------------------------------------------------
# Several reductions whose stages share compute sets.
#
#     low, high = ops.reduce_many([("min", x, 0), ("max", x, 0)])
#
#     compute set 1      combines the elements of x on each tile, for the minimum and the maximum
#     compute set 2      combines the results of the workers of a tile, for both; and so on
#
# Source: PopLibs, `popops::reduceMany`.


_USAGE = "ops.reduce_many(reductions)"
_FORMS = 'pass ("add", x, 0), or an expression such as ops.sum(x, 0)'


def reduce_many(
    reductions: Sequence[tuple[str, Operand, Dims] | Expr],
    outputs: Sequence[Tensor] = (),
    *,
    mapping: Any = None,
    name: str = "reduce_many",
    program: Steps | None = None,
) -> list[Tensor]:
    """Record independent reductions stage by stage, in shared compute sets.

    Each stage takes one synchronisation for all reductions, instead of one per reduction.

    Args:
        reductions: `(operation, x, dims)`, as `ops.reduce` takes them, or expressions with a
            reduction in them.
        outputs: a tensor for each result; by default, new variables.
        mapping: the mapping of each new variable, as in `graph.add_variable`; by default, results
            are mapped where the reductions compute them.
        name: the name of the steps, and the prefix of the names of results.
        program: where to add the steps; by default, the open block of `graph.steps()`.

    Returns:
        A tensor for each reduction: the given output, or the new variable.

    Raises:
        TensorCreationError: for the wrong number of outputs, a mapping together with outputs, and
            as in `ops.reduce` and `ops.map`.
        ElementTypeError: for an entry that is not a reduction, and as in `ops.reduce`.
        GraphCycleError: for an output that another of the reductions reads or writes.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[4, 8, 1, 9, 3])
    >>> low, high = reduce_many([("min", x, 0), ("max", x, 0)], program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> int(engine.read(low)), int(engine.read(high))
    (1, 9)
    """
    for role, given in (("reductions", reductions), ("outputs", outputs)):
        if not isinstance(given, Sequence):
            raise ElementTypeError(
                f"{_USAGE}: {role} is {clipped(given)}, not a list",
                found=of_type(given),
                fix='ops.reduce_many([("min", x, 0), ("max", x, 0)])',
            )
    exprs = [_expr(each, number) for number, each in enumerate(reductions)]
    if len(outputs) not in (0, len(exprs)):
        raise TensorCreationError(
            f"{_USAGE}: {amount(len(outputs), 'output')} for {amount(len(exprs), 'reduction')}",
            fix="pass an output for each, or none",
        )
    if mapping is not None and outputs:
        raise TensorCreationError(
            f"{_USAGE}: mapping cannot be given with outputs, which have their own",
            found=f"mapping={clipped(mapping)}",
            fix="call graph.set_tile_mapping(output, mapping), or omit outputs",
        )
    if not exprs:
        return []
    leaves = [leaf for each in exprs for leaf in each.leaves if isinstance(leaf, Tensor)]
    graph = leaves[0].graph if leaves else innermost(_USAGE).graph
    graph = graph_for(graph, leaves, program, is_placed=mapping is not None)

    def recorded() -> list[Tensor]:
        outs: Sequence[Tensor | None] = outputs or (None,) * len(exprs)
        return [
            stored(expr, out=out, mapping=mapping, name=f"{name}/{operation_name(expr)}")
            for expr, out in zip(exprs, outs, strict=True)
        ]

    steps = target(graph, program, _USAGE)
    if isinstance(steps, Together):
        return recorded()
    block = Block(graph, name)
    with block, together():
        made = recorded()
    steps.add(block)
    return made


def _expr(entry: tuple[str, Operand, Dims] | Expr, number: int) -> Expr:
    """Return an entry as an expression that contains a reduction."""
    if isinstance(entry, tuple) and len(entry) == 3:
        op, x, dims = entry
        return reduce(x, dims, op)
    if isinstance(entry, Expr) and any(isinstance(each, Reduction) for each in new_parts(entry)):
        return entry
    raise ElementTypeError(
        f"{_USAGE}: entry {number} is not a reduction",
        found=repr(entry) if isinstance(entry, Expr) else of_type(entry),
        fix=_FORMS,
    )
