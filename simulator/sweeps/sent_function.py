"""A function of a script, as it goes to other processes: what cloudpickle leaves out or parts.

    def make(k):
        def more(): nonlocal k; k += 1
        def build(): return k       one variable `k` there, for all functions that share it
    def build():
        class V(pl.Vertex):
            x: pl.Input[KIND]       names that only the statement of a class needs: `KIND`

Functions of a script share one dictionary of globals there, which cloudpickle sees to.  A function
inside one of a module has that module's globals, as others of the module set and see them.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import CO_OPTIMIZED
from types import CellType, CodeType, FunctionType
from typing import Any

from poplite.vertex.compute.parse.source_text import nested

_LOADS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"})


def reduced_cell(cell: CellType) -> tuple[object, ...]:
    """Return what `pickle` makes a variable of that functions share."""
    if cell == CellType():
        return CellType, ()
    return CellType, (), (cell.cell_contents,), None, None, _fill


def reduced_function(function: FunctionType, made: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what `pickle` makes a function of, where cloudpickle would send it by value."""
    make, (code, own_globals, *rest, _), (attributes, slots), *others = made
    used = slots["__globals__"] | {
        each: function.__globals__[each]
        for each in _names_of_classes(code)
        if each in function.__globals__
    }
    name = function.__module__
    if is_importable(name) and vars(sys.modules[name]) is function.__globals__:
        own_globals, used = _Globals(name), {}
    arguments = code, own_globals, *rest, function.__closure__
    return make, arguments, (attributes, slots | {"__globals__": used}), *others


def is_importable(module: str | None) -> bool:
    """Return whether other processes can import a module; what `runpy` runs has no spec."""
    found = sys.modules.get(module or "__main__")
    return module != "__main__" and getattr(found, "__spec__", None) is not None


class _Globals:
    """The globals of a module, which a function finds where it arrives."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __reduce__(self) -> tuple[object, ...]:
        return _globals_of, (self._module,)


def _globals_of(module: str) -> dict[str, Any]:
    return vars(import_module(module))


def _names_of_classes(code: CodeType) -> Iterator[str]:
    """Yield the globals that class statements inside a function name, also in texts."""
    for each in nested(code):
        if each.co_flags & CO_OPTIMIZED:  # of a function, in which cloudpickle finds them
            continue
        for step in dis.get_instructions(each):
            if step.opname in _LOADS:
                yield step.argval
            elif step.opname == "LOAD_CONST" and isinstance(step.argval, str):
                yield from _names_of_text(step.argval)


def _names_of_text(text: str) -> Iterator[str]:
    """Yield the names in what may be an annotation."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return
    for each in ast.walk(tree):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value != text:
            yield from _names_of_text(each.value)


def _fill(cell: CellType, contents: tuple[object]) -> None:
    (cell.cell_contents,) = contents
