"""The arithmetic of `compute`, operation by operation, on Python values.

Numbers are of five kinds, each wider than the one before::

    BOOL  <  INT  <  UINT    <  FLOAT  <  F32
    truth    64-bit  64-bit,    Python's  an element of FLOAT, HALF or QUARTER,
    value    wrap    unsigned   double    rounded after every operation

Python numbers are weak: next to an element of a FLOAT field they become float32, so that
`(i + 0.5) * self.step` is one float32 product and not a double.  Where two paths merge, a
variable takes the wider of its two kinds.

    >>> binary_kind("/", Kind.INT, Kind.INT), binary_kind("*", Kind.FLOAT, Kind.F32)
    (Kind.FLOAT, Kind.F32)

The compiled form gets this arithmetic from its types, the interpreted form from this module; both
have bit-identical results.  Values are `bool`, `int` (64 bits), `np.uint64`, `float` (double) and
`np.float32`, one Python type for each `Kind`::

    int op int          64-bit two's complement        add(2**63 - 1, 1) == -2**63
    weak op float32     both float32, then one op      add(0.1, np.float32(1))
    anything / 0        IEEE: inf or nan, no error     divide(1, 0) == inf

Operations on float32 may make NumPy warn; callers run them under
`np.errstate(all="ignore")`, since infinities and NaN are valid results.
For the rules and their origins see docs/arithmetic.md.

Stochastic rounding adds random bits below the last place of the result, and truncates::

    1 + 1/4 of a last place     1 with probability 3/4, the next number with 1/4

The bits depend only on the seed, the number of compute sets that have run, the vertex, the worker
and the number of its earlier stores.  So they do not depend on the distribution of vertices over
threads, and are the same in compiled code (`poplite.simulator.codegen.codecs`).

For programs that floating-point exceptions can stop, every operation has a version with the same
name that then checks its operands and its result::

    divide(as_f32(1), 0)      FLOATING_POINT_DIVIDE_BY_ZERO: 1.0 / 0

`poplite.simulator.codegen.lowered` emits the same tests for compiled code.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from enum import IntEnum
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.errors import ErrorCode, FloatingPointTrap
from poplite.machine.floating_point import (
    DIVIDE_BY_ZERO,
    INVALID,
    OVERFLOW,
    OVERFLOW_MAX,
    OVERFLOW_NAN,
    STOCHASTIC,
    TRAPS,
)
from poplite.types import (
    BOOL,
    FLOAT,
    HALF,
    NAN_CODE,
    UNSIGNED_LONGLONG,
    ElementType,
    QuarterFormat,
    QuarterMetadata,
    encode,
)
from poplite.vertex.compute.mathematics import (
    DOUBLES,
    EVALUATOR,
    KERNELS,
    fused_double,
    fused_single,
)


class Operator(NamedTuple):
    """An operator: its name in `ast`, its symbol, its function here, and the one in `operator`."""

    node: str
    symbol: str
    name: str
    pythons: str


def _operators(rows: str) -> list[Operator]:
    return [Operator(*row.split()) for row in rows.strip().splitlines()]


OPERATORS_OF_FLOATS = _operators(
    """
    Add       +   add            add
    Sub       -   subtract       sub
    Mult      *   multiply       mul
    Div       /   divide         truediv
    FloorDiv  //  floor_divide   floordiv
    Mod       %   modulo         mod
    Pow       **  power          pow
    Lt        <   less           lt
    LtE       <=  less_equal     le
    Gt        >   greater        gt
    GtE       >=  greater_equal  ge
    Eq        ==  equal          eq
    NotEq     !=  not_equal      ne
    """
)
"""Operators of two numbers of any kind."""

OPERATORS = OPERATORS_OF_FLOATS + _operators(
    """
    LShift    <<  left_shift     lshift
    RShift    >>  right_shift    rshift
    BitAnd    &   bit_and        and_
    BitOr     |   bit_or         or_
    BitXor    ^   bit_xor        xor
    USub      -   negative       neg
    UAdd      +   positive       pos
    Invert    ~   invert         invert
    """
)


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
    """Return the name of lanes of a kind, for messages.

    >>> lanes_text(Kind.INT)
    'lanes of ints'
    """
    return f"lanes of {str(kind).removeprefix('a ').removeprefix('an ')}s"


def fits_lanes(number: Kind, lanes: Kind) -> bool:
    """Return whether a number may be combined with lanes of a kind, and is converted to it.

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
    """Return the kind of `left symbol right`, or None if the operation is not allowed.

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
    """Return the kind of `symbol operand`, for `-`, `+`, `~` or `not`, or None if not allowed.

    >>> unary_kind("-", Kind.BOOL), unary_kind("not", Kind.F32)
    (Kind.INT, Kind.BOOL)
    """
    if symbol == "not":
        return Kind.BOOL
    if symbol == "~":
        return operand if operand in (Kind.INT, Kind.UINT) else None
    return max(operand, Kind.INT)


# -- numbers ---------------------------------------------------------------------------------------


Number = bool | int | np.uint64 | float | np.float32
"""A value inside `compute`."""

INT_MIN, INT_MAX = -(2**63), 2**63 - 1

_BINARY = Callable[[Number, Number], Number]
_BY_TYPE: dict[type, Kind] = {
    bool: Kind.BOOL,
    int: Kind.INT,
    np.uint64: Kind.UINT,
    float: Kind.FLOAT,
    np.float32: Kind.F32,
}


_EXACT = 2**53
"""Doubles represent every int up to this one."""

_ONE = np.float32(1)
_rounded: Callable[[Any], np.float32] = np.float32
if type(_ONE * 0.5) is np.float32:  # from NumPy 2 on; takes a quarter of the time
    _rounded = _ONE.__mul__


def as_64(value: int) -> int:
    """Return an int wrapped to 64 bits; optimised for ints that already fit.

    >>> as_64(2**63)
    -9223372036854775808
    """
    return value if INT_MIN <= value <= INT_MAX else wrap(value)


def wrap(value: int, bits: int = 64, *, signed: bool = True) -> int:
    """Return any integer wrapped to two's complement with a number of bits.

    >>> wrap(2**63), wrap(-1, 32, signed=False)
    (-9223372036854775808, 4294967295)
    """
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if signed and low >> (bits - 1) else low


def kind_of(value: Number) -> Kind:
    """Return the kind of a value inside `compute`.

    >>> kind_of(np.float32(1)), kind_of(1)
    (Kind.F32, Kind.INT)
    """
    return _BY_TYPE[type(value)]


def cast(value: Number, kind: Kind) -> Number:
    """Convert a value to a kind that is at least as wide, with one rounding; ints of any length.

    >>> cast(3, Kind.F32)
    np.float32(3.0)
    """
    return _CASTS[kind](value)


def as_int(value: Number) -> int:
    """Return a truth value or an unsigned int as an int of 64 bits.

    >>> as_int(True), as_int(np.uint64(2**64 - 1))
    (1, -1)
    """
    return wrap(int(value))


def as_unsigned(value: Number) -> np.uint64:
    """Return an int, or a truth value, as an unsigned int of 64 bits.

    >>> as_unsigned(-1)
    np.uint64(18446744073709551615)
    """
    return np.uint64(wrap(int(value), signed=False))


def as_f32(value: Number) -> np.float32:
    """Round a value to float32 once.

    An int is rounded directly, since conversion through a double could round twice.

    >>> as_f32(0.1)
    np.float32(0.1)
    """
    cls = type(value)
    if cls is np.float32:
        return value  # type: ignore[return-value]
    if cls is float or (cls is int and -_EXACT <= value <= _EXACT):
        return _rounded(value)
    return np.float32(np.int64(value) if isinstance(value, int) else value)


_CASTS: dict[Kind, Callable[[Number], Number]] = {
    Kind.BOOL: bool,
    Kind.INT: as_int,
    Kind.UINT: as_unsigned,
    Kind.FLOAT: float,
    Kind.F32: as_f32,
}


def _binary(on_ints: Callable[[int, int], int], on_floats: Callable[[Any, Any], Any]) -> _BINARY:
    """Return an operation that first casts both operands to the wider kind.

    `on_ints` works on unlimited ints, `on_floats` on two NumPy floats of one type.
    """

    def operation(left: Number, right: Number) -> Number:
        kind = max(kind_of(left), kind_of(right))
        if kind is Kind.F32:
            return np.float32(on_floats(as_f32(left), as_f32(right)))
        if kind is Kind.FLOAT:
            return float(on_floats(np.float64(left), np.float64(right)))
        if kind is Kind.UINT:
            return as_unsigned(on_ints(int(as_unsigned(left)), int(as_unsigned(right))))
        return as_64(on_ints(int(left), int(right)))

    return operation


def _floor_divide(left: int, right: int) -> int:
    overflows = left == INT_MIN and right == -1
    return 0 if right == 0 or overflows else left // right


def _modulo(left: int, right: int) -> int:
    return left % right if right else 0


add = _binary(operator.add, operator.add)
subtract = _binary(operator.sub, operator.sub)
multiply = _binary(operator.mul, operator.mul)
floor_divide = _binary(_floor_divide, operator.floordiv)
modulo = _binary(_modulo, operator.mod)


def divide(left: Number, right: Number) -> Number:
    """Divide as floats: two ints give a double, anything with float32 a float32.

    >>> divide(1, 4)
    0.25
    """
    if kind_of(left) is Kind.F32 or kind_of(right) is Kind.F32:
        return np.float32(as_f32(left) / as_f32(right))
    return float(np.float64(left) / np.float64(right))


def power(base: Number, exponent: int) -> Number:
    """Raise to a constant, non-negative exponent by repeated squaring, lowest bit first.

    >>> power(np.float32(1.5), 2), power(3, 3)
    (np.float32(2.25), 27)
    """
    square = cast(base, max(kind_of(base), Kind.INT))
    result = cast(1, kind_of(square))
    while exponent:
        if exponent & 1:
            result = multiply(result, square)
        exponent >>= 1
        square = multiply(square, square)
    return result


def _bitwise(on_ints: Callable[[int, int], int]) -> _BINARY:
    def operation(left: Number, right: Number) -> Number:
        kind = max(kind_of(left), kind_of(right))
        return cast(on_ints(int(left), int(right)), kind)

    return operation


bit_and = _bitwise(operator.and_)
bit_or = _bitwise(operator.or_)
bit_xor = _bitwise(operator.xor)


def left_shift(value: Number, count: Number) -> Number:
    """Return `value << count` in 64 bits.

    >>> left_shift(1, 63) == INT_MIN
    True
    """
    return cast(int(value) << int(count), max(kind_of(value), Kind.INT))


def right_shift(value: Number, count: Number) -> Number:
    """Return `value >> count`; the sign of an int is shifted in.

    >>> right_shift(-5, 1)
    -3
    """
    return cast(int(value) >> int(count), max(kind_of(value), Kind.INT))


def _comparison(test: Callable[[Any, Any], Any]) -> Callable[[Number, Number], bool]:
    def operation(left: Number, right: Number) -> bool:
        kind = max(kind_of(left), kind_of(right))
        if kind <= Kind.UINT:
            return bool(test(int(left), int(right)))
        return bool(test(cast(left, kind), cast(right, kind)))

    return operation


less = _comparison(operator.lt)
less_equal = _comparison(operator.le)
greater = _comparison(operator.gt)
greater_equal = _comparison(operator.ge)
equal = _comparison(operator.eq)
not_equal = _comparison(operator.ne)


def negative(value: Number) -> Number:
    """Return `-value`; the smallest int is its own negative.

    >>> negative(True), negative(INT_MIN) == INT_MIN
    (-1, True)
    """
    kind = kind_of(value)
    return -value if kind > Kind.UINT else cast(-int(value), max(kind, Kind.INT))


def positive(value: Number) -> Number:
    """Return `+value`; a truth value becomes an int.

    >>> positive(True)
    1
    """
    return int(value) if isinstance(value, bool) else value


def invert(value: Number) -> Number:
    """Return `~value` of an int.

    >>> invert(5)
    -6
    """
    return cast(~int(value), kind_of(value))


def absolute(value: Number) -> Number:
    """Return `abs(value)`; the smallest int is its own absolute value.

    >>> absolute(np.float32(-2))
    np.float32(2.0)
    """
    if kind_of(value) <= Kind.UINT:
        return cast(abs(int(value)), max(kind_of(value), Kind.INT))
    return np.float32(abs(value)) if isinstance(value, np.float32) else abs(float(value))


def _extreme(better: Callable[[Number, Number], bool]) -> Callable[..., Number]:
    def operation(*values: Number) -> Number:
        kind = max(Kind.INT, *map(kind_of, values))
        best, *others = (cast(value, kind) for value in values)
        for value in others:
            if better(value, best):
                best = value
        return best

    return operation


minimum = _extreme(less)
maximum = _extreme(greater)


def _whole(rounding: Callable[[float], int]) -> Callable[[Number], int]:
    """Return a conversion to int that saturates at 64 bits; NaN gives 0."""

    def operation(value: Number) -> int:
        if kind_of(value) <= Kind.UINT:
            return as_int(value)
        double = float(value)
        if math.isnan(double):
            return 0
        if math.isinf(double):
            return INT_MAX if double > 0 else INT_MIN
        return max(INT_MIN, min(rounding(double), INT_MAX))

    return operation


truncate = _whole(math.trunc)
floor = _whole(math.floor)
ceil = _whole(math.ceil)


def as_float(value: Number) -> Number:
    """Return `float(value)`; a float32 is not converted to double.

    >>> as_float(2), as_float(np.float32(0.5))
    (2.0, np.float32(0.5))
    """
    return value if kind_of(value) is Kind.F32 else float(value)


def as_bool(value: Number) -> bool:
    """Return whether a value differs from zero; NaN does.

    >>> as_bool(0.5), as_bool(0)
    (True, False)
    """
    return bool(value)


def _function(
    exact: Callable[[float], float], undefined: Callable[[float], float]
) -> Callable[[Number], Number]:
    """Return a function of one float, computed in double and rounded once for float32.

    If `exact` raises, where C returns inf or nan, the result is that of `undefined`.
    """

    def operation(value: Number) -> Number:
        try:
            result = exact(float(value))
        except (ValueError, OverflowError):
            result = undefined(float(value))
        return np.float32(result) if kind_of(value) is Kind.F32 else result

    return operation


sqrt = _function(math.sqrt, lambda value: math.nan)
fabs = _function(math.fabs, lambda value: math.nan)


# -- functions of `math` ---------------------------------------------------------------------------


def _of_math(name: str) -> Callable[..., Number]:
    """Return a function of one or two numbers."""
    single, double = KERNELS[name], DOUBLES[name]

    def operation(*values: Number) -> Number:
        if max(map(kind_of, values)) is Kind.F32:
            result: np.float32 = single(EVALUATOR, *map(as_f32, values))
            return result
        return float(double(EVALUATOR, *(np.float64(float(value)) for value in values)))

    return operation


acos, asin, atan, atan2 = (_of_math(name) for name in ("acos", "asin", "atan", "atan2"))
cbrt, erf, erfc, pow = (_of_math(name) for name in ("cbrt", "erf", "erfc", "pow"))  # noqa: A001
cos, sin, tan = (_of_math(name) for name in ("cos", "sin", "tan"))
cosh, sinh, tanh = (_of_math(name) for name in ("cosh", "sinh", "tanh"))
exp, exp2, expm1 = (_of_math(name) for name in ("exp", "exp2", "expm1"))
log, log10, log1p, log2 = (_of_math(name) for name in ("log", "log10", "log1p", "log2"))


def fma(x: Number, y: Number, z: Number) -> Number:
    """Return `x * y + z`, rounded once.

    >>> fma(np.float32(3), 0.5, 1)
    np.float32(2.5)
    """
    if not type(x) is type(y) is type(z) is np.float32:
        if np.float32 not in (type(x), type(y), type(z)):
            return fused_double(float(x), float(y), float(z))
        x, y, z = as_f32(x), as_f32(y), as_f32(z)
    return _rounded(fused_single(float(x), float(y), float(z)))


# -- rounding to integral floats, and the larger of two --------------------------------------------


def _to_whole(function: Callable[[Any], Any]) -> Callable[[Number], Number]:
    """Return a rounding function whose result has the type of its argument."""

    def operation(value: Number) -> Number:
        if kind_of(value) is Kind.F32:
            return np.float32(function(value))
        return float(function(float(value)))

    return operation


round_down, round_up = _to_whole(np.floor), _to_whole(np.ceil)
round_to_zero, round_to_even = _to_whole(np.trunc), _to_whole(np.rint)


def larger(a: Number, b: Number) -> Number:
    """Return the larger of two numbers; NaN is the largest.

    >>> larger(1.0, math.nan), larger(2, 1)
    (nan, 2)
    """
    kind = max(Kind.INT, kind_of(a), kind_of(b))
    one, other = cast(a, kind), cast(b, kind)
    return one if greater(one, other) or not_equal(one, one) else other


def smaller(a: Number, b: Number) -> Number:
    """Return the smaller of two numbers; NaN is the smallest.

    >>> smaller(1.0, math.nan), smaller(2, 1)
    (nan, 1)
    """
    kind = max(Kind.INT, kind_of(a), kind_of(b))
    one, other = cast(a, kind), cast(b, kind)
    return one if less(one, other) or not_equal(one, one) else other


# -- the value of an element after a store ---------------------------------------------------------


def _stored(bits: int, *, signed: bool) -> Callable[[Number], int]:
    return lambda value: wrap(int(value), bits, signed=signed)


as_CHAR = as_SIGNED_CHAR = _stored(8, signed=True)
as_UNSIGNED_CHAR = _stored(8, signed=False)
as_SHORT, as_UNSIGNED_SHORT = _stored(16, signed=True), _stored(16, signed=False)
as_INT, as_UNSIGNED_INT = _stored(32, signed=True), _stored(32, signed=False)
as_LONGLONG, as_BOOL = as_int, as_bool


def as_UNSIGNED_LONGLONG(value: Number) -> np.uint64:  # noqa: N802  (the name of the type)
    """Return an int modulo 2**64; a float is truncated and limited to 2**64 - 1.

    >>> as_UNSIGNED_LONGLONG(-1.5), as_UNSIGNED_LONGLONG(2.0**63)
    (np.uint64(18446744073709551615), np.uint64(9223372036854775808))
    """
    if kind_of(value) <= Kind.UINT or not value >= 2.0**63:
        return as_unsigned(truncate(value))
    return np.uint64(min(int(value), 2**64 - 1) if math.isfinite(value) else 2**64 - 1)


def as_FLOAT(value: Number) -> np.float32:
    """Return a number rounded to float32.

    >>> as_FLOAT(0.5)
    np.float32(0.5)
    """
    return as_f32(value)


def as_HALF(value: Number) -> np.float32:
    """Return a number rounded to float32, then to half, as a float32.

    >>> as_HALF(2049.0)
    np.float32(2048.0)
    """
    return np.float32(np.float16(as_f32(value)))


# -- bits of floats --------------------------------------------------------------------------------


def float_bits(value: Number) -> int:
    """Return the bits of a number as float32; all NaNs have the same bits.

    >>> hex(float_bits(-2))
    '0xc0000000'
    """
    x = as_f32(value)
    return int(x.view(np.uint32)) if x == x else 0x7FC00000


def half_bits(value: Number) -> int:
    """Return the bits of a number as half; all NaNs have the same bits.

    >>> hex(half_bits(-2))
    '0xc000'
    """
    x = np.float16(as_f32(value))
    return int(x.view(np.uint16)) if x == x else 0x7E00


def float_from_bits(bits: Number) -> np.float32:
    """Return the float32 of the lowest 32 bits.

    >>> float_from_bits(0xC0000000)
    np.float32(-2.0)
    """
    return np.uint32(int(bits) & 0xFFFFFFFF).view(np.float32)


def half_from_bits(bits: Number) -> np.float32:
    """Return the half of the lowest 16 bits, as a float32; all NaNs become the same.

    >>> half_from_bits(0xC000)
    np.float32(-2.0)
    """
    x = np.float32(np.uint16(int(bits) & 0xFFFF).view(np.float16))
    return x if x == x else np.float32(np.nan)


def indices(*bounds: int) -> range:
    """Return `range(*bounds)` as 64-bit arithmetic counts it.

    There are no indices when `stop - start` overflows 64 bits in the direction away from the step.

    >>> indices(2, 5), len(indices(INT_MIN, INT_MAX))
    (range(2, 5), 0)
    """
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    distance = wrap(stop - start)
    return range(start, start + distance, step)


# -- traps -----------------------------------------------------------------------------------------


SYMBOLS = {row.name: row.symbol for row in OPERATORS_OF_FLOATS}
"""Operations of two numbers that trap, and their symbols."""

DIVISIONS = frozenset({"divide", "floor_divide"})
"""Operations that divide by zero when their right operand is zero."""

COMPARISONS = frozenset(
    {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "minimum", "maximum"}
)
"""Operations that are invalid if an operand is NaN, with any result."""

EXTREMES = frozenset({"larger", "smaller"})
"""Operations in which NaN is not an exception, but a double is rounded next to a float32."""

FUNCTIONS = frozenset({"sqrt", *KERNELS})
"""Functions of one or two floats."""

FUSED = frozenset({"fma"})
"""The operation of three numbers."""

POLES = frozenset({"log", "log2", "log10", "log1p"})
"""Functions that divide by zero where they are infinite."""

MOST = {**dict.fromkeys(("truncate", "floor", "ceil"), 2.0**63), "as_UNSIGNED_LONGLONG": 2.0**64}
"""Conversions to int, with the smallest float that is too large to be valid."""

_CASTING = COMPARISONS | EXTREMES | FUSED | SYMBOLS.keys() - {"power"}
"""Operations that round a double to float32 if the other operand is a float32."""

_CODES = {
    INVALID: ErrorCode.FLOATING_POINT_INVALID_OPERATION,
    DIVIDE_BY_ZERO: ErrorCode.FLOATING_POINT_DIVIDE_BY_ZERO,
    OVERFLOW: ErrorCode.FLOATING_POINT_OVERFLOW,
}

_FIXES = {
    INVALID: "find where the NaN comes from, or test the operands first",
    DIVIDE_BY_ZERO: "test the divisor first, for instance: y / x if x != 0 else 0.0",
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
    """Return the replacement of `poplite.vertex.compute.arithmetic` if these bits of a mode trap.

    >>> trapping(DIVIDE_BY_ZERO).divide(1.0, 2)
    0.5
    """
    if not enabled & TRAPS:
        return sys.modules[__name__]
    names = {*SYMBOLS, *COMPARISONS, *EXTREMES, *FUSED, *FUNCTIONS, *MOST, "as_f32"}
    tested = {name: _tested(name, globals()[name], enabled) for name in names}
    return SimpleNamespace(**{**globals(), **tested})


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


# -- stores ----------------------------------------------------------------------------------------


GOLDEN = 0x9E37_79B9_7F4A_7C15
MIX = ((30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB), (31, 1))
"""Shifts and factors of splitmix64 (Steele, Lea, Flood, 2014), which maps numbers to keys."""

SMALL_GOLDEN = 0x9E37_79B9
SMALL_MIX = ((16, 0x7FEB_352D), (15, 0x846C_A68B), (16, 1))
"""The same for 32 bits (Wellons, "Hash Prospector", 2018), which maps a key to random bits."""

WORKERS = 64
"""A number above the maximum number of workers of a tile; a vertex has one key for each worker."""

HALF_LARGEST, HALF_INFINITY, HALF_NAN, QUIET_BIT = 0x7BFF, 0x7C00, 0x7E00, 0x200
HALF_BIAS, HALF_MANTISSA = 15, 10


def mixed(value: int) -> int:
    """Return 64 pseudo-random bits for a number.

    >>> hex(mixed(GOLDEN))
    '0xe220a8397b1dcdaf'
    """
    value %= 1 << 64
    for shift, factor in MIX:
        value = (value ^ value >> shift) * factor % (1 << 64)
    return value


def vertex_key(seed: int, executions: int, vertex: int, worker: int) -> int:
    """Return the key of the random bits of one worker.

    `executions` is the number of compute sets that have run, `vertex` the position in its compute
    set; `worker` is 0 for a vertex that runs on one worker.
    """
    launch = mixed(seed + executions * GOLDEN)
    return mixed(launch + (vertex * WORKERS + worker) * GOLDEN)


def random_bits(key: int, count: int) -> int:
    """Return 32 random bits for one store; `count` is the number of earlier ones of the worker."""
    low, high = key % (1 << 32), key >> 32
    bits = (low + count * SMALL_GOLDEN) % (1 << 32)
    for number, (shift, factor) in enumerate(SMALL_MIX):
        bits = (bits ^ bits >> shift) * factor % (1 << 32)
        if number == 0:
            bits ^= high
    return bits


class Stores:
    """Stores of one worker to FLOAT, HALF and QUARTER elements.

    `mode` is a value of `poplite.machine.floating_point`, `key` is the key of the worker.
    """

    def __init__(self, mode: int, key: int) -> None:
        self._mode, self._key, self._count = mode, key, 0

    def store(
        self,
        element: type[ElementType[Any]],
        memory: npt.NDArray[Any],
        index: int,
        value: Number,
        metadata: QuarterMetadata | None,
    ) -> None:
        """Write a value as an element of floating point; `index` is in range.

        Raises `FloatingPointTrap` if the value is too large and overflow traps.
        """
        single: np.float32 = trapping(self._mode).as_f32(value)
        if element is FLOAT:
            memory[index] = single
            return
        bits = 0
        if self._mode & STOCHASTIC:
            bits = random_bits(self._key, self._count)
            self._count += 1
        if element is HALF:
            code, overflows = self._half(single, bits)
        else:
            assert metadata is not None
            code, overflows = self._quarter(single, bits, metadata)
        if overflows:
            what = OVERFLOW | (INVALID if self._mode & OVERFLOW_NAN else 0)
            trap(what, self._mode, f"{single!s} as {element!r}")
        memory.view(np.uint16 if element is HALF else np.uint8)[index] = code

    def _half(self, value: np.float32, bits: int) -> tuple[int, bool]:
        if not np.isfinite(value):
            quiet = QUIET_BIT if np.isnan(value) else 0
            return int(np.float16(value).view(np.uint16)) | quiet, False
        sign = int(value.view(np.uint32)) >> 16 & 0x8000
        if self._mode & STOCHASTIC:
            code = _cut(abs(value), HALF_MANTISSA, HALF_BIAS, bits)
        else:
            code = int(np.float16(abs(value)).view(np.uint16))
        if code < HALF_INFINITY:
            return sign | code, False
        large = HALF_INFINITY
        if self._mode & (OVERFLOW_NAN | OVERFLOW_MAX):
            large = HALF_NAN if self._mode & OVERFLOW_NAN else HALF_LARGEST
        return sign | large, True

    def _quarter(self, value: np.float32, bits: int, metadata: QuarterMetadata) -> tuple[int, bool]:
        if np.isnan(value):
            return NAN_CODE, False
        scaled = np.ldexp(value, np.int32(-metadata.scale))
        if self._mode & STOCHASTIC:
            format: QuarterFormat = metadata.format
            code = _cut(abs(scaled), format.mantissa_bits, format.bias, bits)
        else:
            code = int(encode(np.array([abs(value)]), metadata)[0])
        overflows = code > 0x7F
        if overflows:
            if not self._mode & OVERFLOW_MAX:
                return NAN_CODE, True
            code = 0x7F
        return code | (0x80 if code and value < 0 else 0), overflows


def _cut(value: np.float32, mantissa: int, bias: int, bits: int) -> int:
    """Return exponent and mantissa of a smaller float, rounded stochastically.

    `value` is finite and not negative; `mantissa` is its width in bits; the lowest of the 32 random
    `bits` are used.
    """
    magnitude = int(value.view(np.uint32))
    drop, least = 23 - mantissa, 128 - bias
    exponent = magnitude >> 23
    if exponent >= least:
        cut = (magnitude + bits % (1 << drop)) >> drop
        return cut - (127 - bias << mantissa)
    # Below the normal range all numbers are multiples of one step.
    shift = drop + least - exponent
    significand = (magnitude & 0x7F_FFFF | 0x80_0000) >> max(0, shift - 31)
    shift = min(shift, 31)
    return (significand + bits % (1 << shift)) >> shift
