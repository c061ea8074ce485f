"""Lanes: up to 64 numbers that `compute` processes together, like the vectors of a processor.

    def compute(self) -> None:
        total = pl.lanes.full(0.0)
        for i in range(0, len(self.x), 64):
            total += self.x.lanes(i) * self.y.lanes(i)
        self.out = total.sum()

A vector has `lanes(first)`: its elements from `first` on, 64 or as many as are left; and
`lanes(first, count)`: exactly `count` elements, which must exist. `set_lanes(first, lanes)` stores
them. Lane j of the values above contributes only to lane j of the sum, and `sum` reduces lanes in a
fixed order: the second half is added to the first, 32, 16, ... 1. So the bits of the result depend
only on the text, for any vector width of the processor.

Absent lanes are ignored::

    lanes     1  2  3  4   added to      5  6       gives   6  8  3  4

Numbers are those of `compute` (docs/arithmetic.md): float32 for elements of FLOAT and HALF, ints of
64 bits, bools. The functions here also work outside of `compute`, for experiments. There, NumPy
numbers are converted to those of `compute`::

    pl.lanes.full(np.float16(3))     lanes of float32
    pl.lanes.full(1.0) + None        an error: not a number
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import ElementTypeError, PopliteError, SizeOverflowError
from poplite.text import clipped, of_type
from poplite.types import ElementType
from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.arithmetic import Kind, Number, element_kind, fits_lanes, lanes_text
from poplite.vertex.compute.mathematics import fused as fused_arrays

# -- numbers outside of compute --------------------------------------------------------------------


def number_of(value: object) -> Number | None:
    """Return a Python or NumPy number as a value of `compute`; None for other values.

    >>> number_of(np.float16(0.5)), number_of(np.int8(3)), number_of(2**64), number_of("3")
    (np.float32(0.5), 3, None, None)
    """
    if isinstance(value, np.float32 | np.uint64):
        return value
    if isinstance(value, np.float16):
        return np.float32(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value) if arithmetic.INT_MIN <= value <= arithmetic.INT_MAX else None
    return float(value) if isinstance(value, float) else None


def no_number(what: str, value: object, asked: str) -> PopliteError:
    """Return the error for a value that is not a number; `asked` is the fix."""
    if isinstance(value, int):
        return SizeOverflowError(
            f"{what} is {clipped(value)}",
            found="ints range from -2**63 to 2**63 - 1",
            fix="use a float, or a smaller int",
        )
    if hasattr(type(value), "element_type"):  # tensors and expressions, of layers not known here
        asked = "use x * y + z in a graph; pl.fma and lanes are for the compute of a vertex"
    return ElementTypeError(f"{what} is {clipped(value)}", found=of_type(value), fix=asked)


# -- lanes -----------------------------------------------------------------------------------------


WIDTH = 64
"""The maximum number of lanes of a value."""

_DTYPES = {
    Kind.BOOL: np.dtype(np.bool_),
    Kind.INT: np.dtype(np.int64),
    Kind.UINT: np.dtype(np.uint64),
    Kind.F32: np.dtype(np.float32),
}

_READ: dict[np.dtype[Any], Callable[[Any], Number]] = {
    np.dtype(np.bool_): bool,
    np.dtype(np.int64): int,
    np.dtype(np.uint64): np.uint64,
    np.dtype(np.float32): np.float32,
}
"""Conversions of array elements to values of the arithmetic."""

OPERATIONS: dict[str, tuple[Callable[..., Number], tuple[Kind, ...]]] = {
    "+": (arithmetic.add, (Kind.INT, Kind.UINT, Kind.F32)),
    "-": (arithmetic.subtract, (Kind.INT, Kind.UINT, Kind.F32)),
    "*": (arithmetic.multiply, (Kind.INT, Kind.UINT, Kind.F32)),
    "/": (arithmetic.divide, (Kind.F32,)),
    "&": (arithmetic.bit_and, (Kind.BOOL, Kind.INT, Kind.UINT)),
    "|": (arithmetic.bit_or, (Kind.BOOL, Kind.INT, Kind.UINT)),
    "^": (arithmetic.bit_xor, (Kind.BOOL, Kind.INT, Kind.UINT)),
}
"""Operators, and the kinds of lanes that they take."""

_AT_ONCE: dict[Callable[..., Number], tuple[Callable[..., Any], str]] = {
    arithmetic.add: (np.add, "iuf"),
    arithmetic.subtract: (np.subtract, "iuf"),
    arithmetic.multiply: (np.multiply, "iuf"),
    arithmetic.divide: (np.divide, "f"),
    arithmetic.negative: (np.negative, "iuf"),
    arithmetic.absolute: (np.abs, "if"),
    arithmetic.fma: (fused_arrays, "f"),
}
"""NumPy's functions with bit-identical results, and the kinds of arrays for which they are."""


class Lanes:
    """Lanes as a Python value, returned by `lanes` of a vector, `full` and `map`.

    >>> import poplite as pl
    >>> pl.lanes.full(2.0) * 3
    <Lanes float32: [6. 6. 6. ... 6. 6. 6.]>
    """

    __slots__ = ("_values",)

    __array_ufunc__ = None  # operators of arrays and NumPy numbers call those of lanes

    def __init__(self, values: npt.NDArray[Any]) -> None:
        is_row = isinstance(values, np.ndarray) and values.ndim == 1 and len(values) <= WIDTH
        self._values = values if is_row and values.dtype in _READ else _as_lanes(values)

    @property
    def count(self) -> int:
        """The number of lanes that are present."""
        return len(self._values)

    def to_numpy(self) -> npt.NDArray[Any]:
        """Return a copy of the numbers in the lanes that are present."""
        return self._values.copy()

    def numbers(self) -> list[Number]:
        """Return the numbers in the lanes that are present, as values of `compute`."""
        read = _READ[self._values.dtype]
        return [read(value) for value in self._values]

    def __add__(self, other: Lanes | Number) -> Lanes:
        return _operation("+", self, other)

    __radd__ = __add__

    def __sub__(self, other: Lanes | Number) -> Lanes:
        return _operation("-", self, other)

    def __rsub__(self, other: Number) -> Lanes:
        return _operation("-", other, self)

    def __mul__(self, other: Lanes | Number) -> Lanes:
        return _operation("*", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Lanes | Number) -> Lanes:
        return _operation("/", self, other)

    def __rtruediv__(self, other: Number) -> Lanes:
        return _operation("/", other, self)

    def __and__(self, other: Lanes | Number) -> Lanes:
        return _operation("&", self, other)

    def __or__(self, other: Lanes | Number) -> Lanes:
        return _operation("|", self, other)

    def __xor__(self, other: Lanes | Number) -> Lanes:
        return _operation("^", self, other)

    def __neg__(self) -> Lanes:
        kind = together("'-'", self)
        if kind is Kind.BOOL:
            raise of_kind("'-'", kind, "use pl.lanes.map(f, a), where f(a) is for one lane")
        return each(arithmetic.negative, self)

    def __abs__(self) -> Lanes:
        kind = together("abs", self)
        if kind is Kind.BOOL:
            raise of_kind("abs", kind, "use & and | for truth values")
        return each(arithmetic.absolute, self)

    def sum(self) -> Any:
        """Return the sum; 0 for no lanes.

        >>> import poplite as pl
        >>> pl.lanes.full(1.5).sum()
        np.float32(96.0)
        """
        return folded("sum", self)

    def prod(self) -> Any:
        """Return the product; 1 for no lanes."""
        return folded("prod", self)

    def min(self) -> Any:
        """Return the smallest number, or NaN if there is one; the type's maximum for no lanes."""
        return folded("min", self)

    def max(self) -> Any:
        """Return the largest number, or NaN if there is one; the type's minimum for no lanes."""
        return folded("max", self)

    def all(self) -> Any:
        """Return whether all truth values are true."""
        return folded("all", self)

    def any(self) -> Any:
        """Return whether any truth value is true."""
        return folded("any", self)

    def __repr__(self) -> str:
        shown = np.array2string(self._values, threshold=8)
        return f"<Lanes {self._values.dtype}: {shown}>"


def full(number: Number) -> Lanes:
    """Return 64 lanes of the same number; a Python float becomes a float32.

    >>> import poplite as pl
    >>> pl.lanes.full(0.1).max()
    np.float32(0.1)
    """
    known = number_of(number)
    if known is None:
        raise no_number("pl.lanes.full: the number", number, "pass a number, such as 0.0")
    kind = arithmetic.kind_of(known)
    kind = Kind.F32 if kind is Kind.FLOAT else kind
    with np.errstate(over="ignore"):
        return Lanes(np.full(WIDTH, arithmetic.cast(known, kind), _DTYPES[kind]))


def map(function: Callable[..., Any], *arguments: Lanes | Number) -> Lanes:  # noqa: A001
    """Call a function of numbers for each lane; arguments that are numbers are the same for all.

    In `compute`, the function is one of `math` or docs/arithmetic.md, a function of the module or a
    static method. The result has the lanes that all arguments have.

    >>> import math
    >>> import poplite as pl
    >>> pl.lanes.map(math.sqrt, pl.lanes.full(9.0)).min()
    np.float32(3.0)
    """
    return each(function, *arguments)


IDENTITIES: dict[str, dict[Kind, Number]] = {
    "sum": {Kind.INT: 0, Kind.UINT: np.uint64(0), Kind.F32: np.float32(0)},
    "prod": {Kind.INT: 1, Kind.UINT: np.uint64(1), Kind.F32: np.float32(1)},
    "min": {
        Kind.INT: arithmetic.INT_MAX,
        Kind.UINT: np.uint64(2**64 - 1),
        Kind.F32: np.float32("inf"),
    },
    "max": {Kind.INT: arithmetic.INT_MIN, Kind.UINT: np.uint64(0), Kind.F32: np.float32("-inf")},
    "all": {Kind.BOOL: True},
    "any": {Kind.BOOL: False},
}
"""The result of a fold of no lanes, by its name and the kind of the lanes."""

JOINS = {
    "sum": "add",
    "prod": "multiply",
    "min": "smaller",
    "max": "larger",
    "all": "bit_and",
    "any": "bit_or",
}
"""The function of two numbers for each fold, by name in `poplite.vertex.compute.arithmetic`."""


# -- checks of lanes outside of `compute`, the same as inside --------------------------------------


def _as_lanes(values: object) -> npt.NDArray[Any]:
    """Return numbers with the types of lanes: ints of 64 bits, float32 for float16."""
    array = np.asarray(values)
    known = (dtype for dtype in _READ if np.can_cast(array.dtype, dtype, "safe"))
    dtype = next(known, None)
    if dtype is None or array.ndim != 1 or len(array) > WIDTH:
        raise ElementTypeError(
            f"pl.lanes.Lanes: {array.dtype} of shape {array.shape} is not valid",
            found="lanes are a 1-D array of at most 64 numbers: float32, ints or truth values",
            fix="pass values[:64].astype(np.float32)",
        )
    return array.astype(dtype)


def kind_of(lanes: Lanes) -> Kind:
    """Return the kind of the numbers in lanes."""
    return next(kind for kind, dtype in _DTYPES.items() if dtype == lanes._values.dtype)


def operand_of_lanes(what: str, argument: object) -> Lanes | Number:
    """Return lanes unchanged and a number as a value of `compute`; reject other values."""
    if isinstance(argument, Lanes):
        return argument
    number = number_of(argument)
    if number is None:
        raise no_number(
            f"{what}: the value combined with lanes", argument, "pass lanes or a number"
        )
    return number


def together(what: str, *arguments: Lanes | Number) -> Kind:
    """Return the common kind of lanes and other lanes or numbers, or reject them."""
    kind = next(kind_of(each) for each in arguments if isinstance(each, Lanes))
    for argument in arguments:
        if isinstance(argument, Lanes):
            found = kind_of(argument)
            is_fit, met = found is kind, lanes_text(found)
        else:
            found = arithmetic.kind_of(argument)
            is_fit, met = fits_lanes(found, kind), str(found)
        if not is_fit:
            raise ElementTypeError(
                f"{what}: {lanes_text(kind)} cannot be combined with {met}",
                found=f"{clipped(argument)}",
                fix="use lanes of one kind, and numbers that can be converted to it",
            )
    return kind


def of_kind(what: str, kind: Kind, fix: str) -> ElementTypeError:
    """Return the error for lanes of a kind that a function does not take."""
    return ElementTypeError(f"{what} is not defined for {lanes_text(kind)}", fix=fix)


def _operation(symbol: str, one: Lanes | Number, other: Lanes | Number) -> Lanes:
    function, kinds = OPERATIONS[symbol]
    one, other = (operand_of_lanes(f"'{symbol}'", each) for each in (one, other))
    kind = together(f"'{symbol}'", one, other)
    if kind not in kinds:
        raise of_kind(
            f"'{symbol}'", kind, "use pl.lanes.map(f, a, b), where f(a, b) is for one lane"
        )
    return joined(function, one, other)


# -- operations, which the interpreted form calls with its arithmetic ------------------------------


def joined(function: Callable[..., Number], one: Lanes | Number, other: Lanes | Number) -> Lanes:
    """Combine lanes with lanes or a number; a lane that only one has is unchanged."""
    if not isinstance(one, Lanes) or not isinstance(other, Lanes):
        return each(function, one, other)
    a, b = one._values, other._values
    both = min(len(a), len(b))
    result = np.array(a if len(a) > both else b)
    result[:both] = each(function, Lanes(a[:both]), Lanes(b[:both]))._values
    return Lanes(result)


def fused(
    function: Callable[..., Number], x: Lanes | Number, y: Lanes | Number, z: Lanes | Number
) -> Lanes:
    """Return `x * y + z`; lanes missing in x or y are those of z, and those missing in z are 0."""
    own = [len(each._values) for each in (x, y) if isinstance(each, Lanes)]
    if not own or not isinstance(z, Lanes):
        return each(function, x, y, z)
    both, third = min(own), z._values
    addend = np.full(max(both, len(third)), -0.0, np.float32)  # -0.0 preserves signs
    addend[: len(third)] = third
    fused_lanes = each(function, x, y, Lanes(addend))
    return Lanes(np.concatenate([fused_lanes._values, addend[both:]]))


def each(
    function: Callable[..., Any],
    *arguments: Lanes | Number,
    kind: Kind | None = None,
    rounded: Callable[[Number], Number] | None = None,
) -> Lanes:
    """Apply a function lane by lane; at least one argument is lanes. The result has this kind.

    `rounded` converts the function's result to float32, and may stop the vertex.
    """
    own = [each._values for each in arguments if isinstance(each, Lanes)]
    count, dtype = min(len(values) for values in own), own[0].dtype
    with np.errstate(all="ignore"):
        quick, kinds = _AT_ONCE.get(function, (None, ""))
        if quick is not None and dtype.kind in kinds:
            columns = [_column(argument, count, dtype) for argument in arguments]
            return Lanes(quick(*columns))
        rows = zip(*(_numbers(argument, count) for argument in arguments), strict=True)
        results = [rounded(function(*row)) if rounded else function(*row) for row in rows]
    if kind is None:
        found = [arithmetic.kind_of(number) for number in results]
        kind = max(found, default=next(k for k, known in _DTYPES.items() if known == dtype))
    kind = Kind.F32 if kind is Kind.FLOAT else kind
    return Lanes(np.array([arithmetic.cast(number, kind) for number in results], _DTYPES[kind]))


def _column(argument: Lanes | Number, count: int, dtype: np.dtype[Any]) -> Any:
    if isinstance(argument, Lanes):
        return argument._values[:count]
    kind = next(kind for kind, found in _DTYPES.items() if found == dtype)
    return np.full(count, arithmetic.cast(argument, kind), dtype)


def _numbers(argument: Lanes | Number, count: int) -> list[Number]:
    return argument.numbers()[:count] if isinstance(argument, Lanes) else [argument] * count


def lanes_dtype(element: type[ElementType[Any]]) -> np.dtype[Any]:
    """Return the NumPy type of lanes for an element type."""
    return _DTYPES[element_kind(element)]


def folded(name: str, lanes: Lanes, join: Callable[..., Number] | None = None) -> Number:
    """Reduce all lanes: combine the second half with the first until one is left."""
    join = join or getattr(arithmetic, JOINS[name])
    half, left = WIDTH // 2, lanes
    while half:
        low, high = left._values[:half], left._values[half:]
        left = joined(join, Lanes(low), Lanes(high))
        half //= 2
    values = left._values
    if len(values):
        return _READ[values.dtype](values[0])
    return IDENTITIES[name][kind_of(left)]
