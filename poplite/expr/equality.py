"""Equality of operands: `==` gives a truth value of its own kind, or an error.

a == b       whether two tensors are the same elements of the same variables; nothing is computed
x == 2       refused: no tensor is a number, and `ops.equal(x, 2)` compares elements

The truth value is for Python (`if`, `assert`, `in`, `not`); every operation refuses it, since
`ops.equal(a, b)` is meant there. Named tensors have it, too, and `ng.equal(a, b)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Number
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from poplite.errors import ElementTypeError
from poplite.text import clipped, clipped_text, of_type
from poplite.types import HoldsNoValues

_NAMES = {"==": "equal", "!=": "not_equal"}


def equal_instead(module: str = "ops") -> str:
    """Return the remedy where elements were to be compared."""
    return f"{module}.equal(a, b) or {module}.not_equal(a, b), which compare elements"


class Equality(HoldsNoValues):
    """Whether two tensors show the same elements: what `a == b` of tensors gives.

    `if`, `assert`, `in`, `not`, `and` and `or` take it, and `bool(...)` makes it one of Python's.
    Operations refuse it.
    """

    __slots__ = ("_truth", "module")

    def __init__(self, truth: bool, module: str = "ops") -> None:
        self._truth = truth
        self.module = module
        """That whose `equal` compares elements of such tensors."""

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
        """Return the error of a call, `what`, that was given it as a value."""
        return ElementTypeError(
            f"{what}: '==' of two tensors compares what they are, not their values",
            found=f"{bool(self)}, decided while the graph is built",
            fix=equal_instead(self.module),
        )

    def __reduce__(self) -> tuple[type[Equality], tuple[bool, str]]:
        return Equality, (self._truth, self.module)

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise self.refused("np.asarray")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **_: object) -> bool:
        """Compare it with a NumPy truth value on the left; refuse all else."""
        if method == "__call__" and ufunc in (np.equal, np.not_equal):
            other = next(each for each in inputs if each is not self)
            # NumPy brings its numbers as arrays of rank 0.
            same = self.__eq__(other[()] if isinstance(other, np.ndarray) else other)
            if same is not NotImplemented:
                return same is (ufunc is np.equal)
        raise self.refused(f"np.{ufunc.__name__}")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("__"):  # copy and pickle ask for some
                raise AttributeError(name, name=name)
            text = f"the '==' of two tensors has no {name!r}: {equal_instead(self.module)}"
            raise AttributeError(text, name=name, obj=self)


def _refusing(what: str) -> Callable[..., NoReturn]:
    def method(self: Equality, *_: object) -> NoReturn:
        raise self.refused(what)

    return method


# Not written in the class, so that a type checker refuses them without running anything.
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
    for _method in _methods.split():
        setattr(Equality, f"__{_method}__", _refusing(f"'{_symbol}' of (a == b)"))


JOINS_TRUTHS = frozenset(
    f"{kind}_{how}"
    for kind in ("logical", "bitwise")
    for how in ("and", "or", "xor", "xnor", "not")
)
"""Operations that join truth values."""


def check_no_truth(what: str, values: Iterable[object], module: str = "ops") -> None:
    """Refuse truth values of Python's where those of elements are joined, or decide."""
    for value in values:
        if isinstance(value, bool | np.bool_):
            raise ElementTypeError(
                f"{what}: {value!r} is one truth value of Python's, not one for each element",
                found=f"{of_type(value)}, decided while the graph is built",
                fix=f"{equal_instead(module)}; where it is meant, Python's own `if` decides by it",
            )


def is_value(other: object) -> bool:
    """Return whether something holds numbers, or may, so that no tensor is equal to it."""
    if isinstance(other, str | bytes | type):
        return False
    return isinstance(other, Number | Iterable | Equality) or hasattr(type(other), "__array__")


def not_compared(symbol: str, kind: str, one: str, other: object, module: str) -> ElementTypeError:
    """Return the error of `==` or `!=`: of a tensor, say, and a number."""
    if isinstance(other, np.ndarray) and not other.ndim:
        other = other[()]  # so do numbers of NumPy's come
    right = clipped(other)
    return ElementTypeError(
        f"'{symbol}' of {kind}: it holds no values while a graph is built",
        found=clipped_text(f"{one} {symbol} {right}", 160),
        fix=f"{module}.{_NAMES[symbol]}(a, b) compares elements",
    )
