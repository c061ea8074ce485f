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
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from poplite.types import BOOL, UNSIGNED_LONGLONG, ElementType
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
