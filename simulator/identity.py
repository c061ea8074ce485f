"""What the code of a vertex class depends on, as text that is equal when the code is.

Numba does not notice edits outside the function it caches, so everything that ends up in
machine code is part of the name: bytecode, constants, names, and the values of the globals,
closure cells and class constants that `compute` refers to.
"""

from __future__ import annotations

import inspect
from types import CodeType, FunctionType, ModuleType
from typing import Any

from poplite.vertex import Vertex


def code_identity(cls: type[Vertex]) -> tuple[object, ...]:
    """Return a value whose `repr` is equal for classes that compile to the same code.

    Args:
        cls: the vertex class.
    """
    constants = sorted(
        (name, _value(value)) for name, value in inspect.getmembers(cls) if _is_number(value)
    )
    return cls.__module__, cls.__qualname__, _function(cls.compute), tuple(constants)


def _function(function: Any) -> tuple[object, ...]:
    names = inspect.getclosurevars(function)
    used = sorted({**names.globals, **names.nonlocals}.items())
    code = function.__code__
    return _code(code), tuple((name, _value(value, code.co_names)) for name, value in used)


def _code(code: CodeType) -> tuple[object, ...]:
    constants = tuple(_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames


def _value(value: object, attributes: tuple[str, ...] = ()) -> object:
    if _is_number(value):
        return repr(value)
    if isinstance(value, FunctionType):
        return value.__module__, value.__qualname__, _code(value.__code__)
    numbers = {}
    if isinstance(value, ModuleType):
        found = ((name, getattr(value, name, None)) for name in attributes)
        numbers = {name: repr(number) for name, number in found if _is_number(number)}
    return getattr(value, "__name__", type(value).__name__), sorted(numbers.items())


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float))
