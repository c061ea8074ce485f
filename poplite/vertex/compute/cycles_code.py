"""What the method `cycles` of a vertex class computes, as data.

`cycles` is ordinary Python that is never compiled, so it may refer to anything.  Recorded are its
text, the text of the functions of its module that it calls, and the plain values that they name::

    def make(factor):
        class Scale(Vertex):
            def cycles(self, target):
                return factor * len(self.x)      cycles  <digest of its tree>, factor 3
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from poplite.vertex.compute.identity import FunctionCode, comparable_tree, digest
from poplite.vertex.compute.parse.source_text import read
from poplite.vertex.vertex import Vertex, has_cycles

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
"""Types whose `repr` is the value; tuples of these are plain, too."""

_LONG = 80
"""Characters from which a value is recorded by its digest: a table may have thousands."""


def cycles_code(cls: type[Vertex]) -> tuple[FunctionCode, ...]:
    """Return the code of `cycles` and of the functions of its module that it calls, or ().

    >>> from poplite.types import FLOAT
    >>> from poplite.vertices import Add
    >>> [function.name for function in cycles_code(Add[FLOAT])]
    ['cycles']
    """
    if not has_cycles(cls):
        return ()
    found: dict[FunctionType, FunctionCode] = {}
    waiting = [inspect.getattr_static(cls, "cycles")]
    while waiting:
        function = waiting.pop(0)
        if not isinstance(function, FunctionType) or function in found:
            continue
        names = dict(_names(function, cls))
        values = {name: _shown(value) for name, value in names.items() if _is_plain(value)}
        found[function] = FunctionCode(
            function.__name__, _digest(function), dict(sorted(values.items()))
        )
        own = [each for each in names.values() if getattr(each, "__module__", "") == cls.__module__]
        waiting += [getattr(each, "__func__", each) for each in own]
    return tuple(found.values())


def _digest(function: FunctionType) -> str:
    text = read(function)
    defaults = [repr(default) for default in function.__defaults__ or ()]
    if text is not None:
        return digest(comparable_tree(text.tree), defaults)
    code = function.__code__  # without text, as of `exec`
    constants = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return digest(code.co_code, code.co_names, constants, defaults)


def _names(function: FunctionType, cls: type[Vertex]) -> Iterator[tuple[str, Any]]:
    """Yield the names that a function takes from outside, with their values."""
    outside = inspect.getclosurevars(function)
    yield from outside.globals.items()
    yield from outside.nonlocals.items()
    for name in sorted(outside.unbound):  # attributes, those of `self` among them
        if name not in cls.fields and hasattr(cls, name):
            yield f"self.{name}", inspect.getattr_static(cls, name)


def _is_plain(value: object) -> bool:
    return all(map(_is_plain, value)) if type(value) is tuple else type(value) in _PLAIN


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) < _LONG else digest(text)
