"""Operations of `poplite.ops` on integers of Python's, cut to an element type: the oracle of tests.

    wrapped(pl.SHORT, 40_000)                  -25536
    ELEMENTWISE["popcount"](pl.SHORT, -1)      16

Results are of any length where they are computed, and `wrapped` cuts them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from poplite.types import BOOL, UNSIGNED_LONGLONG, ElementType

ElementClass = type[ElementType[Any]]


def bits(element: ElementClass) -> int:
    """Return how many bits an element has."""
    return 8 * element.size_bytes


def wrapped(element: ElementClass, value: int) -> int | bool:
    """Return an integer as an element type stores it; of BOOL, whether it is not 0.

    >>> from poplite.types import SHORT, UNSIGNED_CHAR
    >>> wrapped(SHORT, 40_000), wrapped(UNSIGNED_CHAR, -1)
    (-25536, 255)
    """
    if element is BOOL:
        return bool(value)
    cut = int(value) % (1 << bits(element))
    is_negative = element.dtype.kind == "i" and cut >> bits(element) - 1
    return cut - (1 << bits(element)) if is_negative else cut


def _unsigned(element: ElementClass, value: int) -> int:
    return value % (1 << bits(element))


def _divided(element: ElementClass, a: int, b: int) -> int:
    return a // b if b else 0


def _divided_trunc(element: ElementClass, a: int, b: int) -> int:
    whole = abs(a) // abs(b) if b else 0
    return -whole if (a < 0) != (b < 0) else whole


def _remainder(element: ElementClass, a: int, b: int) -> int:
    return a % b if b else 0


def _remainder_trunc(element: ElementClass, a: int, b: int) -> int:
    return a - b * _divided_trunc(element, a, b) if b else 0


def _power(element: ElementClass, a: int, b: int) -> int:
    return pow(a, b, 1 << bits(element)) if b >= 0 else 0


def _sign(element: ElementClass, a: int) -> int:
    return (a > 0) - (a < 0)


def _shift_left(element: ElementClass, a: int, n: int) -> int:
    return a << n if 0 <= n < bits(element) else 0


def _shift_right(element: ElementClass, a: int, n: int) -> int:
    return a >> (n if 0 <= n < bits(element) else bits(element))


def _shift_right_logical(element: ElementClass, a: int, n: int) -> int:
    return _unsigned(element, a) >> n if 0 <= n < bits(element) else 0


def _not(element: ElementClass, a: int) -> int:
    return not a if element is BOOL else ~a


def _xnor(element: ElementClass, a: int, b: int) -> int:
    return _not(element, a ^ b)


ELEMENTWISE: dict[str, Callable[..., int]] = {
    "add": lambda element, a, b: a + b,
    "subtract": lambda element, a, b: a - b,
    "multiply": lambda element, a, b: a * b,
    "floor_divide": _divided,
    "remainder": _remainder,
    "divide_trunc": _divided_trunc,
    "remainder_trunc": _remainder_trunc,
    "power": _power,
    "square": lambda element, a: a * a,
    "negative": lambda element, a: -a,
    "absolute": lambda element, a: abs(a),
    "sign": _sign,
    "sign_popops": _sign,
    "maximum": lambda element, a, b: max(a, b),
    "minimum": lambda element, a, b: min(a, b),
    "clamp": lambda element, a, low, high: min(max(a, low), high),
    "less": lambda element, a, b: a < b,
    "less_equal": lambda element, a, b: a <= b,
    "greater": lambda element, a, b: a > b,
    "greater_equal": lambda element, a, b: a >= b,
    "equal": lambda element, a, b: a == b,
    "not_equal": lambda element, a, b: a != b,
    "logical_and": lambda element, a, b: a and b,
    "logical_or": lambda element, a, b: a or b,
    "logical_xor": lambda element, a, b: a != b,
    "logical_not": lambda element, a: not a,
    "bitwise_and": lambda element, a, b: a & b,
    "bitwise_or": lambda element, a, b: a | b,
    "bitwise_xor": lambda element, a, b: a ^ b,
    "bitwise_xnor": _xnor,
    "bitwise_not": _not,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "shift_right_logical": _shift_right_logical,
    "popcount": lambda element, a: _unsigned(element, a).bit_count(),
    "count_leading_zeros": lambda element, a: bits(element) - _unsigned(element, a).bit_length(),
    "sqrt_trunc": lambda element, a: math.isqrt(max(a, 0)),
    "select": lambda element, a, b, predicate: a if predicate else b,
}
"""Operations by name, of the element type of the operands and of their values."""


def from_float(element: ElementClass, value: float) -> int | bool:
    """Return what `ops.cast` makes of a float.

    >>> from poplite.types import CHAR, INT, UNSIGNED_LONGLONG
    >>> from_float(INT, -2.9), from_float(CHAR, 300.0), from_float(UNSIGNED_LONGLONG, 1e30)
    (-2, 44, 18446744073709551615)
    """
    if element is BOOL:
        return value != 0
    if math.isnan(value):
        return 0
    most = 2**64 - 1 if element is UNSIGNED_LONGLONG else 2**63 - 1
    whole = int(value) if math.isfinite(value) else int(math.copysign(2**64, value))
    return wrapped(element, min(max(whole, -(2**63)), most))


def as_float(value: int) -> float:
    """Return the float32 nearest to an integer of up to 64 bits."""
    exact = np.uint64(value) if value >= 1 << 63 else np.int64(value)
    return float(exact.astype(np.float32))
