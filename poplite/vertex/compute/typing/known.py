"""The values of numbers that are the same in every run, by the arithmetic of the machine.

    k = 2**40           1099511627776
    k >> 9              2147483648
    k + self.n          unknown

A store checks them: a constant that an integer field takes neither as a value nor as a bit pattern
is a mistake, while a number that is known only at run time keeps its low bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from poplite.types import ElementType
from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.typing.kinds import Kind, element_kind

Known = bool | int | float | np.uint64
"""A value that is known, of the Python type of its kind."""


def known(value: arithmetic.Number) -> Known | None:
    """Return a value to keep; None for those that are equal to others, or not to themselves.

    >>> known(3), known(0.0), known(math.nan)
    (3, None, None)
    """
    if isinstance(value, np.float32):
        return None
    if isinstance(value, float) and (value == 0 or math.isnan(value)):
        return None
    return value


def evaluated(name: str, values: Iterable[Known | None]) -> Known | None:
    """Return what a function of `arithmetic` gives; None where an operand is unknown.

    >>> evaluated("add", [2**63 - 1, 1]), evaluated("add", [1, None])
    (-9223372036854775808, None)
    """
    operands = list(values)
    if None in operands:
        return None
    with np.errstate(all="ignore"):
        return known(getattr(arithmetic, name)(*operands))


def met(values: Iterable[Known | None], kind: Kind) -> Known | None:
    """Return the value of a kind that all paths give; None where they differ.

    >>> met([True, 1], Kind.INT), met([1, 2], Kind.INT)
    (1, None)
    """
    first, *others = values
    if first is None or any(other is None or other != first for other in others):
        return None
    return known(arithmetic.cast(first, kind))


def bounds(element: type[ElementType[Any]]) -> tuple[int, int] | None:
    """Return the least and the largest constant that an element takes; None where all are.

    >>> from poplite.types import INT
    >>> bounds(INT)
    (-2147483648, 4294967295)
    """
    if element_kind(element) not in (Kind.INT, Kind.UINT):
        return None
    bits = 8 * element.size_bytes
    return -(1 << bits - 1), (1 << bits) - 1
