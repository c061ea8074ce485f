"""Operations on elements: axes of operands pair by identity, and are put in one order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from poplite.errors import ImplicitOuterProductError
from poplite.expr.equality import JOINS_TRUTHS, check_no_truth
from poplite.expr.tree import ElementClass
from poplite.named.axes.axes import Axes, check_lengths, order_of, same_lengths
from poplite.named.axes.changes import spelled
from poplite.named.ops.element_types import is_held, of_floats, public_name, stored_type, type_of
from poplite.named.ops.op import FUNCTIONS, LABELS, Op, as_op, makes, written_as
from poplite.source import here
from poplite.types import INT, ElementTypeLike


class Elementwise(Op):
    """An operation of `poplite.ops` on each element.

    Attributes:
        operation: its name there; "cast" for another element type.
    """

    __slots__ = ("operation",)

    def __init__(
        self, operation: str, args: tuple[Op, ...], axes: Axes, dtype: ElementClass | None
    ) -> None:
        self.axes, self.dtype, self.args = axes, dtype, args
        self.name = self.written = ""
        self.line, self.adjoints, self.operation = here(3), None, operation
        self._labels = LABELS[-1] if LABELS else None

    @property
    def what(self) -> str:  # type: ignore[override]
        """The operation, for messages."""
        return public_name(self.operation)


_STRICT: list[bool] = []
"""The blocks of `strict` that are open."""


@contextmanager
def strict(is_strict: bool = True) -> Iterator[None]:
    """Refuse operations inside a block whose operands each have an axis that the other has not.

    Such an operation makes an outer product, mostly by mistake. One that is meant says so:
    `ng.broadcast`.

    >>> import poplite.named as ng
    >>> x, y = (ng.placeholder([ng.make_axis(3, name)], name=name.lower()) for name in "HW")
    >>> with strict():
    ...     z = x + y  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    poplite.errors.ImplicitOuterProductError: add: only 'x' has axis 'H', and only 'y' 'W'
    """
    _STRICT.append(is_strict)
    try:
        yield
    finally:
        _STRICT.pop()


def is_strict() -> bool:
    """Tell whether the innermost block of `strict` refuses outer products."""
    return bool(_STRICT) and _STRICT[-1]


@makes("apply")
def apply(operation: str, *values: Any) -> Op:
    """Return the node of an operation; numbers take the element type of tensors beside them."""
    name = public_name(operation)
    args = tuple([each if isinstance(each, Op) else as_op(each, name) for each in values])
    if operation == "select":
        check_no_truth(name, values[2:], "ng")
    if len(args) == 2:
        return pair(operation, *args)
    axes = args[0].axes
    for each in args[1:]:
        axes = _together(operation, args, axes, each)
    return Elementwise(operation, args, axes, type_of(operation, args, name))


@makes("pair")
def pair(operation: str, one: Any, other: Any) -> Op:
    """Return the node of an operation on two operands."""
    if not isinstance(one, Op):
        one = _beside(operation, one)
    if not isinstance(other, Op):
        other = _beside(operation, other)
    axes, wide = one.axes, other.axes
    if wide is not axes and not wide.identities <= axes.identities:
        inside = axes.identities <= wide.identities
        axes = wide if inside else _together(operation, (one, other), axes, other)
    key = operation, one.dtype, other.dtype
    dtype = _TYPES.get(key)
    if dtype is None:
        dtype = type_of(operation, (one, other), public_name(operation))
        if dtype is not None:
            _TYPES[key] = dtype
    elif one.dtype is None:
        if not is_held(one, other.dtype):
            type_of(operation, (one, other), public_name(operation))  # which refuses it
    elif other.dtype is None and not is_held(other, one.dtype):
        type_of(operation, (one, other), public_name(operation))
    return Elementwise(operation, (one, other), axes, dtype)


def _beside(operation: str, value: object) -> Op:
    """Return a number that stands beside a tensor as an operand."""
    name = public_name(operation)
    if operation in JOINS_TRUTHS:
        check_no_truth(name, [value], "ng")
    return as_op(value, name)


_TYPES: dict[tuple[str, ElementClass | None, ElementClass | None], ElementClass] = {}
"""Element types of results, by the operation and the types of its two operands."""


def _together(operation: str, args: Sequence[Op], axes: Axes, other: Op) -> Axes:
    """Return the axes of operands so far and of one more."""
    if same_lengths(axes, other.axes) is not None:
        one = next(each for each in args if same_lengths(each.axes, other.axes) is not None)
        check_lengths(public_name(operation), one.axes, other.axes, lambda: (one.text, other.text))
    if is_strict():
        check_no_outer(public_name(operation), args[0], axes, other)
    return order_of(axes, other.axes)


def check_no_outer(operation: str, one: Op, axes: Axes, other: Op) -> None:
    """Raise ImplicitOuterProductError where axes and another operand each have one of their own."""
    if axes.root_set >= other.axes.root_set or axes.root_set <= other.axes.root_set:
        return
    mine, its = (axes - other.axes)[0], (other.axes - axes)[0]
    name, its_name = spelled(one), spelled(other, "y")
    wide = ", ".join(order_of(axes, other.axes).names)
    raise ImplicitOuterProductError(
        f"{operation}: only '{name}' has axis '{mine.name}', and only '{its_name}' '{its.name}'",
        found=f"left  {one.text}\nright {other.text}",
        fix=f"ng.broadcast({name}, [{wide}]) if all pairs are meant",
    )


def _unary(operation: str) -> Callable[[Any], Op]:
    def function(x: Any) -> Op:
        return apply(operation, x)

    FUNCTIONS.add(operation)
    function.__name__ = operation
    function.__doc__ = f"Return `{operation}` of each element; see `poplite.ops.{operation}`."
    return function


def _binary(operation: str) -> Callable[[Any, Any], Op]:
    def function(x: Any, y: Any) -> Op:
        return pair(operation, x, y)

    name = function.__name__ = public_name(operation)
    FUNCTIONS.add(name)
    function.__doc__ = (
        f"Return `{name}` of the elements of x and y, paired by their axes; see"
        f" `poplite.ops.{operation}`."
    )
    return function


negative, absolute, sign = _unary("negative"), _unary("absolute"), _unary("sign")
square, sqrt, reciprocal = _unary("square"), _unary("sqrt"), _unary("reciprocal")
exp, log, sin, cos = _unary("exp"), _unary("log"), _unary("sin"), _unary("cos")
tanh, sigmoid, relu = _unary("tanh"), _unary("sigmoid"), _unary("relu")
logical_not = _unary("logical_not")

add, subtract, multiply = _binary("add"), _binary("subtract"), _binary("multiply")
divide, floordivide, mod = _binary("divide"), _binary("floor_divide"), _binary("remainder")
power, maximum, minimum = _binary("power"), _binary("maximum"), _binary("minimum")
equal, not_equal = _binary("equal"), _binary("not_equal")
less, less_equal = _binary("less"), _binary("less_equal")
greater, greater_equal = _binary("greater"), _binary("greater_equal")
logical_and, logical_or = _binary("logical_and"), _binary("logical_or")


def where(predicate: Any, x: Any, y: Any) -> Op:
    """Return the elements of x where a predicate holds, and those of y elsewhere.

    Args:
        predicate: BOOL, such as a comparison.
        x: a tensor or a number.
        y: a tensor or a number; two numbers make FLOAT, INT or BOOL, as `ng.constant` does of them.

    Raises:
        ElementTypeError: for a predicate that is not BOOL, and for two element types.

    >>> import poplite.named as ng
    >>> x = ng.placeholder([ng.make_axis(3, "H")])
    >>> where(x > 0, x, 0), where(x > 0, 1, 0)
    (<where (H:3) FLOAT>, <where (H:3) INT>)
    """
    return apply("select", x, y, predicate)


def safelog(x: Any) -> Op:
    """Return the logarithm of each element, at least -50.

    Source: nGraph's `safelog`, which keeps log(0) finite.
    """
    floor = 1.9287498479639178e-22  # exp(-50)
    return written_as("safelog", log(maximum(of_floats(x, "safelog"), floor)))


def cast(x: Any, dtype: ElementTypeLike) -> Op:
    """Return the elements in another type.

    Args:
        x: a tensor or a number.
        dtype: the element type.
    """
    operand, found = as_op(x, "cast"), stored_type(dtype, "cast")
    if operand.dtype is found:
        return operand
    return Elementwise("cast", (operand,), operand.axes, found)


class StopGradient(Op):
    """An operand that derivatives take as a constant."""

    __slots__ = ()
    what = "stop_gradient"


def stop_gradient(x: Any) -> Op:
    """Return x, which derivatives take as a constant."""
    operand = as_op(x, "stop_gradient")
    return StopGradient(operand.axes, operand.dtype, (operand,))


class AxisPositions(Op):
    """The numbers 0, 1, ... along one axis."""

    __slots__ = ()
    what = "positions"

    def __init__(self, axes: Axes) -> None:
        super().__init__(axes, INT, ())
