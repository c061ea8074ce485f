"""Elementwise operations, whose operands pair axes by identity.

All operands have the same element type; Python numbers take it if it can hold them. Operands
are checked when an operation is created.

    x + 1        the type of x            where(p, 1, 0)     INT, as `ng.constant` for 1 and 0
    x < 1        BOOL                     x (INT) + 0.5      rejected: INT holds only integers
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from poplite.errors import ElementTypeError, ImplicitOuterProductError, SizeOverflowError
from poplite.expr.operand import JOINS_TRUTHS, check_no_truth
from poplite.expr.operations import OPERATIONS, kind_of
from poplite.expr.tree import ElementClass
from poplite.graph.host_values import converted_number
from poplite.named.axes import Axes, check_lengths, joint_order, same_lengths
from poplite.named.changed_axes import spelled
from poplite.named.op import FUNCTIONS, LABELS, Op, as_op, makes, texts_of, written_as
from poplite.source import here
from poplite.text import clipped, of_type
from poplite.types import BOOL, FLOAT, INT, ElementTypeLike, element_type

_NAMES = {"select": "where", "floor_divide": "floordivide", "remainder": "mod"}
"""Operations that have different names in `poplite.ops`."""


@makes("number")
class NumberOp(Op):
    """A Python number as an operand, which takes the element type of the tensors."""

    __slots__ = ("value",)
    what = "number"

    def __init__(self, value: bool | int | float) -> None:
        super().__init__(Axes(), None, ())
        self.value: bool | int | float = value


def public_name(operation: str) -> str:
    """Return the name of an operation in `poplite.named`."""
    return _NAMES.get(operation, operation)


def tensor_type(like: ElementTypeLike, what: str) -> ElementClass:
    """Return the element type that a user gave for a named tensor.

    Raises ElementTypeError for QUARTER, whose elements are meaningless without metadata.
    """
    found = element_type(like)
    if kind_of(found) is None:
        raise ElementTypeError(
            f"{what}: named tensors cannot have element type {found!r}",
            found="an expression has no metadata, which gives its bits a meaning",
            fix="use pl.HALF, or a vertex with QUARTER fields in a separate graph",
        )
    return found


def type_for(array: np.ndarray[Any, Any], what: str) -> ElementClass:
    """Return the element type of values on a device, FLOAT for doubles; `what` names them."""
    kind = array.dtype.kind
    if kind not in "biuf":
        raise ElementTypeError(
            f"{what}: values of dtype {array.dtype} are not supported",
            found="tensors hold real numbers and truth values",
            fix="pass the real parts and the imaginary parts as two tensors"
            if kind == "c"
            else "pass an array of numbers",
        )
    if array.dtype == np.float16:
        return element_type("half")
    return FLOAT if kind == "f" else BOOL if kind == "b" else INT


def result_type(operation: str, args: Sequence[Op], what: str) -> ElementClass | None:
    """Return the element type of a result; None if all operands are numbers.

    Raises ElementTypeError, for `what`, if the operand types do not match.
    """
    known = OPERATIONS[operation]
    counted = args
    if operation == "select":
        counted, predicate = args[:2], args[2]
        if predicate.dtype is not BOOL:
            kind = "a number" if predicate.dtype is None else repr(predicate.dtype)
            raise ElementTypeError(
                f"{what}: the predicate is {kind}, not BOOL",
                found=predicate.text,
                fix=f"pass a comparison, such as {spelled(predicate)} > 0",
            )
    typed = [each for each in counted if each.dtype is not None]
    for each in typed[1:]:
        if each.dtype is not typed[0].dtype:
            raise mixed_types_error(what, typed[0], each)
    if not typed:
        if known.text_for(FLOAT) is None:
            raise ElementTypeError(
                f"{what}: all operands are numbers",
                found="there is no tensor among them",
                fix="use Python's and, or, not",
            )
        if known.gives == "bool":
            return BOOL
        return _of_numbers(counted) if operation == "select" else None
    found = typed[0].dtype
    assert found is not None
    if known.text_for(found) is None:
        raise ElementTypeError(
            f"{what}: operands of {found!r} are not supported",
            found=texts_of(typed),
            fix=_other_than(operation, found, *map(spelled, typed)),
        )
    for each in counted:
        if isinstance(each, NumberOp):
            check_number(what, each, typed[0], found)
    power = args[-1] if operation == "power" else None
    if isinstance(power, NumberOp) and power.value < 0 and not found.is_floating_point:
        raise ElementTypeError(
            f"{what}: {found!r} cannot be raised to the power {power.value}",
            found=f"whole numbers have no reciprocals\n{args[0].text}",
            fix=f"ng.cast({spelled(args[0])}, pl.FLOAT)",
        )
    return BOOL if known.gives == "bool" else found


def of_floats(x: Any, what: str) -> Op:
    """Return an operand of FLOAT or HALF, or a number; raises ElementTypeError for others."""
    operand = as_op(x, what)
    if operand.dtype is not None and not operand.dtype.is_floating_point:
        raise ElementTypeError(
            f"{what}: operands of {operand.dtype!r} are not supported",
            found=operand.text,
            fix=f"ng.cast({spelled(operand)}, pl.FLOAT)",
        )
    return operand


def _of_numbers(numbers: Sequence[Op]) -> ElementClass:
    """Return the element type for numbers if no operand is a tensor."""
    values = [each.value if isinstance(each, NumberOp) else 0.0 for each in numbers]
    kinds = [BOOL if isinstance(v, bool) else INT if isinstance(v, int) else FLOAT for v in values]
    return kinds[0] if len(set(kinds)) == 1 else FLOAT if FLOAT in kinds else INT


_MOST = float(np.finfo(np.float32).max)


def is_held(number: Op, element: ElementClass | None) -> bool:
    """Return whether an element type obviously can hold a number, as FLOAT can hold most."""
    if element is not FLOAT or number.__class__ is not NumberOp:
        return False
    value = number.value
    return value.__class__ is not bool and -_MOST <= value <= _MOST


def check_number(what: str, number: NumberOp, other: Op, element: ElementClass) -> None:
    """Raise if the element type of the other operand cannot hold a number.

    ElementTypeError is raised for a number of the wrong kind, such as 0.5 for INT, and
    SizeOverflowError for a number out of range.
    """
    value, kind = number.value, kind_of(element)
    is_bool = isinstance(value, bool)
    if is_bool != (kind == "bool") or (kind == "int" and isinstance(value, float)):
        fix = (
            "use True or False"
            if kind == "bool"
            else (f"use ng.cast({spelled(other)}, pl.FLOAT), or a whole number")
        )
        if is_bool:
            fix = f"use {int(value)}, or a comparison, which gives BOOL"
        raise ElementTypeError(
            f"{what}: cannot mix {value!r} and {element!r}",
            found=f"{of_type(value)}; {other.text}",
            fix=fix,
        )
    if not is_bool and converted_number(element, value) is None:
        limits: Any = (np.finfo if kind == "float" else np.iinfo)(element.dtype)
        raise SizeOverflowError(
            f"{what}: {clipped(value)} does not fit {element!r}",
            found=f"{element!r} holds {limits.min:,} to {limits.max:,}; {other.text}",
            fix=f"use a number in that range, or ng.cast({spelled(other)}, ...) to a wider type",
        )


def mixed_types_error(what: str, one: Op, other: Op) -> ElementTypeError:
    """Return the error for tensors of two types; it proposes the wider type for both."""
    assert one.dtype is not None
    assert other.dtype is not None
    narrow, wide = sorted((one, other), key=_width)
    return ElementTypeError(
        f"{what}: cannot mix {one.dtype!r} and {other.dtype!r}",
        found=f"left  {one.text}\nright {other.text}",
        fix=f"ng.cast({spelled(narrow)}, pl.{wide.element_type!r})",
    )


def _width(op: Op) -> tuple[int, int]:
    element = op.element_type
    return ("bool", "int", "float").index(kind_of(element) or "float"), element.size_bytes


def _other_than(operation: str, element: ElementClass, x: str, y: str = "y") -> str:
    """Return the suggested fix for operands whose element type an operation does not support."""
    if operation.startswith("logical"):
        return f"compare first: ng.not_equal({x}, 0)"
    if element is BOOL:
        return f"ng.logical_not({x})" if operation == "negative" else f"ng.cast({x}, pl.INT)"
    if operation == "divide":
        return f"use ng.cast({x}, pl.FLOAT), or {x} // {y}, which rounds down"
    return f"ng.cast({x}, pl.FLOAT)"


# -- operations ------------------------------------------------------------------------------------


class Elementwise(Op):
    """An elementwise operation of `poplite.ops`.

    Attributes:
        operation: the name in `poplite.ops`; "cast" for a conversion.
    """

    __slots__ = ("operation",)
    operation: str
    axes: Axes
    dtype: ElementClass | None
    args: tuple[Op, ...]

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
"""The open blocks of `strict`."""


@contextmanager
def strict(is_strict: bool = True) -> Iterator[None]:
    """Reject operations inside a block whose operands each have an axis that the other lacks.

    Such an operation makes an outer product, usually by mistake. Write an intended outer product
    with `ng.broadcast`.

    Args:
        is_strict: whether they are rejected; False allows them again in an inner block.

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


def is_strict_block() -> bool:
    """Return whether the innermost block of `strict` rejects outer products."""
    return bool(_STRICT) and _STRICT[-1]


@makes("apply")
def apply(operation: str, *values: Any) -> Op:
    """Return the node for an operation; numbers take the element type of its tensors."""
    name = public_name(operation)
    args = tuple([each if isinstance(each, Op) else as_op(each, name) for each in values])
    if operation == "select":
        check_no_truth(name, values[2:], "ng")
    if len(args) == 2:
        return pair(operation, *args)
    axes = args[0].axes
    for each in args[1:]:
        axes = _joint_axes(operation, args, axes, each)
    return Elementwise(operation, args, axes, result_type(operation, args, name))


@makes("pair")
def pair(operation: str, one: Any, other: Any) -> Op:
    """Return the node for an operation on two operands."""
    if not isinstance(one, Op):
        one = _as_number(operation, one)
    if not isinstance(other, Op):
        other = _as_number(operation, other)
    axes, wide = one.axes, other.axes
    if wide is not axes and not wide.identities <= axes.identities:
        inside = axes.identities <= wide.identities
        axes = wide if inside else _joint_axes(operation, (one, other), axes, other)
    key = operation, one.dtype, other.dtype
    dtype = _TYPES.get(key)
    if dtype is None:
        dtype = result_type(operation, (one, other), public_name(operation))
        if dtype is not None:
            _TYPES[key] = dtype
    elif one.dtype is None:
        if not is_held(one, other.dtype):
            result_type(operation, (one, other), public_name(operation))  # raises an error
    elif other.dtype is None and not is_held(other, one.dtype):
        result_type(operation, (one, other), public_name(operation))
    return Elementwise(operation, (one, other), axes, dtype)


def _as_number(operation: str, value: object) -> Op:
    """Return a number as an operand next to a tensor."""
    name = public_name(operation)
    if operation in JOINS_TRUTHS:
        check_no_truth(name, [value], "ng")
    return as_op(value, name)


_TYPES: dict[tuple[str, ElementClass | None, ElementClass | None], ElementClass] = {}
"""Element types of results, by the operation and the types of its two operands."""


def _joint_axes(operation: str, args: Sequence[Op], axes: Axes, other: Op) -> Axes:
    """Return the axes of the operands so far, combined with those of another operand."""
    if same_lengths(axes, other.axes) is not None:
        one = next(each for each in args if same_lengths(each.axes, other.axes) is not None)
        check_lengths(public_name(operation), one.axes, other.axes, (one, other))
    if is_strict_block():
        check_no_outer(public_name(operation), args[0], axes, other)
    return joint_order(axes, other.axes)


def check_no_outer(operation: str, one: Op, axes: Axes, other: Op) -> None:
    """Raise ImplicitOuterProductError if axes and an operand each have an axis the other lacks."""
    if axes.root_set >= other.axes.root_set or axes.root_set <= other.axes.root_set:
        return
    mine, its = (axes - other.axes)[0], (other.axes - axes)[0]
    name, its_name = spelled(one), spelled(other, "y")
    wide = ", ".join(joint_order(axes, other.axes).names)
    raise ImplicitOuterProductError(
        f"{operation}: only '{name}' has axis '{mine.name}', and only '{its_name}' '{its.name}'",
        found=f"left  {one.text}\nright {other.text}",
        fix=f"use ng.broadcast({name}, [{wide}]) if all pairs are intended",
    )


_ONE = """Return `{name}` of each element, with the values of `poplite.ops.{operation}`.

Args:
    x: a tensor or a number.

Raises:
    ElementTypeError: for an element type without this operation.

>>> import poplite as pl, poplite.named as ng
>>> x = ng.placeholder([ng.make_axis(3, "H")], pl.{type})
>>> ng.{name}(x)
<{name} (H:3) {gives}>
"""
"""The docstring of a function of one operand."""

_TWO = """Return `{name}` of the elements of x and y, paired by their axes.

The values are those of `poplite.ops.{operation}`. Axes that only one operand has are broadcast.

Args:
    x: a tensor or a number.
    y: a tensor of the element type of x, or a number, which takes that type.

Raises:
    ElementTypeError: for two element types, or one without this operation.
    SizeOverflowError: for a number out of range of the element type.
    AxisLengthError: for an axis with two lengths.
    ImplicitOuterProductError: inside `ng.strict`, if each has an axis that the other lacks.

>>> import poplite as pl, poplite.named as ng
>>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
>>> ng.{name}(ng.placeholder([H, W], pl.{type}), ng.placeholder([W], pl.{type}))
<{name} (H:3, W:4) {gives}>
"""
"""The docstring of a function of two operands."""


def _described(docstring: str, operation: str) -> str:
    """Return the docstring of an operation, with operands of a type that the operation has."""
    operands = BOOL if operation.startswith("logical") else FLOAT
    gives = BOOL if OPERATIONS[operation].gives == "bool" else operands
    name = public_name(operation)
    return docstring.format(name=name, operation=operation, type=operands, gives=gives)


OneOperand = Callable[[Any], Op]
TwoOperands = Callable[[Any, Any], Op]


def _unary(operation: str) -> OneOperand:
    def function(x: Any) -> Op:
        return apply(operation, x)

    FUNCTIONS.add(operation)
    function.__name__ = operation
    function.__doc__ = _described(_ONE, operation)
    return function


def _binary(operation: str) -> TwoOperands:
    def function(x: Any, y: Any) -> Op:
        return pair(operation, x, y)

    name = function.__name__ = public_name(operation)
    FUNCTIONS.add(name)
    function.__doc__ = _described(_TWO, operation)
    return function


negative: OneOperand = _unary("negative")
absolute: OneOperand = _unary("absolute")
sign: OneOperand = _unary("sign")
square: OneOperand = _unary("square")
sqrt: OneOperand = _unary("sqrt")
reciprocal: OneOperand = _unary("reciprocal")
exp: OneOperand = _unary("exp")
log: OneOperand = _unary("log")
sin: OneOperand = _unary("sin")
cos: OneOperand = _unary("cos")
tanh: OneOperand = _unary("tanh")
sigmoid: OneOperand = _unary("sigmoid")
relu: OneOperand = _unary("relu")
logical_not: OneOperand = _unary("logical_not")

add: TwoOperands = _binary("add")
subtract: TwoOperands = _binary("subtract")
multiply: TwoOperands = _binary("multiply")
divide: TwoOperands = _binary("divide")
floordivide: TwoOperands = _binary("floor_divide")
mod: TwoOperands = _binary("remainder")
power: TwoOperands = _binary("power")
maximum: TwoOperands = _binary("maximum")
minimum: TwoOperands = _binary("minimum")
equal: TwoOperands = _binary("equal")
not_equal: TwoOperands = _binary("not_equal")
less: TwoOperands = _binary("less")
less_equal: TwoOperands = _binary("less_equal")
greater: TwoOperands = _binary("greater")
greater_equal: TwoOperands = _binary("greater_equal")
logical_and: TwoOperands = _binary("logical_and")
logical_or: TwoOperands = _binary("logical_or")


def where(predicate: Any, x: Any, y: Any) -> Op:
    """Return the elements of x where a predicate is true, and those of y elsewhere.

    Args:
        predicate: a BOOL tensor, such as a comparison.
        x: a tensor or a number.
        y: a tensor or a number; two numbers make FLOAT, INT or BOOL, as in `ng.constant`.

    Raises:
        ElementTypeError: for a predicate that is not BOOL, or operands of two element types.

    >>> import poplite.named as ng
    >>> x = ng.placeholder([ng.make_axis(3, "H")])
    >>> where(x > 0, x, 0), where(x > 0, 1, 0)
    (<where (H:3) FLOAT>, <where (H:3) INT>)
    """
    return apply("select", x, y, predicate)


def safelog(x: Any) -> Op:
    """Return the natural logarithm of each element, but at least -50.

    Source: nGraph's `safelog`, which keeps log(0) finite.

    Args:
        x: a tensor of FLOAT or HALF.

    Raises:
        ElementTypeError: for elements that are not FLOAT or HALF.

    >>> import poplite.named as ng
    >>> ng.safelog(ng.placeholder([ng.make_axis(3, "H")]))
    <safelog (H:3) FLOAT>
    """
    floor = 1.9287498479639178e-22  # exp(-50)
    return written_as("safelog", log(maximum(of_floats(x, "safelog"), floor)))


def cast(x: Any, dtype: ElementTypeLike) -> Op:
    """Return the elements converted to another type.

    Args:
        x: a tensor or a number.
        dtype: the new element type.

    Raises:
        ElementTypeError: for QUARTER, or for something that is not an element type.

    >>> import poplite as pl, poplite.named as ng
    >>> x = ng.placeholder([ng.make_axis(3, "H")])
    >>> ng.cast(x, pl.INT), ng.cast(x, pl.FLOAT) is x
    (<cast (H:3) INT>, True)
    """
    operand, found = as_op(x, "cast"), tensor_type(dtype, "cast")
    if operand.dtype is found:
        return operand
    return Elementwise("cast", (operand,), operand.axes, found)


class StopGradient(Op):
    """An operand that derivatives treat as a constant."""

    __slots__ = ()
    what = "stop_gradient"


def stop_gradient(x: Any) -> Op:
    """Return x, which derivatives treat as a constant.

    Args:
        x: a tensor.

    >>> import poplite.named as ng
    >>> x = ng.variable([ng.make_axis(3, "H")], name="x")
    >>> ng.stop_gradient(ng.max(x, ...))
    <stop_gradient () FLOAT>
    """
    operand = as_op(x, "stop_gradient")
    return StopGradient(operand.axes, operand.dtype, (operand,))


class AxisPositions(Op):
    """The integers 0, 1, ... along one axis."""

    __slots__ = ()
    what = "positions"

    def __init__(self, axes: Axes) -> None:
        super().__init__(axes, INT, ())
