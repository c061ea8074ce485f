"""Derivatives as expressions, built before anything is lowered.

    dw, db = deriv(loss, [w, b])

Reverse mode: from the result to its operands, each operation converts its adjoint into adjoints of
its operands. Forward and backward parts form one graph, so that storage is decided jointly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from poplite.errors import AxisError
from poplite.named import along_axes, shaping
from poplite.named.axes import Axes, Axis
from poplite.named.changed_axes import spelled
from poplite.named.elementwise import (
    AxisPositions,
    Elementwise,
    NumberOp,
    apply,
    cast,
    of_floats,
    strict,
)
from poplite.named.op import Op, as_op, nodes_below
from poplite.named.tensors import Gradient, Keep, PlacedByHint, TensorOp

Adjoints = list[tuple[Op, Op]]
"""Operands with the terms of their adjoints from an operation; terms may have additional axes."""

LAST = 2**31 - 1
"""A position after all other positions."""


@overload
def deriv(y: Any, x: list[Any] | tuple[Any, ...], error: Any = None) -> list[Op]: ...
@overload
def deriv(y: Any, x: object, error: Any = None) -> Op: ...
def deriv(y: Any, x: object, error: Any = None) -> Op | list[Op]:
    """Return the derivative of y with respect to x, on the axes of x.

    Args:
        y: a single number, or any tensor with an `error`.
        x: an operation, or a list of several.
        error: factors for the elements of y before they are summed, with the axes of y.

    Returns:
        An operation for each x; it is zero where y does not depend on x.

    Raises:
        AxisError: if y has axes and no `error` is given, or if `error` has different axes.

    >>> import poplite.named as ng
    >>> H = ng.make_axis(3, "H")
    >>> w = ng.variable([H], 2.0, name="w")
    >>> loss = ng.sum(w * w, [H])
    >>> with ng.make_transformer(tiles=1) as device:
    ...     device.computation(deriv(loss, w))()
    array([4., 4., 4.], dtype=float32)
    """
    result = of_floats(y, "deriv")
    given = None if error is None else as_op(error, "deriv")
    if given is None and result.axes.items:
        y_name, by = spelled(result, "y"), spelled(x) if isinstance(x, Op) else "x"
        raise AxisError(
            f"deriv: y has axes {result.axes}, so an error must weight its elements",
            found=result.text,
            fix=f"call ng.sum({y_name}, ...) first, or ng.deriv({y_name}, {by}, error) with an "
            f"error with axes {result.axes}",
        )
    if given is not None and not given.axes.is_sub_set(result.axes):
        raise AxisError(
            f"deriv: the error has axes {given.axes}, but y has {result.axes}",
            found=f"{result.text}\n{given.text}",
            fix=f"pass an error with axes {result.axes}, or with some of them",
        )
    adjoints = _adjoints(result, given)
    if isinstance(x, list | tuple):
        return [_of(each, adjoints) for each in x]
    return _of(x, adjoints)


def _of(x: Any, adjoints: dict[Op, Op]) -> Op:
    op = of_floats(x, "deriv")
    made = adjoints.get(op)
    if made is None:
        return _filled(NumberOp(0.0), op)
    if isinstance(op, TensorOp) and op.axes.items and not isinstance(made, Gradient):
        made = adjoints[op] = Gradient(_onto(made, op), op)
    return _onto(made, op)


def _adjoints(y: Op, error: Op | None) -> dict[Op, Op]:
    if y.adjoints is None:
        y.adjoints = {}
    if error not in y.adjoints:
        with strict(False):
            y.adjoints[error] = _reverse(y, error)
    return y.adjoints[error]


def _reverse(y: Op, error: Op | None) -> dict[Op, Op]:
    # The first adjoint has all axes of y; axes that an operand lacks are summed in its adjoint.
    made: dict[Op, Op] = {y: NumberOp(1.0) if error is None else _complete(error, y)}
    shares: dict[Op, list[Op]] = {}
    for op in reversed(nodes_below([y])):
        if op is not y:
            parts = shares.pop(op, [])
            if not parts:
                continue
            total = parts[0]
            for each in parts[1:]:
                total = total + each
            made[op] = total
        for operand, share in _shares(op, made[op]):
            if operand.dtype is not None and operand.dtype.is_floating_point:
                shares.setdefault(operand, []).append(_onto(share, operand))
    return made


def _onto(share: Op, x: Op) -> Op:
    """Return an adjoint on the axes of an operand: broadcast axes are summed."""
    more = share.axes - x.axes
    if more.items:
        share = along_axes.sum(share, more)
    return (
        shaping.axes_with_order(share, x.axes)
        if share.axes.is_equal_set(x.axes)
        else _filled(share, x)
    )


def _filled(share: Op, x: Op) -> Op:
    typed = cast(share, x.element_type) if share.dtype is None and x.axes.items else share
    return shaping.broadcast(typed, x.axes) if x.axes.items else typed


def _shares(op: Op, d: Op) -> Adjoints:
    match op:
        case Elementwise():
            return _elementwise(op, d)
        case shaping.Broadcast():
            return [(op.args[0], _complete(d, op))]
        case Keep() | PlacedByHint() | along_axes.Softmax() | Gradient():
            return [(op.args[0], d)]
        case shaping.Relabelled():
            (x,) = op.args
            return [(x, shaping.cast_axes(_filled(d, op), x.axes))]
        case shaping.Regrouped():
            (x,) = op.args
            return [(x, shaping.regrouped(shaping.as_flattened(_complete(d, op), op.axes), x.axes))]
        case shaping.Slice():
            return [(op.args[0], _unsliced(op, _complete(d, op)))]
        case shaping.Concat():
            return _parted(op, _complete(d, op))
        case along_axes.Reduce():
            return _reduced(op, d)
        case along_axes.DotProduct():
            x, y = op.args
            wide = _complete(d, op)
            return [
                (x, _product(wide, y, y.axes - x.axes)),
                (y, _product(x, wide, x.axes - y.axes)),
            ]
        case along_axes.Take():
            table, indices = op.args
            return [(table, along_axes.AddRows(_complete(d, op), indices, op.along, op.rest))]
        case along_axes.AddRows():
            return [(op.args[0], along_axes.Take(_complete(d, op), op.args[1], op.along))]
        case along_axes.VertexMap():
            raise AxisError(
                f"deriv: the derivative of vertex {op.vertex.__name__} is not known",
                found=op.text,
                fix="use ng.stop_gradient(ng.nmap(...)), or a function instead of the vertex",
            )
    return []


def _product(x: Op, y: Op, summed: Axes) -> Op:
    """Return a product; without summed axes it is an intended outer product, even if `strict`."""
    if not summed.items and x.axes.items and y.axes.items:
        x = shaping.broadcast(x, x.axes | y.axes)
    return along_axes.dot(x, y, axes=summed)


def _complete(d: Op, op: Op) -> Op:
    """Return an adjoint with all axes of an operation, in its order."""
    if d.axes == op.axes:
        return d
    return shaping.axes_with_order(d, op.axes) if d.axes.is_equal_set(op.axes) else _filled(d, op)


# -- elements --------------------------------------------------------------------------------------


def _one(rule: Callable[[Op, Op, Op], Op]) -> Callable[[Elementwise, Op], Adjoints]:
    return lambda op, d: [(op.args[0], rule(op.args[0], op, d))]


def _select(p: Op, x: Any, y: Any) -> Op:
    return apply("select", x, y, p)


def _power(op: Elementwise, d: Op) -> Adjoints:
    x, n = op.args
    if isinstance(n, NumberOp):
        if n.value == 0:
            return []  # also where x is 0, whose power -1 is infinite
        return [(x, d * n.value * x ** (n.value - 1) if n.value != 1 else d)]
    return [(x, d * n * x ** (n - 1)), (n, d * op * apply("log", x))]


def _maximum(op: Elementwise, d: Op) -> Adjoints:
    x, y = op.args
    is_left = x >= y if op.operation == "maximum" else x <= y
    return [(x, _select(is_left, d, 0.0)), (y, _select(is_left, 0.0, d))]


def _divide(op: Elementwise, d: Op) -> Adjoints:
    x, y = op.args
    return [(x, d / y), (y, -d * op / y)]


def _root(x: Op, y: Op, slope: Op) -> Op:
    """Return the adjoint of a root's operand; 0 if the operand is a sum of squares equal to 0.

    There 0 is a subgradient, as for `absolute`, and the chain rule would multiply an infinite slope
    by 0.
    """
    x = x.args[0] if isinstance(x, along_axes.Reduce) and x.how == "add" else x
    if isinstance(x, along_axes.DotProduct):
        is_square = x.args[0] is x.args[1]
    elif isinstance(x, Elementwise) and x.operation == "power":
        is_square = isinstance(x.args[1], NumberOp) and x.args[1].value == 2
    else:
        is_product = isinstance(x, Elementwise) and x.operation == "multiply"
        is_square = is_product and x.args[0] is x.args[1]
        is_square |= isinstance(x, Elementwise) and x.operation == "square"
    return _select(apply("equal", y, 0.0), 0.0, slope) if is_square else slope


_RULES: dict[str, Callable[[Elementwise, Op], Adjoints]] = {
    "add": lambda op, d: [(op.args[0], d), (op.args[1], d)],
    "subtract": lambda op, d: [(op.args[0], d), (op.args[1], -d)],
    "multiply": lambda op, d: [(op.args[0], d * op.args[1]), (op.args[1], d * op.args[0])],
    "divide": _divide,
    "power": _power,
    "maximum": _maximum,
    "minimum": _maximum,
    "remainder": lambda op, d: [
        (op.args[0], d),
        (op.args[1], -d * apply("floor_divide", *op.args)),
    ],
    "select": lambda op, d: [
        (op.args[0], _select(op.args[2], d, 0.0)),
        (op.args[1], _select(op.args[2], 0.0, d)),
    ],
    "negative": _one(lambda x, y, d: -d),
    "absolute": _one(lambda x, y, d: d * apply("sign", x)),
    "square": _one(lambda x, y, d: d * 2.0 * x),
    "sqrt": _one(lambda x, y, d: _root(x, y, d * 0.5 / y)),
    "reciprocal": _one(lambda x, y, d: -d * y * y),
    "exp": _one(lambda x, y, d: d * y),
    "log": _one(lambda x, y, d: d / x),
    "sin": _one(lambda x, y, d: d * apply("cos", x)),
    "cos": _one(lambda x, y, d: -d * apply("sin", x)),
    "tanh": _one(lambda x, y, d: d * (1.0 - y * y)),
    "sigmoid": _one(lambda x, y, d: d * y * (1.0 - y)),
    "softplus": _one(lambda x, y, d: d * apply("sigmoid", x)),
    "relu": _one(lambda x, y, d: _select(x > 0, d, 0.0)),
    "cast": _one(lambda x, y, d: cast(d, x.element_type) if d.dtype is not None else d),
}
"""The rule of each operation; those without a rule are piecewise constant."""


def _elementwise(op: Elementwise, d: Op) -> Adjoints:
    rule = _RULES.get(op.operation)
    return [] if rule is None else rule(op, d)


# -- reductions ------------------------------------------------------------------------------------


def _reduced(op: along_axes.Reduce, d: Op) -> Adjoints:
    (x,) = op.args
    if op.how == "add":
        return [(x, _filled(d, x))]
    if op.how == "mul":
        return [(x, d * _others(x, op.reduced))]
    if op.how in ("min", "max"):
        return [(x, _select(_first_extreme(x, op), d, 0.0))]
    return []


def _others(x: Op, reduced: Axes) -> Op:
    """Return for each element the product of all others, which is correct even if some are 0."""
    is_zero = apply("equal", x, 0.0)
    zeros = along_axes.sum(_select(is_zero, 1.0, x * 0.0), reduced)
    rest = _select(is_zero, 1.0, x)
    product = along_axes.Reduce("mul", rest, reduced)
    alone = _select(apply("equal", zeros, 1.0), product, 0.0)
    return _select(is_zero, alone, _select(apply("equal", zeros, 0.0), product / rest, 0.0))


def _first_extreme(x: Op, op: along_axes.Reduce) -> Op:
    """Return whether an element is the first maximum (or minimum), in the order of the axes."""
    at = apply("equal", x, op)
    later = _select(at, _place(op.reduced, x), LAST)
    return apply("equal", later, along_axes.Reduce("min", later, op.reduced))


def _place(axes: Axes, op: Op) -> Op:
    """Return the row-major position along several axes of an operation, as INT."""
    total: Op | None = None
    for axis in axes:
        own = shaping.broadcast(AxisPositions(Axes(axis)), axes)
        total = own if total is None else total * _kept_length(axis, op) + own
    assert total is not None
    return total


def _kept_length(axis: Axis, op: Op) -> int:
    """Fix and return a length on which the derivative of an operation depends."""
    length = axis.known_length("deriv")
    axis.keep_length(op.text)
    return length


# -- parts -----------------------------------------------------------------------------------------


def _unsliced(op: shaping.Slice, d: Op) -> Op:
    """Return zeros on the axes of the operand, with an adjoint at the position of the slice."""
    (x,) = op.args
    for axis in x.axes:
        part = op.parts.get(axis.root)
        if part is None:
            continue
        length = _kept_length(axis, x)
        if isinstance(part, int):
            one = axis.resized(1)
            d = shaping.broadcast(_typed(d, x), [one, *d.axes])
            d = shaping.pad_parts(d, axis, part, length - part - 1)
            continue
        taken = range(length)[part]
        own = d.axes.own(axis)
        if not len(taken):
            gone = [axis.resized(length) if each == own else each for each in d.axes]
            d = shaping.broadcast(_typed(NumberOp(0.0), x), gone)
            continue
        if taken.step < 0:
            d, taken = shaping.sliced_op(d, {own: slice(None, None, -1)}), taken[::-1]
        if taken.step > 1:
            d = _spread(d, d.axes.own(axis), taken.step)
        span = taken[-1] + 1 - taken[0]
        d = shaping.pad_parts(d, axis, taken[0], length - taken[0] - span)
    return shaping.axes_with_order(d, x.axes)


def _typed(d: Op, x: Op) -> Op:
    return cast(d, x.element_type) if d.dtype is None else d


def _spread(d: Op, axis: Any, step: int) -> Op:
    """Return elements along an axis, separated by zeros, `step` apart."""
    inner = axis.fresh().resized(step)
    count = axis.known_length("deriv")
    pairs = [(old, inner) if old == axis else (old,) for old in d.axes]
    wide = shaping.broadcast(d, [each for pair in pairs for each in pair])
    first = apply("equal", AxisPositions(Axes(inner)), 0)
    masked = _select(first, wide, 0.0)
    flat = shaping.flatten(masked, [masked.axes.own(axis), inner])
    joined = shaping.cast_axes(
        flat,
        [axis.resized(count * step) if each not in d.axes else each for each in flat.axes],
    )
    return shaping.sliced_op(joined, {joined.axes.own(axis): slice(0, (count - 1) * step + 1)})


def _parted(op: shaping.Concat, d: Op) -> Adjoints:
    made: Adjoints = []
    begin = 0
    for x, length in zip(op.args, op.lengths, strict=True):
        assert length is not None
        own = x.axes.own(op.along)
        part = shaping.sliced_op(d, {d.axes.own(op.along): slice(begin, begin + length)})
        back = [own if each == own else each for each in part.axes]
        made.append((x, shaping.cast_axes(part, back)))
        begin += length
    return made
