"""Operands of formulas: Python's operators on tensors or expressions.

x + 1        an expression: nothing is computed or stored until `ops.map` records it
x < y        likewise; `==` of two tensors compares views, and `ops.equal` elements
x += 1       is refused: `ops.assign(x, x + 1)` records it
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from poplite.expr.equality import Equality, is_value, not_compared
from poplite.expr.numpy_names import refused_of_numpy
from poplite.poplar.callable_values import CalledInt
from poplite.public import checked_methods

if TYPE_CHECKING:
    import numpy as np

    from poplite.expr.tree import Expr
    from poplite.types import ElementType, ElementTypeLike

    Dims = int | Sequence[int] | None
    Formula = "Operand | int | float"


_OF_SHAPE = ("shape", "ndim", "size")
"""NumPy's functions that need no values."""


def _of(name: str, *operands: object) -> Expr:
    from poplite.expr.build import apply  # which makes nodes, and these are operands

    return apply(name, *operands)


def _operations() -> Any:
    return import_module("poplite.ops")  # whose functions take operands


def _reduced(how: str, x: Operand, dims: Dims, axis: Dims, keepdims: bool) -> Expr:
    given = {} if axis is None else {"axis": axis}
    given |= {} if dims is None else {"dims": dims}
    reduced: Expr = getattr(_operations(), how)(x, keepdims=keepdims, **given)
    return reduced


@checked_methods("ops.Operand x")
class Operand:
    """A tensor, or an expression of tensors.

    Operators make expressions (`poplite.ops` has the operations without one). Their meaning is
    NumPy's: shapes are broadcast, `//` and `%` round down, `>>` keeps the sign. Python's numbers
    take the element type of the other operand, which must be able to hold them.
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
        """Return the tensor that is read for this operand among others: itself, mostly."""
        return self

    def _is_same(self, other: Operand) -> bool | None:
        """Return whether another operand is the same one; None where `ops.equal` is meant."""
        return True if other is self else None

    def _in_formula(self) -> str:
        """Return what formulas call it."""
        return getattr(self, "name", "") or "tensor"

    _kind = "an expression"
    """What messages call it."""

    __hash__ = object.__hash__

    if not TYPE_CHECKING:  # a type checker would let these pass

        def __eq__(self, other: object) -> Equality:
            return self._compared("==", other)

        def __ne__(self, other: object) -> Equality:
            found = self._compared("!=", other)
            return found if found is NotImplemented else Equality(not found)

    def _compared(self, symbol: str, other: object) -> Equality:
        """Return whether it is the same as another object; raise for one that holds numbers."""
        same = self._is_same(other) if isinstance(other, Operand) else None
        if same is not None:
            return Equality(same)
        if isinstance(other, Operand) or is_value(other):
            raise not_compared(symbol, self._kind, repr(self), other, "ops")
        # Only an object with an `==` of its own, such as a mock's, may be equal to a tensor.
        is_plain = isinstance(other, str | bytes | type) or type(other).__eq__ is object.__eq__
        return Equality(False) if is_plain or other is None else NotImplemented

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: object, **_: object) -> object:
        """Take the operators of NumPy's numbers, and refuse its functions."""
        from poplite.expr.build import of_numpy

        return of_numpy(self, ufunc.__name__, method, inputs)

    def __array_function__(
        self, function: Any, _: object, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> object:
        """Answer NumPy's questions of shape, and refuse its other functions."""
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
        """NumPy's type of the elements."""
        return self.element_type.dtype

    def sum(self, dims: Dims = None, *, keepdims: bool = False, axis: Dims = None) -> Expr:
        """Return the sum over dimensions, all by default, as `ops.sum` does."""
        return _reduced("sum", self, dims, axis, keepdims)

    def mean(self, dims: Dims = None, *, keepdims: bool = False, axis: Dims = None) -> Expr:
        """Return the mean over dimensions, all by default, as `ops.mean` does."""
        return _reduced("mean", self, dims, axis, keepdims)

    def max(self, dims: Dims = None, *, keepdims: bool = False, axis: Dims = None) -> Expr:
        """Return the largest element over dimensions, all by default, as `ops.max` does."""
        return _reduced("max", self, dims, axis, keepdims)

    def min(self, dims: Dims = None, *, keepdims: bool = False, axis: Dims = None) -> Expr:
        """Return the smallest element over dimensions, all by default, as `ops.min` does."""
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


# Not written in the class: a type checker refuses these by themselves.
for _method, _symbol in {
    **{"add": "+", "sub": "-", "mul": "*", "matmul": "@", "truediv": "/", "floordiv": "//"},
    **{"mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^"},
}.items():
    setattr(Operand, f"__i{_method}__", _refusing_in_place(_symbol))


def as_read(value: Any, *others: object) -> Any:
    """Return an argument as it is read: a loop's index as its tensor, all else unchanged."""
    return value._read_as(others) if isinstance(value, Operand) else value
