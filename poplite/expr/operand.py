"""Operands of formulas: Python's operators on tensors and expressions.

For example:

    x + 1        an expression: nothing is computed or stored until `ops.map` records it
    x < y        an expression, too; `==` of two tensors compares views, `ops.equal` elements
    x += 1       refused: use `ops.assign(x, x + 1)`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from numbers import Number
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from poplite.errors import ElementTypeError, ListsPresent, refuse_methods
from poplite.expr.numpy_names import refused_of_numpy
from poplite.poplar.callable_values import CalledInt
from poplite.public import checked_methods
from poplite.text import clipped, clipped_text, of_type
from poplite.types import HoldsNoValues

if TYPE_CHECKING:
    from poplite.expr.tree import Expr
    from poplite.types import ElementType, ElementTypeLike

    Dims = int | Sequence[int] | None
    Formula = "Operand | int | float"


_OF_SHAPE = ("shape", "ndim", "size")
"""NumPy functions that do not need values."""


def _of(name: str, *operands: object) -> Expr:
    from poplite.expr.build import apply  # imported late: it creates nodes, which are operands

    return apply(name, *operands)


def _operations() -> Any:
    return import_module("poplite.ops")  # imported late: its functions take operands


def _reduced(how: str, x: Operand, dims: Dims, axis: Dims, keepdims: bool) -> Expr:
    given = {} if axis is None else {"axis": axis}
    given |= {} if dims is None else {"dims": dims}
    reduced: Expr = getattr(_operations(), how)(x, keepdims=keepdims, **given)
    return reduced


@checked_methods("ops.Operand x")
class Operand(metaclass=ListsPresent):
    """A tensor, or an expression of tensors.

    Operators return expressions (`poplite.ops` has the operations without an operator). They behave
    as in NumPy: shapes are broadcast, `//` and `%` round down, `>>` preserves the sign. Python
    numbers take the element type of the other operand, which they must fit.
    """

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""
        raise NotImplementedError

    element_type: type[ElementType[Any]]

    @property
    def rank(self) -> CalledInt:
        """Number of dimensions."""
        return CalledInt(len(self.shape))

    @property
    def num_elements(self) -> CalledInt:
        """Number of elements, including repetitions."""
        return CalledInt(math.prod(self.shape))

    def _read_as(self, others: Iterable[object] = ()) -> Operand:
        """Return the tensor to read for this operand, usually the operand itself."""
        return self

    def _is_same(self, other: Operand) -> bool | None:
        """Return whether it is the same as another operand; None if `ops.equal` must be used."""
        return True if other is self else None

    def _in_formula(self) -> str:
        """Return its text in formulas."""
        return getattr(self, "name", "") or "tensor"

    def _as_written(self) -> str:
        """Return the view as a program would write it; "" where its formula says that."""
        return ""

    _kind = "an expression"
    """Its text in messages."""

    if not TYPE_CHECKING:  # otherwise a type checker would accept these
        __hash__ = object.__hash__

        def __eq__(self, other: object) -> Equality:
            return self._compared("==", other)

        def __ne__(self, other: object) -> Equality:
            found = self._compared("!=", other)
            return found if found is NotImplemented else Equality(not found)

    def _compared(self, symbol: str, other: object) -> Equality:
        """Return whether it is the same as another object; raise if that contains numbers."""
        same = self._is_same(other) if isinstance(other, Operand) else None
        if same is not None:
            return Equality(same)
        if isinstance(other, Operand) or is_value(other):
            raise not_compared(symbol, self._kind, repr(self), other, "ops")
        # Only an object with its own `==`, such as a mock, may be equal to a tensor.
        is_plain = isinstance(other, str | bytes | type) or type(other).__eq__ is object.__eq__
        return Equality(False) if is_plain or other is None else NotImplemented

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: object, **_: object) -> object:
        """Accept operators with NumPy numbers, and refuse NumPy functions."""
        from poplite.expr.build import of_numpy

        return of_numpy(self, ufunc.__name__, method, inputs)

    def __array_function__(
        self, function: Any, _: object, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> object:
        """Accept NumPy's functions about shapes, and refuse all others."""
        if function.__name__ in _OF_SHAPE:
            return function._implementation(*arguments, **options)
        module = function.__module__.removeprefix("numpy").removeprefix(".")
        raise refused_of_numpy(self, f"{module}.{function.__name__}".removeprefix("."))

    # C++ spelling

    def elementType(self) -> type[ElementType[Any]]:
        """Return `element_type`."""
        return self.element_type

    def numElements(self) -> int:
        """Return `num_elements`."""
        return self.num_elements

    # NumPy's names

    @property
    def ndim(self) -> CalledInt:
        """Number of dimensions, as `rank`."""
        return self.rank

    @property
    def size(self) -> CalledInt:
        """Number of elements, as `num_elements`."""
        return self.num_elements

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the elements."""
        return self.element_type.dtype

    def sum(self, dims: Dims = None, *, keepdims: bool = False, axis: Dims = None) -> Expr:
        """Return the sum along dimensions, all by default, as `ops.sum` does."""
        return _reduced("sum", self, dims, axis, keepdims)

    def mean(self, dims: Dims = None, *, keepdims: bool = False, axis: Dims = None) -> Expr:
        """Return the mean along dimensions, all by default, as `ops.mean` does."""
        return _reduced("mean", self, dims, axis, keepdims)

    def max(self, dims: Dims = None, *, keepdims: bool = False, axis: Dims = None) -> Expr:
        """Return the largest element along dimensions, all by default, as `ops.max` does."""
        return _reduced("max", self, dims, axis, keepdims)

    def min(self, dims: Dims = None, *, keepdims: bool = False, axis: Dims = None) -> Expr:
        """Return the smallest element along dimensions, all by default, as `ops.min` does."""
        return _reduced("min", self, dims, axis, keepdims)

    def astype(self, element_type: ElementTypeLike) -> Expr:
        """Return the elements in another type, as `ops.cast` does."""
        cast: Expr = _operations().cast(self, element_type)
        return cast

    def __add__(self, other: Operand | float) -> Expr:
        return _of("add", self, other)

    def __radd__(self, other: float) -> Expr:
        return _of("add", other, self)

    def __sub__(self, other: Operand | float) -> Expr:
        return _of("subtract", self, other)

    def __rsub__(self, other: float) -> Expr:
        return _of("subtract", other, self)

    def __mul__(self, other: Operand | float) -> Expr:
        return _of("multiply", self, other)

    def __rmul__(self, other: float) -> Expr:
        return _of("multiply", other, self)

    def __truediv__(self, other: Operand | float) -> Expr:
        return _of("divide", self, other)

    def __rtruediv__(self, other: float) -> Expr:
        return _of("divide", other, self)

    def __floordiv__(self, other: Operand | float) -> Expr:
        return _of("floor_divide", self, other)

    def __rfloordiv__(self, other: float) -> Expr:
        return _of("floor_divide", other, self)

    def __mod__(self, other: Operand | float) -> Expr:
        return _of("remainder", self, other)

    def __rmod__(self, other: float) -> Expr:
        return _of("remainder", other, self)

    def __pow__(self, other: Operand | float) -> Expr:
        return _of("power", self, other)

    def __rpow__(self, other: float) -> Expr:
        return _of("power", other, self)

    def __matmul__(self, other: Operand) -> Expr:
        from poplite.expr.build import contraction

        return contraction(self, other)

    def __rmatmul__(self, other: object) -> Expr:
        from poplite.expr.build import contraction

        return contraction(other, self)

    def __lshift__(self, other: Operand | int) -> Expr:
        return _of("shift_left", self, other)

    def __rlshift__(self, other: int) -> Expr:
        return _of("shift_left", other, self)

    def __rshift__(self, other: Operand | int) -> Expr:
        return _of("shift_right", self, other)

    def __rrshift__(self, other: int) -> Expr:
        return _of("shift_right", other, self)

    def __and__(self, other: Operand | int) -> Expr:
        return _of("bitwise_and", self, other)

    def __rand__(self, other: int) -> Expr:
        return _of("bitwise_and", other, self)

    def __or__(self, other: Operand | int) -> Expr:
        return _of("bitwise_or", self, other)

    def __ror__(self, other: int) -> Expr:
        return _of("bitwise_or", other, self)

    def __xor__(self, other: Operand | int) -> Expr:
        return _of("bitwise_xor", self, other)

    def __rxor__(self, other: int) -> Expr:
        return _of("bitwise_xor", other, self)

    def __lt__(self, other: Operand | float) -> Expr:
        return _of("less", self, other)

    def __le__(self, other: Operand | float) -> Expr:
        return _of("less_equal", self, other)

    def __gt__(self, other: Operand | float) -> Expr:
        return _of("greater", self, other)

    def __ge__(self, other: Operand | float) -> Expr:
        return _of("greater_equal", self, other)

    def __neg__(self) -> Expr:
        return _of("negative", self)

    def __invert__(self) -> Expr:
        return _of("bitwise_not", self)

    def __abs__(self) -> Expr:
        return _of("absolute", self)


def _refusing_in_place(symbol: str) -> Callable[[Operand, object], NoReturn]:
    def method(self: Operand, other: object) -> NoReturn:
        from poplite.expr.build import in_place

        raise in_place(self, symbol, other)

    return method


# Not written in the class body, so that type checkers refuse these.
for _method, _symbol in {
    **{"add": "+", "sub": "-", "mul": "*", "matmul": "@", "truediv": "/", "floordiv": "//"},
    **{"mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^"},
}.items():
    setattr(Operand, f"__i{_method}__", _refusing_in_place(_symbol))


def as_read(value: Any, *others: object) -> Any:
    """Return an argument as it is read: a loop's index as its tensor, everything else unchanged."""
    return value._read_as(others) if isinstance(value, Operand) else value


# -- equality of operands --------------------------------------------------------------------------
# `==` returns a special truth value, or raises an error.
#
#     a == b       whether two tensors are the same elements of the same variables
#     x == 2       refused: no tensor is a number, and `ops.equal(x, 2)` compares elements
#
# The truth value is for Python (`if`, `assert`, `in`, `not`); every operation refuses it, since
# `ops.equal(a, b)` is meant there. Named tensors have it too, with `ng.equal(a, b)`.


_NAMES = {"==": "equal", "!=": "not_equal"}


def equal_instead(module: str = "ops") -> str:
    """Return the remedy for comparing elements."""
    return f"compare elements with {module}.equal(a, b) or {module}.not_equal(a, b)"


class Equality(HoldsNoValues):
    """Whether two tensors view the same elements: the result of `a == b` for tensors.

    It works in `if`, `assert`, `in`, `not`, `and` and `or`, and `bool(...)` converts it to a Python
    bool. Operations refuse it.
    """

    __slots__ = ("_truth", "module")

    def __init__(self, truth: bool, module: str = "ops") -> None:
        self._truth = truth
        self.module: str = module
        """The module whose `equal` compares elements of such tensors."""

    def __bool__(self) -> bool:
        return self._truth

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, bool | np.bool_ | Equality):
            return NotImplemented
        return self._truth is bool(other)

    def __hash__(self) -> int:
        return hash(self._truth)

    def __repr__(self) -> str:
        return f"<same elements: {self._truth} (not {self.module}.equal)>"

    def refused(self, what: str) -> ElementTypeError:
        """Return the error for passing it as a value to the call `what`."""
        return ElementTypeError(
            f"{what}: '==' of two tensors compares which elements they view, not their values",
            found=f"{bool(self)}, decided while the graph is built",
            fix=equal_instead(self.module),
        )

    def __reduce__(self) -> tuple[type[Equality], tuple[bool, str]]:
        return Equality, (self._truth, self.module)

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise self.refused("np.asarray")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **_: object) -> bool:
        """Compare it with a NumPy truth value on the left; refuse everything else."""
        if method == "__call__" and ufunc in (np.equal, np.not_equal):
            other = next(each for each in inputs if each is not self)
            # NumPy passes its numbers as arrays of rank 0.
            same = self.__eq__(other[()] if isinstance(other, np.ndarray) else other)
            if same is not NotImplemented:
                return same is (ufunc is np.equal)
        raise self.refused(f"np.{ufunc.__name__}")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("__"):  # copy and pickle look up some
                raise AttributeError(name, name=name)
            text = f"the '==' of two tensors has no {name!r}: {equal_instead(self.module)}"
            raise AttributeError(text, name=name, obj=self)


for _symbol, _methods in {
    "&": "and rand",
    "|": "or ror",
    "^": "xor rxor",
    "~": "invert",
    "+": "add radd",
    "-": "sub rsub neg",
    "*": "mul rmul",
    "/": "truediv rtruediv",
    "//": "floordiv rfloordiv",
    "%": "mod rmod",
    "**": "pow rpow",
    "@": "matmul rmatmul",
    "<<": "lshift rlshift",
    ">>": "rshift rrshift",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "int": "int",
    "float": "float",
    "index": "index",
    "divmod": "divmod rdivmod",
    "abs": "abs",
    "round": "round",
    "len": "len",
    "iter": "iter",
    "[]": "getitem",
    "in": "contains",
}.items():
    refuse_methods(Equality, _methods, partial(Equality.refused, what=f"'{_symbol}' of (a == b)"))


JOINS_TRUTHS = frozenset(
    f"{kind}_{how}"
    for kind in ("logical", "bitwise")
    for how in ("and", "or", "xor", "xnor", "not")
)
"""Operations that combine truth values."""


def check_no_truth(what: str, values: Iterable[object], module: str = "ops") -> None:
    """Refuse Python bools as operands of operations on truth values of elements."""
    for value in values:
        if isinstance(value, bool | np.bool_):
            raise ElementTypeError(
                f"{what}: {value!r} is a Python bool, not a truth value for each element",
                found=f"{of_type(value)}, decided while the graph is built",
                fix=f"{equal_instead(module)}, or use Python's `if` with the bool",
            )


def is_value(other: object) -> bool:
    """Return whether an object contains or may contain numbers, so that no tensor equals it."""
    if isinstance(other, str | bytes | type):
        return False
    return isinstance(other, Number | Iterable | Equality) or hasattr(type(other), "__array__")


def not_compared(symbol: str, kind: str, one: str, other: object, module: str) -> ElementTypeError:
    """Return the error for `==` or `!=`, for example between a tensor and a number."""
    if isinstance(other, np.ndarray) and not other.ndim:
        other = other[()]  # as NumPy passes its numbers
    right = clipped(other)
    return ElementTypeError(
        f"'{symbol}' of {kind}: it has no values while a graph is built",
        found=clipped_text(f"{one} {symbol} {right}", 160),
        fix=f"compare elements with {module}.{_NAMES[symbol]}(a, b)",
    )
