"""The kinds of numbers inside `compute`, and the kind of an operation on two of them.

There are five kinds, each wider than the one before::

    BOOL  <  INT  <  UINT    <  FLOAT  <  F32
    truth    64-bit  64-bit,    Python's  an element of FLOAT, HALF or QUARTER,
    value    wrap    unsigned   double    rounded after every operation

Python numbers are weak: next to an element of a FLOAT field they become float32, so that
`(i + 0.5) * self.step` is one float32 product and not a double.  Where two paths meet, a
variable takes the wider of its two kinds.  Rules: docs/arithmetic.md.

    >>> binary_kind("/", Kind.INT, Kind.INT), binary_kind("*", Kind.FLOAT, Kind.F32)
    (Kind.FLOAT, Kind.F32)
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from poplite.types import BOOL, UNSIGNED_LONGLONG, ElementType


class Kind(IntEnum):
    """The kind of a number inside `compute`, narrow to wide."""

    BOOL = 0
    INT = 1
    UINT = 2
    FLOAT = 3
    F32 = 4

    def __repr__(self) -> str:
        return f"Kind.{self.name}"

    def __str__(self) -> str:
        return _WORDS[self]


_WORDS = {
    Kind.BOOL: "a truth value",
    Kind.INT: "an int",
    Kind.UINT: "an unsigned 64-bit int",
    Kind.FLOAT: "a Python float",
    Kind.F32: "a float32",
}

_BITWISE = ("&", "|", "^")
_SHIFTS = ("<<", ">>")


def element_kind(element: type[ElementType[Any]]) -> Kind:
    """Return the kind of an element of a field once it is read.

    >>> from poplite.types import UNSIGNED_INT
    >>> element_kind(UNSIGNED_INT)
    Kind.INT
    """
    if element.is_floating_point:
        return Kind.F32
    if element is UNSIGNED_LONGLONG:
        return Kind.UINT
    return Kind.BOOL if element is BOOL else Kind.INT


def lanes_text(kind: Kind) -> str:
    """Return what lanes of a kind are called.

    >>> lanes_text(Kind.INT)
    'lanes of ints'
    """
    return f"lanes of {str(kind).removeprefix('a ').removeprefix('an ')}s"


def fits_lanes(number: Kind, lanes: Kind) -> bool:
    """Return whether a number may stand beside lanes of a kind, and becomes of that kind.

    >>> fits_lanes(Kind.FLOAT, Kind.F32), fits_lanes(Kind.FLOAT, Kind.INT)
    (True, False)
    """
    return number is lanes if lanes is Kind.BOOL else number <= lanes


def literal_kind(value: bool | int | float) -> Kind:
    """Return the kind of a Python number.

    >>> literal_kind(True), literal_kind(2), literal_kind(0.5)
    (Kind.BOOL, Kind.INT, Kind.FLOAT)
    """
    if isinstance(value, bool):
        return Kind.BOOL
    return Kind.INT if isinstance(value, int) else Kind.FLOAT


def binary_kind(symbol: str, left: Kind, right: Kind) -> Kind | None:
    """Return the kind of `left symbol right`; None where the operation is refused.

    >>> print(binary_kind("&", Kind.INT, Kind.F32))
    None
    """
    wide = max(left, right)
    if symbol in _BITWISE or symbol in _SHIFTS:
        if wide > Kind.UINT:
            return None
        return wide if symbol in _BITWISE else max(left, Kind.INT)
    if symbol == "**":
        return max(left, Kind.INT)
    return max(wide, Kind.FLOAT if symbol == "/" else Kind.INT)


def unary_kind(symbol: str, operand: Kind) -> Kind | None:
    """Return the kind of `symbol operand`, for `-`, `+`, `~` or `not`; None where it is refused.

    >>> unary_kind("-", Kind.BOOL), unary_kind("not", Kind.F32)
    (Kind.INT, Kind.BOOL)
    """
    if symbol == "not":
        return Kind.BOOL
    if symbol == "~":
        return operand if operand in (Kind.INT, Kind.UINT) else None
    return max(operand, Kind.INT)
