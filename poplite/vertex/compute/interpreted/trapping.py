"""The arithmetic of `compute` for programs that floating-point exceptions may stop.

Every operation of `poplite.vertex.compute.arithmetic` is there under its own name, and checks its
operands and its result afterwards::

    divide(as_f32(1), 0)      FLOATING_POINT_DIVIDE_BY_ZERO: 1.0 / 0

`poplite.simulator.codegen.traps` emits the same tests for compiled code; the rules are those of
docs/arithmetic.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from poplite.errors import ErrorCode, FloatingPointTrap
from poplite.machine.floating_point import DIVIDE_BY_ZERO, INVALID, OVERFLOW, TRAPS
from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.arithmetic import Number, as_f32, kind_of
from poplite.vertex.compute.mathematics.functions import KERNELS
from poplite.vertex.compute.typing.kinds import Kind

SYMBOLS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "floor_divide": "//",
    "modulo": "%",
    "power": "**",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
}
"""Operations of two numbers that trap, and their symbols."""

DIVISIONS = frozenset({"divide", "floor_divide"})
"""Operations that divide by zero when their right operand is zero."""

COMPARISONS = frozenset(
    {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "minimum", "maximum"}
)
"""Operations that are invalid when an operand is NaN, whatever the result."""

EXTREMES = frozenset({"larger", "smaller"})
"""Operations in which NaN is no exception, but a double beside a float32 is rounded."""

FUNCTIONS = frozenset({"sqrt", *KERNELS})
"""Functions of one float, or of two."""

FUSED = frozenset({"fma"})
"""The operation of three numbers."""

POLES = frozenset({"log", "log2", "log10", "log1p"})
"""Functions that divide by zero where they are infinite."""

MOST = {**dict.fromkeys(("truncate", "floor", "ceil"), 2.0**63), "as_UNSIGNED_LONGLONG": 2.0**64}
"""Conversions to int, with the first float that is too large: those beyond are invalid."""

_CASTING = COMPARISONS | EXTREMES | FUSED | SYMBOLS.keys() - {"power"}
"""Operations that round a double to float32 if the other operand is a float32."""

_CODES = {
    INVALID: ErrorCode.FLOATING_POINT_INVALID_OPERATION,
    DIVIDE_BY_ZERO: ErrorCode.FLOATING_POINT_DIVIDE_BY_ZERO,
    OVERFLOW: ErrorCode.FLOATING_POINT_OVERFLOW,
}

_FIXES = {
    INVALID: "look where the NaN comes from, or test the operands before",
    DIVIDE_BY_ZERO: "test the divisor before, as in: y / x if x != 0 else 0.0",
    OVERFLOW: "scale the values down, or use a type of larger range",
}


def trap(bits: int, enabled: int, what: str) -> None:
    """Raise `FloatingPointTrap` for the first of the exceptions in `bits` that is enabled, if any.

    >>> trap(OVERFLOW, INVALID, "1e38 * 10.0")
    """
    for bit, code in _CODES.items():
        if bits & enabled & bit:
            raise FloatingPointTrap(f"{code.name}: {what}", code=code, fix=_FIXES[bit])


@cache
def trapping(enabled: int) -> Any:
    """Return what replaces `poplite.vertex.compute.arithmetic` where these bits of a mode trap.

    >>> trapping(DIVIDE_BY_ZERO).divide(1.0, 2)
    0.5
    """
    if not enabled & TRAPS:
        return arithmetic
    names = {*SYMBOLS, *COMPARISONS, *EXTREMES, *FUSED, *FUNCTIONS, *MOST, "as_f32"}
    tested = {name: _tested(name, getattr(arithmetic, name), enabled) for name in names}
    return SimpleNamespace(**{**vars(arithmetic), **tested})


def _tested(name: str, operation: Callable[..., Number], enabled: int) -> Callable[..., Number]:
    def checked(*operands: Number) -> Number:
        result = operation(*operands)
        bits = happened(name, operands, result)
        if bits & enabled:
            trap(bits, enabled, _text(name, operands))
        return result

    return checked


def happened(name: str, operands: tuple[Number, ...], result: Number) -> int:
    """Return the exceptions that an operation of the arithmetic raised, as bits of a mode.

    >>> happened("divide", (as_f32(1), 0), as_f32(math.inf)) == DIVIDE_BY_ZERO
    True
    """
    floats = [float(x) for x in operands if kind_of(x) > Kind.UINT]
    if not floats and name not in DIVISIONS | FUNCTIONS:
        return 0
    if name in MOST:
        return 0 if -(2.0**63) <= floats[0] < MOST[name] else INVALID
    narrowed = 0
    if name == "as_f32" or (name in _CASTING and Kind.F32 in map(kind_of, operands)):
        doubles = [x for x in operands if kind_of(x) is Kind.FLOAT and math.isfinite(x)]
        if any(math.isinf(as_f32(x)) for x in doubles):
            narrowed = OVERFLOW
            floats.append(math.inf)
    if name == "as_f32" or name in EXTREMES:
        return narrowed
    if name in COMPARISONS:
        return narrowed | (INVALID if any(map(math.isnan, floats)) else 0)
    if kind_of(result) <= Kind.UINT:
        return narrowed
    if math.isnan(result):
        return narrowed | INVALID
    if not math.isinf(result) or name == "modulo" or not all(map(math.isfinite, floats)):
        return narrowed
    is_pole = name in POLES or (name in DIVISIONS and operands[1] == 0)
    return DIVIDE_BY_ZERO if is_pole else OVERFLOW


def _text(name: str, operands: tuple[Number, ...]) -> str:
    shown = [str(x) for x in operands]
    if name in SYMBOLS:
        return f"{shown[0]} {SYMBOLS[name]} {shown[1]}"
    if name == "as_f32":
        return f"{shown[0]} as a float32"
    known = {"truncate": "int", "minimum": "min", "maximum": "max"}
    known |= {"smaller": "minimum", "larger": "maximum"}
    return f"{known.get(name, name)}({', '.join(shown)})"
