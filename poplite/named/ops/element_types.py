"""Which element type an operation has, and which operands it refuses.

Tensors beside each other have one type, and numbers of Python's take it, if it can hold them.
Everything is known when an operation is built, and refused there.

    x + 1        the type of x            where(p, 1, 0)     INT, as `ng.constant` of 1 and 0
    x < 1        BOOL                     x (INT) + 0.5      refused: INT holds whole numbers
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from poplite.errors import ElementTypeError, SizeOverflowError
from poplite.expr.operations import OPERATIONS, kind_of
from poplite.expr.tree import ElementClass
from poplite.graph.storage.host_values import held_number
from poplite.named.axes.axes import Axes
from poplite.named.axes.changes import spelled
from poplite.named.ops.op import Op, as_op, makes, texts_of
from poplite.text import clipped, of_type
from poplite.types import BOOL, FLOAT, INT, ElementTypeLike, element_type

_NAMES = {"select": "where", "floor_divide": "floordivide", "remainder": "mod"}
"""Operations whose names in `poplite.ops` are others."""


@makes("number")
class NumberOp(Op):
    """A number of Python's beside tensors: it takes their element type."""

    __slots__ = ("value",)
    what = "number"

    def __init__(self, value: bool | int | float) -> None:
        super().__init__(Axes(), None, ())
        self.value = value


def public_name(operation: str) -> str:
    """Return the name of an operation in `poplite.named`."""
    return _NAMES.get(operation, operation)


def stored_type(like: ElementTypeLike, what: str) -> ElementClass:
    """Return the element type that a user gave for elements of a named tensor.

    Raises ElementTypeError for QUARTER, whose elements mean nothing without metadata.
    """
    found = element_type(like)
    if kind_of(found) is None:
        raise ElementTypeError(
            f"{what}: named tensors are not of {found!r}",
            found="an expression has no metadata, which gives its bits a meaning",
            fix="pl.HALF, or a vertex with QUARTER fields on a graph of its own",
        )
    return found


def type_for(array: np.ndarray[Any, Any], what: str) -> ElementClass:
    """Return the element type that values, of `what`, have on a device: FLOAT for doubles."""
    kind = array.dtype.kind
    if kind not in "biuf":
        raise ElementTypeError(
            f"{what}: values of dtype {array.dtype}",
            found="tensors hold real numbers and truths",
            fix="the real parts and the imaginary parts as two tensors"
            if kind == "c"
            else "an array of numbers",
        )
    if array.dtype == np.float16:
        return element_type("half")
    return FLOAT if kind == "f" else BOOL if kind == "b" else INT


def type_of(operation: str, args: Sequence[Op], what: str) -> ElementClass | None:
    """Return the element type of a result; None for numbers among themselves.

    Raises ElementTypeError for operands that do not go together, for `what`.
    """
    known = OPERATIONS[operation]
    counted = args
    if operation == "select":
        counted, predicate = args[:2], args[2]
        if predicate.dtype is not BOOL:
            raise ElementTypeError(
                f"{what}: the predicate is {_kind_text(predicate)}, not BOOL",
                found=predicate.text,
                fix=f"a comparison, such as {spelled(predicate)} > 0",
            )
    typed = [each for each in counted if each.dtype is not None]
    for each in typed[1:]:
        if each.dtype is not typed[0].dtype:
            raise mixed(what, typed[0], each)
    if not typed:
        if known.text_for(FLOAT) is None:
            raise ElementTypeError(
                f"{what}: numbers alone", found="no tensor", fix="Python's and, or, not"
            )
        if known.gives == "bool":
            return BOOL
        return _of_numbers(counted) if operation == "select" else None
    found = typed[0].dtype
    assert found is not None
    if known.text_for(found) is None:
        raise ElementTypeError(
            f"{what}: not of {found!r}",
            found=texts_of(typed),
            fix=_other_than(operation, found, *map(spelled, typed)),
        )
    for each in counted:
        if isinstance(each, NumberOp):
            check_number(what, each, typed[0], found)
    power = args[-1] if operation == "power" else None
    if isinstance(power, NumberOp) and power.value < 0 and not found.is_floating_point:
        raise ElementTypeError(
            f"{what}: {power.value} as the power of {found!r}",
            found=f"whole numbers have no reciprocals\n{args[0].text}",
            fix=f"ng.cast({spelled(args[0])}, pl.FLOAT)",
        )
    return BOOL if known.gives == "bool" else found


def of_floats(x: Any, what: str) -> Op:
    """Return an operand of FLOAT or HALF, or a number; raises ElementTypeError for others."""
    operand = as_op(x, what)
    if operand.dtype is not None and not operand.dtype.is_floating_point:
        raise ElementTypeError(
            f"{what}: not of {operand.dtype!r}",
            found=operand.text,
            fix=f"ng.cast({spelled(operand)}, pl.FLOAT)",
        )
    return operand


def _of_numbers(numbers: Sequence[Op]) -> ElementClass:
    """Return the element type of numbers that no tensor stands beside."""
    values = [each.value if isinstance(each, NumberOp) else 0.0 for each in numbers]
    kinds = [BOOL if isinstance(v, bool) else INT if isinstance(v, int) else FLOAT for v in values]
    return kinds[0] if len(set(kinds)) == 1 else FLOAT if FLOAT in kinds else INT


_MOST = float(np.finfo(np.float32).max)


def is_held(number: Op, element: ElementClass | None) -> bool:
    """Tell whether it is easy to see that an element type holds a number, as FLOAT does most."""
    if element is not FLOAT or number.__class__ is not NumberOp:
        return False
    value = number.value
    return value.__class__ is not bool and -_MOST <= value <= _MOST


def check_number(what: str, number: NumberOp, beside: Op, element: ElementClass) -> None:
    """Raise where an element type cannot hold a number that stands beside a tensor of it.

    ElementTypeError is raised for a number of another kind, such as 0.5 for INT, and
    SizeOverflowError for one out of range.
    """
    value, kind = number.value, kind_of(element)
    is_bool = isinstance(value, bool)
    if is_bool != (kind == "bool") or (kind == "int" and isinstance(value, float)):
        fix = (
            "True or False"
            if kind == "bool"
            else (f"ng.cast({spelled(beside)}, pl.FLOAT), or a whole number")
        )
        if is_bool:
            fix = f"{int(value)}; or a comparison, which gives BOOL"
        raise ElementTypeError(
            f"{what}: {value!r} beside {element!r}",
            found=f"{of_type(value)}; {beside.text}",
            fix=fix,
        )
    if not is_bool and held_number(element, value) is None:
        limits: Any = (np.finfo if kind == "float" else np.iinfo)(element.dtype)
        raise SizeOverflowError(
            f"{what}: {clipped(value)} does not fit {element!r}",
            found=f"{element!r} holds {limits.min:,} to {limits.max:,}; {beside.text}",
            fix=f"a number of that range, or ng.cast({spelled(beside)}, ...) to a wider type",
        )


def mixed(what: str, one: Op, other: Op) -> ElementTypeError:
    """Return the error for tensors of two types; the wider type is proposed for both."""
    assert one.dtype is not None
    assert other.dtype is not None
    narrow, wide = sorted((one, other), key=_width)
    return ElementTypeError(
        f"{what}: {one.dtype!r} and {other.dtype!r} are not mixed",
        found=f"left  {one.text}\nright {other.text}",
        fix=f"ng.cast({spelled(narrow)}, pl.{wide.element_type!r})",
    )


def _width(op: Op) -> tuple[int, int]:
    element = op.element_type
    return ("bool", "int", "float").index(kind_of(element) or "float"), element.size_bytes


def _other_than(operation: str, element: ElementClass, x: str, y: str = "y") -> str:
    """Return what to do with elements of operands that an operation does not take."""
    if operation.startswith("logical"):
        return f"compare first: ng.not_equal({x}, 0)"
    if element is BOOL:
        return f"ng.logical_not({x})" if operation == "negative" else f"ng.cast({x}, pl.INT)"
    if operation == "divide":
        return f"ng.cast({x}, pl.FLOAT); or {x} // {y}, which rounds down"
    return f"ng.cast({x}, pl.FLOAT)"


def _kind_text(op: Op) -> str:
    return "a number" if op.dtype is None else repr(op.dtype)
